"""What a Q/DQ model says about itself: the parameters of its tensors, and which nodes run in INT8."""

import numpy as np
import onnx
from onnx import numpy_helper

QUANTIZED_TYPES = {
    onnx.TensorProto.INT8: "int8",
    onnx.TensorProto.UINT8: "uint8",
    onnx.TensorProto.INT32: "int32",
    onnx.TensorProto.INT16: "int16",
    onnx.TensorProto.UINT16: "uint16",
}
PAIR = ("QuantizeLinear", "DequantizeLinear")
FLOAT_TYPES = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)
# Operators that give codes on unchanged, where a quantizer puts no pair of its own behind them.
MOVING = ("Concat", "DepthToSpace", "Dropout", "Expand", "Flatten", "Gather", "GlobalMaxPool", "Identity", "MaxPool",
          "ReduceMax", "Reshape", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze")
# Activations that an executor folds into the node before them, between it and its QuantizeLinear.
FUSED_ACTIVATIONS = ("Relu", "Clip", "LeakyRelu")


def _constants(graph):
    arrays = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            arrays[node.output[0]] = node.attribute[0].t
    return arrays


def tensor_scales(model, original_name):
    """One entry per quantized tensor. `original_name` undoes the converter's renaming."""
    graph = model.graph
    constants = _constants(graph)
    entries = {}
    for node in graph.node:
        if node.op_type not in PAIR or node.input[1] not in constants:
            continue
        is_constant = node.input[0] in constants
        if node.op_type == "DequantizeLinear" and not is_constant:
            continue  # its QuantizeLinear speaks for the tensor
        scale = numpy_helper.to_array(constants[node.input[1]])
        zero_point = constants.get(node.input[2]) if len(node.input) > 2 else None
        if zero_point is None and len(node.input) > 2 and node.input[2]:
            continue  # computed from constants: not a plain number here
        codes = zero_point if zero_point is not None else constants.get(node.input[0])
        data_type = codes.data_type if codes is not None else onnx.TensorProto.UINT8
        axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
        if axis < 0 and is_constant:
            axis += len(constants[node.input[0]].dims)
        scales = [float(value) for value in scale.reshape(-1)]
        zeros = [0] * len(scales)
        if zero_point is not None:
            zeros = [int(value) for value in numpy_helper.to_array(zero_point).reshape(-1)]
        if len(zeros) != len(scales):
            continue  # no parameters, whatever they are called; the artifact itself tells
        name = original_name(node.input[0])
        # One scale in a list speaks for the whole tensor, but for a constant with that one channel.
        one_channel = is_constant and list(constants[node.input[0]].dims)[axis:axis + 1] == [1]
        per_axis = len(scales) > 1 or (scale.ndim == 1 and one_channel)
        entries.setdefault(name, {
            "name": name, "scale": scales, "zero_point": zeros,
            "type": QUANTIZED_TYPES.get(data_type, "int8"), "axis": axis if per_axis else None})
    return list(entries.values())


class _Artifact:
    """Which nodes of a Q/DQ model have quantized inputs and outputs."""

    def __init__(self, model, original_name, outputs_in_float, fuses, moves_codes):
        graph = model.graph
        self.outputs_in_float, self.fuses, self.moves_codes = outputs_in_float, fuses, moves_codes
        self.constants = constants = _constants(graph)
        self.fixed = set(constants)
        self.types = {name: tensor.data_type for name, tensor in constants.items()}
        inferred = onnx.shape_inference.infer_shapes(model).graph
        for info in (*inferred.value_info, *inferred.input, *inferred.output):
            self.types[info.name] = info.type.tensor_type.elem_type
        self.dequantized = {}
        self.weights_in_codes = set()  # constants behind a DequantizeLinear, with a QuantizeLinear in front of it or without
        for node in graph.node:
            if node.op_type in PAIR and node.input[0] in self.fixed | self.weights_in_codes:
                self.weights_in_codes.add(node.output[0])
            if node.op_type == "DequantizeLinear":
                given = [constants[name] for name in node.input[1:] if name in constants]
                self.dequantized[node.output[0]] = tuple(numpy_helper.to_array(tensor).tobytes() for tensor in given)
        self.readers, self.makers, self.by_name, self.by_output = {}, {}, {}, {}
        for node in graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
            self.makers.update((name, node) for name in node.output)
            if node.op_type in PAIR:
                continue
            self.by_name[node.name] = node
            for name in node.output:
                self.by_output[original_name(name)] = node

    def is_float(self, name):
        return self.types.get(name, onnx.TensorProto.FLOAT) in FLOAT_TYPES

    def parameters(self, name):
        """Scale and zero point of a tensor that was dequantized and since then only moved; None of any other."""
        if name in self.dequantized:
            return self.dequantized[name]
        maker = self.makers.get(name)
        if not (self.outputs_in_float or self.moves_codes) or maker is None or not self.moves(maker):
            return None
        reals = [given for given in maker.input if given and given not in self.fixed and self.is_float(given)]
        found = {self.parameters(given) for given in reals}
        return found.pop() if len(found) == 1 else None

    def moves(self, node):
        """Whether it gives codes on unchanged: one of MOVING, but for a Concat with a constant that has no codes, or a Pad by
        values of its input or by zero, for which every range has a code."""
        if node.op_type == "Pad":
            said = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
            if said.get("mode", b"constant") != b"constant":
                return True
            given = node.input[2] if len(node.input) > 2 else ""
            value = self.constants.get(given) if given else said.get("value", 0.0)
            return value is not None and not np.any(numpy_helper.to_array(value) if given else value)
        if node.op_type == "Concat" and any(name in self.fixed and self.is_float(name) for name in node.input):
            return False
        return node.op_type in MOVING

    def multiplies_codes(self, node):
        """Whether its weight is codes: a pair in front of it and one behind are its own then, not its neighbours'."""
        return any(name in self.weights_in_codes for name in node.input)

    def reaches_quantize(self, name):
        return any(
            reader.op_type == "QuantizeLinear"
            or (reader.op_type in self.fuses and self.reaches_quantize(reader.output[0]))
            for reader in self.readers.get(name, []))

    def precision(self, node):
        """"int8", "fp32", or None for a node that computes no real numbers."""
        if not any(self.is_float(name) for name in node.output if name):
            return None
        reals = [name for name in node.input if name and name not in self.fixed and self.is_float(name)]
        quantized = bool(reals) and all(self.parameters(name) is not None for name in reals)
        if node.op_type in self.fuses and reals and reals[0] in self.by_output:
            quantized = quantized or self.precision(self.by_output[reals[0]]) == "int8"
        if self.outputs_in_float or self.moves_codes and self.moves(node):
            return "int8" if quantized else "fp32"
        return "int8" if quantized and any(self.reaches_quantize(name) for name in node.output) else "fp32"


def node_precision(original, artifact_model, original_name, operators, in_float=(), outputs_in_float=False,
                   fuses=FUSED_ACTIVATIONS, moves_codes=False):
    """Where each node of the float model runs. A node that was fused or folded away has its host's precision.

    `operators` are those that the quantizer has an INT8 form for, `in_float` names the nodes that it was told to leave
    alone: of these and of other operators, pairs of their neighbours may stand around them, but they compute in float; one of
    `in_float` whose weight is codes as well wasn't left alone. A quantizer that
    puts pairs only where the next operator reads them has `outputs_in_float`: reading codes is enough then. `fuses` are
    the operators that it takes into the one before; one that puts no pair behind what only moves codes has `moves_codes`.
    """
    artifact = _Artifact(artifact_model, original_name, outputs_in_float, fuses, moves_codes)
    constant = {tensor.name for tensor in original.graph.initializer}
    for node in original.graph.node:
        if all(not name or name in constant for name in node.input):
            constant.update(node.output)  # folded: it computes nothing at run time
    got = {}  # by the name of an output
    entries = []
    for node in reversed(original.graph.node):
        if node.output[0] in constant or node.op_type in PAIR:
            continue
        host = artifact.by_name.get(node.name) or artifact.by_output.get(node.output[0])
        precision = artifact.precision(host) if host is not None else None
        left_alone = host is not None and host.name in in_float and not artifact.multiplies_codes(host)
        if precision == "int8" and (left_alone or host.op_type not in operators):
            precision = "fp32"
        if host is None:
            readers = [reader for reader in original.graph.node if node.output[0] in reader.input]
            precision = next((got[r.output[0]] for r in readers if r.output[0] in got), None)
        if precision is not None:
            got[node.output[0]] = precision
            entries.append({"node": node.name, "op": node.op_type, "got": precision})
    return entries[::-1]
