"""The float64 reference beside ONNX Runtime's float32, on the same real models and inputs in one run.

For each model, milliseconds of one execution (model and inputs in memory) and the ratio of both. Assay's figure is the
difference between `assay exec` on several inputs and on one, divided by how many more there were, so that starting,
reading and writing drop out. ONNX Runtime runs with its default threads and with one.

Usage: compare_reference.py ASSAY NAME=MODEL.onnx:N,C,H,W … [--inputs N]
Needs onnxruntime and numpy in the Python that runs it (./assay converters install onnxruntime makes one).
"""
import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime as ort


def time_assay(program, model, name, inputs, folder):
    """Seconds of one execution, and of the whole command on one input."""
    def run(count, label):
        path = folder / f"{label}.npz"
        np.savez(path, **{name: inputs[:count]})
        begin = time.perf_counter()
        subprocess.run([program, "exec", str(model), "--inputs", str(path), "--output", str(folder / label)],
                       check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin
    whole = run(1, "one")
    several = min(run(len(inputs), "several") for _ in range(2))
    return (several - whole) / (len(inputs) - 1), whole


def time_onnxruntime(model, name, inputs, threads):
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.log_severity_level = 3  # errors
    session = ort.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    times = []
    for x in [inputs[0], *inputs]:  # the first one warms up
        begin = time.perf_counter()
        session.run(None, {name: x})
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("models", nargs="+", metavar="NAME=MODEL.onnx:N,C,H,W")
    parser.add_argument("--inputs", type=int, default=5)
    arguments = parser.parse_args()
    print(f"onnxruntime {ort.__version__}, milliseconds an execution")
    print(f"{'model':<20} {'reference':>10} {'whole command':>14} {'ort float32':>12} {'one thread':>11} {'ratio':>6}")
    for spec in arguments.models:
        label, rest = spec.split("=", 1)
        path, extents = rest.rsplit(":", 1)
        model = pathlib.Path(path)
        settings = ort.SessionOptions()
        settings.log_severity_level = 3
        session = ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
        (name,) = (each.name for each in session.get_inputs())
        shape = [int(extent) for extent in extents.split(",")]
        inputs = np.random.default_rng(1).standard_normal([arguments.inputs, *shape]).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            one, whole = time_assay(arguments.program, model, name, inputs, pathlib.Path(folder))
        fast, single = (time_onnxruntime(model, name, inputs, threads) for threads in (0, 1))
        print(f"{label:<20} {one * 1e3:>10.0f} {whole * 1e3:>14.0f} {fast * 1e3:>12.1f} {single * 1e3:>11.1f} "
              f"{one / fast:>6.1f}")


if __name__ == "__main__":
    main()
