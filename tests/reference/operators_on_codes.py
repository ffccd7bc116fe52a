#!/usr/bin/env python3
"""operators_on_codes.py ASSAY: the reference's operators on codes against ONNX Runtime's CPU kernels, on drawn codes.

Run by an interpreter that has onnxruntime; exit code 77 without it. Codes may differ by one in one of fifty elements (a tie in float32),
real results by a millionth. No int8 probability comes near 1: ONNX Runtime 1.23 wraps it around.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto as T
    from onnx import helper as h
    from onnx import numpy_helper as nh
except ImportError:
    sys.exit(77)

ASSAY = sys.argv[1]
rng = np.random.default_rng(7)
NUMBER = {"int8": T.INT8, "uint8": T.UINT8, "int32": T.INT32, "float32": T.FLOAT, "bool": T.BOOL, "int16": T.INT16, "uint16": T.UINT16}


def codes(dtype, *shape):
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def scale(low=0.005, high=0.2, n=None):
    return rng.uniform(low, high, n or ()).astype(np.float32)


def zero(dtype, n=None, spread=20):
    middle = 128 if dtype == "uint8" else 0
    return (rng.integers(-spread, spread + 1, n or ()) + middle).astype(dtype)


def triple(dtype, *shape):
    return [codes(dtype, *shape), scale(), zero(dtype)]


def out(dtype):
    return [scale(0.01, 0.3), zero(dtype)]


def trials(d):
    yield "QLinearAdd", triple(d, 2, 3, 4) + triple(d, 3, 1) + out(d), {}
    yield "QLinearMul", triple(d, 2, 3, 4) + triple(d, 2, 3, 4) + out(d), {}
    yield "QLinearMul", triple(d, 4, 8) + triple(d, 1, 8) + out(d), {}
    yield "QLinearLeakyRelu", triple(d, 5, 7) + out(d), {"alpha": 0.3}
    yield "QLinearSigmoid", triple(d, 5, 7) + [np.float32(1 / 256), zero(d, spread=0)], {}
    for axis, opset in ((-1, 13), (1, 13), (1, 11), (2, 13)):
        x = [codes(d, 2, 5, 7), np.float32(0.01), zero(d)]
        yield "QLinearSoftmax", [*x, np.float32(1 / 256), np.array(np.iinfo(d).min, d)], {"axis": axis, "opset": opset}
    yield "QLinearConcat", out(d) + triple(d, 2, 3) + triple(d, 2, 5) + triple(d, 2, 1), {"axis": 1}
    for extra in ({}, {"pads": [1, 1, 0, 0], "count_include_pad": 1}, {"pads": [1, 0, 1, 0]}, {"ceil_mode": 1, "strides": [2, 2]}):
        yield "QLinearAveragePool", triple(d, 2, 3, 7, 8) + out(d), {"kernel_shape": [2, 3], **extra}
    yield "QLinearGlobalAveragePool", triple(d, 2, 3, 7, 8) + out(d), {}
    yield "QLinearWhere", [rng.integers(0, 2, (4, 6)).astype(bool)] + triple(d, 4, 6) + triple(d, 1, 6) + out(d), {}
    for tb, n in ((0, None), (1, 5), (0, 5)):
        for bias in (True, False):
            b = codes("int8", *((5, 9) if tb else (9, 5)))
            c = rng.integers(-4000, 4000, 5).astype("int32") if bias else None
            head = triple(d, 4, 9) + [b, scale(n=n), np.zeros(n or (), "int8"), c]
            yield "QGemm", head + [np.float32(1.7), zero(d)], {"transB": tb, "alpha": 1.0}
            yield "QGemm", head + [np.float32(1.7), zero(d)], {"transB": tb, "alpha": 0.5}
            yield "QGemm", head, {"transB": tb, "alpha": 2.0}
    yield "QGemm", [codes(d, 9, 4), scale(), zero(d), codes("int8", 9, 5), scale(), np.int8(0), None, np.float32(1.7), zero(d)], {"transA": 1}
    for n in (None, 5):
        b = [codes("int8", 9, 5), scale(n=n), zero("int8", n=n)]
        a = codes(d, 2, 4, 9)
        bias = rng.normal(size=5).astype("float32")
        yield "MatMulIntegerToFloat", [a, b[0], scale(), b[1], zero(d), b[2], bias], {}
        yield "MatMulIntegerToFloat", [a, b[0], scale(), b[1]], {}
        x = rng.normal(size=(2, 4, 9)).astype("float32")
        yield "DynamicQuantizeMatMul", [x, *b, bias], {}
        yield "DynamicQuantizeMatMul", [x, b[0], b[1]], {}
    yield "MatMulInteger", [codes(d, 4, 9), codes("int8", 9, 5), zero(d), zero("int8")], {}
    yield "ConvInteger", [codes("uint8", 2, 3, 7, 8), codes("uint8", 4, 3, 3, 3), zero("uint8")], {"pads": [1, 1, 1, 1]}
    for wide in ("int16", "uint16", d):
        yield "QuantizeLinear", [rng.normal(size=(3, 8)).astype("float32"), np.float32(0.01), zero("int8").astype(wide)], {}
        yield "DequantizeLinear", [codes(wide, 3, 8), np.float32(0.01), zero("int8").astype(wide)], {}
        yield "DequantizeLinear", [codes(wide, 3, 8), scale(n=3), np.zeros(3, wide)], {"axis": 0}


def run(op, inputs, attributes):
    """What is wrong, or None."""
    domain = "" if op in ("MatMulInteger", "ConvInteger") else "com.microsoft"
    names = ["" if value is None else f"i{k}" for k, value in enumerate(inputs)]
    arrays = {name: np.asarray(value) for name, value in zip(names, inputs) if name}
    declared = [h.make_tensor_value_info(name, NUMBER[value.dtype.name], value.shape) for name, value in arrays.items()]
    graph = h.make_graph([h.make_node(op, names, ["y"], domain=domain, **attributes)], "g", declared, [h.make_empty_tensor_value_info("y")])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13), h.make_opsetid("com.microsoft", 1)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    theirs = session.run(None, arrays)[0]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model.graph.output[0].CopyFrom(h.make_tensor_value_info("y", NUMBER[theirs.dtype.name], theirs.shape))
        onnx.save(model, folder / "m.onnx")
        (folder / "in").mkdir()
        for k, (name, value) in enumerate(arrays.items()):
            (folder / "in" / f"input_{k}.pb").write_bytes(nh.from_array(value, name).SerializeToString())
        done = subprocess.run([ASSAY, "exec", folder / "m.onnx", "--inputs", folder / "in", "--output", folder / "out"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr
        ours = nh.to_array(onnx.load_tensor(str(folder / "out" / "output_0.pb")))
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{ours.shape}, ONNX Runtime {theirs.dtype}{theirs.shape}"
    off = np.abs(ours.astype("float64") - theirs.astype("float64"))
    if ours.dtype.kind == "f":
        return None if off.max() <= 1e-6 * np.abs(theirs).max() else f"{off.max()} off"
    return None if off.max() <= 1 and np.count_nonzero(off) <= off.size / 50 else f"{np.count_nonzero(off)} of {off.size} codes differ, by up to {off.max()}"


def main():
    count = failed = 0
    for kind in ("uint8", "int8"):
        for op, inputs, attributes in trials(kind):
            wrong = run(op, inputs, attributes)
            count += 1
            if wrong:
                failed += 1
                print(f"{op} {kind} {attributes}: {wrong}")
    print(f"{count} operators on codes, {failed} unlike ONNX Runtime {onnxruntime.__version__}")
    return 1 if failed or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
