"""What an .mnn file says of the model that it was made of: where each node went, its scales, what runs in INT8."""

import onnx
from mnn_model import CONVOLUTION, DECONVOLUTION, DEPTHWISE, DEPTHWISE_DECONVOLUTION

CONVOLUTIONS = ("Conv", "Gemm", "MatMul")  # with a constant weight; all become MNN's Convolution
WEIGHTED = (*CONVOLUTIONS, "ConvTranspose")
# What was seen to run on codes.
OPERATORS = (*CONVOLUTIONS, "Add", "AveragePool", "Concat", "DepthToSpace", "Div", "Exp", "GlobalAveragePool", "HardSwish",
             "InstanceNormalization", "LayerNormalization", "Max", "MaxPool", "Min", "Mul", "PRelu", "Pad", "Pow",
             "Reshape", "Sigmoid", "Slice", "Softmax", "Split", "Sub", "Tanh", "Transpose")
WEIGHT_AXIS = {CONVOLUTION: 0, DEPTHWISE: 0, DECONVOLUTION: 1, DEPTHWISE_DECONVOLUTION: 1}
# What its converter adds to the name of an operator that it makes of one of the model's.
SUFFIXES = ("__before_tr", "__matmul_converted")


def _plain(name):
    """The name of the node that an operator was made of, where the converter left it there."""
    name = name.partition("__group__")[0]
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def _hosts(original, net):
    """The nodes of the model that became operators with quantizable weights: [(node, operators)].

    A grouped Conv becomes several operators, some of them with names of their own: such a one belongs to the node
    that what it computes ends up in.
    """
    known = {name: node for node in original.graph.node for name in node.output if name}
    readers = {}
    for op in net.ops:
        for index in op.inputs:
            readers.setdefault(index, []).append(op)

    def node_of(op, depth=0):
        if _plain(op.name) in known or depth > 64:
            return known.get(_plain(op.name))
        behind = (reader for index in op.outputs for reader in readers.get(index, []))
        return next((node for reader in behind if (node := node_of(reader, depth + 1)) is not None), None)

    hosts = {}
    for op in net.ops:
        node = node_of(op) if op.type in WEIGHT_AXIS else None
        # It has the name of the last node that was folded into it.
        while node is not None and node.op_type not in WEIGHTED:
            node = known.get(node.input[0]) if node.input else None
        if node is not None:
            hosts.setdefault(node.output[0], (node, []))[1].append(op)
    return list(hosts.values())


def quantizable(original, net, nodes):
    """Names of the operators that these nodes became."""
    outputs = {node.output[0] for node in nodes}
    return [op.name for node, ops in _hosts(original, net) for op in ops if node.output[0] in outputs]


def tensor_scales(original, net):
    """One entry for each real tensor and each weight that has scales."""
    graph = onnx.shape_inference.infer_shapes(original).graph
    floats = {info.name for info in (*graph.value_info, *graph.input, *graph.output)
              if info.type.tensor_type.elem_type == onnx.TensorProto.FLOAT}
    dimensions = {tensor.name: tensor.dims for tensor in original.graph.initializer}
    entries = {}

    def add(name, scales, axis=None, zero=0):
        entries.setdefault(name, {"name": name, "scale": scales, "zero_point": [int(zero)] * len(scales), "type": "int8",
                                  "axis": axis})

    for index, (scale, zero) in net.scales.items():
        if net.tensors[index] in floats:
            add(net.tensors[index], [scale], zero=zero)
    for node, ops in _hosts(original, net):
        scales = [scale for op in ops for scale in op.weight_scales]
        # Behind a decomposition with names of its own nobody can tell which scale serves which channel.
        if not scales or len(ops) > 1 and any(_plain(op.name) != node.output[0] for op in ops):
            continue
        transposed = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
        if len(ops) == 1 and ops[0].inputs[0] in net.scales and node.input[0] in floats:
            # It may have another name there; where it has both, with a scale each, the narrower one cuts.
            scale, zero = net.scales[ops[0].inputs[0]]
            add(node.input[0], [scale], zero=zero)
            entries[node.input[0]]["scale"] = [min(scale, *entries[node.input[0]]["scale"])]
        last = max(len(dimensions.get(node.input[1], ())) - 1, 0)
        axis = {"Gemm": 0 if transposed else 1, "MatMul": last}.get(node.op_type, WEIGHT_AXIS[ops[0].type])
        add(node.input[1], scales, axis)
    return list(entries.values())


def node_precision(original, net):
    """What is known of operators with weights: MNN's runtime decides about the others."""
    entries = []
    for node, ops in _hosts(original, net):
        quantized = all(op.weight_scales and op.type in (CONVOLUTION, DEPTHWISE) and
                        all(index in net.scales for index in (*op.inputs, *op.outputs)) for op in ops)
        entries.append({"node": node.name, "op": node.op_type, "got": "int8" if quantized else "fp32"})
    return entries
