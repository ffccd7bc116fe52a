"""`assay reduce` beside Polygraphy's `debug reduce`, on the same models and criteria, in one run.

Criteria: "holds a ConvTranspose", which needs no converter, on the one model that has some; and defects of the embedded
converter, each switched on at one Convolution in the middle of a real model (`--fault NAME@NODE`). For those Assay keeps
verdict, stage, facet and message; Polygraphy keeps the exit code of `assay check`, which is all that its criterion sees.

Usage: python bench/compare_reduce.py --models FOLDER --work FOLDER [--assay ./assay] [--polygraphy polygraphy]
FOLDER holds PP-OCRv4's det, rec and cls as `assay fetch real` puts them. Needs numpy and onnx, and for Polygraphy's
part polygraphy, onnx-graphsurgeon and onnxruntime; leave out --polygraphy to run Assay alone.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx

MODELS = {
    "det": ("ch_PP-OCRv4_det_infer.onnx", (1, 3, 96, 96)),
    "rec": ("ch_PP-OCRv4_rec_infer.onnx", (1, 3, 48, 160)),
    "cls": ("ch_ppocr_mobile_v2.0_cls_infer.onnx", (1, 3, 48, 192)),
}
FAULTS = [
    ("det", "per_axis_rolled"), ("det", "bias_dropped"), ("det", "weights_truncated"), ("det", "per_axis_reversed"),
    ("rec", "per_axis_rolled"), ("rec", "bias_dropped"), ("rec", "one_scale_for_all"),
    ("cls", "per_axis_rolled"), ("cls", "bias_dropped"), ("cls", "per_axis_reversed"),
]


def middle_convolution(path):
    """The Convolution in the middle of the model, as Assay names it: by its name, or its first output."""
    nodes = [node for node in onnx.load(path).graph.node if node.op_type == "Conv"]
    node = nodes[len(nodes) // 2]
    return node.name or node.output[0]


def size(path):
    model = onnx.load(path)
    return len(model.graph.node), path.stat().st_size


def with_assay(arguments, model, criterion, data, folder):
    shutil.rmtree(folder, ignore_errors=True)
    begin = time.monotonic()
    command = [arguments.assay, "reduce", str(model), *criterion, "--output", str(folder), "--json"]
    if data:
        command += ["--calibration", str(data)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return {"error": run.stderr.strip().splitlines()[-1]}
    seconds = time.monotonic() - begin
    nodes, size_bytes = size(folder / "model.onnx")
    return {"nodes": nodes, "bytes": size_bytes, "checks": json.loads(run.stdout)["checks"], "seconds": seconds}


def with_polygraphy(arguments, model, shape, check, folder):
    if not arguments.polygraphy:
        return {}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    begin = time.monotonic()
    shapes = f"x:[{','.join(map(str, shape))}]"
    run = subprocess.run([arguments.polygraphy, "debug", "reduce", str(model), "--output", "small.onnx", "--mode=bisect",
                          "--model-input-shapes", shapes, "--fail-code", "1", "--check", *check], cwd=folder,
                         capture_output=True, text=True, timeout=1800)
    text = run.stdout + run.stderr
    if not (folder / "small.onnx").exists():
        return {"error": text.strip().splitlines()[-1] if text.strip() else f"exit {run.returncode}"}
    nodes, size_bytes = size(folder / "small.onnx")
    return {"nodes": nodes, "bytes": size_bytes, "checks": text.count("Running check command"),
            "seconds": time.monotonic() - begin}


def cells(result):
    if not result or "error" in result:
        return [result.get("error", "") if result else "", "", "", ""]
    return [result["nodes"], result["bytes"], result["checks"], f"{result['seconds']:.1f}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--assay", default="./assay")
    parser.add_argument("--polygraphy")
    arguments = parser.parse_args()
    arguments.work = arguments.work.resolve()
    arguments.work.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(3)
    rows = []
    for key, (name, shape) in MODELS.items():
        np.save(arguments.work / f"{key}.npy", generator.uniform(-1, 1, (2, *shape)).astype(np.float32))
    det = (arguments.models / MODELS["det"][0]).resolve()
    # The protobuf holds the operator's name as it is; Polygraphy takes a failing check for the thing to keep.
    rows.append(("det", "holds a ConvTranspose",
                 with_assay(arguments, det, ["--check", "grep -q ConvTranspose {}"], None, arguments.work / "a"),
                 with_polygraphy(arguments, det, MODELS["det"][1],
                                 ["sh", "-c", "! grep -q ConvTranspose polygraphy_debug.onnx"], arguments.work / "p")))
    for key, fault in FAULTS:
        name, shape = MODELS[key]
        model = (arguments.models / name).resolve()
        where = f"{fault}@{middle_convolution(model)}"
        check = [arguments.assay, "check", "polygraphy_debug.onnx", "--fault", where]
        rows.append((key, where,
                     with_assay(arguments, model, ["--fault", where], arguments.work / f"{key}.npy",
                                arguments.work / "a"),
                     with_polygraphy(arguments, model, shape, check, arguments.work / "p")))
        print(rows[-1], flush=True)
    print("| model | criterion | nodes | bytes | checks | s | Polygraphy: nodes | bytes | checks | s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for key, criterion, ours, theirs in rows:
        print(f"| {key} | {criterion} | " + " | ".join(map(str, cells(ours) + cells(theirs))) + " |")
    nodes = [ours["nodes"] for _, _, ours, _ in rows[1:] if "nodes" in ours]
    print(f"median of {len(nodes)} faults: {statistics.median(nodes)} nodes")


if __name__ == "__main__":
    main()
