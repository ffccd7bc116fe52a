#!/usr/bin/env python3
"""Compares the reference with ONNX Runtime over generated models of every operator that both know.

usage: second_opinion.py ASSAY_PROGRAM [--seed N] [--only OPERATOR] [--keep DIR]

Each generator (generated_*.py) draws one-node models: shapes, broadcasting, axes, attributes, types, opsets, now and
then empty tensors, NaN and infinities. ONNX Runtime runs them without optimizations; what it gives is stored as the
expectation of a case in ONNX's own test layout, and `assay run` judges the reference against it, with the limits of
docs/conformance.md. disagreements.json lists what is known to differ (docs/disagreements.md argues each): the test
fails when something new differs, and when something listed no longer does.

Exit status 77 (skipped) where ONNX Runtime is not installed.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from onnx_files import write_tensors  # noqa: E402
from plain_session import plain_session  # noqa: E402, skips without ONNX Runtime

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime as ort  # noqa: E402

import generated_blocks  # noqa: E402, F401
import generated_elementwise  # noqa: E402, F401
import generated_layout  # noqa: E402, F401
import generated_linear  # noqa: E402, F401
import generated_networks  # noqa: E402, F401
import generated_on_codes  # noqa: E402, F401
from generated_models import GENERATORS, Draw  # noqa: E402

SEED = 1
# Operators of the reference that ONNX Runtime does not know, or has no kernel for on a CPU.
NOT_COMPARED = {"BitCast", "CausalConvWithState", "CumProd", "DeformConv", "LinearAttention", "SwiGLU", "Swish",
                "TensorScatter", "ai.onnx.preview.FlexAttention", "com.microsoft.QLinearReduceMean"}
LEAST_COMPARISONS = 2000


def known_operators():
    """Those of the reference, by the page of them."""
    page = (HERE.parent.parent / "docs/operators.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| ([A-Za-z0-9.]+) \| \d", page, re.MULTILINE))


class Refused(Exception):
    """ONNX Runtime does not run a model."""


def run_theirs(model, feeds):
    """ONNX Runtime's outputs by name, of which `model` then declares the types."""
    try:
        outputs = [np.asarray(value) for value in plain_session(model, threads=1).run(None, feeds)]
    except Exception as error:  # noqa: BLE001, its exceptions have no common base
        raise Refused(" ".join(str(error).split())[:200]) from error
    for info, value in zip(model.graph.output, outputs):
        kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
        info.CopyFrom(onnx.helper.make_tensor_value_info(info.name, kind, value.shape))
    return {info.name: value for info, value in zip(model.graph.output, outputs)}


def saturates():
    """Whether ONNX Runtime adds products of uint8 and int8 in 16 bits here, as it does on x86-64 without VNNI."""
    shapes = {"a": (onnx.TensorProto.UINT8, [1, 2]), "b": (onnx.TensorProto.INT8, [2, 1])}
    inputs = [onnx.helper.make_tensor_value_info(name, *of) for name, of in shapes.items()]
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT32, [1, 1])
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "g", inputs, [output])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    feeds = {"a": np.full((1, 2), 255, np.uint8), "b": np.full((2, 1), 127, np.int8)}
    return int(run_theirs(model, feeds)["y"].item()) != 2 * 255 * 127


def multiplies_mixed(model, feeds):
    """Whether the one node sums products of uint8 and int8."""
    node = model.graph.node[0]
    place = {"MatMulInteger": (0, 1), "ConvInteger": (0, 1), "QLinearMatMul": (0, 3), "QLinearConv": (0, 3), "QGemm": (0, 3),
             "MatMulIntegerToFloat": (0, 1), "DynamicQuantizeMatMul": (0, 1)}
    if node.op_type not in place:
        return False
    tensors = {**feeds, **{each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}}
    left, right = (tensors[node.input[i]].dtype for i in place[node.op_type])
    return left in (np.uint8, np.float32) and right == np.int8  # floats become uint8 on the way


