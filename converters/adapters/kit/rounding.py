"""The float model with tensors rounded to 8 bits, by operators of opset 11 and later: what correct quantization gives at best.

Each scale is that of the tensor's own range: of a weight's channel, its largest magnitude over 127 steps; of an activation, its
range over the calibration data, zero in it, over 255 steps.
"""
import numpy
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from bundles import constants

FIRST_OPSET = 11  # Clip with bounds that are inputs, and Round


def tensors_of(bundle):
    """{name: axis, None for one scale} of what the converter says that it rounds; of all that is to be where it says nothing, or
    something of the network's inputs alone: what is behind them is cut at its range, too."""
    stated = {name for name, each in bundle.parameters.items() if each.get("obtained")}
    stated = set() if stated <= {each.name for each in bundle.model.graph.input} else stated
    return {name: each["expected"]["axis"] for name, each in bundle.parameters.items()
            if each.get("expected") and (name in stated or not stated)}


def rounded(bundle, names):
    """The model; ValueError where its opset has no Round."""
    model = onnx.ModelProto.FromString(bundle.model.SerializeToString())
    if next(each.version for each in model.opset_import if each.domain in ("", "ai.onnx")) < FIRST_OPSET:
        raise ValueError(f"an opset before {FIRST_OPSET}")
    held, graph = constants(model.graph), model.graph
    for tensor in graph.initializer:
        if tensor.name in names and held[tensor.name].ndim > 1:
            tensor.CopyFrom(numpy_helper.from_array(_weight(held[tensor.name], names[tensor.name]), tensor.name))
    moving = [name for name in names if name not in held]
    made = []
    for name, (low, high) in _ranges(bundle, moving).items():
        scale = float(max(-low, high) / 127 if bundle.options.get("symmetric") else (high - low) / 255)
        if scale > 0:
            made += _pair(graph, name, scale, *((-127, 127) if bundle.options.get("symmetric") else _bounds(low, scale)))
    if made:
        ordered = _ordered([*graph.node, *made], {each.name for each in (*graph.input, *graph.initializer)})
        del graph.node[:]
        graph.node.extend(ordered)
    return model


def _weight(values, axis):
    others = tuple(each for each in range(values.ndim) if each != axis) if axis is not None else None
    scale = numpy.max(numpy.abs(values), others, keepdims=True) / 127
    scale[scale == 0] = 1
    return (numpy.round(values / scale) * scale).astype(values.dtype)


def _bounds(low, scale):
    """The least and the largest code, zero's being 0."""
    zero = round(-low / scale)
    return -zero, 255 - zero


def _ranges(bundle, names):
    """{name: (low, high)}, zero in them, over the calibration data."""
    model = onnx.ModelProto.FromString(bundle.model.SerializeToString())
    inputs, given = {each.name for each in model.graph.input}, {each.name for each in model.graph.output}
    inner = [name for name in names if name not in inputs]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inner if name not in given)
    evaluator = ReferenceEvaluator(model)
    found = {}
    for batch in bundle.batches():
        for name, values in {**batch, **dict(zip(inner, evaluator.run(inner, batch) if inner else ()))}.items():
            low, high = found.get(name, (0, 0))
            found[name] = min(low, float(values.min())), max(high, float(values.max()))
    return {name: found[name] for name in names}


def _pair(graph, name, scale, low, high):
    """Nodes that round the tensor; its readers read the result, and so does a graph output of its name."""
    given = any(each.name == name for each in graph.output)
    before, after = (f"{name}/float", name) if given else (name, f"{name}/rounded")
    for node in graph.node:
        for place, read in enumerate(node.input):
            if read == name and not given:
                node.input[place] = after
        for place, made in enumerate(node.output):
            if made == name and given:
                node.output[place] = before
    for word, value in (("scale", scale), ("low", low), ("high", high)):
        graph.initializer.append(numpy_helper.from_array(numpy.array(value, numpy.float32), f"{name}/{word}"))
    steps = [f"{name}/steps", f"{name}/whole", f"{name}/code"]
    return [helper.make_node("Div", [before, f"{name}/scale"], steps[:1]), helper.make_node("Round", steps[:1], steps[1:2]),
            helper.make_node("Clip", [steps[1], f"{name}/low", f"{name}/high"], steps[2:]),
            helper.make_node("Mul", [steps[2], f"{name}/scale"], [after])]


def _ordered(nodes, known):
    """Each node behind those that it reads."""
    waiting, placed = list(nodes), []
    while waiting:
        ready = [node for node in waiting if all(not name or name in known for name in node.input)]
        if not ready:
            raise ValueError("nodes that wait for each other")
        placed += ready
        known |= {name for node in ready for name in node.output}
        waiting = [node for node in waiting if node not in ready]
    return placed
