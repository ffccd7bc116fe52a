"""onnxsim's `quant_verify` and `quant_int_verify` beside Assay, over every fault and correct variant of the embedded converter.

`verify()` bounds |quantized − float| for every input in a box, here that of the calibration data and of the data set
"typical". A bound is no verdict. Made one: it is red where it is more than RATIO times that of the conversion without the
fault, or isn't finite. The ratio is the least at which no correct variant is red, found from the same run. `verify_model()`
reads the same conversions in QOperator format; it is red where something is refuted that it doesn't refute without the fault.

A fault is tried on the case that claims it and has the fewest nodes; faults that an artifact can't show (how the engine
computes, what a cache or a message says) leave it as it is bit for bit and are counted apart.

Usage: PYTHON bench/compare_quant_verify.py [--assay ./assay] [--seconds 20] [--json FILE], with the Python of an
environment that has onnxsim 0.8.1. Half an hour on two cores.
"""

import argparse
import json
import math
import multiprocessing
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import onnx
from onnx import numpy_helper
from onnxsim.quant_int_verify import REFUTED, verify_model
from onnxsim.quant_verify import verify

MEMORY = 6 << 30
# Correct ways to convert, which the artifact shows. Those to compute leave it as it is.
VARIANTS = {"per_tensor": {"per_axis": False}, "uint8": {"activation": "uint8"}, "int8_symmetric": {"symmetric": True},
            "uint8_symmetric": {"activation": "uint8", "symmetric": True}, "percentile": {"method": "percentile"},
            "entropy": {"method": "entropy"}, "mse": {"method": "mse"}}
VARIANT_CASES = 8


def within(seconds, function):
    """(what function() returns or None, seconds, why not), from a process of its own: NumPy hears no signal"""

    def answer(end):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        try:
            end.send((function(), ""))
        except Exception as error:  # whatever it ends with on a model is what is to be counted
            end.send((None, f"{type(error).__name__}: {str(error)[:100]}"))

    begin = time.perf_counter()
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=answer, args=(theirs,))
    process.start()
    theirs.close()
    try:
        found, why = ours.recv() if ours.poll(seconds) else (None, "no end in time")
    except EOFError:
        found, why = None, "the process ended"
    process.kill()
    process.join()
    return found, time.perf_counter() - begin, why


def tensors(folder):
    loaded = [onnx.load_tensor(file) for file in sorted(folder.glob("*.pb"))]
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in loaded}


def refuted(report):
    return sorted({each.kind for layer in report.layers for each in layer.findings if each.verdict == REFUTED})


class Bench:
    def __init__(self, assay, seconds):
        self.assay, self.seconds, self.known = assay, seconds, {}

    def conversion(self, case, options, fault):
        """One conversion: its artifact's bytes, the certified bound, what is refuted, and Assay's verdict."""
        key = case, json.dumps(options), fault
        if key not in self.known:
            with tempfile.TemporaryDirectory() as place:
                self.known[key] = self.judge(case, options, fault, Path(place, "bundle"))
        return self.known[key]

    def judge(self, case, options, fault, folder):
        # An option set of the case's own options and these.
        asked = [case, "--options", json.dumps(options), *(["--fault", fault] if fault else [])]
        begin = time.perf_counter()
        subprocess.run([self.assay, "bundle", asked[0], folder, *asked[1:]], capture_output=True, check=False)
        took = time.perf_counter() - begin
        told = folder / "bundle.json"
        verdict = json.loads(told.read_text())["verdict"]["verdict"] if told.exists() else "none"
        out = {"verdict": verdict, "assay_s": took, "bytes": b"", "bound": math.nan, "s": 0.0, "why": "no artifact", "refuted": None}
        artifact = folder / "artifact" / "model.onnx"
        if not artifact.exists():
            return out
        out["bytes"] = artifact.read_bytes()
        try:
            model, quantized, box = onnx.load(folder / "model.onnx"), onnx.load(artifact), self.box(folder)
        except Exception as error:  # a case of broken files, or an artifact that isn't one
            out["why"] = f"files: {type(error).__name__}"
            return out
        if options.get("format") != "qoperator":
            report, out["s"], out["why"] = within(self.seconds, lambda: float(verify(model, quantized, box, breakdown=False).worst))
            if report is not None:
                out["bound"] = report
            return out
        # With the float model it ends in an error on weights with a scale for each channel: then without.
        out["why"] = ""
        for reference in (model, None):
            out["refuted"], _, why = within(self.seconds, lambda: refuted(verify_model(quantized, reference, box)))
            out["why"] = out["why"] or why
            if out["refuted"] is not None:
                break
        return out

    @staticmethod
    def box(folder):
        fed = [*map(tensors, sorted((folder / "calibration").rglob("0*"))), tensors(folder / "inputs" / "typical")]
        fed = [each for each in fed if each]
        return {name: (min(float(each[name].min()) for each in fed if name in each),
                       max(float(each[name].max()) for each in fed if name in each)) for name in fed[-1]}


