"""The PyTorch twin of an ONNX model: imported by onnx2torch, and believed only as far as it computes what ONNX Runtime
computes of the model in float. Where there is none, that is Refused in the importer's name.

`importer` is that name: it says on whose behalf onnx2torch was asked, and that it isn't that converter.
"""

import traceback

import numpy
import onnx
import onnx2torch
import onnxruntime
import torch
from assay_protocol import Refused
from model_request import declared_shape, fits, graph_inputs
from onnx2torch.node_converters import registry
from onnx2torch.onnx_node import OnnxNode

# Of a tensor's largest magnitude: 256 roundings of float32.
TWIN_ERROR = 2.0**-16
# Attributes that onnx2torch 1.5.15 takes another default of than ONNX.
STATED = {"CumSum": {"reverse": 0}}


def operators():
    """What onnx2torch has a converter for, in some version."""
    return sorted({entry.operation_type for entry in registry._CONVERTER_REGISTRY if not entry.domain})


def _demand_float32(model, importer):
    half = onnx.TensorProto.FLOAT16
    named = {tensor.name for tensor in model.graph.initializer if tensor.data_type == half}
    named |= {tensor.name for tensor in graph_inputs(model) if tensor.type.tensor_type.elem_type == half}
    for node in model.graph.node:
        casts = node.op_type == "Cast" and any(attribute.i == half for attribute in node.attribute)
        if casts or named & set(node.input):
            raise Refused(f"{importer}: the way back from PyTorch isn't followed in float16", node.name or node.output[0],
                          node.op_type)


def _demand_converters(model, importer):
    versions = {opset.domain: opset.version for opset in model.opset_import}
    for node in model.graph.node:
        try:
            registry.get_converter(node.op_type, versions.get(node.domain, 1), node.domain)
        except NotImplementedError as error:
            raise Refused(f"{importer}: {first_line(error)}", node.name, node.op_type) from error


def _blamed(error):
    """(name, operator) of the node that a converter of onnx2torch was at, () where it was none."""
    nodes = [frame.f_locals.get("node") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return next(((node.name, node.operation_type) for node in nodes if isinstance(node, OnnxNode)), ())


def _drawn(model):
    """Numbers for the inputs, where no batch fits."""
    random = numpy.random.default_rng(0)
    return {tensor.name: random.normal(size=[max(extent, 1) for extent in declared_shape(tensor)]).astype(
        onnx.helper.tensor_dtype_to_np_dtype(tensor.type.tensor_type.elem_type)) for tensor in graph_inputs(model)}


def input_tensors(model, feed):
    """PyTorch's, in the graph's order."""
    return [torch.from_numpy(numpy.array(feed[tensor.name])) for tensor in graph_inputs(model)]


def as_tuple(results):
    """A module with one output gives it out bare."""
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def _difference(name, expected, actual):
    """How two arrays differ, "" where they agree."""
    if (expected.shape, expected.dtype) != (actual.shape, actual.dtype):
        return f"output \"{name}\": {actual.dtype}{list(actual.shape)} for {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind != "f":
        return "" if numpy.array_equal(expected, actual) else f"output \"{name}\" has other values"
    finite = numpy.isfinite(expected)
    limit = TWIN_ERROR * numpy.abs(expected[finite]).max(initial=0)
    error = numpy.abs(expected[finite].astype(float) - actual[finite]).max(initial=0)
    if not error <= limit or not numpy.array_equal(expected[~finite], actual[~finite], equal_nan=True):
        return f"output \"{name}\" is off by {error:.3g}, float32 allows {limit:.3g}"
    return ""


class Truth:
    """The ONNX model in float."""

    def __init__(self, model, importer):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.model, self._importer = model, importer
        try:
            self._session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        except Exception as error:
            raise Refused(f"{importer}: its twin is held to ONNX Runtime, which takes no such model: {error}") from error

    def demand(self, twin, feed):
        """Refused where the twin computes something else of `feed`."""
        names = [tensor.name for tensor in self.model.graph.output]
        try:
            expected = self._session.run(names, feed)
            actual = as_tuple(twin(*input_tensors(self.model, feed)))
        except Exception as error:
            raise Refused(f"{self._importer}: its twin can't be held to the model on these inputs: "
                          f"{first_line(error)}") from error
        wrong = [_difference(*each) for each in zip(names, expected, (tensor.numpy() for tensor in actual))]
        wrong = [words for words in wrong if words] or ([] if len(actual) == len(names) else ["it has other outputs"])
        if wrong:
            raise Refused(f"{self._importer}: its twin doesn't compute what the model does: {'; '.join(wrong)}")


def first_line(error):
    """An exception's first line that says something: TorchScript adds its stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if 'Traceback' in str(error) else lines[0] if lines else ''}"


def _stated(model):
    """The same model with these attributes written out."""
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    for node in copy.graph.node:
        present = {attribute.name for attribute in node.attribute}
        node.attribute.extend(onnx.helper.make_attribute(name, value)
                              for name, value in STATED.get(node.op_type, {}).items() if name not in present)
    return copy


def make_twin(model, batches, importer, build):
    """build(module, inputs), a program made of the module that onnx2torch makes of the model, in agreement with the model
    on every batch that fits it."""
    _demand_float32(model, importer)
    _demand_converters(model, importer)
    fitting = [batch for batch in batches if fits(model, batch)] or [_drawn(model)]
    try:
        module = onnx2torch.convert(_stated(model), attach_onnx_mapping=True).eval().requires_grad_(False)
        twin = build(module, input_tensors(model, fitting[0]))
    except Exception as error:
        raise Refused(f"{importer}: {first_line(error)}", *_blamed(error)) from error
    truth = Truth(model, importer)
    for batch in fitting:
        truth.demand(twin, batch)
    return twin
