#!/usr/bin/env python3
"""How soon `assay fuzz` finds a fault: faults of the embedded converter, chosen at random, one at a time.

    bench/fuzz_faults.py build/release/assay [FAULT …] [--count 20] [--choice 1] [--seed 1] [--graphs 20000] [--jobs 0]

Prints one line for each fault: graphs and seconds until the first red verdict, and its signature. Exit code 1 where one
was not found, 2 where the converter is red without a fault among `--clean` graphs, or as many as the slowest fault took.
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

# What one conversion of a valid float graph with a complete feed can't show, whatever the graph.
CACHE = "takes a second conversion, from a cache"
FEED = "takes a feed that is broken"
GIVEN = "takes a model that holds quantizers"
NOT_SHOWN = {
    "cache_gap_left_float": CACHE,
    "cached_ranges_mirrored": CACHE,
    "second_phase_overwrites": CACHE,
    "stale_cache_accepted": CACHE,
    "aborted_feed_swallowed": FEED,
    "missing_input_swallowed": FEED,
    "nan_ignored": FEED,
    "float_stage_skipped": "takes a model that doesn't run in float",
    "authored_left_float": GIVEN,
    "axis_checked_without_need": GIVEN,
    "deconv_scales_counted_on_axis_zero": GIVEN,
    "first_reader_of_codes_only": GIVEN,
    "kernel_shape_required": GIVEN,
    "moved_weight_keeps_axis": GIVEN,
    "plain_parameters_required": GIVEN,
    "qdq_axis_as_output": GIVEN,
    "quantized_unsigned_behind_reshape": GIVEN,
    "requantization_skipped": GIVEN,
    "scale_ratio_of_8_bits": GIVEN,
    "weight_zero_point_ignored": GIVEN,
    "partial_output_written": "takes a refusal that is expected",
}


def fault_names():
    """The table's rows."""
    return re.findall(r'\{\{"(\w+)",\s*"https?:', TABLE.read_text())


def chosen(arguments):
    names = sorted(fault_names())
    unknown = sorted((set(NOT_SHOWN) | set(arguments.faults)) - set(names))
    if unknown:
        sys.exit(f"no such fault: {', '.join(unknown)}")
    if arguments.faults:
        return arguments.faults
    shown = [name for name in names if name not in NOT_SHOWN]
    return sorted(random.Random(arguments.choice).sample(shown, arguments.count)) if arguments.count else shown


def hunt(arguments, graphs, output, words):
    command = [arguments.assay, "fuzz", "--seed", str(arguments.seed), "--graphs", str(graphs), "--stop-after", "1",
               "--reduce-seconds", "0", "--jobs", str(arguments.jobs), "--output", output, "--json", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("faults", nargs="*", help="these faults, not a choice")
    parser.add_argument("--count", type=int, default=20, help="how many faults; 0: all that a graph can show")
    parser.add_argument("--choice", type=int, default=1, help="seed of their choice")
    parser.add_argument("--seed", type=int, default=1, help="seed of the graphs")
    parser.add_argument("--graphs", type=int, default=20000, help="how many graphs a fault may take")
    parser.add_argument("--clean", type=int, default=0, help="at least so many graphs without a fault")
    parser.add_argument("--jobs", type=int, default=0)
    arguments = parser.parse_args()
    names = chosen(arguments)
    missed, most = [], 1
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            found = hunt(arguments, arguments.graphs, folder, ["--fault", name])
            if found["finds"]:
                signature = found["finds"][0]["signature"][:90]
                graphs = found["finds"][0]["first_index"] + 1
                most = max(most, graphs)
            else:
                signature, graphs = "NOT FOUND", found["graphs"]
                missed.append(name)
            print(f"{name:<36} {graphs:>7} {found['seconds']:>8.1f}  {signature}", flush=True)
        plain = hunt(arguments, max(most, arguments.clean), folder, [])
    print(f"{len(names) - len(missed)} of {len(names)} found, out of {len(fault_names())} faults of which "
          f"{len(NOT_SHOWN)} can't be shown by a graph; without a fault {len(plain['finds'])} signatures in "
          f"{plain['graphs']} graphs")
    return 2 if plain["finds"] else 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