def ratio(found, plain):
    """How much the bound has grown; None where there is none to compare."""
    if math.isnan(found["bound"]) or not plain["bound"] < math.inf or plain["bound"] == 0:
        return None
    return found["bound"] / plain["bound"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default="./assay")
    parser.add_argument("--seconds", type=int, default=20, help="for each call of verify()")
    parser.add_argument("--json", help="every conversion")
    arguments = parser.parse_args()
    asked = subprocess.run([arguments.assay, "list", "default", "--json"], capture_output=True, text=True, check=True).stdout
    cases = sorted(json.loads(asked)["cases"], key=lambda case: (len(case["operators"]), case["case"]))
    claims = {}
    for case in cases:
        for fault in case["kills"]:
            claims.setdefault(fault, case["case"])
    bench, rows = Bench(arguments.assay, arguments.seconds), []

    def note(kind, what, case, options, found, plain):
        row = {"kind": kind, "what": what, "case": case, "options": options, "same_artifact": found["bytes"] == plain["bytes"],
               "ratio": ratio(found, plain), "plain": {**plain, "bytes": len(plain["bytes"])}, "found": {**found, "bytes": len(found["bytes"])}}
        rows.append(row)
        print(f"{kind} {what} {case}: {found['verdict']}, bound {found['bound']:.3g} of {plain['bound']:.3g} {found['why']} "
              f"{found['refuted'] or ''}", flush=True)

    for fault, case in sorted(claims.items()):
        for options in ({}, {"format": "qoperator"}):
            note("fault", fault, case, options, bench.conversion(case, options, fault), bench.conversion(case, options, None))
    for case in sorted(set(claims.values()))[:: max(1, len(set(claims.values())) // VARIANT_CASES)]:
        for name, options in VARIANTS.items():
            note("variant", name, case, options, bench.conversion(case, options, None), bench.conversion(case, {}, None))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1))
    summarize(rows)


def summarize(rows):
    plain_rows = [row for row in rows if row["kind"] == "fault" and not row["options"]]
    variants = [row["ratio"] for row in rows if row["kind"] == "variant" and row["ratio"] is not None]
    limit = max(variants)
    shown = [row for row in plain_rows if not row["same_artifact"] and row["found"]["bytes"]]
    red = [row["what"] for row in shown if row["ratio"] is not None and row["ratio"] > limit]
    without = [row["what"] for row in shown if row["ratio"] is None]
    integer = [row for row in rows if row["kind"] == "fault" and row["options"]]
    more = [row["what"] for row in integer if set(row["found"]["refuted"] or []) - set(row["plain"]["refuted"] or [])]
    by_assay = sum(row["found"]["verdict"] in ("fail", "not-quantized", "crash", "refused") for row in plain_rows)
    tried = [row["found"] for row in plain_rows if row["found"]["bytes"]]
    print(f"\nfaults {len(plain_rows)}, red by Assay {by_assay}; the artifact shows {len(shown)}")
    print(f"variants {len(variants)}: the bound grows {median(variants):.2f} times in the median, {limit:.2f} at most")
    print(f"red by a bound that grows more: {len(red)} {red}")
    print(f"no bound: {len(without)} {without}")
    print(f"refuted with the fault alone (QOperator): {len(more)} {more}; read {sum(row['found']['refuted'] is not None for row in integer)}")
    print(f"seconds: verify {median(each['s'] for each in tried):.2f} in the median, {max(each['s'] for each in tried):.1f} at most; "
          f"Assay {median(each['assay_s'] for each in tried):.2f}, {max(each['assay_s'] for each in tried):.1f}")


if __name__ == "__main__":
    main()
