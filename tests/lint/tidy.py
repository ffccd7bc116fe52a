#!/usr/bin/env python3
"""clang-tidy, its static analyzer included, over what isn't known to be clean: tidy.py ROOT BUILD [--write] [--jobs 1]
[--changed] [--seconds N] [FILE…]

record.json beside this holds a hash of every source and header that was found clean. A source whose hash differs, or that
has none, is checked; for a header, one source that includes it, its own where it has one. FILE… are checked whatever the
record says, and no others; --changed leaves out those that it lacks; --seconds begins no more after that long. --write
keeps what was clean. BUILD is configured for it. Exit code 1 where something was found, 77 without clang-tidy.

Sources that are compiled with the same command for one target are checked in batches: files in BUILD/batches that include
them, so that the headers are read and checked once. The analyzer takes what a file includes for code, and not for
headers, where that file is called UnifiedSource.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

RECORD = Path(__file__).with_name("record.json")
ROOMS = ("bench", "converters", "harness", "reference", "results", "tests")
CHECKS = "--checks=clang-analyzer-*"  # beside those of .clang-tidy
BATCH_BYTES = 80000  # as in cmake/batches.cmake
FOUND = re.compile(r"^(\S[^:\n]*):\d+:\d+: (?:warning|error): .*\[(\S+?)(?:,-warnings-as-errors)?\]$", re.MULTILINE)


def hash_of(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def files_of(root):
    """Sources and headers, by their name from `root`."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", *ROOMS], capture_output=True, text=True,
                            check=False).stdout.split("\n")
    return {name: root / name for name in listed if name.endswith((".cpp", ".hpp")) and (root / name).exists()}


def configure(root, build):
    subprocess.run(["cmake", "-S", root, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DASSAY_BATCHES=OFF",
                    "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build, "--target", "assay_commit"], check=True, stdout=subprocess.DEVNULL)


def commands(root, build):
    """For each source that the build has a command for, by its name from `root`: its target with its command, in which
    the source is {source}."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = Path(entry["file"])
        if file.suffix == ".cpp" and file.is_relative_to(root):
            command, target = re.fullmatch(r"(.*?) -o (\S+)\.dir/\S+ -c \S+", entry["command"]).groups()
            found.setdefault(str(file.relative_to(root)), (target, command, entry["directory"]))
    return found


def headers_of(files, sources):
    """For each source, the headers that it includes, directly or not."""
    includes = {name: set(re.findall(r'^#include "([^"]+)"', file.read_text(encoding="utf-8"), re.MULTILINE))
                for name, file in files.items()}
    found = {}
    for source in sorted(sources & files.keys()):
        waiting, found[source] = [source], set()
        while waiting:
            for name in includes.get(waiting.pop(), set()) & files.keys() - found[source]:
                found[source].add(name)
                waiting.append(name)
    return found


def write_batches(root, build, sources, command_of):
    """Writes the files that include `sources` and the commands that compile them: a list of (file, its sources)."""
    groups = {}
    for source in sources:
        batches = groups.setdefault(command_of[source], [])
        size = (root / source).stat().st_size
        if not batches or batches[-1][0] + size > BATCH_BYTES:
            batches.append([0, []])
        batches[-1][0] += size
        batches[-1][1].append(source)
    folder = build / "batches"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found, entries = [], []
    for (_, command, directory), batches in groups.items():
        for _, names in batches:
            file = folder / f"UnifiedSource{len(found)}.cpp"
            file.write_text("".join(f'#include "{root / name}"  // NOLINT(bugprone-suspicious-include)\n' for name in names),
                            encoding="utf-8")
            found.append((file, names))
            entries.append({"directory": directory, "file": str(file), "command": f"{command} -c {file}"})
    (folder / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
    return found


def check(tidy, root, batch):
    """What is wrong, or an empty text, and the files that it is in: all of the batch where that can't be told."""
    file, names = batch
    done = subprocess.run([tidy, "-p", file.parent, f"--config-file={root / '.clang-tidy'}", "--quiet", CHECKS, file], cwd=root,
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return "", set()
    found = FOUND.findall(done.stdout)
    places = {str(Path(name).relative_to(root)) if Path(name).is_relative_to(root) else name for name, _ in found}
    said = done.stdout + "\n".join(line for line in done.stderr.split("\n") if "warnings" not in line)
    compiled = found and not any(rule == "clang-diagnostic-error" for _, rule in found)
    return said, places if compiled else places.union(names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    asked = parser.parse_intermixed_args()
    tidy = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if tidy is None:
        print("no clang-tidy: apt-get install clang-tidy-14")
        return 77
    root, build = asked.root.resolve(), asked.build.resolve()
    configure(root, build)
    files, command_of = files_of(root), commands(root, build)
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    hashes = {name: hash_of(file) for name, file in files.items()}
    headers = headers_of(files, command_of.keys())
    reached = headers.keys() | set().union(*headers.values())
    wanted = set(asked.files) or {name for name in reached
                                  if record.get(name) != hashes[name] and (name in record or not asked.changed)}
    # A header is clean where a source that includes it is.
    covers = wanted & headers.keys()
    for name in sorted((wanted & reached) - headers.keys()):
        if not any(name in headers[source] for source in covers):
            own = name.removesuffix(".hpp") + ".cpp"
            covers.add(own if own in headers else min(source for source in headers if name in headers[source]))
    ordered = sorted(covers, key=lambda name: (name not in record, name))  # what has changed, then what was never checked
    started, done, wrong = time.monotonic(), 0, set()

    def run(batch):
        if time.monotonic() - started > asked.seconds:
            return batch, None
        return batch, check(tidy, root, batch)

    with ThreadPoolExecutor(asked.jobs) as pool:
        batches = [pool.submit(run, batch) for batch in write_batches(root, build, ordered, command_of)]
        for each in as_completed(batches):  # in any order: what is done is recorded, however long another takes
            (_, names), result = each.result()
            if result is None:
                continue
            said, places = result
            done += len(names)
            wrong |= places
            if said:
                print(said, flush=True)
            clean = set(names).union(*(headers[name] for name in names)) - wrong
            record = {name: value for name, value in record.items() if name not in places}
            record.update({name: hashes[name] for name in clean})
            if asked.write:
                RECORD.write_text(json.dumps({name: value for name, value in record.items() if name in files}, indent=0,
                                             sort_keys=True) + "\n", encoding="utf-8")
    left = sum(record.get(name) != hashes[name] for name in reached)
    print(f"clang-tidy: {done} of {len(covers)} sources checked in {time.monotonic() - started:.0f} s, findings in "
          f"{len(wrong)} files; {left} of {len(reached)} files aren't known to be clean")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
