"""The PyTorch twin of an ONNX model: imported by onnx2torch, traced, and believed only as far as it computes what ONNX
Runtime computes of the model in float."""

import numpy
import onnx
import onnx2torch
import onnxruntime
import torch
from assay_protocol import Unsupported
from trt_request import declared_shape, fits, graph_inputs

# Of a tensor's largest magnitude: 256 roundings of float32.
TWIN_ERROR = 2.0**-16
# Attributes that onnx2torch 1.5.15 takes another default of than ONNX.
STATED = {"CumSum": {"reverse": 0}}


def _drawn(model):
    """Numbers for the inputs, where no batch fits."""
    random = numpy.random.default_rng(0)
    return {tensor.name: random.normal(size=[max(extent, 1) for extent in declared_shape(tensor)]).astype(
        onnx.helper.tensor_dtype_to_np_dtype(tensor.type.tensor_type.elem_type)) for tensor in graph_inputs(model)}


def _tensors(model, feed):
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

    def __init__(self, model):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.model = model
        try:
            self._session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        except Exception as error:
            raise Unsupported(f"ONNX Runtime, which the PyTorch twin is held to, takes no such model: {error}") from error

    def demand(self, twin, feed):
        """Unsupported where the twin computes something else of `feed`."""
        names = [tensor.name for tensor in self.model.graph.output]
        try:
            expected = self._session.run(names, feed)
            actual = as_tuple(twin(*_tensors(self.model, feed)))
        except Exception as error:
            raise Unsupported(f"the PyTorch twin can't be held to the model on these inputs: {_first(error)}") from error
        wrong = [_difference(*each) for each in zip(names, expected, (tensor.numpy() for tensor in actual))]
        wrong = [words for words in wrong if words] or ([] if len(actual) == len(names) else ["it has other outputs"])
        if wrong:
            raise Unsupported("the PyTorch twin by onnx2torch doesn't compute what the model does: " + "; ".join(wrong))


def _first(error):
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


def make_twin(model, batches):
    """The twin as TorchScript, in agreement with the model on every batch that fits it."""
    fitting = [batch for batch in batches if fits(model, batch)] or [_drawn(model)]
    try:
        module = onnx2torch.convert(_stated(model)).eval().requires_grad_(False)
        twin = torch.jit.trace(module, tuple(_tensors(model, fitting[0])), check_trace=False)
    except Exception as error:
        raise Unsupported(f"no PyTorch twin by onnx2torch: {_first(error)}") from error
    truth = Truth(model)
    for batch in fitting:
        truth.demand(twin, batch)
    return twin
