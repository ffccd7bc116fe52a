#!/usr/bin/env python3
"""Runs the fuzzers: run.py BUILD [TARGET…] [--seconds 5 | --runs N | --each N --total N] [--keep] [--jobs 1] [--seed N]

BUILD is the folder of preset `fuzzers`; TARGET a source of targets/ without its ending (left out: all). Each goes on
from corpus/TARGET here, what is made from the repository's own files, and what it found in earlier runs, in
BUILD/fuzzing/TARGET. A line for each says how often it ran in all runs together, the edges that it covers, and how long it has
run since it covered a new one. --each and --total go on until each target ran so often and all together so often; targets whose
coverage still grows are given half of the time. --keep writes the fewest inputs that cover as much back to corpus/TARGET, and
what all runs did to record.json, from which a new machine goes on. --seed makes the same inputs at every call, as far as the
time allows. Exit code 1 where something crashed, hung or leaked: the input lies in BUILD/fuzzing, and the target's program
takes it as its argument.
"""

import argparse
import gzip
import importlib
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LARGEST, LARGEST_OF = 4096, {"bundle_json": 1 << 13, "database": 1 << 16, "expression": 256, "results_file": 1 << 14}
# Freed memory stays in the processor's caches; who allocated what, a single run of the input tells. A quarter faster.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "malloc_context_size=0:quarantine_size_mb=1:max_malloc_fill_size=0"}
# Entropic scheduling counts every feature of every run: half of all time, and up to three quarters.
LIMITS = ["-timeout=25", "-rss_limit_mb=2560", "-print_final_stats=1", "-print_funcs=0", "-entropic=0", "-reload=0"]
SLICE_SECONDS = 60
KEPT_BYTES = 80_000  # of each target, the smallest inputs first
GROWING_SECONDS = 120  # of a target's own time without a new edge: its curve counts as flat
# The readers whose words are a target's dictionary, beside those of dictionaries/.
JSON = ["dictionaries/json.dict"]
WORDS = {
    "bundle_json": (JSON, ["harness/bundles/bundle.cpp"]),
    "cache": (JSON, ["converters/calibration_table*.cpp"]),
    "case_json": (JSON, ["harness/corpus/*.cpp"]),
    "expression": (["dictionaries/expression.dict"], []),
    "graph_text": ([], ["tests/fuzzers/targets/graph_text.cpp", "harness/judge/evidence/operators.cpp"]),
    "onnx_model": ([], ["harness/judge/artifact/*.cpp"]),
    "reply": (JSON, ["converters/protocol/*.cpp", "converters/protocol/*.hpp", "converters/policy.hpp"]),
    "request": (JSON, ["converters/protocol/*.cpp", "converters/protocol/*.hpp"]),
    "result_lines": (JSON, ["results/exchange*.cpp", "results/rows*.cpp"]),
    "suite_json": (JSON, ["harness/corpus/suite*.cpp"]),
}


def largest(target):
    return LARGEST_OF.get(target, LARGEST)


def targets():
    return sorted(file.stem for file in (HERE / "targets").glob("*.cpp"))


def npy(shape, values, kind="<f4"):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}f", *values)


def migrations():
    """The steps of a database's schema that are SQL, as results/migrations.cpp has them: up to 14."""
    source = (ROOT / "results/migrations.cpp").read_text(encoding="utf-8")
    named = dict(re.findall(r'(k\w+) = R"sql\((.*?)\)sql"', source, re.DOTALL))
    steps = source[source.index("kSteps[]{"):]
    return [sql or named[name] for sql, name in re.findall(r'R"sql\((.*?)\)sql"|^    (k\w+),$', steps, re.DOTALL | re.MULTILINE)]


