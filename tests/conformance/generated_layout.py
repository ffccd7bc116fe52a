"""Generators of operators that move, select and make values, and of control flow."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from generated_models import F32, INTEGERS, GraphNode, Node, operator

LETTERS = "ijkl"


def any_values(draw, shape):
    kind = draw.pick(F32, F32, np.dtype("int64"), np.dtype("uint8"), np.dtype("int8"), np.dtype("bool"))
    if kind == F32:
        return draw.reals(shape)
    return draw.booleans(shape) if kind == bool else draw.codes(kind, shape)


def longs(values):
    return np.array(values, np.int64)


@operator("Concat")
def concat(draw, op):
    shape = draw.shape(1)
    axis = draw.axis(len(shape))
    parts = []
    for _ in range(draw.integer(1, 4)):
        part = list(shape)
        part[axis] = draw.integer(0, 4)
        parts.append(part)
    return Node(op, [draw.reals(part) for part in parts], axis=axis)


@operator("Split")
def split(draw, op):
    shape = draw.shape(1, empty=0)
    axis = draw.axis(len(shape))
    parts = [draw.integer(0, 3) for _ in range(draw.integer(1, 3))]
    form = draw.pick("attribute", "input", "even", "number")
    if form in ("even", "number"):
        count = draw.integer(1, 3)
        shape[axis] = count * draw.integer(1, 3) if form == "even" else draw.integer(2 * count, 9)
        if form == "even":
            return Node(op, [any_values(draw, shape)], 13, count, axis=axis)
        return Node(op, [any_values(draw, shape)], 18, count, axis=axis, num_outputs=count)
    shape[axis] = sum(parts)
    if form == "attribute":
        return Node(op, [any_values(draw, shape)], 11, len(parts), axis=axis, split=parts)
    return Node(op, [any_values(draw, shape), longs(parts)], 13, len(parts), constants=[1], axis=axis)


@operator("Slice", count=30)
def slicing(draw, op):
    shape = draw.shape(1)
    axes = draw.axes(len(shape), 1)
    steps = [draw.pick(1, 1, 2, -1, -2, 3) for _ in axes]
    starts = [draw.integer(-6, 6) for _ in axes]
    ends = [draw.pick(draw.integer(-6, 6), 2**62, -2**62) for _ in axes]
    if draw.maybe(0.2) and all(step == 1 for step in steps):
        return Node(op, [any_values(draw, shape)], 9, starts=starts, ends=ends,
                    axes=[axis % len(shape) for axis in axes])
    return Node(op, [any_values(draw, shape), longs(starts), longs(ends), longs(axes), longs(steps)])


@operator("Gather", "GatherElements")
def gather(draw, op):
    shape = draw.shape(1, empty=0)
    axis = draw.axis(len(shape))
    extent = shape[axis]
    where = draw.shape(0, 3) if op == "Gather" else [draw.integer(1, each) for each in shape]
    return Node(op, [any_values(draw, shape), draw.codes(draw.pick("int32", "int64"), where, -extent, extent - 1)],
                axis=axis)


@operator("GatherND")
def gather_nd(draw, op):
    shape = draw.shape(1, 4, empty=0)
    batch = draw.integer(0, len(shape) - 1)
    depth = draw.integer(1, len(shape) - batch)
    where = shape[:batch] + draw.shape(0, 2, empty=0)
    columns = [draw.codes("int64", where, -extent, extent - 1) for extent in shape[batch:batch + depth]]
    return Node(op, [any_values(draw, shape), np.stack(columns, -1)], batch_dims=batch)


@operator("ScatterElements", count=20)
def scatter_elements(draw, op):
    shape = draw.shape(1, 3, empty=0)
    axis = draw.axis(len(shape))
    reduction = draw.pick(None, "none", "add", "mul", "max", "min")
    opset = 18 if reduction in ("max", "min") else draw.pick(16, 18)
    x = draw.reals(shape)
    where = list(shape)
    where[axis] = draw.integer(1, shape[axis])
    # Without a reduction, no place may be written twice.
    order = np.argsort(draw.rng.random(shape), axis)
    index = order.take(range(where[axis]), axis).astype(np.int64)
    if reduction not in (None, "none"):
        index = draw.codes("int64", where, -shape[axis], shape[axis] - 1)
    return Node(op, [x, index, draw.reals(index.shape)], opset, axis=axis, reduction=reduction)


@operator("ScatterND", count=20)
def scatter_nd(draw, op):
    shape = draw.shape(1, 3, empty=0)
    depth = draw.integer(1, len(shape))
    reduction = draw.pick(None, "none", "add", "mul", "max", "min")
    places = np.array(list(np.ndindex(*shape[:depth])), np.int64)
    places = places[draw.rng.permutation(len(places))[:draw.integer(1, len(places))]]
    updates = draw.reals([len(places), *shape[depth:]])
    opset = 18 if reduction in ("max", "min") else 16
    return Node(op, [draw.reals(shape), places, updates], opset, reduction=reduction)


@operator("Scatter")
def scatter(draw, op):
    shape = draw.shape(1, 3, empty=0)
    axis = draw.integer(0, len(shape) - 1)
    order = np.argsort(draw.rng.random(shape), axis).astype(np.int64)
    return Node(op, [draw.reals(shape), order, draw.reals(shape)], 10, axis=axis)


@operator("Transpose")
def transpose(draw, op):
    shape = draw.shape(0, 5)
    perm = None if draw.maybe(0.3) or not shape else [int(axis) for axis in draw.rng.permutation(len(shape))]
    return Node(op, [any_values(draw, shape)], perm=perm)


@operator("Reshape")
def reshape(draw, op):
    shape = draw.shape(1, 4)
    target = [int(np.prod(shape))] if draw.maybe(0.3) else list(shape)
    if draw.maybe(0.4) and 0 not in shape:
        target[draw.integer(0, len(target) - 1)] = -1
    elif draw.maybe(0.4) and len(target) == len(shape):
        target[0] = 0
    if draw.maybe(0.3):
        target.append(1)
    return Node(op, [any_values(draw, shape), longs(target)], 14,
                allowzero=1 if 0 in shape and target.count(0) == shape.count(0) and draw.maybe() else None)


@operator("Flatten")
def flatten(draw, op):
    shape = draw.shape(0)
    return Node(op, [any_values(draw, shape)], axis=draw.integer(-len(shape), len(shape)))


@operator("Squeeze", "Unsqueeze")
def unit_axes(draw, op):
    shape = draw.shape(1, 3)
    rank = len(shape) + 2
    axes = sorted(int(axis) for axis in draw.rng.permutation(rank)[:2])
    whole = list(shape)
    for axis in axes:
        whole.insert(axis, 1)
    given = [axis - (rank if draw.maybe(0.3) else 0) for axis in axes]
    x = any_values(draw, whole if op == "Squeeze" else shape)
    if op == "Squeeze" and draw.maybe(0.2):
        return Node(op, [x], 13)
    return Node(op, [x], 11, axes=given) if draw.maybe(0.3) else Node(op, [x, longs(given)], 13)


@operator("Expand")
def expand(draw, op):
    shape, target = draw.broadcast(2, 1)
    return Node(op, [any_values(draw, shape), longs(target)])


@operator("Tile")
def tile(draw, op):
    shape = draw.shape(1, 3)
    return Node(op, [any_values(draw, shape), longs([draw.integer(0, 3) for _ in shape])])


@operator("Pad", count=30)
def pad(draw, op):
    shape = draw.shape(1, 4, empty=0)
    mode = draw.pick("constant", "constant", "reflect", "edge", "wrap")
    opset = 19 if mode == "wrap" else draw.pick(13, 18)
    high = 3 if mode == "constant" else None
    axes = draw.axes(len(shape), 1) if opset >= 18 and draw.maybe() else None
    extents = shape if axes is None else [shape[axis] for axis in axes]
    low = -1 if mode == "constant" else 0
    pads = [draw.integer(max(low, -(extent // 2)), high if high is not None else extent - 1)
            for _ in range(2) for extent in extents]
    x = draw.reals(shape) if mode != "constant" or draw.maybe() else draw.codes("int64", shape)
    value = np.array(draw.integer(-4, 4), x.dtype) if mode == "constant" and draw.maybe() else None
    return Node(op, [x, longs(pads), value, None if axes is None else longs(axes)], opset, mode=mode)


@operator("DepthToSpace", "SpaceToDepth")
def blocks(draw, op):
    block = draw.integer(1, 3)
    shape = [draw.integer(1, 2), draw.integer(1, 3), draw.integer(1, 3), draw.integer(1, 3)]
    if op == "DepthToSpace":
        shape[1] *= block * block
        return Node(op, [draw.reals(shape)], blocksize=block, mode=draw.pick(None, "DCR", "CRD"))
    return Node(op, [draw.reals([*shape[:2], shape[2] * block, shape[3] * block])], blocksize=block)


@operator("OneHot")
def one_hot(draw, op):
    shape = draw.shape(0, 3)
    depth = draw.integer(1, 5)
    indices = draw.codes(draw.pick("int64", "int32"), shape, -depth - 1, depth)
    values = draw.reals([2]) if draw.maybe() else draw.codes("int64", [2])
    return Node(op, [indices.astype(np.int64), np.array(depth, np.int64), values], axis=draw.axis(len(shape) + 1))


@operator("TopK", count=20)
def top_k(draw, op):
    shape = draw.shape(1, 4, empty=0)
    axis = draw.axis(len(shape))
    ties = draw.maybe(0.3)
    x = draw.codes("int64", shape, -2, 2) if ties else draw.distinct(shape)
    return Node(op, [x, longs([draw.integer(1, shape[axis])])], 11, 2, axis=axis, largest=draw.pick(None, 0, 1),
                sorted=1)


@operator("NonZero")
def non_zero(draw, op):
    return Node(op, [draw.codes("int32", draw.shape(1), -1, 1).astype(draw.pick("float32", "int64", "bool"))])


@operator("Compress")
def compress(draw, op):
    shape = draw.shape(1, empty=0)
    axis = None if draw.maybe(0.3) else draw.axis(len(shape))
    extent = int(np.prod(shape)) if axis is None else shape[axis]
    return Node(op, [any_values(draw, shape), draw.booleans([draw.integer(1, extent)])], axis=axis)


@operator("EyeLike")
def eye(draw, op):
    return Node(op, [draw.reals([draw.integer(1, 5), draw.integer(1, 5)])], k=draw.pick(None, -2, 1, 6),
                dtype=draw.pick(None, TensorProto.INT64, TensorProto.FLOAT))


@operator("Trilu")
def trilu(draw, op):
    shape = draw.shape(2, 4)
    k = None if draw.maybe(0.3) else np.array(draw.integer(-6, 6), np.int64)
    return Node(op, [draw.reals(shape), k], 14, upper=draw.pick(None, 0, 1))


@operator("Range")
def ranges(draw, op):
    if draw.maybe():
        kind = draw.pick(np.int64, np.int32)
        values = draw.integer(-9, 9), draw.integer(-9, 9), draw.pick(-3, 1, 2)
        return Node(op, [np.array(value, kind) for value in values])
    values = draw.integer(-9, 9) / 4, draw.integer(-9, 9), draw.pick(-0.5, 0.25)
    return Node(op, [np.array(value, F32) for value in values])


@operator("ConstantOfShape")
def constant_of_shape(draw, op):
    element = draw.pick(draw.reals([1]), draw.codes("int64", [1]))
    value = None if draw.maybe(0.3) else numpy_helper.from_array(element, "v")
    return Node(op, [longs(draw.shape(0))], value=value)


@operator("Constant")
def constant(draw, op):
    form = draw.pick("value", "value_float", "value_floats", "value_int", "value_ints")
    values = {"value": numpy_helper.from_array(draw.reals(draw.shape(0)), "v"), "value_float": 1.25,
              "value_floats": [float(each) for each in draw.reals([3])], "value_int": draw.integer(-9, 9),
              "value_ints": [draw.integer(-9, 9) for _ in range(3)]}
    return Node(op, [], 13, **{form: values[form]})


@operator("Shape", "Size")
def extents(draw, op):
    shape = draw.shape(0)
    ends = {"start": draw.pick(None, -2, 1), "end": draw.pick(None, -1, 3)} if op == "Shape" else {}
    return Node(op, [any_values(draw, shape)], 15, **ends)


@operator("Einsum", count=24)
def einsum(draw, op):
    extent = {letter: draw.integer(1, 4) for letter in LETTERS}
    terms = ["".join(draw.rng.permutation(list(LETTERS))[:draw.integer(1, 3)]) for _ in range(draw.integer(1, 3))]
    used = sorted(set("".join(terms)))
    kept = "".join(draw.rng.permutation(used)[:draw.integer(0, len(used))])
    equation = ",".join(terms) + ("->" + kept if draw.maybe(0.8) else "")
    return Node(op, [draw.reals([extent[letter] for letter in term]) for term in terms], equation=equation)


def body(name, nodes, inputs, outputs, kind=TensorProto.FLOAT):
    """A subgraph of scalars and vectors whose shapes nobody declares."""
    info = helper.make_tensor_value_info
    return helper.make_graph(nodes, name, [info(each, of, None) for each, of in inputs],
                             [info(each, kind, None) for each in outputs])


@operator("If")
def branch(draw, op):
    x = draw.reals(draw.shape(1))
    then = body("then", [helper.make_node(draw.pick("Neg", "Abs"), ["x"], ["t"])], [], ["t"])
    other = body("else", [helper.make_node("Add", ["x", "x"], ["e"])], [], ["e"])
    node = helper.make_node(op, ["c"], ["y"], "n", then_branch=then, else_branch=other)
    info = helper.make_tensor_value_info
    graph = helper.make_graph([node], "g", [info("c", TensorProto.BOOL, []), info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_empty_tensor_value_info("y")])
    return GraphNode(graph, {"c": np.array(draw.maybe()), "x": x})


@operator("Loop")
def loop(draw, op):
    x = draw.reals(draw.shape(1, 2, empty=0))
    step = [helper.make_node("Mul", ["s", "half"], ["h"]), helper.make_node("Add", ["h", "x"], ["s_out"]),
            helper.make_node("Identity", ["s_out"], ["scan"]), helper.make_node("Less", ["i", "last"], ["c_out"])]
    inner = helper.make_graph(
        step, "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                       helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                       helper.make_tensor_value_info("s", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("c_out", TensorProto.BOOL, []),
         helper.make_tensor_value_info("s_out", TensorProto.FLOAT, None),
         helper.make_tensor_value_info("scan", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array(0.5, F32), "half"),
         numpy_helper.from_array(np.array(draw.integer(0, 4), np.int64), "last")])
    node = helper.make_node(op, ["m", "c0", "x"], ["y", "all"], "n", body=inner)
    info = helper.make_tensor_value_info
    graph = helper.make_graph([node], "g", [info("m", TensorProto.INT64, []), info("c0", TensorProto.BOOL, []),
                                            info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_empty_tensor_value_info(name) for name in ("y", "all")])
    return GraphNode(graph, {"m": np.array(draw.integer(1, 6), np.int64), "c0": np.array(True), "x": x})


@operator("Scan")
def scan(draw, op):
    steps = [helper.make_node("Add", ["s", "e"], ["s_out"]), helper.make_node("Mul", ["s_out", "e"], ["o"])]
    inner = body("body", steps,
                 [("s", TensorProto.FLOAT), ("e", TensorProto.FLOAT)], ["s_out", "o"])
    shape = draw.shape(2, 3, empty=0)
    axis = draw.integer(0, len(shape) - 1)
    x = draw.reals(shape)
    state = draw.reals([extent for place, extent in enumerate(shape) if place != axis])
    node = helper.make_node(op, ["s", "x"], ["y", "all"], "n", body=inner, num_scan_inputs=1, scan_input_axes=[axis],
                            scan_input_directions=[draw.pick(0, 1)], scan_output_axes=[draw.integer(0, len(shape) - 1)],
                            scan_output_directions=[draw.pick(0, 1)])
    info = helper.make_tensor_value_info
    inputs = [info("s", TensorProto.FLOAT, state.shape), info("x", TensorProto.FLOAT, shape)]
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info(name) for name in ("y", "all")])
    return GraphNode(graph, {"s": state, "x": x})
