"""What TensorRT says about an engine and a failed build, in terms of the ONNX model: needs no TensorRT and no GPU."""

import json
import re
import struct

# Layers that only move or convert values; their names are made of those of tensors and of other layers.
MOVES = ("Reformat", "NoOp", "Constant", "ShapeHostToDevice", "DeviceToShapeHost", "Signal", "Wait")
# What TensorRT sets around a MatMul or Gemm that it makes a convolution of; of a symbolic length 10.6 calls it a Shuffle.
AROUND = re.compile(r"reshape_(before|after)_")
METADATA_NODE = re.compile(r"\[ONNX Layer: (.*?)\](?=\[|\x1e|\x1f|$)")
FLOAT_TYPES = (1, 10, 11)  # onnx.TensorProto.FLOAT, FLOAT16, DOUBLE
# How the messages name what they are about: the output of a node, a layer, a tensor.
PARSED = re.compile(r'parsing node number \d+ \[\S+ -> "(.*?)"')
LAYERS = (re.compile(r"^(?:\[\w\] )?\d+: (.+?): "), re.compile(r"\bLayer (.+?) failed validation"),
          re.compile(r"implementation for node (.+?)\.(?: |$)"), re.compile(r"\blayer (.+?)[,:;.](?: |$)"),
          re.compile(r"Internal Error \((.+?) requires "), re.compile(r"No supported formats for (.+?)(?:; |\. |$)"))
TENSORS = (re.compile(r"\bzero-point for tensor (.+?)(?:\. |, |$)"), re.compile(r"\btensor (.+?)[,:;.](?: |$)"))


def read_cache(text):
    """A calibration cache's header line and its scales, {tensor: scale}. An empty cache has neither.

    A line is `name: hex`, the bits of the scale (range / 127) as a big-endian float32. A name may hold anything but the
    end of a line: the last ": " ends it. Raises ValueError at a line that isn't one.
    """
    header, *lines = text.splitlines() or [""]
    scales = {}
    for line in lines:
        name, colon, digits = line.rpartition(": ")
        if not line.strip():
            continue
        if not colon or not re.fullmatch("[0-9a-fA-F]{1,8}", digits):
            raise ValueError(f"calibration cache: expected \"tensor: hex\", actual \"{line}\"")
        scales[name] = struct.unpack(">f", bytes.fromhex(digits.zfill(8)))[0]
    return header, scales


def cache_entries(scales, model, information='{"Layers": []}'):
    """The protocol's `tensors`: symmetric int8, one scale each, of the model's own tensors. What TensorRT has a name of
    its own for, "(Unnamed Layer* 5) [Softmax]_output", is told as what `own_names` says that it is."""
    known = {tensor.name for tensor in model.graph.input} | {name for node in model.graph.node for name in node.output}
    own = own_names(model, information)
    scales = {**{own[name]: scale for name, scale in scales.items() if name in own and name not in known}, **scales}
    return [{"name": name, "scale": [scale], "zero_point": [0], "type": "int8", "axis": None}
            for name, scale in scales.items() if name in known]


def own_names(model, information):
    """{name of a tensor in the engine inspector's JSON: the output of the one node that the layer behind it computes}."""
    outputs = {node.name: node.output[0] for node in model.graph.node if len(node.output) == 1}
    names = {}
    for layer in json.loads(information)["Layers"]:
        computed = layer_nodes(layer, outputs) if isinstance(layer, dict) else []
        if len(computed) == 1:
            names.update({tensor["Name"]: outputs[computed[0]] for tensor in layer.get("Outputs", [])})
    return names


def _contains(text, name):
    """Where a name stands in a layer's name on its own, between what TensorRT joins names with; None where it doesn't."""
    return re.search(r"(?<![^\s(,|\[{])" + re.escape(name) + r"(?![^\s),|\]}.])", text)


def layer_nodes(layer, node_names):
    """Names of the ONNX nodes that an engine's layer computes: by its metadata, else by its name."""
    if layer.get("LayerType") in MOVES or (layer.get("LayerType") == "Shuffle" and AROUND.match(layer["Name"])):
        return []
    from_metadata = [name for name in METADATA_NODE.findall(layer.get("Metadata", "")) if name in node_names]
    if from_metadata:
        return from_metadata
    rest, found = layer["Name"], []
    for name in sorted(node_names, key=len, reverse=True):
        place = _contains(rest, name)
        if place:
            found.append(name)
            rest = rest[:place.start()] + ")" + rest[place.end():]
    return found