def database():
    """A results database of this project's with one verdict left in it, of schema 14, the newest that SQL alone makes: more
    steps of migration would take ten times as long as all reading."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "h.db")
        file.write_bytes(gzip.decompress((ROOT / "docs/examples/onnxruntime-five-families.db.gz").read_bytes()))
        connection = sqlite3.connect(file)
        connection.executescript("PRAGMA journal_mode=DELETE")
        connection.executescript("DELETE FROM job WHERE case_name > (SELECT min(case_name) FROM job); "
                                 "DELETE FROM result WHERE id > (SELECT min(id) FROM result)")
        for table in ("finding", "precision", "artifact"):
            connection.execute(f"DELETE FROM {table} WHERE result_id NOT IN (SELECT id FROM result)")
        connection.commit()
        steps = migrations()
        for number in range(connection.execute("PRAGMA user_version").fetchone()[0], len(steps)):
            connection.executescript(f"{steps[number]}; PRAGMA user_version={number + 1}")
        connection.executescript("PRAGMA page_size=512; VACUUM")
        connection.close()
        return file.read_bytes()


def crafted(module):
    """A module of tests/hostile."""
    folder = str(HERE.parent / "hostile")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(module)


def models():
    """The models that tests/hostile starts from, and one of each operator and form."""
    made, encode = crafted("models"), crafted("wire").encode
    bases = (made.convolution, made.quantized, made.branches, made.constants)
    names = re.findall(r"^\| ([A-Za-z.]+) \| \d", (ROOT / "docs/operators.md").read_text(encoding="utf-8"), re.MULTILINE)
    return ([encode(base(opset, ir)) for base in bases for opset, ir in ((13, 7), (21, 10))] +
            [row.files["m.onnx"] for row in made.operators(names)][::7])


def small(pattern):
    """The repository's own files of that kind, the smallest first."""
    files = sorted((file for file in ROOT.glob(pattern) if file.stat().st_size <= LARGEST), key=lambda file: file.stat().st_size)
    return [file.read_bytes() for file in files[:60]]


def graphs():
    """The graphs of all cases."""
    found = []
    waiting = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(ROOT.glob("cases/*.json"))]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(graph := value.get("graph"), (str, list)):
                found.append((graph if isinstance(graph, str) else "\n".join(map(str, graph))).encode())
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found


def seeds(target):
    """Inputs to begin with."""
    array = npy((2, 2, 3), range(12))
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        with zipfile.ZipFile(file.name, "w") as archive:
            archive.writestr("x.npy", array)
            archive.writestr("i.npy", npy((2, 2), [0, 1, 2, 3], "<i8") + bytes(16))
        archive_bytes = Path(file.name).read_bytes()
    ask = {"protocol": 1, "id": 1, "do": "convert", "model": "m", "calibration": "c", "options": {"method": "minmax"}, "output": "o"}
    said = {"id": 1, "status": "ok", "name": "n", "version": "1", "supports": {"operators": ["Conv"]}, "policy": {"bias": "float"},
            "artifact": "a", "tensors": [{"name": "x", "scale": [0.5], "zero_point": [0], "type": "int8", "axis": None}],
            "precision": [{"node": "n", "op": "Conv", "got": "int8"}], "cache": "c", "diagnostics": ["d"]}
    key = {"case": "c", "options": "default", "converter": "n", "version": "1", "converter_hash": "h"}
    params = {"scale": [0.5], "zero_point": [0], "type": "int8", "axis": None}
    lines = [{"kind": "run", "format": 2, "id": "r", "command": "run", "started_at": "2026-01-01T00:00:00Z", "planned": 2, "cpu": "x"},
             {"kind": "job", **key, "state": "done"}, {"kind": "job", **key, "case": "d", "state": "waiting"},
             {"kind": "result", **key, "family": "c", "verdict": "fail", "gate": "red", "stage": "artifact", "facet": "scale",
              "margin": "Infinity", "findings": [{"stage": "artifact", "facet": "scale", "tensor": "y", "margin": 2}],
              "metrics": [{"tensor": "y", "data_set": "t", "name": "sqnr", "value": 40.5}], "attempts": [{"request": "convert"}],
              "parameters": [{"tensor": "y", "params": params}], "precision": [{"node": "n", "op": "Conv", "got": "int8"}],
              "expectation": {"case_pattern": "c", "reason": "r"}, "coverage": [{"op": "Conv", "nodes": 1, "judged": 1}]},
             {"kind": "anchor", **key, "accepted_at": "2026-01-01T00:00:00Z", "reason": "r", "repeats": 3}]
    return {
        "onnx_model": lambda: small("tests/data/**/*.onnx") + models(),
        "graph_text": graphs,
        "case_json": lambda: small("cases/**/*.json"),
        "suite_json": lambda: small("suites/*.json"),
        "expression": lambda: [b"$a*$b", b"float[2,$a*2,7] x ${c}y", b"$a//3%2-($b+1)", b"$$", b"$d"],
        "npy": lambda: [array],
        "npz": lambda: [archive_bytes],
        "tensor": lambda: [crafted("wire").encode(crafted("wire").floats("x", [1, 3, 4, 4])),
                           crafted("wire").encode(crafted("wire").tensor("i", [2], bytes(16), 7))],
        "cache": lambda: [b"TRT-8601-EntropyCalibration2\nx: 3c010a14\n", b'{"x": [-1.0, 2.0]}', b"x 1.5\n"] + small("tests/data/**/*.cache"),
        "request": lambda: [json.dumps(ask).encode(), json.dumps({**ask, "do": "execute", "artifact": "a", "inputs": "i"}).encode()],
        "reply": lambda: [json.dumps(said).encode(), json.dumps({"id": 1, "status": "refused", "reason": "r", "node": "n", "op": "O"}).encode()],
        "bundle_json": lambda: small("tests/data/**/bundle.json"),
        "results_file": lambda: [gzip.compress(database())],
        "result_lines": lambda: ["\n".join(map(json.dumps, lines)).encode()],
        "database": lambda: [database()],
    }[target]()


