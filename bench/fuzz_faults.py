#!/usr/bin/env python3
"""How soon `assay fuzz` finds a fault: randomly chosen faults of the embedded converter, one at a time.

    bench/fuzz_faults.py build/release/assay [--count 20] [--choice 1] [--seed 1] [--graphs 20000] [--jobs 0]

Prints one line for each fault: graphs and seconds until the first red verdict, and its signature. Exit code 1 where one
was not found, 2 where the converter is red without a fault among as many graphs.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

TABLE = pathlib.Path(__file__).resolve().parent.parent / "converters/embedded/faults.cpp"


def fault_names():
    """The rows that have a report: variants have none."""
    return re.findall(r'\{\{"(\w+)",\s*"https?:', TABLE.read_text())


def hunt(arguments, output, words):
    command = [arguments.assay, "fuzz", "--seed", str(arguments.seed), "--graphs", str(arguments.graphs), "--stop-after",
               "1", "--reduce-seconds", "0", "--jobs", str(arguments.jobs), "--output", output, "--json", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("--count", type=int, default=20, help="how many faults; 0: all")
    parser.add_argument("--choice", type=int, default=1, help="seed of their choice")
    parser.add_argument("--seed", type=int, default=1, help="seed of the graphs")
    parser.add_argument("--graphs", type=int, default=20000, help="how many graphs a fault may take")
    parser.add_argument("--jobs", type=int, default=0)
    arguments = parser.parse_args()
    names = sorted(fault_names())
    chosen = sorted(random.Random(arguments.choice).sample(names, arguments.count)) if arguments.count else names
    missed, most = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            found = hunt(arguments, folder, ["--fault", name])
            if found["finds"]:
                signature = found["finds"][0]["signature"][:90]
                most = max(most, found["finds"][0]["first_index"] + 1)
            else:
                signature = "NOT FOUND"
                missed.append(name)
            print(f"{name:<36} {found['graphs']:>7} {found['seconds']:>8.1f}  {signature}", flush=True)
        arguments.graphs = max(most, 1)
        plain = hunt(arguments, folder, [])
    print(f"{len(chosen) - len(missed)} of {len(chosen)} found, out of {len(names)}; without a fault "
          f"{len(plain['finds'])} signatures in {plain['graphs']} graphs")
    return 2 if plain["finds"] else 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
