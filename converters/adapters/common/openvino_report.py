"""What a quantized OpenVINO model says about itself: FakeQuantize's parameters, and where the plugin runs a node."""

import numpy

WEIGHT_OPERATORS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
LINEAR_LAYERS = ("Convolution", "Deconvolution", "FullyConnected", "MatMul")


def _belongs(layer, node):
    """Whether an OpenVINO operation of that name was made of an ONNX node: one node may become several."""
    return layer == node.name or layer in node.output or layer.startswith(node.name + "/")


def original_operations(network, node):
    """Names of the operations that one ONNX node became."""
    return [operation.get_friendly_name() for operation in network.get_ordered_ops()
            if _belongs(operation.get_friendly_name(), node)]


def _source(operation, port):
    return operation.input(port).get_source_output()


def _constant(operation, port):
    """The array at an input, or None where it isn't a constant."""
    node = _source(operation, port).get_node()
    return node.get_data() if node.get_type_name() == "Constant" else None


def _axis(scale):
    """The only axis along which there is more than one scale; None for one scale, -1 for several axes."""
    axes = [axis for axis, extent in enumerate(scale.shape) if extent > 1]
    return None if not axes else axes[0] if len(axes) == 1 else -1


def _entry(name, low, high, levels):
    scale = (high.astype(numpy.float64) - low) / (levels - 1)
    signed = bool((low < 0).any())
    zero_point = (-128 if signed else 0) - numpy.round(low / scale)
    return {"name": name, "scale": scale.astype(numpy.float32).reshape(-1),
            "zero_point": zero_point.astype(int).reshape(-1), "type": "int8" if signed else "uint8",
            "axis": _axis(scale)}


def _weight_of(operation, port, original):
    """The initializer that an operation reads at a port, by the ONNX node that it was made of."""
    layer = operation.get_friendly_name()
    for node in original.graph.node:
        if node.op_type in WEIGHT_OPERATORS and _belongs(layer, node):
            constants = {tensor.name for tensor in original.graph.initializer}
            operands = node.input[:2]
            if operands[port] not in constants:
                operands = operands[::-1]
            return operands[port] if operands[port] in constants else None
    return None


def tensor_scales(quantized, original):
    """One entry for each FakeQuantize, and one for each weight that was compressed to int8 codes."""
    entries = {}
    for operation in quantized.get_ordered_ops():
        kind = operation.get_type_name()
        if kind == "FakeQuantize":
            names = _source(operation, 0).get_names()
            name = min(names) if names else _source(operation, 0).get_node().get_friendly_name()
            low, high = _constant(operation, 1), _constant(operation, 2)
            entries.setdefault(name, _entry(name, low, high, operation.get_attributes()["levels"]))
            continue
        for port in range(len(operation.inputs())):
            weight = _source(operation, port).get_node()
            if kind in ("Convert", "Subtract", "Multiply") or weight.get_type_name() != "Multiply":
                continue
            codes = _source(weight, 0).get_node()
            scale = _constant(weight, 1)
            if scale is None or codes.get_type_name() != "Convert" or _constant(codes, 0) is None:
                continue
            name = _weight_of(operation, port, original)
            axis = _axis(scale)
            if name is None or axis == -1:
                continue  # a group's weights have an axis more than ONNX's
            entries.setdefault(name, {
                "name": name, "scale": scale.reshape(-1), "zero_point": [0] * scale.size, "type": "int8",
                "axis": axis})
    return list(entries.values())


def node_precision(original, runtime):
    """Where the plugin runs each node, by the compiled model; a node that was fused has its host's precision."""
    layers = []
    for operation in runtime.get_ordered_ops():
        info = operation.get_rt_info()
        precision, names, kind = (str(info[key].value if hasattr(info[key], "value") else info[key])
                                  for key in ("runtimePrecision", "originalLayersNames", "layerType"))
        layers.append((kind, precision, names.split(",")))
    constants = {tensor.name for tensor in original.graph.initializer}
    entries = []
    for node in original.graph.node:
        if all(not name or name in constants for name in node.input):
            constants.update(node.output)  # folded: it computes nothing at run time
            continue
        hosts = [(kind, precision) for kind, precision, names in layers if any(_belongs(name, node) for name in names)]
        if node.op_type in WEIGHT_OPERATORS:
            hosts = [host for host in hosts if host[0] in LINEAR_LAYERS] or hosts
        if hosts:
            got = "int8" if any(precision in ("i8", "u8") for _, precision in hosts) else "fp32"
            entries.append({"node": node.name, "op": node.op_type, "got": got})
    return entries
