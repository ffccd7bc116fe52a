"""What a run in chunks costs: measured parts on this machine, and a simulation of many from them.

usage: cluster_cost.py measure ASSAY [--verdicts 1000,10000] > parts.json
       cluster_cost.py simulate parts.json [--verdicts 10000000] [--nodes 1000] [--cores 16]

`measure` plans, works and merges made-up suites of small cases (one Conv each, two option sets) of growing size, and prints
what each step took and how many bytes it left. `simulate` draws a cluster from these figures: nodes take chunks one after
the other, each chunk starts Assay, loads the suite, judges on all cores of its node and writes its file; nodes die at a given
rate, and their chunks are begun anew. Then one machine merges.
"""
import argparse
import heapq
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "slurm"))
from run import FAMILY, SUITE  # noqa: E402

OPTION_SETS, STRIDES = 2, 2
CHUNKS_MEASURED = 8


def timed(words, folder, environment):
    """Seconds, CPU seconds and the largest process in MB of a command that has to end with 0."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{words} ended with {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(time.monotonic() - begun, 3), "cpu_s": round(cpu, 3), "peak_mb": usage.ru_maxrss // 1024}


def measure(assay, sizes):
    found = []
    for verdicts in sizes:
        with tempfile.TemporaryDirectory(dir=Path(assay).resolve().parent) as name:
            folder = Path(name)
            for part in ["cases", "suites"]:
                (folder / part).mkdir()
            copies = verdicts // OPTION_SETS // STRIDES
            (folder / "cases/many.json").write_text(FAMILY % ",".join(map(str, range(1, copies + 1))))
            (folder / "suites/default.json").write_text(SUITE)
            environment = {**os.environ, "ASSAY_HOME": name}
            assay = str(Path(assay).resolve())
            run = lambda *words: timed([assay, *words], folder, environment)  # noqa: E731
            row = {"verdicts": verdicts, "cases": copies * STRIDES, "chunks": CHUNKS_MEASURED}
            row["list"] = run("list", "default", "--json")
            row["plan"] = run("plan", "--chunks", str(CHUNKS_MEASURED))
            row["plan_bytes"] = (folder / "plan/plan.jsonl").stat().st_size
            row["work"] = [run("work", "plan", str(chunk), "--jobs", "2") for chunk in range(1, CHUNKS_MEASURED + 1)]
            row["work_again"] = run("work", "plan", "1")
            row["results_bytes"] = sum(file.stat().st_size for file in (folder / "plan/results").iterdir())
            row["merge"] = run("merge", "plan", "--db", "merged.db")
            row["database_bytes"] = (folder / "merged.db").stat().st_size
            row["merge_again"] = run("merge", "plan", "--db", "merged.db")
            found.append(row)
            print(json.dumps(row), file=sys.stderr)
    print(json.dumps(found, indent=1))


def per_more(rows, value):
    """The growth of a value from the first to the last size, per verdict or case."""
    first, last = rows[0], rows[-1]
    return (value(last) - value(first)) / (last["verdicts"] - first["verdicts"])


def parts_of(rows):
    """What one more verdict, case or chunk costs: CPU seconds and bytes."""
    work_cpu = lambda row: sum(each["cpu_s"] for each in row["work"])  # noqa: E731
    cases_per_verdict = rows[-1]["cases"] / rows[-1]["verdicts"]
    load = per_more(rows, lambda row: row["list"]["cpu_s"])
    last = rows[-1]
    return {"load_s": load,  # of a verdict that is selected, in every chunk
            "start_s": max(rows[0]["list"]["cpu_s"] - load * rows[0]["verdicts"], 0),
            "judge_s": (work_cpu(last) - CHUNKS_MEASURED * last["list"]["cpu_s"]) / last["verdicts"],
            "plan_s": per_more(rows, lambda row: row["plan"]["cpu_s"]),
            "plan_bytes": per_more(rows, lambda row: row["plan_bytes"]),
            "plan_peak_bytes": per_more(rows, lambda row: row["plan"]["peak_mb"]) * 2**20,
            "results_bytes": per_more(rows, lambda row: row["results_bytes"]),
            "database_bytes": per_more(rows, lambda row: row["database_bytes"]),
            "merge_s": per_more(rows, lambda row: row["merge"]["cpu_s"]),
            "merge_peak_bytes": per_more(rows, lambda row: row["merge"]["peak_mb"]) * 2**20,
            "cases_per_verdict": cases_per_verdict}


def simulate(parts, verdicts, nodes, cores, chunks, failures_per_node_hour, seed=1):
    """Wall time until the last chunk is done, and CPU time spent on loading, judging and what died."""
    draw = random.Random(seed)
    load = parts["start_s"] + parts["load_s"] * verdicts  # on one core, in every chunk
    free = [(0.0, node) for node in range(nodes)]
    heapq.heapify(free)
    waiting = [verdicts / chunks * parts["judge_s"] * draw.uniform(0.9, 1.1) for _ in range(chunks)]
    waiting.sort()  # the longest is taken first
    end = lost = 0.0
    while waiting:
        at, node = heapq.heappop(free)
        judging = waiting.pop()
        takes = load + judging / cores
        dies = draw.expovariate(failures_per_node_hour / 3600) if failures_per_node_hour else float("inf")
        if dies < takes:
            lost += dies * cores
            waiting.append(judging)
            heapq.heappush(free, (at + dies + 300, node))  # the node is back after five minutes
            continue
        end = max(end, at + takes)
        heapq.heappush(free, (at + takes, node))
    return {"chunks": chunks, "work_s": end, "load_s_of_a_chunk": load, "lost_core_h": lost / 3600,
            "ideal_s": verdicts * parts["judge_s"] / nodes / cores}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure")
    one.add_argument("assay")
    one.add_argument("--verdicts", default="1000,10000")
    two = commands.add_parser("simulate")
    two.add_argument("parts")
    two.add_argument("--verdicts", type=int, default=10_000_000)
    two.add_argument("--nodes", type=int, default=1000)
    two.add_argument("--cores", type=int, default=16)
    two.add_argument("--failures", type=float, default=0.01, help="of a node, per hour")
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(arguments.assay, [int(size) for size in arguments.verdicts.split(",")])
        return
    parts = parts_of(json.loads(Path(arguments.parts).read_text()))
    for name, value in parts.items():
        print(f"{name:18} {value:.3g}")
    for verdicts in sorted({10**5, 10**6, arguments.verdicts}):
        print(f"\n{verdicts:,} verdicts on {arguments.nodes} nodes of {arguments.cores} cores: plan {parts['plan_s'] * verdicts:,.0f} s, "
              f"{parts['plan_bytes'] * verdicts / 1e6:,.0f} MB, {parts['plan_peak_bytes'] * verdicts / 1e9:.1f} GB of memory; results "
              f"{parts['results_bytes'] * verdicts / 1e9:,.1f} GB; merge {parts['merge_s'] * verdicts:,.0f} s, "
              f"{parts['merge_peak_bytes'] * verdicts / 1e9:.1f} GB of memory; database {parts['database_bytes'] * verdicts / 1e9:,.1f} GB")
        for factor in [1, 2, 4, 10]:
            row = simulate(parts, verdicts, arguments.nodes, arguments.cores, factor * arguments.nodes, arguments.failures)
            print(f"  {row['chunks']:6} chunks: work {row['work_s']:8.1f} s (judging alone {row['ideal_s']:.1f} s; loading "
                  f"{row['load_s_of_a_chunk']:.1f} s in each chunk; {row['lost_core_h']:.2f} core hours lost)")


if __name__ == "__main__":
    main()
