"""What a run in chunks costs: measured parts on this machine, and a simulation of many machines from them.

usage: cluster_cost.py measure ASSAY SOURCE > parts.json
       cluster_cost.py simulate parts.json [--verdicts 10000000] [--cases 10000] [--nodes 1000] [--cores 16]

`measure` plans, works and merges made-up suites of small cases: few, ten times as many, and ten times as many option sets,
which tells what a case costs from what a verdict does; then suite `default`, whose files aren't all alike. It prints CPU
seconds, the largest process, and bytes. `simulate` draws a cluster from these figures: nodes take chunks one after the
other, the longest first; each chunk starts Assay, loads the suite on one core and judges on all; nodes die at a given rate,
are back after five minutes, and their chunks are begun anew. Then one machine merges.
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
from run import FAMILY  # noqa: E402

SHAPES = [(500, 2), (5000, 2), (500, 20)]  # cases, option sets
CHUNK = 250  # verdicts: as long as it is the same, what grows is the plan


def suite(sets):
    """Option sets that differ: of equal ones a suite keeps one."""
    all_sets = [{"activation": activation, "symmetric": symmetric, "per_axis": per_axis, "method": method}
                for method in ["minmax", "entropy", "percentile", "mse"] for activation in ["int8", "uint8"]
                for symmetric in [False, True] for per_axis in [True, False]]
    return json.dumps({"title": "many", "select": ["*"], "converters": ["embedded"],
                       "option_sets": [{"label": f"set{number}", "options": options}
                                       for number, options in enumerate(all_sets[:sets])]})


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


def measure_one(assay, folder, environment, selection, verdicts):
    run = lambda *words: timed([assay, *words], folder, environment)  # noqa: E731
    chunks = max(verdicts // CHUNK, 1)
    row = {"verdicts": verdicts, "chunks": chunks, "list": run("list", selection, "--json"),
           "plan": run("plan", selection, "--chunks", str(chunks))}
    row["plan_bytes"] = (folder / "plan/plan.jsonl").stat().st_size
    head = json.loads((folder / "plan/plan.jsonl").open().readline())
    row["cases"] = head["items"]
    assert head["planned"] == verdicts, (head["planned"], verdicts)
    row["work"] = [run("work", "plan", str(chunk), "--jobs", "2") for chunk in range(1, chunks + 1)]
    row["work_again"] = run("work", "plan", "1")
    row["results_bytes"] = sum(file.stat().st_size for file in (folder / "plan/results").iterdir())
    row["merge"] = run("merge", "plan", "--db", "merged.db")
    row["database_bytes"] = (folder / "merged.db").stat().st_size
    print(json.dumps(row), file=sys.stderr)
    return row


def measure(assay, source):
    rows = []
    assay = str(Path(assay).resolve())
    for cases, sets in SHAPES:
        with tempfile.TemporaryDirectory(dir=Path(assay).parent) as name:
            folder = Path(name)
            for part in ["cases", "suites"]:
                (folder / part).mkdir()
            (folder / "cases/many.json").write_text(FAMILY % ",".join(map(str, range(1, cases // 2 + 1))))  # two strides
            (folder / "suites/default.json").write_text(suite(sets))
            rows.append(measure_one(assay, folder, {**os.environ, "ASSAY_HOME": name}, "default", cases * sets))
    with tempfile.TemporaryDirectory(dir=Path(assay).parent) as name:
        environment = {**os.environ, "ASSAY_HOME": str(Path(source).resolve())}
        timed([assay, "plan", "default", "--chunks", "1", "--out", "count"], Path(name), environment)
        verdicts = json.loads((Path(name) / "count/plan.jsonl").open().readline())["planned"]
        rows.append(measure_one(assay, Path(name), environment, "default", verdicts))
    print(json.dumps(rows, indent=1))


def parts_of(rows):
    """What one more case and one more verdict cost, in CPU seconds and bytes; a result's bytes are suite default's."""
    few, cases, sets, real = rows

    def split(value):
        verdict = (value(sets) - value(few)) / (sets["verdicts"] - few["verdicts"])
        case = (value(cases) - value(few) - verdict * (cases["verdicts"] - few["verdicts"])) / (cases["cases"] - few["cases"])
        return max(case, 0.0), max(verdict, 0.0)

    work = lambda row: sum(each["cpu_s"] for each in row["work"])  # noqa: E731
    mega = 2**20
    load = split(lambda row: row["list"]["cpu_s"])[0]
    overhead = real["list"]["cpu_s"] * real["chunks"]
    return {"load_s": load, "start_s": max(few["list"]["cpu_s"] - load * few["cases"], 0.0),
            "judge_s": (work(real) - overhead) / real["verdicts"],
            "plan_s": split(lambda row: row["plan"]["cpu_s"]), "plan_bytes": split(lambda row: row["plan_bytes"]),
            "plan_peak": split(lambda row: row["plan"]["peak_mb"] * mega),
            "work_peak": split(lambda row: max(each["peak_mb"] for each in row["work"]) * mega),
            "merge_s": real["merge"]["cpu_s"] / real["verdicts"],
            "merge_peak": split(lambda row: row["merge"]["peak_mb"] * mega),
            "results_bytes": real["results_bytes"] / real["verdicts"],
            "database_bytes": real["database_bytes"] / real["verdicts"]}


def simulate(parts, cases, verdicts, nodes, cores, chunks, failures_per_node_hour, seed=1):
    """Wall time until the last chunk is done, and CPU time spent on loading, judging and what died."""
    draw = random.Random(seed)
    load = parts["start_s"] + parts["load_s"] * cases  # on one core, in every chunk
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
    one.add_argument("source")
    two = commands.add_parser("simulate")
    two.add_argument("parts")
    two.add_argument("--verdicts", type=int, default=10_000_000)
    two.add_argument("--cases", type=int, default=10_000)
    two.add_argument("--nodes", type=int, default=1000)
    two.add_argument("--cores", type=int, default=16)
    two.add_argument("--failures", type=float, default=0.01, help="of a node, per hour")
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(arguments.assay, arguments.source)
        return
    parts = parts_of(json.loads(Path(arguments.parts).read_text()))
    for name, value in parts.items():
        print(f"{name:15}", f"{value[0]:.3g} a case, {value[1]:.3g} a verdict" if isinstance(value, tuple) else f"{value:.3g}")
    cases, verdicts, nodes, cores = arguments.cases, arguments.verdicts, arguments.nodes, arguments.cores
    whole = lambda name: parts[name][0] * cases + parts[name][1] * verdicts  # noqa: E731
    print(f"\n{verdicts:,} verdicts on {cases:,} cases: plan {whole('plan_s'):,.0f} s, {whole('plan_bytes') / 1e6:,.1f} MB, "
          f"{whole('plan_peak') / 1e9:,.1f} GB of memory; results {parts['results_bytes'] * verdicts / 1e9:,.1f} GB; merge "
          f"{parts['merge_s'] * verdicts:,.0f} s, {whole('merge_peak') / 1e9:,.1f} GB of memory; database "
          f"{parts['database_bytes'] * verdicts / 1e9:,.1f} GB")
    for factor in [1, 2, 4, 10]:
        row = simulate(parts, cases, verdicts, nodes, cores, factor * nodes, arguments.failures)
        print(f"  {row['chunks']:6} chunks on {nodes} nodes of {cores} cores: work {row['work_s']:,.1f} s (judging alone "
              f"{row['ideal_s']:,.1f} s; loading {row['load_s_of_a_chunk']:.2f} s in each chunk; {row['lost_core_h']:.2f} core hours lost)")


if __name__ == "__main__":
    main()
