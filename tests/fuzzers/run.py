#!/usr/bin/env python3
"""Runs the fuzzers: run.py BUILD [TARGET…] [--seconds 5 | --runs N] [--keep] [--jobs 1]

BUILD is the folder of preset `fuzzers`; TARGET a source of this folder without its ending (left out: all). Each goes on
from corpus/TARGET here, what is made from the repository's own files, and what it found in earlier runs, in
BUILD/fuzzing/TARGET. A line for each says how often it ran, the edges that it covers, and how long ago the newest input was
found that covers more. --keep writes the smallest inputs that cover as much back to corpus/TARGET. Exit code 1 where
something crashed, hung or leaked: the input lies in BUILD/fuzzing, and the target's program takes it as its argument.
"""

import argparse
import gzip
import json
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LARGEST = 4096
LIMITS = [f"-max_len={LARGEST}", "-timeout=10", "-rss_limit_mb=2560", "-print_final_stats=1", "-use_value_profile=0"]


def targets():
    return sorted(file.stem for file in HERE.glob("*.cpp") if file.stem != "mutate_message")


def npy(shape, values, kind="<f4"):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}f", *values)


def database():
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "h.db")
        connection = sqlite3.connect(file)
        connection.executescript("PRAGMA page_size=512; PRAGMA user_version=1; CREATE TABLE run(id TEXT PRIMARY KEY);")
        connection.commit()
        connection.close()
        return file.read_bytes()


def small(pattern):
    """The repository's own files of that kind, the smallest first."""
    files = sorted((file for file in ROOT.glob(pattern) if file.stat().st_size <= LARGEST), key=lambda file: file.stat().st_size)
    return [file.read_bytes() for file in files[:60]]


def graphs():
    found = []
    for file in sorted(ROOT.glob("cases/*.json"))[:40]:
        text = json.loads(file.read_text(encoding="utf-8")).get("graph")
        found.append("\n".join([text] if isinstance(text, str) else text).encode() if text else b"")
    return [each for each in found if each]


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
    return {
        "onnx_model": lambda: small("tests/data/**/*.onnx") + small("docs/**/*.onnx"),
        "graph_text": graphs,
        "case_json": lambda: small("cases/**/*.json"),
        "suite_json": lambda: small("suites/*.json"),
        "expression": lambda: [b"$a*$b", b"float[2,$a*2,7] x ${c}y", b"$a//3%2-($b+1)", b"$$", b"$d"],
        "npy": lambda: [array],
        "npz": lambda: [archive_bytes],
        "tensor": lambda: small("tests/data/**/*.pb"),
        "cache": lambda: [b"TRT-8601-EntropyCalibration2\nx: 3c010a14\n", b'{"x": [-1.0, 2.0]}', b"x 1.5\n"] + small("tests/data/**/*.cache"),
        "request": lambda: [json.dumps(ask).encode(), json.dumps({**ask, "do": "execute", "artifact": "a", "inputs": "i"}).encode()],
        "reply": lambda: [json.dumps(said).encode(), json.dumps({"id": 1, "status": "refused", "reason": "r", "node": "n", "op": "O"}).encode()],
        "bundle_json": lambda: small("tests/data/**/bundle.json"),
        "results_file": lambda: [gzip.compress(database()), database()],
        "result_lines": lambda: small("tests/data/**/*.jsonl"),
        "database": lambda: [database()],
    }[target]()


def prepare(target, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(seeds(target)):
        (folder / f"seed-{number}").write_bytes(content[:LARGEST])
    for file in sorted((HERE / "corpus" / target).glob("*")):
        shutil.copy(file, folder / file.name)


def run(target, build, arguments):
    """What happened, as a line, and whether all is well."""
    folder = build / "fuzzing" / target
    prepare(target, folder)
    program = build / "tests" / "fuzzers" / f"fuzz_{target}"
    words = [program, folder, *LIMITS, f"-artifact_prefix={build / 'fuzzing'}/{target}-",
             f"-runs={arguments.runs}" if arguments.runs else f"-max_total_time={arguments.seconds}"]
    dictionary = HERE / f"{target}.dict"
    if dictionary.is_file():
        words.append(f"-dict={dictionary}")
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    ran = re.findall(r"stat::number_of_executed_units: (\d+)", done.stdout)
    lines = re.findall(r"^#(\d+)\s+\w+.*?cov: (\d+)", done.stdout, re.MULTILINE)
    new = re.findall(r"^#(\d+)\s+NEW", done.stdout, re.MULTILINE)
    text = f"{target:<14} {int(ran[0]) if ran else 0:>10} runs  {lines[-1][1] if lines else '?':>6} edges  newest at run {new[-1] if new else 0}"
    if done.returncode == 0:
        return text, True
    report = [line for line in done.stdout.splitlines() if re.search(r"ERROR|SUMMARY|runtime error|Test unit written|#\d+ 0x.*assay", line)]
    return text + f"\n{target}: FAILED, exit status {done.returncode}\n  " + "\n  ".join(report[:14]), False


def keep(target, build):
    """The fewest inputs that cover what all of them do."""
    kept = HERE / "corpus" / target
    with tempfile.TemporaryDirectory() as least:
        subprocess.run([build / "tests" / "fuzzers" / f"fuzz_{target}", "-merge=1", *LIMITS, least, build / "fuzzing" / target],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(least, kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(targets()))
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    chosen = arguments.targets or targets()
    for unknown in set(chosen) - set(targets()):
        parser.error(f"there is no target \"{unknown}\"; there are: {', '.join(targets())}")
    well = True
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for text, good in pool.map(lambda target: run(target, build, arguments), chosen):
            print(text, flush=True)
            well = well and good
    if arguments.keep and well:
        for target in chosen:
            keep(target, build)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
