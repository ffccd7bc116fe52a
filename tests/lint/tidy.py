#!/usr/bin/env python3
"""clang-tidy, its static analyzer included, over what has changed since it was clean: tidy.py ROOT BUILD [--write]
[--unrecorded] [--jobs 1] [--seconds N] [FILE…]

record.json beside this holds a hash of every source and header that was found clean. A source whose hash differs is
checked again; for a header, one source that includes it, its own where it has one. --unrecorded checks those too that the
record lacks, FILE… these alone, --seconds begins no more after that long. --write keeps what was clean. BUILD is configured
for it where it is empty (no batches, so that each source has a command of its own). Exit code 1 where something was found,
77 without clang-tidy.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RECORD = Path(__file__).with_name("record.json")
ROOMS = ("bench", "converters", "harness", "reference", "results", "tests")
CHECKS = "--checks=clang-analyzer-*"  # beside those of .clang-tidy


def hash_of(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def files_of(root):
    """Sources and headers, by their name from `root`."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", *ROOMS], capture_output=True, text=True,
                            check=False).stdout.split("\n")
    return {name: root / name for name in listed if name.endswith((".cpp", ".hpp")) and (root / name).exists()}


def commands(root, build):
    """The sources that the build has a command for, by their name from `root`."""
    database = build / "compile_commands.json"
    if not database.exists():
        subprocess.run(["cmake", "-S", root, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DASSAY_BATCHES=OFF",
                        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", build, "--target", "assay_commit"], check=True, stdout=subprocess.DEVNULL)
    return {str(Path(entry["file"]).relative_to(root)) for entry in json.loads(database.read_text(encoding="utf-8"))
            if Path(entry["file"]).is_relative_to(root)}


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


def check(tidy, root, build, source):
    """What is wrong, or an empty text."""
    done = subprocess.run([tidy, "-p", build, "--quiet", CHECKS, source], cwd=root, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + "\n".join(
        line for line in done.stderr.split("\n") if "warnings" not in line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--unrecorded", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    asked = parser.parse_intermixed_args()
    tidy = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if tidy is None:
        print("no clang-tidy: apt-get install clang-tidy-14")
        return 77
    root, build = asked.root.resolve(), asked.build.resolve()
    files, sources = files_of(root), commands(root, build)
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    hashes = {name: hash_of(file) for name, file in files.items()}
    headers = headers_of(files, sources)
    reached = sources.union(*headers.values())
    new = {name for name in files if name not in record and name in reached}
    wanted = set(asked.files) or {name for name in files if name in record and record[name] != hashes[name]}
    if asked.unrecorded:
        wanted |= new
    # A header is clean where a source that includes it is.
    covers = sorted(wanted & sources)
    for name in sorted(wanted & reached - sources):
        if not any(name in headers[source] for source in covers):
            own = name.removesuffix(".hpp") + ".cpp"
            covers.append(own if own in headers else min(source for source in headers if name in headers[source]))
    started, wrong, done = time.monotonic(), 0, 0

    def run(source):
        if time.monotonic() - started > asked.seconds:
            return source, None
        return source, check(tidy, root, build, source)

    def write():
        RECORD.write_text(json.dumps({name: value for name, value in record.items() if name in files}, indent=0,
                                     sort_keys=True) + "\n", encoding="utf-8")

    with ThreadPoolExecutor(asked.jobs) as pool:
        for source, said in pool.map(run, covers):
            if said is None:
                continue
            done += 1
            if said:
                wrong += 1
                print(said, flush=True)
            else:
                record.update({name: hashes[name] for name in {source} | headers[source]})
                if asked.write and done % 10 == 0:
                    write()
    if asked.write:
        write()
    left = sum(name not in record for name in new)
    print(f"clang-tidy: {done} of {len(covers)} sources checked, {wrong} with findings; {left} files were never checked")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