def prepare(target, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(seeds(target)):
        (folder / f"seed-{number}").write_bytes(content[:largest(target)])
    for file in sorted((HERE / "corpus" / target).glob("*")):
        shutil.copy(file, folder / file.name)


def dictionary(target, build):
    """libFuzzer's option of the words that the target's readers compare with."""
    kept, readers = WORDS.get(target, ([], []))
    lines = [line for file in kept for line in (HERE / file).read_text(encoding="utf-8").splitlines()]
    sources = [file.read_text(encoding="utf-8") for pattern in readers for file in sorted(ROOT.glob(pattern))]
    words = {word for source in sources for word in re.findall(r'(?<!include )"([A-Za-z_][A-Za-z0-9_.]{1,30})"', source)}
    lines += [f'"{word}"' for word in sorted(words)]
    if not lines:
        return []
    file = build / "fuzzing" / f"{target}.dict"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [f"-dict={file}"]


class Record:
    """What each target has done in all runs together, in BUILD/fuzzing/record.json; on a new machine it goes on from KEPT."""

    KEPT = HERE / "record.json"

    def __init__(self, build):
        self.file = build / "fuzzing" / "record.json"
        found = next((file for file in (self.file, self.KEPT) if file.is_file()), None)
        self.of = json.loads(found.read_text(encoding="utf-8")) if found else {}

    def target(self, name):
        return self.of.setdefault(name, {"runs": 0, "seconds": 0.0, "edges": 0, "newest_edge_at": 0.0})

    def save(self):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.of, indent=1, sort_keys=True) + "\n", encoding="utf-8")

    def keep(self):
        """For the repository: the time in whole seconds."""
        kept = {name: {key: round(value) for key, value in row.items()} for name, row in self.of.items()}
        self.KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")

    def text(self, name):
        row = self.target(name)
        flat = row["seconds"] - row["newest_edge_at"]
        rate = row["runs"] / row["seconds"] if row["seconds"] else 0
        return (f"{name:<14} {row['runs']:>10} runs in {row['seconds']:>6.0f} s ({rate:>6.0f}/s)  "
                f"{row['edges']:>6} edges, the newest {flat:.0f} s ago")