def _kind(words):
    """Of a format as the inspector words it, "Thirty-two wide channel vectorized row major Int8 format"."""
    lower = words.lower()
    for word, kind in (("int8", "int8"), ("fp16", "fp16"), ("half", "fp16"), ("fp32", "fp32"), ("float", "fp32")):
        if word in lower:
            return kind
    return None


def _formats(tensors):
    return [(tensor["Name"], _kind(tensor.get("Format/Datatype", ""))) for tensor in tensors]


def layer_precision(layer):
    """What a layer computes in: as its weights, else "int8" where all that it reads are codes; None: nothing real."""
    weights = _kind(str(layer.get("Weights", {}).get("Type", ""))) if isinstance(layer.get("Weights"), dict) else None
    if weights is not None:
        return weights
    kinds = {kind for _, kind in _formats(layer.get("Inputs", [])) if kind is not None}
    return kinds.pop() if len(kinds) == 1 else "fp32" if kinds else None


def _float_inside(layer, inner, on_codes):
    """Nodes of a layer that compute on real values although all that the layer reads are codes: those without such a
    form, and what reads these, like a MatMul behind a Softmax. `inner`: its nodes, in the graph's order."""
    if isinstance(layer.get("Weights"), dict):
        return set()
    real, found = set(), set()
    for node in inner:
        if node.op_type not in on_codes or any(name in real for name in node.input):
            found.add(node.name)
            real.update(node.output)
    return found


def node_precision(model, types, information, on_codes):
    """The protocol's `precision`, from the engine inspector's JSON. `types`: {tensor: ONNX element type}; `on_codes`:
    the operators that can run on codes. A layer of another one that reads codes turns them into real values by itself.

    A node that was fused has its layer's precision. One without a layer, like a Concat whose operands are written where
    they belong, runs on codes where all that it reads are codes; where nothing tells that, as what it writes is held.
    """
    layers = [layer for layer in json.loads(information)["Layers"] if isinstance(layer, dict)]
    constants = {tensor.name for tensor in model.graph.initializer}
    nodes = []
    for node in model.graph.node:
        if all(not name or name in constants for name in node.input):
            constants.update(node.output)  # folded: it computes nothing at run time
        elif node.op_type not in ("QuantizeLinear", "DequantizeLinear") and any(
                types.get(name) in FLOAT_TYPES for name in node.output):
            nodes.append(node)
    names = {node.name for node in nodes}
    hosts = {}
    # A graph input comes in its own type; where codes are read of it, a layer made them.
    held = {tensor.name: ["fp32"] for tensor in model.graph.input if types.get(tensor.name) in FLOAT_TYPES}
    for layer in layers:
        hosted = layer_nodes(layer, names)
        precision = layer_precision(layer)
        real = _float_inside(layer, [node for node in nodes if node.name in hosted], on_codes)
        for name in hosted:
            hosts.setdefault(name, []).append("fp32" if precision == "int8" and name in real else precision)
        for name, kind in _formats(layer.get("Outputs", [])):
            if kind is not None:
                held.setdefault(name, []).append(kind)
    entries = []
    for node in nodes:
        kinds = [kind for kind in hosts.get(node.name, []) if kind is not None]
        if not kinds:
            real = [name for name in node.input if name and name not in constants]
            kinds = ["int8" if "int8" in held[name] else held[name][0] for name in real if name in held]
            kinds = ["int8"] if kinds and set(kinds) == {"int8"} else kinds
            kinds = kinds or [kind for name in node.output for kind in held.get(name, [])]
        if kinds:
            # A node that became several layers runs in INT8 where all of them do.
            got = kinds[0] if len(set(kinds)) == 1 else next(kind for kind in ("fp32", "fp16", "int8") if kind in kinds)
            if got == "int8" and node.op_type not in on_codes:
                got = "fp32"
            entries.append({"node": node.name, "op": node.op_type, "got": got})
    return entries


def joined(messages):
    """TensorRT's errors as one reason, each once, in order."""
    return "; ".join(dict.fromkeys(" ".join(message.split()) for message in messages))


def blamed_node(messages, model):
    """The node that the errors name, by its output, its layer or its tensor; None where they name none."""
    by_name = {node.name: node for node in model.graph.node}
    by_output = {name: node for node in model.graph.node for name in node.output if name}
    for message in messages:
        found = PARSED.search(message)
        if found and found[1] in by_output:
            return by_output[found[1]]
        for pattern in LAYERS:
            for match in pattern.finditer(message):
                name = next((name for name in sorted(by_name, key=len, reverse=True) if _contains(match[1], name)), None)
                if name is not None:
                    return by_name[name]
        for pattern in TENSORS:
            match = pattern.search(message)
            if match and match[1] in by_output:
                return by_output[match[1]]
    return None
