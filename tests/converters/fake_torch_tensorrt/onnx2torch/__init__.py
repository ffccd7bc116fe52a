"""Stands in for onnx2torch: a module that has ONNX's own evaluator compute. It adds one to the outputs of a model with a
Tanh where they exceed 0.9: a twin that is wrong on some data. The converter of Cos fails."""

import numpy
import onnx
import torch
from onnx2torch.node_converters.registry import get_converter
from onnx2torch.onnx_node import OnnxNode
from onnx.reference import ReferenceEvaluator


class Module:
    def __init__(self, model):
        self.model = model.SerializeToString()

    def eval(self):
        return self

    def requires_grad_(self, _):
        return self

    def __call__(self, *tensors):
        model = onnx.ModelProto.FromString(self.model)
        names = [value.name for value in model.graph.input]
        results = ReferenceEvaluator(model).run(None, dict(zip(names, (tensor.array for tensor in tensors))))
        if any(node.op_type == "Tanh" for node in model.graph.node):
            results = [numpy.where((array > 0.9) & (array.dtype == numpy.float32), array + 1, array).astype(array.dtype)
                       for array in results]
        results = [torch.Tensor(array) for array in results]
        return results[0] if len(results) == 1 else tuple(results)


def convert(model, attach_onnx_mapping=False):
    for node in model.graph.node:
        get_converter(node.op_type, 13, node.domain)(OnnxNode(node.name, node.op_type))
    return Module(model)