def generate(folder, seed, only):
    """Writes the cases; what ONNX Runtime refused, by operator."""
    refused = collections.defaultdict(list)
    known = known_operators()
    saturating = saturates()
    if saturating:
        print("left out: sums of products of uint8 and int8, which ONNX Runtime saturates on this processor (no VNNI)")
    for op, (generator, count) in GENERATORS.items():
        if op not in known or only not in (None, op):
            continue
        for number in range(count):
            model, feeds = generator(Draw(seed, op, number), op).model()
            if saturating and multiplies_mixed(model, feeds):
                continue
            try:
                outputs = run_theirs(model, feeds)
            except Refused as error:
                refused[op].append((number, str(error)))
                continue
            case = folder / f"{op}_{number:03}"
            write_tensors(case / "test_data_set_0", "input", feeds)
            write_tensors(case / "test_data_set_0", "output", outputs)
            onnx.save(model, case / "model.onnx")
    return refused


def judge(program, home, disagreements):
    """Runs the cases below `home` through the reference; the report of `assay run`."""
    for folder in ("cases", "suites"):
        (home / folder).mkdir()
    (home / "cases/second_opinion.json").write_text(json.dumps({
        "family": "second_opinion", "title": "the reference agrees with ONNX Runtime",
        "stored_cases": {"folder": "data", "missing": "none was written"}}))
    expected = [{"case": f"second_opinion/case={case}", "converter": "reference", "facet": entry["facet"],
                 "reason": entry["reason"], "url": "docs/disagreements.md"}
                for entry in disagreements for case in entry["cases"]]
    (home / "suites/second_opinion.json").write_text(json.dumps({
        "title": "second opinion", "select": ["second_opinion"], "converters": ["reference"],
        "expected_failures": expected}))
    run = subprocess.run([program, "run", "second_opinion", "--json", "--db", str(home / "history.db")],
                         env={**os.environ, "ASSAY_HOME": str(home)}, capture_output=True, text=True)
    if not run.stdout:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only")
    parser.add_argument("--keep", type=pathlib.Path, help="an empty folder that the cases are left in")
    arguments = parser.parse_args()
    known = json.loads((HERE / "disagreements.json").read_text())
    if ort.__version__ != known["onnxruntime"]:
        print(f"skipped: disagreements.json is about ONNX Runtime {known['onnxruntime']}, here is {ort.__version__}")
        sys.exit(77)
    whole = arguments.seed == SEED and arguments.only is None
    disagreements = known["disagreements"] if whole else []
    print(f"seed {arguments.seed}; repeat one operator with --seed {arguments.seed} --only OPERATOR --keep DIR")
    with tempfile.TemporaryDirectory() as temporary:
        home = arguments.keep or pathlib.Path(temporary)
        (home / "data").mkdir(parents=True)
        refused = generate(home / "data", arguments.seed, arguments.only)
        report = judge(arguments.program, home, disagreements)
    red = [result for result in report["results"] if result["gate"] != "green"]
    for result in red:
        print(f"{result['verdict']} {result['case'].split('case=')[-1]} {result['reason']}")
    for op, cases in refused.items():
        print(f"not run by ONNX Runtime: {op}, {len(cases)} of {GENERATORS[op][1]}: {cases[0][1]}")
    for line in report["unused_expectations"]:
        print(line)
    compared = report["verdicts"].get("pass", 0) + report["verdicts"].get("xfail", 0)
    styles = collections.Counter(result["style"] or "exact" for result in report["results"])
    without = sorted(known_operators() - set(GENERATORS) - NOT_COMPARED)
    if without:
        print(f"no generator for {', '.join(without)}; add one to generated_*.py")
    print(f"{compared} comparisons over {len(known_operators() & set(GENERATORS))} operators, limits {dict(styles)}, "
          f"{report['verdicts'].get('xfail', 0)} known disagreements, {len(red)} new ones")
    if red or without or report["unused_expectations"] or (whole and compared < LEAST_COMPARISONS):
        sys.exit(1)


if __name__ == "__main__":
    main()
