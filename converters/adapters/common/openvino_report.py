"""What a quantized OpenVINO model says about itself: FakeQuantize's parameters, and where the plugin runs a node."""

import numpy
from qdq_report import MOVING

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


def _weight_of(operation, port, shape, original):
    """The initializer that an operation reads at a port, by the ONNX node that it was made of (by the initializer's
    shape where the operation has lost the node's name), and that node's operator; None where there is none."""
    dims = {tensor.name: list(tensor.dims) for tensor in original.graph.initializer}
    linear = [node for node in original.graph.node if node.op_type in WEIGHT_OPERATORS]
    hosts = [node for node in linear if _belongs(operation.get_friendly_name(), node)]
    for node in hosts or linear:
        constant = [name for name in (node.input[port], *node.input[:2]) if name in dims]
        if constant and (hosts or dims[constant[0]] == list(shape)):
            return constant[0], node.op_type
    return None


def _weight_entry(found, scale):
    """The entry of a weight. OpenVINO's weights of groups have an axis more: a Conv's scales are in ONNX's order all
    the same, a ConvTranspose's have no place along one axis of ONNX's weight (None)."""
    axis = _axis(scale)
    if found is None or (axis == -1 and found[1] != "Conv"):
        return None
    return {"name": found[0], "scale": scale.astype(numpy.float32).reshape(-1), "zero_point": [0] * scale.size,
            "type": "int8", "axis": 0 if axis == -1 else axis}


def _behind(port):
    """The array behind a port: a constant, or one that was only reshaped (a Conv's groups become an axis)."""
    while port.get_node().get_type_name() == "Reshape":
        port = _source(port.get_node(), 0)
    return port.get_node().get_data() if port.get_node().get_type_name() == "Constant" else None


def _moved_scales(original, entries):
    """Entries of tensors that hold moved codes: all that the operator read have the same parameters."""
    constants = {tensor.name for tensor in original.graph.initializer}
    for node in original.graph.node:
        if node.op_type not in MOVING or node.output[0] in entries:
            continue
        reals = [name for name in node.input if name and name not in constants]
        found = [entries.get(name) for name in reals]
        keys = {entry and (tuple(entry["scale"]), tuple(entry["zero_point"]), entry["type"]) for entry in found}
        if len(keys) == 1 and None not in keys:
            entries[node.output[0]] = {**found[0], "name": node.output[0]}


def tensor_scales(quantized, original):
    """One entry for each FakeQuantize, each weight that was compressed to int8 codes, and each tensor only moved."""
    entries = {}
    for operation in quantized.get_ordered_ops():
        kind = operation.get_type_name()
        if kind == "FakeQuantize":
            source = _source(operation, 0)
            # The names of a tensor that became a graph output are behind its FakeQuantize; an input has its own always.
            names = source.get_names() or operation.output(0).get_names()
            own = source.get_node().get_friendly_name()
            name = min(names) if names and source.get_node().get_type_name() != "Parameter" else own
            low, high = _constant(operation, 1), _constant(operation, 2)
            codes = _behind(_source(operation, 0))
            if codes is not None:
                reader = next(iter(operation.output(0).get_target_inputs()))
                found = _weight_of(reader.get_node(), reader.get_index(), codes.shape, original)
                levels = operation.get_attributes()["levels"]
                weight = _weight_entry(found, (high.astype(numpy.float64) - low) / (levels - 1))
                if weight is not None:
                    entries.setdefault(weight["name"], weight)
                continue
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
            found = _weight_of(operation, port, _constant(codes, 0).shape, original)
            entry = _weight_entry(found, scale)
            if entry is not None:
                entries.setdefault(entry["name"], entry)
    _moved_scales(original, entries)
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
