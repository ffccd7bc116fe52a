"""Assay beside the usual Python flow, on the same models and data in one run.

The Python flow is what people write by hand: quantize_static with the calibration batches, one session on the float
model, one on the quantized model, and a comparison of the outputs. Both are warm: imports, sessions of other models and
worker processes are paid for before the clock starts.

Usage: compare_onnxruntime.py BUILD/bench/assay_bench [--rounds N]
Needs onnxruntime, onnx and numpy in the Python that runs it (./assay converters install onnxruntime makes one).
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "trt861"


class Batches(CalibrationDataReader):
    def __init__(self, arrays):
        count = len(next(iter(arrays.values())))
        self.items = iter([{name: array[i] for name, array in arrays.items()} for i in range(count)])

    def get_next(self):
        return next(self.items, None)


def python_verdict(model, arrays, folder):
    """One conversion and comparison; the worst SQNR over four inputs, as Assay judges four."""
    quantized = folder / "quantized.onnx"
    quantize_static(str(model), str(quantized), Batches(arrays), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)
    providers = ["CPUExecutionProvider"]
    reference = ort.InferenceSession(str(model), providers=providers)
    session = ort.InferenceSession(str(quantized), providers=providers)
    worst = float("inf")
    for i in range(min(4, len(next(iter(arrays.values()))))):
        feed = {name: array[i] for name, array in arrays.items()}
        for want, got in zip(reference.run(None, feed), session.run(None, feed)):
            noise = float(((want - got) ** 2).sum())
            if noise > 0:
                worst = min(worst, 10 * np.log10(float((want ** 2).sum()) / noise))
    return worst


def time_python(model, rounds):
    arrays = dict(np.load(model.with_name(model.stem + ".calibration.npz")))
    with tempfile.TemporaryDirectory() as folder:
        python_verdict(model, arrays, pathlib.Path(folder))
        times = []
        for _ in range(rounds):
            begin = time.perf_counter()
            python_verdict(model, arrays, pathlib.Path(folder))
            times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3


def time_assay(program):
    output = subprocess.run([program, "--benchmark_filter=^verdict/", "--benchmark_format=json"], check=True,
                            capture_output=True, text=True).stdout
    return {entry["name"].split("/")[1]: entry["real_time"] for entry in json.loads(output)["benchmarks"]
            if "error_occurred" not in entry}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    assay = time_assay(arguments.program)
    print(f"onnxruntime {ort.__version__}")
    print(f"{'model':<24} {'python ms':>10} {'assay ms':>10} {'ratio':>7}")
    ratios = []
    for name in sorted(assay):
        try:
            python = time_python(DATA / f"{name}.onnx", arguments.rounds)
        except Exception as error:  # a conversion that the Python flow can't do is no figure
            print(f"{name:<24} the Python flow fails: {type(error).__name__}")
            continue
        ratios.append(python / assay[name])
        print(f"{name:<24} {python:>10.2f} {assay[name]:>10.2f} {ratios[-1]:>7.1f}")
    print(f"median ratio {statistics.median(ratios):.1f} over {len(ratios)} models")


if __name__ == "__main__":
    main()
