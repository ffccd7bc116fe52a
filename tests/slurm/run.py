"""A plan done by a real Slurm, with one node killed and another stopped meanwhile, against the same run in one process.

usage: run.py ASSAY SOURCE [--verdicts N] [--chunks N] [--keep FOLDER]

Starts a controller and three nodes (cluster.py), submits what `assay plan --slurm` writes, kills node n2 with all that it
runs, stops n3 until its work has gone elsewhere, and lets it go on. Then the merged database has to hold each verdict
once, row for row what `assay run` records: every column of every table, except times and the numbers of rows.
Exit code 77 where there can be no Slurm.
"""
import argparse
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import cluster  # noqa: E402

# Many small cases: copies of a Conv, which differ in their data.
FAMILY = """{ "family": "many", "title": "a Conv, many times", "tags": ["Conv"],
  "matrix": { "stride": [1, 2], "copy": [%s] },
  "graph": ["agraph (float[2,3,9,7] x) => (float[N,5,H,W] y) {",
            "  y = Conv <kernel_shape=[3,2], strides=[$stride,$stride]> (x, w, b)", "}"],
  "opset": 13,
  "initializers": { "w": { "shape": [5, 3, 3, 2], "data": "normal", "spread": { "axis": 0, "ratio": 20 } },
                    "b": { "shape": [5], "data": "normal" } },
  "inputs": { "x": { "data": ["typical", "saturate"], "range": [-3, 2] } },
  "kills": ["bias_dropped"] }"""
# The same without a bias: what drops biases is right on it.
PLAIN = (FAMILY.replace('"family": "many"', '"family": "plain"').replace("(x, w, b)", "(x, w)")
         .replace(""",
                    "b": { "shape": [5], "data": "normal" }""", "").replace("bias_dropped", "zero_point_ignored"))
FAULT = ["--fault", "bias_dropped"]
SUITE = """{ "title": "many", "select": ["*"], "converters": ["embedded"],
  "option_sets": [{ "label": "default", "options": {} }, { "label": "uint8", "options": { "activation": "uint8" } }] }"""

# Of each table: what a row belongs to, and the columns that say when, how long, or which row.
VERDICT = ("SELECT result.id, case_version.name, case_version.hash, options, converter.name, version, converter_version.hash "
           "FROM result JOIN case_version ON case_version.id = case_version_id JOIN converter_version ON "
           "converter_version.id = converter_version_id JOIN converter ON converter.id = converter_id")
CHILDREN = ["finding", "metric", "parameter", "precision", "artifact", "attempt", "coverage", "unjudged", "detail"]
TIMES = {"seconds", "started_at", "finished_at"}
NUMBERS = {"id", "result_id", "run_id", "case_version_id", "converter_version_id", "machine_id", "number", "owner",
           "beats"}


def rows_of(file):
    """Every row of the database that a verdict, job or run is made of, sorted; times and numbers of rows left out."""
    database = sqlite3.connect(file)
    database.row_factory = sqlite3.Row
    keys = {row[0]: tuple(row)[1:] for row in database.execute(VERDICT)}
    rows = {}

    def take(table, key_of):
        rows[table] = sorted((key_of(row), *(f"{name}={row[name]!r}" for name in row.keys()
                                            if name not in TIMES | NUMBERS)) for row in database.execute(f"SELECT * FROM {table}"))

    take("result", lambda row: keys[row["id"]])
    for table in CHILDREN:
        take(table, lambda row: keys[row["result_id"]])
    take("job", lambda row: ())
    take("run", lambda row: ())
    take("machine", lambda row: ())
    take("case_version", lambda row: ())
    return rows


def compare(merged, single):
    """The differences of two databases, at most a few of each table."""
    found = []
    a, b = rows_of(merged), rows_of(single)
    for table in b:
        if a[table] == b[table]:
            print(f"  {table}: {len(b[table])} rows, the same")
            continue
        only_merged, only_single = set(map(str, a[table])) - set(map(str, b[table])), set(map(str, b[table])) - set(map(str, a[table]))
        found.append(f"{table}: {len(a[table])} rows merged, {len(b[table])} in one process; only merged "
                     f"{sorted(only_merged)[:2]}; only in one process {sorted(only_single)[:2]}")
    return found


