#!/usr/bin/env python3
"""Makes the files beside it: an exported Linear layer, what ModelOpt 0.47.0's NVFP4 exporter makes of it, and the same with the
codes of scales that aren't rounded yet, as the exporter had it before its pull request 2243.

usage: make.py FOLDER, in an environment with ModelOpt (assay converters install modelopt)
"""
import sys

import modelopt.onnx.export.nvfp4_exporter as exporter
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

K, N = 32, 8


def model(weights, quantized):
    nodes = [h.make_node("TRT_FP4QDQ", ["fc.weight"], ["wq"], name="q", domain="trt", block_size=16)] if quantized else []
    nodes += [h.make_node("Transpose", ["wq" if quantized else "fc.weight"], ["wt"], perm=[1, 0], name="t"),
              h.make_node("MatMul", ["x", "wt"], ["m"], name="mm"), h.make_node("Cast", ["m"], ["y"], to=T.FLOAT, name="c")]
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, [4, K])],
                         [h.make_tensor_value_info("y", T.FLOAT, [4, N])],
                         [numpy_helper.from_array(weights, "fc.weight")],
                         value_info=[h.make_tensor_value_info("wq", T.FLOAT, [N, K])] if quantized else [])
    opsets = [h.make_opsetid("", 23)] + ([h.make_opsetid("trt", 1)] if quantized else [])
    return h.make_model(graph, opset_imports=opsets, ir_version=11)


def exported(weights):
    made, steps = model(weights, True), exporter.NVFP4QuantExporter
    for step in (steps.pre_process, steps.compute_scales, steps.compress_weights, steps.post_process):
        made = step(made)
    return made


def main():
    random = np.random.default_rng(1)
    weights = (random.normal(size=(N, K)) * 0.1 * np.exp(random.normal(size=(N, 1)))).astype(np.float32)
    onnx.save(model(weights, False), f"{sys.argv[1]}/float.onnx")
    onnx.save(exported(weights), f"{sys.argv[1]}/modelopt.onnx")
    rounded = exporter._encode_nvfp4_block_scale
    exporter._encode_nvfp4_block_scale = lambda scales: (scales, rounded(scales)[1])
    onnx.save(exported(weights), f"{sys.argv[1]}/unrounded.onnx")


if __name__ == "__main__":
    main()
