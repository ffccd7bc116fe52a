"""What the quantizers that build on ONNX Runtime's have in common."""

from assay_protocol import Refused, calibration_batches
from onnxruntime.quantization import CalibrationDataReader

# What ONNX Runtime's quantizer adds to the names of tensors that it inserts a pair at.
SUFFIXES = ("_QuantizeLinear_Input", "_QuantizeLinear_Output", "_quantized")


def renaming(model, added_suffixes=(), added_prefixes=()):
    """A function from a name in the artifact to the name that the tensor has in `model`."""
    known = {name for node in model.graph.node for name in (*node.input, *node.output)}

    def original_name(name):
        for suffix in (*added_suffixes, *SUFFIXES):
            name = name if name in known else name.removesuffix(suffix)
        for prefix in added_prefixes:
            name = name if name in known else name.removeprefix(prefix)
        return name

    return original_name


def nodes_in_float(model, precision, operators, quantizer):
    """Names of the nodes that the overrides keep out; a node's own name wins over its operator's."""
    excluded = []
    for node in model.graph.node:
        wanted = precision.get(node.name, precision.get(node.op_type))
        if wanted == "fp16":
            raise Refused(f"{quantizer} knows int8 and fp32, not fp16", node.name, node.op_type)
        if wanted == "int8" and node.op_type not in operators:
            raise Refused(f"{quantizer} has no INT8 form of it", node.name, node.op_type)
        if wanted == "fp32":
            excluded.append(node.name)
    return excluded


class Batches(CalibrationDataReader):
    """Feeds the calibration folder by name, in order; from the start again after `rewind`."""

    def __init__(self, folder):
        self._batches = calibration_batches(folder)
        self.rewind()

    def get_next(self):
        return next(self._feed, None)

    def get_first(self):
        return self._batches[0] if self._batches else None

    def rewind(self):
        self._feed = iter(self._batches)
