#!/usr/bin/env python3
"""Makes the files beside it: a float16 model, its calibration data, and a quantized artifact with scales, inputs and outputs of
float16, as tools that quantize exported half-precision networks write them.

usage: make.py FOLDER, with numpy and onnx
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

ROWS, K, N = 5, 16, 12


def save(name, nodes, constants):
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT16, [ROWS, K])],
                         [h.make_tensor_value_info("y", T.FLOAT16, [ROWS, N])],
                         [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, f"{sys.argv[1]}/{name}.onnx")


def minmax(values):
    low, high = min(values.min(), 0), max(values.max(), 0)
    scale = np.float16((high - low) / 255)
    return scale, np.clip(np.round(-128 - low / np.float32(scale)), -128, 127).astype(np.int8)


def pair(tensor, target, scale, zero_point):
    return [h.make_node("QuantizeLinear", [tensor, scale, zero_point], [target + "_codes"]),
            h.make_node("DequantizeLinear", [target + "_codes", scale, zero_point], [target])]


def main():
    random = np.random.default_rng(2)
    w = (random.normal(size=(K, N)) * 0.2).astype(np.float16)
    b = random.normal(size=N).astype(np.float16)
    batches = np.stack([random.normal(size=(ROWS, K)).astype(np.float16) for _ in range(4)])
    np.savez(f"{sys.argv[1]}/calibration.npz", x=batches)

    def layer(x, weight, y):
        return [h.make_node("MatMul", [x, weight], ["m"], name="mm"), h.make_node("Add", ["m", "b"], ["a"], name="add"),
                h.make_node("Relu", ["a"], [y], name="relu")]

    save("float", layer("x", "w", "y"), {"w": w, "b": b})
    x = batches.reshape(-1, K).astype(np.float32)
    wide = w.astype(np.float32)
    (xs, xz), (ys, yz) = minmax(x), minmax(np.maximum(x @ wide + b.astype(np.float32), 0))
    ws = (np.abs(wide).max(0) / 127).astype(np.float16)
    codes = np.clip(np.round(wide / ws.astype(np.float32)), -127, 127).astype(np.int8)
    nodes = [*pair("x", "xd", "xs", "xz"), h.make_node("DequantizeLinear", ["q", "ws", "wz"], ["wd"], axis=1),
             *layer("xd", "wd", "r"), *pair("r", "y", "ys", "yz")]
    save("artifact", nodes, {"xs": xs, "xz": xz, "q": codes, "ws": ws, "wz": np.zeros(N, np.int8), "b": b, "ys": ys, "yz": yz})


if __name__ == "__main__":
    main()