def make_licensed(folder):
    """A converter that needs a GPU and one of the two licences that the cluster has, and refuses everything."""
    folder.mkdir()
    (folder / "adapter.json").write_text('{"gpu": true, "workers": 2, "licence": "assay_test"}')
    (folder / "c.sh").write_text("""read line
echo '{"id":1,"status":"ok","name":"c","version":"1"}'
id=2
while read line; do echo '{"id":'$id',"status":"refused","reason":"no"}'; id=$((id+1)); done
""")


def submit(slurm, folder, plan):
    call = slurm.call("sh", f"{plan}/slurm/submit.sh", cwd=folder)
    if call.returncode != 0:
        raise SystemExit(f"sbatch refuses {plan}: {call.stdout}{call.stderr}")
    slurm.wait(lambda: not slurm.queue(), 600, f"the jobs of {plan} have ended")
    return [int(word) for word in re.findall(r"\d+", call.stdout)]


def check_licence(slurm, folder, run):
    """What needs a GPU and a licence runs where the one is, and holds the other."""
    run("plan", "many/stride=1,copy=1", "many/stride=2,copy=1", "--chunks", "2", "--out", "licensed_plan", "--slurm", "--db",
        "licensed.db", "--converter-cmd", f"sh {folder}/licensed/c.sh")
    chunks, _ = submit(slurm, folder, "licensed_plan")
    job = slurm.call("scontrol", "show", "job", str(chunks)).stdout
    nodes, licences = set(re.findall(r" NodeList=(\S+)", job)), set(re.findall(r"Licenses=(\S+)", job))
    print(f"with a GPU and a licence: on {nodes}, with {licences}")
    if nodes != {"n3"} or licences != {"assay_test:1"}:
        raise SystemExit("expected node n3, which has the GPU, and licence assay_test:1\n" + job)
    run("merge", "licensed_plan", "--db", "licensed.db", expected=1)  # every refusal is red


def check_pack(slurm, folder, assay, run):
    """Each node unpacks the pack once, whatever number of its tasks starts at a time."""
    environment = {name: value for name, value in os.environ.items() if name != "ASSAY_HOME"}
    home = slurm.environment.pop("ASSAY_HOME")
    for words in [[assay, "pack", "parts", "--converter", "embedded", "--suite", "concat/*", "--level", "1"],
                  ["sh", "parts/part-01/run.sh", "here", "--no-run"],
                  ["here/pack/assay", "plan", "concat/*", "--chunks", "8", "--out", "packed_plan", "--slurm", "--pack", "parts",
                   "--db", "packed.db"]]:
        call = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
        if call.returncode != 0:
            raise SystemExit(f"{words} ended with {call.returncode}: {call.stdout}{call.stderr}")
    submit(slurm, folder, "packed_plan")
    slurm.environment["ASSAY_HOME"] = home
    logs = "".join(file.read_text() for file in (folder / "packed_plan/logs").glob("*.log"))
    used = len(list((folder / "cluster").glob("n*/tmp/assay-*/pack")))
    print(f"pack: unpacked {logs.count('the pack is whole')} times on {used} nodes\n{(folder / 'packed_plan/logs/merge.log').read_text()}")
    if logs.count("the pack is whole") != used or " 0 red" not in logs:
        raise SystemExit("expected each node to unpack once, and all verdicts\n" + logs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("source")
    parser.add_argument("--verdicts", type=int, default=10000)
    parser.add_argument("--chunks", type=int, default=40)
    parser.add_argument("--keep", help="work here and leave everything there")
    arguments = parser.parse_args()
    why = cluster.lacks()
    if why:
        print("skipped: " + why)
        return 77
    folder = Path(arguments.keep or tempfile.mkdtemp(prefix="slurm-", dir=Path(arguments.assay).resolve().parent)).resolve()
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)  # munged wants a socket that every user can reach
    try:
        return check(folder, str(Path(arguments.assay).resolve()), arguments)
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)


