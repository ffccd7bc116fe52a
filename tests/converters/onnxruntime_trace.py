#!/usr/bin/env python3
"""Asks the ONNX Runtime adapter for a trace and recomputes from it what came before and after.

usage: onnxruntime_trace.py ADAPTER_SCRIPT

The model is Conv, Relu, Add of the graph input and MaxPool: small enough that every traced tensor can be recomputed
in a few lines. Exit status 77 (skipped) where ONNX Runtime is not installed.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from adapter_process import Adapter  # noqa: E402
from onnx_files import read_tensors, write_tensors  # noqa: E402, skips without ONNX Runtime

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

SHAPE = [2, 3, 6, 5]
UNIT = 2.0**-24  # float32's relative rounding error


def conv_relu_add(rng):
    """x → Conv 1x1 → Relu → Add of x → MaxPool."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "c", kernel_shape=[1, 1]),
        helper.make_node("Relu", ["c"], ["r"], "r"),
        helper.make_node("Add", ["r", "x"], ["s"], "s"),
        helper.make_node("MaxPool", ["s"], ["y"], "y", kernel_shape=[2, 1]),
    ]
    weight = numpy_helper.from_array(rng.normal(size=(3, 3, 1, 1)).astype(np.float32), "w")
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", onnx.TensorProto.FLOAT, SHAPE)],
                              [value("y", onnx.TensorProto.FLOAT, [2, 3, 5, 5])], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def check(adapter, folder, rng):
    onnx.save(conv_relu_add(rng), folder / "model.onnx")
    for batch in range(3):
        write_tensors(folder / f"calibration/{batch:04}", "input", {"x": rng.normal(size=SHAPE).astype(np.float32)})
    x = (1.5 * rng.normal(size=SHAPE)).astype(np.float32)
    write_tensors(folder / "inputs", "input", {"x": x})
    for name in ("out", "outputs", "outputs_again", "trace"):
        (folder / name).mkdir()

    made = adapter.ask("convert", model=str(folder / "model.onnx"), calibration=str(folder / "calibration"),
                       options={}, output=str(folder / "out"))
    ran = {"artifact": made["artifact"], "inputs": str(folder / "inputs")}
    assert "trace" not in adapter.ask("execute", **ran, output=str(folder / "outputs")), "nobody asked for a trace"
    names = adapter.ask("execute", **ran, output=str(folder / "outputs_again"), trace=str(folder / "trace"))["trace"]
    outputs, again = read_tensors(folder / "outputs"), read_tensors(folder / "outputs_again")
    trace = read_tensors(folder / "trace")
    assert sorted(names) == sorted(trace), f"listed {names}, written {sorted(trace)}"
    assert list(again) == ["y"], f"the trace's tensors are no outputs: {list(again)}"
    np.testing.assert_array_equal(again["y"], outputs["y"])

    # Every QuantizeLinear of an activation is there, and holds what its own text says of what came before.
    graph = onnx.load(made["artifact"]).graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    producers = {name: node for node in graph.node for name in node.output}
    quantizers = {node.output[0]: node for node in graph.node
                  if node.op_type == "QuantizeLinear" and node.input[0] not in constants}
    assert sorted(quantizers) == sorted(trace), f"{sorted(quantizers)} are quantized, {sorted(trace)} traced"

    def value_of(name):
        """The value in float64, and how far float32 may be from it: one rounding for each product, sum and load."""
        node = producers.get(name)
        if node is None:
            return x.astype(np.float64), np.zeros(x.shape)
        if node.op_type == "DequantizeLinear":
            codes = trace.get(node.input[0], constants.get(node.input[0])).astype(np.int32)
            scale, zero_point = (constants[name] for name in node.input[1:])
            if scale.ndim:  # the weight, one scale for each channel of axis 0
                scale, zero_point = (each.reshape(-1, 1, 1, 1) for each in (scale, zero_point))
            value = (codes - zero_point) * scale.astype(np.float64)
            return value, UNIT * np.abs(value)
        values, errors = zip(*(value_of(name) for name in node.input))
        if node.op_type == "Conv":
            taps = values[1].shape[1]
            magnitude = np.einsum("nchw,oc->nohw", np.abs(values[0]), np.abs(values[1][:, :, 0, 0]))
            return (np.einsum("nchw,oc->nohw", values[0], values[1][:, :, 0, 0]), (taps + 3) * UNIT * magnitude)
        if node.op_type == "Relu":
            return np.maximum(values[0], 0), errors[0]
        if node.op_type == "Add":
            total = values[0] + values[1]
            return total, errors[0] + errors[1] + UNIT * np.abs(total)
        assert node.op_type == "MaxPool", f"the artifact holds a {node.op_type}"
        return tuple(np.maximum(each[:, :, :-1], each[:, :, 1:]) for each in (values[0], errors[0]))

    for name, node in quantizers.items():
        scale, zero_point = (constants[each] for each in node.input[1:])
        assert trace[name].dtype == zero_point.dtype, f"{name} is {trace[name].dtype}"
        value, error = (each / scale.astype(np.float64) for each in value_of(node.input[0]))
        limits = np.iinfo(zero_point.dtype)
        low, high = (np.clip(np.rint(value + side * (error + UNIT * np.abs(value))) + zero_point, limits.min, limits.max)
                     for side in (-1, 1))
        wrong = (trace[name] < low) | (trace[name] > high)
        assert not wrong.any(), f"{name}: {wrong.sum()} of {wrong.size} codes differ from the recomputed ones"
    np.testing.assert_array_equal(value_of("y")[0].astype(np.float32), outputs["y"])


def main():
    adapter = Adapter(sys.argv[1])
    assert adapter.ask("describe")["supports"]["trace"] is True
    with tempfile.TemporaryDirectory() as folder:
        check(adapter, pathlib.Path(folder), np.random.default_rng(7))
    adapter.quit()
    # More graph outputs would change what the optimizer fuses: with it there is no trace to be had.
    optimized = Adapter(sys.argv[1], "--variant", "optimized")
    assert optimized.ask("describe")["supports"]["trace"] is False
    optimized.quit()


if __name__ == "__main__":
    main()