def run(target, build, record, seconds=0, runs=0, seed=0):
    """What happened, as a line, and whether all is well."""
    folder = build / "fuzzing" / target
    prepare(target, folder)
    program = build / "tests" / "fuzzers" / f"fuzz_{target}"
    words = [program, folder, f"-max_len={largest(target)}", *LIMITS, f"-artifact_prefix={build / 'fuzzing'}/{target}-", *dictionary(target, build),
             f"-seed={seed}", f"-runs={runs}" if runs else f"-max_total_time={seconds}"]
    row = record.target(target)
    said = []
    begin = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          env=ENVIRONMENT) as process:
        for line in process.stdout:
            said.append(line)
            if match := re.match(r"#\d+\s+\w+.*?cov: (\d+)", line):
                if int(match[1]) > row["edges"]:
                    row["edges"] = int(match[1])
                    row["newest_edge_at"] = row["seconds"] + time.monotonic() - begin
    row["seconds"] += time.monotonic() - begin
    ran = re.findall(r"stat::number_of_executed_units: (\d+)", "".join(said))
    row["runs"] += int(ran[0]) if ran else 0
    record.save()
    if process.returncode == 0:
        return record.text(target), True
    report = [line.rstrip() for line in said if re.search(r"ERROR|SUMMARY|runtime error|Test unit written|#\d+ 0x.*assay", line)]
    return record.text(target) + f"\n{target}: FAILED, exit status {process.returncode}\n  " + "\n  ".join(report[:14]), False


def next_slice(chosen, record, arguments, turn):
    """The target that runs next; None where enough was run."""
    rows = {name: record.target(name) for name in chosen}
    few = [name for name in chosen if rows[name]["runs"] < arguments.each]
    if few:
        return min(few, key=lambda name: rows[name]["seconds"])
    if sum(row["runs"] for row in rows.values()) >= arguments.total:
        return None
    growing = [name for name in chosen if rows[name]["seconds"] - rows[name]["newest_edge_at"] < GROWING_SECONDS]
    if growing and turn % 2 == 0:
        return min(growing, key=lambda name: rows[name]["seconds"])
    return max(chosen, key=lambda name: rows[name]["runs"] / rows[name]["seconds"])


def keep(target, build):
    """The fewest inputs that cover what all of them do."""
    kept = HERE / "corpus" / target
    with tempfile.TemporaryDirectory() as least:
        subprocess.run([build / "tests" / "fuzzers" / f"fuzz_{target}", "-merge=1", "-use_counters=0",
                        f"-max_len={largest(target)}", *LIMITS, least, build / "fuzzing" / target],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        kept.mkdir(parents=True, exist_ok=True)
        for file in kept.iterdir():
            if not file.name.startswith("found-"):  # what once found something stays
                file.unlink()
        room = KEPT_BYTES
        for file in sorted(Path(least).iterdir(), key=lambda each: (each.stat().st_size, each.name)):
            room -= file.stat().st_size
            if room >= 0:
                shutil.copy(file, kept / file.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(targets()))
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--each", type=int, default=0)
    parser.add_argument("--total", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--seed", type=int, default=0, help="0: another one at every call")
    arguments = parser.parse_intermixed_args()
    build = arguments.build.resolve()
    chosen = arguments.targets or targets()
    for unknown in set(chosen) - set(targets()):
        parser.error(f"there is no target \"{unknown}\"; there are: {', '.join(targets())}")
    record = Record(build)
    well = True
    if arguments.each or arguments.total:
        turn = 0
        while well and (target := next_slice(chosen, record, arguments, turn)):
            text, well = run(target, build, record, seconds=SLICE_SECONDS, seed=arguments.seed)
            print(text, flush=True)
            turn += 1
    else:
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for text, good in pool.map(lambda each: run(each, build, record, arguments.seconds, arguments.runs, arguments.seed), chosen):
                print(text, flush=True)
                well = well and good
    if arguments.keep and well:
        for target in chosen:
            keep(target, build)
        record.keep()
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