def check(folder, assay, arguments):
    for part in ["home/cases", "home/suites"]:
        (folder / part).mkdir(parents=True)
    copies = arguments.verdicts // 4  # two strides, two option sets
    wrong = copies // 10
    (folder / "home/cases/many.json").write_text(FAMILY % ",".join(map(str, range(1, wrong + 1))))
    (folder / "home/cases/plain.json").write_text(PLAIN % ",".join(map(str, range(1, copies - wrong + 1))))
    (folder / "home/suites/default.json").write_text(SUITE)
    os.environ.update(ASSAY_HOME=str(folder / "home"))

    def run(*words, expected=0):
        begun = time.monotonic()
        call = subprocess.run([assay, *words], cwd=folder, capture_output=True, text=True)
        print(f"$ assay {' '.join(words)}   # {time.monotonic() - begun:.1f} s, exit code {call.returncode}\n{call.stdout}{call.stderr}",
              flush=True)
        if call.returncode != expected:
            raise SystemExit(f"expected exit code {expected}")
        return call.stdout

    make_licensed(folder / "licensed")
    # A tenth is red, so that findings and details are compared too.
    run("run", *FAULT, "--db", "single.db", "--quiet", "--jobs", "2", expected=1)
    run("plan", *FAULT, "--chunks", str(arguments.chunks), "--db", "single.db", "--out", "plan", "--slurm")
    # The merge at the end goes into a database of its own.
    script = folder / "plan/slurm/merge.sh"
    script.write_text(script.read_text().replace("single.db", "merged.db"))

    with cluster.Cluster(folder / "cluster") as slurm:
        check_licence(slurm, folder, run)
        check_pack(slurm, folder, assay, run)
        begun = time.monotonic()
        call = slurm.call("sh", "plan/slurm/submit.sh", cwd=folder)
        print(call.stdout + call.stderr)
        done = lambda: len(list((folder / "plan/results").glob("*.jsonl.gz")))  # noqa: E731
        slurm.wait(lambda: done() >= arguments.chunks // 8, 600, "the first chunks are done")
        slurm.wait(lambda: {"n1", "n2", "n3"} <= set(slurm.running()), 600, "every node has work")
        stopped = slurm.nodes["n3"].stop()
        held = slurm.call("squeue", "--noheader", "--nodelist=n3", "--format=%K").stdout.split()
        lost = slurm.call("squeue", "--noheader", "--nodelist=n2", "--format=%K").stdout.split()
        slurm.nodes["n2"].kill()
        print(f"{done()} chunks done; n3 stopped ({stopped} processes) with chunks {held}; n2 killed with chunks {lost}", flush=True)
        if not lost or not held:
            raise SystemExit("the nodes had nothing under way")
        slurm.wait(lambda: slurm.states()["n2"].startswith("down") and slurm.states()["n3"].startswith("down"), 300,
                   "the controller misses both nodes")
        elsewhere = lambda: all((folder / f"plan/results/{int(number):05}.jsonl.gz").exists() for number in held + lost)  # noqa: E731
        slurm.wait(elsewhere, 1800, "what they had is done elsewhere")
        before = {file.name: file.stat().st_mtime_ns for file in (folder / "plan/results").glob("*.jsonl.gz")}
        slurm.nodes["n3"].go_on()
        print(f"{done()} chunks done, with all that the two nodes had; n3 goes on", flush=True)
        slurm.wait(lambda: not slurm.queue(), 3600, "all jobs have ended")
        again = [name for name, at in before.items() if (folder / "plan/results" / name).stat().st_mtime_ns != at]
        print(f"Slurm took {time.monotonic() - begun:.1f} s; written twice after n3 went on: {again or 'none'}")
        print((folder / "plan/logs/merge.log").read_text())

    found = compare(folder / "merged.db", folder / "single.db")
    # Once more changes nothing: a chunk that was done twice, or merged twice, counts once.
    run("work", "plan", "1")
    (folder / "plan/results/00001.jsonl.gz").unlink()
    run("work", "plan", "1")
    if "0 new" not in run("merge", "plan", "--db", "merged.db", expected=1):
        found.append("merging again added something")
    found += compare(folder / "merged.db", folder / "single.db")
    # What can't fail proves nothing: a row that is lost, and one that differs, are seen.
    broken = shutil.copy(folder / "merged.db", folder / "broken.db")
    with sqlite3.connect(broken) as database:
        database.execute("UPDATE verdict SET margin = 0.123 WHERE id = (SELECT min(id) FROM verdict)")
        database.execute("UPDATE verdict_more SET parameters = NULL WHERE id = (SELECT max(result_id) FROM parameter)")
    if len(compare(broken, folder / "single.db")) < 2:
        found.append("the comparison doesn't see a changed margin and lost parameters")
    for each in found:
        print("DIFFERS: " + each)
    print("FAILED" if found else "the merged database equals the single process's")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
