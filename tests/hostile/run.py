"""Gives the program crafted inputs, and asks of each: an exit code that it may have, within its time, no signal, and
nothing on the terminal that only a terminal would obey.

    run.py ASSAY [--group GROUP] [--only PART OF A NAME] [--every N] [--jobs N] [--keep FOLDER]"""

import argparse
import concurrent.futures
import math
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import files
import models
import odd
import wire
from table import Copy, Fifo, Link, Sparse

MEMORY = 12 << 30
# What a terminal obeys: control characters, escape sequences, and characters that turn the direction of writing.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]")
FORGED = re.compile("^2382 planned", re.MULTILINE)


def make(folder, name, content, shared):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() or path.is_symlink():
        path.unlink()
    if isinstance(content, Copy):
        source = shared / content.of
        shutil.copytree(source, path) if source.is_dir() else shutil.copy(source, path)
    elif isinstance(content, Link):
        path.symlink_to(content.to)
    elif isinstance(content, Sparse):
        with open(path, "wb") as file:
            file.truncate(content.size)
    elif isinstance(content, Fifo):
        os.mkfifo(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def patience(seconds):
    """The time for what takes so long on an idle machine: this one may have other things to do."""
    running = int(pathlib.Path("/proc/loadavg").read_text(encoding="ascii").split()[3].split("/")[0])
    return seconds * min(20, max(1, 2 * running / os.cpu_count()))


def faults(row, assay, shared, keep):
    """What is wrong with one row, and the seconds that it took."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hostile-"))
    for name in sorted(shared.iterdir()):
        (folder / name.name).symlink_to(name)
    for name, content in row.files.items():
        make(folder, name, content, shared)
    command = [str(assay) if word == "ASSAY" else word for word in row.command]
    # Nothing of the user's, and no colours.
    # A home elsewhere: what lies in one can't be read by a converter.
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "LC_ALL": "C.UTF-8"}
    (folder / "home").mkdir()
    environment.update({k: os.environ[k] for k in ("ASSAY_HOME", "TMPDIR") if k in os.environ})
    found = []
    begin = time.monotonic()
    limit = patience(row.seconds)
    try:
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=limit, preexec_fn=limit_memory, check=False)
        output, code = done.stdout + done.stderr, done.returncode
        if code not in row.codes:
            found.append(f"exit code {code}, allowed {list(row.codes)}" if code >= 0 else f"signal {-code}")
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"") + (late.stderr or b"")
        found.append(f"more than {limit:.0f} s")
    seconds = time.monotonic() - begin
    text = output.decode(errors="replace")
    if "\ufffd" in text and b"\xef\xbf\xbd" not in output:
        found.append("prints bytes that are no UTF-8")
    if match := OBEYED.search(text):
        found.append(f"prints {match[0]!r}")
    if FORGED.search(text):
        found.append("prints a forged line")
    if "process that judges ended with signal" in text:
        found.append("kills the process that judges")
    if "it never said what it is" in text and "Permission denied" in text:
        found.append("the sandbox kept its converter from what it was to try")
    if row.says and row.says not in text:
        found.append(f"doesn't say {row.says!r}")
    if row.lacks and (row.lacks in text or (folder / row.lacks).exists()):
        found.append(f"shows or made {row.lacks!r}")
    if found:
        shown = OBEYED.sub("?", text.replace("\n", "\n      "))
        found.append(f"      {' '.join(command)[:300]}\n      " + (shown if len(shown) < 600 else shown[:300] + " … " + shown[-300:]))
        if keep:
            shutil.copytree(folder, keep / re.sub("[^A-Za-z0-9.]+", "_", row.name)[:100], symlinks=True, dirs_exist_ok=True)
    shutil.rmtree(folder)
    return found, seconds


def make_shared(assay, folder):
    """A good model, its data, its artifact and what the program makes of them, that rows need beside what is bad."""
    (folder / "good.onnx").write_bytes(wire.encode(models.convolution()))
    for name, shape in (("good", (2, 1, 3, 4, 4)), ("x4", (1, 4)), ("x6", (1, 6)), ("x1", (1, 1)), ("x1x4", (2, 1, 4))):
        floats = files.some_floats(math.prod(shape))
        (folder / (name + ".npz")).write_bytes(files.npz({"x": files.npy(shape, floats)}))
    (folder / "good_q.onnx").write_bytes(wire.encode(models.quantized()))
    data = ["--calibration", "good.npz"]
    for words in (["bundle", "good.onnx", "good_bundle", *data], ["check", "good.onnx", *data, "--db", "good.db"],
                  ["export-results", "good.results.gz", "--db", "good.db"]):
        subprocess.run([assay, *words], cwd=folder, check=False, capture_output=True)
    shutil.copy(folder / "good_bundle" / "artifact" / "calibration.cache", folder / "good.cache")


def operator_names(assay):
    page = subprocess.run([assay, "doctor", "--operators"], capture_output=True, text=True, check=True).stdout
    return [match[1] for match in re.finditer(r"^\| ([A-Za-z.]+) \| \d", page, re.MULTILINE)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay", type=pathlib.Path)
    parser.add_argument("--group", action="append", choices=("models", "files", "odd"))
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1, help="only each N-th row, and all that were made by hand")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    assay = arguments.assay.resolve()
    groups = arguments.group or ["models", "files", "odd"]
    bad, slowest = 0, []
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        shared = pathlib.Path(name)
        make_shared(assay, shared)
        rows = []
        if "models" in groups:
            rows += models.rows(operator_names(assay))
        if "files" in groups:
            rows += files.rows(shared)
        if "odd" in groups:
            rows += odd.rows()
        rows = [row for row in rows if arguments.only in row.name]
        rows = [row for index, row in enumerate(rows) if row.says or row.lacks or row.seconds > 20 or
                index % arguments.every == 0]
        names = [row.name for row in rows]
        if len(set(names)) != len(names):
            sys.exit("two rows have one name: " + ", ".join(sorted({n for n in names if names.count(n) > 1})[:5]))
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            work = lambda row: faults(row, assay, shared, arguments.keep)
            for row, (found, seconds) in zip(rows, pool.map(work, rows)):
                slowest.append((seconds, row.name))
                if found:
                    bad += 1
                    print(f"{row.name}: " + "; ".join(found[:-1]) + "\n" + found[-1].rstrip(), flush=True)
    print("slowest: " + ", ".join(f"{name} {seconds:.1f} s" for seconds, name in sorted(slowest)[:-4:-1]))
    print(f"{len(rows)} crafted inputs: {len(rows) - bad} as they should be, {bad} not")
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
