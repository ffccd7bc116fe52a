#!/usr/bin/env python3
"""What the harness adds to the time that a converter takes: `assay run` beside a bare Python loop.

    bench/compare_adapter.py [--converter NAME[@VERSION]] [--program build/release/assay] [--runs 3] [SELECTION …]

The same requests, on the same files, in one sitting. First a run whose adapter keeps a copy of everything that it is
asked; then, in turns, a process that only loads the adapter and answers these requests one after the other, and
`assay run --jobs 1` with the same adapter, which also makes the files, executes the reference, judges and records.
Both are timed from start to end, so that both import the converter; Assay imports it twice, to describe it first.
"""

import argparse
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADAPTERS = ROOT / "converters" / "adapters"


def load_adapter(name):
    """What `adapter.py` of that folder hands to `serve`, and `serve`."""
    sys.path.insert(0, str(ADAPTERS / "common"))
    import assay_protocol
    serve, served = assay_protocol.serve, []
    assay_protocol.serve = served.append
    spec = importlib.util.spec_from_file_location("__main__", ADAPTERS / name / "adapter.py")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return served[0], serve


class Recording:
    """An adapter that copies the files of each request to FOLDER/NUMBER before it answers."""

    def __init__(self, adapter, folder):
        self._adapter, self._folder, self._count = adapter, Path(folder), 0

    def describe(self):
        return self._adapter.describe()

    def _keep(self, request, **paths):
        folder = self._folder / f"{self._count:05}"
        self._count += 1
        folder.mkdir()
        for name, path in paths.items():
            copy = shutil.copytree if Path(path).is_dir() else shutil.copyfile
            copy(path, folder / name)
        (folder / "request.json").write_text(json.dumps(request))

    def convert(self, model, calibration, options, output):
        self._keep({"do": "convert", "options": options}, model=model, calibration=calibration)
        return self._adapter.convert(model, calibration, options, output)

    def execute(self, artifact, inputs, output, *trace):
        self._keep({"do": "execute", "trace": bool(trace)}, artifact=artifact, inputs=inputs)
        return self._adapter.execute(artifact, inputs, output, *trace)


def answer_all(adapter, folder):
    """The bare loop: every request that was kept, in order. A refusal or error is an answer too."""
    with tempfile.TemporaryDirectory() as output, tempfile.TemporaryDirectory() as trace:
        for kept in sorted(Path(folder).iterdir()):
            request = json.loads((kept / "request.json").read_text())
            try:
                if request["do"] == "convert":
                    adapter.convert(str(kept / "model"), str(kept / "calibration"), request["options"], output)
                else:
                    traces = [trace] if request["trace"] else []
                    adapter.execute(str(kept / "artifact"), str(kept / "inputs"), output, *traces)
            except Exception as error:
                print(f"{kept.name}: {error}", file=sys.stderr)


def seconds_of(command, folder):
    environment = {**os.environ, "ASSAY_HOME": str(ROOT)}
    begin = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):  # red verdicts are no matter here
        sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.monotonic() - begin, done.stdout


def compare(arguments):
    name, _, version = arguments.converter.partition("@")
    environments = Path(os.environ.get("ASSAY_VENVS", ROOT / ".assay" / "venvs"))
    python = str(environments / f"{name}-{version}" / "bin" / "python")
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "kept")
        kept.mkdir()
        run = [arguments.program, "run", *arguments.selection, "--jobs", "1", "--json", "--db"]
        record = f"{python} {Path(__file__).resolve()} record {name} {kept}"
        seconds_of([*run, str(Path(folder, "record.db")), "--converter-cmd", record], folder)
        bare, harness = [], []
        for index in range(arguments.runs):
            loop = [python, str(Path(__file__).resolve()), "answer", name, str(kept)]
            bare.append(seconds_of(loop, folder)[0])
            spent, out = seconds_of(
                [*run, str(Path(folder, f"{index}.db")), "--converter", arguments.converter], folder)
            harness.append(spent)
            print(f"bare loop {bare[-1]:.1f} s, assay run {spent:.1f} s", file=sys.stderr)
        planned = json.loads(out)["planned"]
        requests = sum(1 for _ in kept.iterdir())
    ratios = [a / b for a, b in zip(harness, bare)]
    print(json.dumps({
        "converter": arguments.converter, "verdicts": planned, "requests": requests,
        "bare_s": [round(value, 2) for value in bare], "assay_s": [round(value, 2) for value in harness],
        "converter_ms_per_verdict": round(1000 * statistics.median(bare) / planned, 1),
        "ratio": round(statistics.median(ratios), 3)}))


def main():
    if len(sys.argv) == 4 and sys.argv[1] in ("record", "answer"):
        adapter, serve = load_adapter(sys.argv[2])
        return answer_all(adapter, sys.argv[3]) if sys.argv[1] == "answer" else serve(Recording(adapter, sys.argv[3]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("selection", nargs="*", default=[])
    parser.add_argument("--converter", default="onnxruntime@1.23.2", metavar="NAME@VERSION")
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "assay"))
    parser.add_argument("--runs", type=int, default=3)
    compare(parser.parse_args())


if __name__ == "__main__":
    main()
