"""Assay beside the usual Python flow, on the same models, data and option sets in one run.

The Python flow is what people write by hand: quantize_static with the calibration batches, one session on the float
model, one on the quantized model, and a comparison of the outputs. Both are warm: imports, sessions of other models and
worker processes are paid for before the clock starts.

Three ways to count:
  alone     one verdict after the other, from request to record; ONNX Runtime with its own threads, on all cores
  run       verdicts a second as `assay run` gives them, a worker a core, the option sets of suite `default`
  python*2  the Python flow in as many processes as there are cores, one thread each, which nobody writes by hand

Usage: compare_onnxruntime.py BUILD/bench/assay_bench [--rounds N]
Needs onnxruntime, onnx and numpy in the Python that runs it (./assay converters install onnxruntime makes one).
"""
import argparse
import json
import logging
import multiprocessing
import pathlib
import shutil
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


# Suite default's option sets: int8, uint8, int8 symmetric.
OPTION_SETS = [dict(activation_type=QuantType.QInt8),
               dict(activation_type=QuantType.QUInt8),
               dict(activation_type=QuantType.QInt8, extra_options={"ActivationSymmetric": True})]


def python_verdict(model, arrays, folder, options, threads=0):
    """One conversion and comparison; the worst SQNR over four inputs, as Assay judges four."""
    quantized = folder / "quantized.onnx"
    quantize_static(str(model), str(quantized), Batches(arrays), quant_format=QuantFormat.QDQ, per_channel=True,
                    weight_type=QuantType.QInt8, **options)
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = threads
    providers = ["CPUExecutionProvider"]
    reference = ort.InferenceSession(str(model), settings, providers=providers)
    session = ort.InferenceSession(str(quantized), settings, providers=providers)
    worst = float("inf")
    for i in range(min(4, len(next(iter(arrays.values()))))):
        feed = {name: array[i] for name, array in arrays.items()}
        for want, got in zip(reference.run(None, feed), session.run(None, feed)):
            noise = float(((want - got) ** 2).sum())
            if noise > 0:
                worst = min(worst, 10 * np.log10(float((want ** 2).sum()) / noise))
    return worst


def time_python(model, rounds, threads=0, barrier=None):
    """Seconds a verdict, over all option sets."""
    arrays = dict(np.load(model.with_name(model.stem + ".calibration.npz")))
    with tempfile.TemporaryDirectory() as folder:
        # quantize_static writes a file of a fixed name beside the model.
        model = pathlib.Path(shutil.copy(model, folder))
        for options in OPTION_SETS:
            python_verdict(model, arrays, pathlib.Path(folder), options, threads)
        if barrier is not None:
            barrier.wait()
        times = []
        for _ in range(rounds):
            begin = time.perf_counter()
            for options in OPTION_SETS:
                python_verdict(model, arrays, pathlib.Path(folder), options, threads)
            times.append((time.perf_counter() - begin) / len(OPTION_SETS))
    return statistics.median(times)


def in_one_process(model, rounds, barrier, results):
    logging.disable(logging.WARNING)
    try:
        results.put(time_python(model, rounds, 1, barrier))
    except Exception as error:
        barrier.abort()
        results.put(error)


def time_python_on_all_cores(model, rounds):
    """Seconds a verdict of as many processes as there are cores: the mean of theirs, divided by their number."""
    context = multiprocessing.get_context("spawn")
    count = multiprocessing.cpu_count()
    barrier, results = context.Barrier(count), context.Queue()
    processes = [context.Process(target=in_one_process, args=(model, rounds, barrier, results)) for _ in range(count)]
    for process in processes:
        process.start()
    times = [results.get() for _ in processes]
    for process in processes:
        process.join()
    for result in times:
        if isinstance(result, Exception):
            raise result
    return statistics.mean(times) / count


def time_assay(program):
    """Seconds a verdict, by kind of count and model."""
    output = subprocess.run([program, "--benchmark_filter=^(verdict|run)/", "--benchmark_format=json"], check=True,
                            capture_output=True, text=True).stdout
    times = {"verdict": {}, "run": {}}
    for entry in json.loads(output)["benchmarks"]:
        if "error_occurred" not in entry:
            kind, name = entry["name"].split("/")[:2]
            rate = entry.get("items_per_second")
            times[kind][name] = 1 / rate if rate else entry["real_time"] / 1e3
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    assay = time_assay(arguments.program)
    print(f"onnxruntime {ort.__version__}, milliseconds a verdict, {multiprocessing.cpu_count()} cores")
    print(f"{'model':<24} {'python':>8} {'python*2':>8} {'alone':>8} {'run':>8}  "
          f"{'python/alone':>12} {'python/run':>12} {'python*2/run':>12}")
    ratios = []
    for name in sorted(assay["run"]):
        try:
            alone = time_python(DATA / f"{name}.onnx", arguments.rounds)
            shared = time_python_on_all_cores(DATA / f"{name}.onnx", arguments.rounds)
        except Exception as error:  # a conversion that the Python flow can't do is no figure
            print(f"{name:<24} the Python flow fails: {type(error).__name__}")
            continue
        verdict, run = assay["verdict"][name], assay["run"][name]
        ratios.append((alone / verdict, alone / run, shared / run))
        print(f"{name:<24} {alone * 1e3:>8.2f} {shared * 1e3:>8.2f} {verdict * 1e3:>8.2f} {run * 1e3:>8.2f}  "
              + " ".join(f"{ratio:>12.1f}" for ratio in ratios[-1]))
    medians = [statistics.median(column) for column in zip(*ratios)]
    print(f"{'median':<60}  " + " ".join(f"{ratio:>12.1f}" for ratio in medians))


if __name__ == "__main__":
    main()
