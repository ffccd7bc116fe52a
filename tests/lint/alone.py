#!/usr/bin/env python3
"""That a source includes what it uses: alone.py ROOT BUILD [--since REVISION] [--jobs 2].

CI and whoever has no compiler cache compile sources in batches, where one lives on the headers of another. Each source that
has changed since REVISION, and for each changed header one that includes it, is compiled by itself, with nothing written. Where
nothing is said these are what is uncommitted and what the last 40 commits changed, the newest first, up to 120 files. Exit code 1
where one doesn't compile, 77 without Git's history.
"""

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tidy

COMMITS = 40
FILES = 120  # a commit may bring many; some seconds each


def changed_since(root, revision):
    """Names from `root` of what differs from that revision, as it lies there; nothing without history."""
    def git(*words):
        done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
        return [name for name in done.stdout.split("\n") if name] if done.returncode == 0 else None

    own = git("ls-files", "-o", "--exclude-standard")
    if revision is not None:
        differing = git("diff", "--name-only", revision)
        return None if differing is None else {*differing, *own}
    history = git("rev-list", "--first-parent", f"--max-count={COMMITS + 1}", "HEAD")
    if not history or len(history) < 2:
        return None
    changed = {*git("diff", "--name-only", "HEAD"), *own}
    for newer, older in zip(history, history[1:]):
        sources = [name for name in git("diff", "--name-only", older, newer) if name.endswith((".cpp", ".hpp"))]
        changed.update(sources[:max(0, FILES - len(changed))])
    return changed


def chosen(changed, headers):
    """The sources to compile for what has changed; `headers` are those of each source."""
    sources = changed & headers.keys()
    for name in sorted(name for name in changed if name.endswith(".hpp")):
        own = name.removesuffix(".hpp") + ".cpp"
        including = [own] if own in headers else sorted(source for source in headers if name in headers[source])[:1]
        sources.update(including)
    return sorted(sources)


def compiled(root, source, target):
    """What the compiler says of a source, or an empty text."""
    _, command, directory = target
    done = subprocess.run(f"{command} -fsyntax-only {root / source}", shell=True, cwd=directory, capture_output=True, text=True,
                          check=False)
    return "" if done.returncode == 0 else f"{source} doesn't compile by itself:\n{done.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("--since")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    root, build = asked.root.resolve(), asked.build.resolve()
    changed = changed_since(root, asked.since)
    if changed is None:
        print("nothing is known of what has changed: no history")
        return 77
    started = time.monotonic()
    tidy.configure(root, build)
    command_of = tidy.commands(root, build)
    sources = chosen(changed, tidy.headers_of(tidy.files_of(root), command_of.keys()))
    with ThreadPoolExecutor(asked.jobs) as pool:
        wrong = [said for said in pool.map(lambda source: compiled(root, source, command_of[source]), sources) if said]
    print("\n".join([*wrong, f"{len(sources)} sources in {time.monotonic() - started:.0f} s, {len(wrong)} don't compile"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
