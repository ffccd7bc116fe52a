"""Converters that misbehave, sixty in a run, each beside cases and a converter that must stay unharmed.

    adapters.py ASSAY [--only PART OF A NAME] [--every N] [--jobs N] [--show]

misbehaving.py has the table. Each converter is given two cases and strikes at one of them, "victim". Asked of each: the
verdict on the victim that EXPECTED names, the right verdict on the other case, and of the run that no verdict is Assay's
own failure, that the embedded converter passes both cases, that it ends in time, and that no process is left. What strikes
before a converter has said what it is ends a run, so each of those is a run of its own, behind which the embedded converter
must pass with the same database."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import misbehaving
from files import CASE
from run import OBEYED, patience

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 2  # for one answer
CRASH, PASS, TIME, FAIL = ("crash",), ("pass",), ("timeout",), ("fail",)
HARMLESS = ("slow but in time", "byte by byte", "blanks around", "unknown keys", "stderr of 64 MiB", "stderr of bytes",
            "a daemon", "50 processes")
TOGETHER = 60  # converters of one run, which are all alive at a time: 60 MB each, with what stands between
HANGS = ("silent", "busy", "drips", "stop", "ignores SIGTERM", "half a line, silent", "stderr without end")
# What an answer becomes; every other one is a crash.
EXPECTED = {
    **{name: PASS for name in HARMLESS},
    **{name: TIME for name in HANGS},
    "memory": ("oom",),
    "exit 137": ("oom",),
    # Read as JSON is: a byte order mark is skipped, the last of two keys counts.
    **{name: PASS for name in ("NUL in a key", "byte order mark", "doubled keys")},
    # A file that is there and no model is a wrong artifact and no breach of the protocol.
    **{f"convert: {name}": FAIL for name in ("a folder", "a FIFO", "a socket", "artifact is the folder", "bytes behind", "garbage",
                                             "cut", "empty", "scale 0", "scale -1", "scale is infinite",
                                             "scale is not a number", "10^6 scales", "an error of 10 MiB")},
    **{f"convert: {name}": PASS for name in ("a name of NUL", "axis 2^62", "tensors twice")},
    **{f"execute: {name}": FAIL for name in ("an output of another name", "error", "missing", "refused")},
    # The artifact is the converter's own: what it does to it once it is judged harms nobody.
    **{f"execute: model {what}": PASS for what in ("deleted", "is a FIFO", "is a folder", "longer",
                                                   "overwritten")},
    "execute: a trace that nobody asked for": PASS,
    # Links are what no converter can make in its sandbox; without one they do no harm.
    "execute: model is a link": CRASH + PASS,
    "execute: output's folder is a link": CRASH,
    # Where the next request is written before it closes: a timeout, and the fresh process answers.
    "convert: closes input": ("crash", "pass"),
    # All has been answered by then. The run says so where another conversion follows in the process.
    **{f"execute: {name}": PASS for name in ("a line after", "answers and exits with 3", "answers and is killed", "closes input")},
    **{f"quit: {deed}": PASS for deed in misbehaving.QUITS},
    "2^33 bytes": ("unsupported",),  # 2^40 are more than the sandbox lets a file have
    "names of bytes": PASS,
    "convert: refused without a reason": ("refused",),
    "convert: unknown precision": ("not-quantized",),
    "500 folders in each other": PASS,
    "10,000 more files": PASS,
    "convert: refused with an artifact": ("refused",),
}


def case(name, tensor):
    text = json.dumps({**CASE, "family": name, "options": {"activation": "int8"}}).replace("a = Conv", f"{tensor} = Conv")
    return text.replace("Relu (a)", f"Relu ({tensor})")


def cells():
    return [(step, deed) for step, deeds in misbehaving.DEEDS.items() for deed in deeds]


def command(assay, cell):
    quoted = [word.replace("\\", "\\\\").replace('"', '\\"') for word in cell]
    return f'python3 {HERE / "misbehaving.py"} {assay} "{quoted[0]}" "{quoted[1]}"'


def run(assay, folder, *words, seconds):
    environment = {**os.environ, "HOME": str(folder), "LC_ALL": "C.UTF-8", "ASSAY_TEST_MARK": folder.name}
    begin = time.monotonic()
    done = subprocess.run([assay, "run", "./victim.json", "./bystander.json", "--options", "default", "--timeout", f"{patience(SECONDS):.0f}",
                           "--memory", "3", *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=patience(seconds), check=False)
    return done, time.monotonic() - begin


def left(folder):
    """Processes that the run left behind, once what is ending has had a moment to end."""
    for _ in range(50):
        if not (found := marked(folder)):
            break
        time.sleep(0.1)
    return found


def marked(folder):
    """Processes whose environment names the run's folder."""
    found = []
    for status in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if folder.name.encode() in status.read_bytes():
                found.append((status.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def make(folder):
    (folder / "victim.json").write_text(case("victim", "victim"), encoding="utf-8")
    (folder / "bystander.json").write_text(case("bystander", "a"), encoding="utf-8")


def describe_faults(assay, cell):
    """One that strikes before it has said what it is: refused with words, and nothing of it stays."""
    found = []
    with tempfile.TemporaryDirectory(prefix="hostile-adapters-") as name:
        folder = pathlib.Path(name)
        make(folder)
        try:
            done, _ = run(assay, folder, "--db", "h.db", "--converter-cmd", command(assay, cell), seconds=500)
        except subprocess.TimeoutExpired:
            return ["more than 500 s"], ""
        said = done.stderr.decode(errors="replace") + done.stdout.decode(errors="replace")
        if done.returncode not in (0, 1, 2, 77):
            found.append(f"exit code {done.returncode}")
        if "harness-error" in said or "internal" in said:
            found.append("counts as Assay's own failure")
        if match := OBEYED.search(said):
            found.append(f"prints {match[0]!r}")
        if processes := left(folder):
            found.append(f"leaves {processes[:2]}")
        healthy, _ = run(assay, folder, "--db", "h.db", "--converter", "embedded", seconds=60)
        if healthy.returncode != 0:
            found.append(f"the embedded converter behind it: {healthy.stdout.decode()[-300:]}")
    return found, f"exit code {done.returncode}: {said[:160]!r}"


def shared_run(assay, chosen, jobs, show):
    bad = []
    with tempfile.TemporaryDirectory(prefix="hostile-adapters-") as name:
        folder = pathlib.Path(name)
        make(folder)
        words = ["--converter", "embedded"]
        for cell in chosen:
            words += ["--converter-cmd", command(assay, cell)]
        done, seconds = run(assay, folder, "--db", "h.db", "--json", "--jobs", str(jobs), *words, seconds=3000)
        try:
            results = json.loads(done.stdout)["results"]
        except ValueError:
            return [f"exit code {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}"]
        verdicts = {(row["converter"], row["case"].split("/")[-1].split(".")[0]): row for row in results}
        if len(results) != 2 * (len(chosen) + 1):
            bad.append(f"{len(results)} verdicts of {2 * (len(chosen) + 1)}")
        for (converter, which), row in sorted(verdicts.items()):
            step, _, deed = converter.partition(": ")
            expected = PASS if converter == "embedded" or which != "victim" else EXPECTED.get(
                f"{step}: {deed}", EXPECTED.get(deed, CRASH))
            if row["verdict"] not in expected:
                bad.append(f"{converter}, {which}: {row['verdict']}, expected {' or '.join(expected)}: {str(row.get('reason'))[:300]}")
            elif show:
                print(f"{converter}, {which}: {row['verdict']}: {str(row.get('reason'))[:150]}")
        if match := OBEYED.search(done.stdout.decode() + done.stderr.decode(errors="replace")):
            bad.append(f"prints {match[0]!r}")
        if processes := left(folder):
            bad.append(f"leaves {len(processes)} processes: {processes[:3]}")
    print(f"{len(chosen)} converters beside the embedded one: {len(results)} verdicts in {seconds:.0f} s")
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1, help="only each N-th")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--show", action="store_true", help="also what is as it should be")
    arguments = parser.parse_args()
    assay = arguments.assay.resolve()
    chosen = [cell for cell in cells() if arguments.only in ": ".join(cell)][::arguments.every]
    if arguments.every > 1:  # a converter has two minutes to say what it is, three times
        chosen = [(step, deed) for step, deed in chosen if step != "describe" or deed not in HANGS]
    bad = []
    early = [cell for cell in chosen if cell[0] == "describe"]
    together = [cell for cell in chosen if cell[0] != "describe"]
    for first in range(0, len(together), TOGETHER):
        found = shared_run(assay, together[first:first + TOGETHER], arguments.jobs, arguments.show)
        bad += found
        print("\n".join(found), flush=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for cell, (found, said) in zip(early, pool.map(lambda each: describe_faults(assay, each), early)):
            if found:
                bad.append(": ".join(cell) + ": " + "; ".join(found) + " | " + said)
                print(bad[-1], flush=True)
            elif arguments.show:
                print(": ".join(cell) + ": " + said)
    print(f"{len(chosen)} misbehaving converters: {len(bad)} faults")
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
