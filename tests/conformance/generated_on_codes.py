"""ONNX Runtime's own operators on codes, and its quantizers of 16 bits (domain com.microsoft)."""
import numpy as np

from generated_linear import matrix_shapes, zero_point
from generated_models import Node, operator



def coded(draw, kind, shape):
    return [draw.codes(kind, shape), draw.scale(), zero_point(draw, kind)]


def result(draw, kind):
    """Any scale: on a tie the kernels round each in its own way."""
    return [np.float32(draw.rng.uniform(0.05, 2)), zero_point(draw, kind)]


@operator("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul", count=30)
def binary_on_codes(draw, op):
    left, right = draw.broadcast(2, low=1)
    kind = draw.pick("uint8", "int8")
    return Node(op, [*coded(draw, kind, left), *coded(draw, kind, right), *result(draw, kind)])


@operator("com.microsoft.QLinearLeakyRelu", "com.microsoft.QLinearSigmoid", count=20)
def unary_on_codes(draw, op):
    kind = draw.pick("uint8", "int8")
    alpha = draw.pick(None, 0.25, 0.5) if op.endswith("LeakyRelu") else None
    return Node(op, [*coded(draw, kind, draw.shape()), *result(draw, kind)], alpha=alpha)


@operator("com.microsoft.QLinearSoftmax", count=30)
def softmax_on_codes(draw, op):
    """In steps of 1/128 no probability is beyond the codes: in int8 ONNX Runtime up to 1.28 wraps one that is."""
    shape = draw.shape(low=1, empty=0)
    kind = draw.pick("uint8", "int8")
    node = Node(op, [*coded(draw, kind, shape), np.float32(1 / 128), np.array(np.iinfo(kind).min, kind)],
                axis=draw.axis(len(shape)))
    node.attributes["opset"] = draw.pick(11, 13)
    return node


@operator("com.microsoft.QLinearConcat", count=20)
def concat_on_codes(draw, op):
    shape = draw.shape(empty=0)
    kind, axis = draw.pick("uint8", "int8"), draw.axis(len(shape))
    operands = []
    for _ in range(draw.integer(1, 4)):
        shape[axis] = draw.integer(1, 4)
        operands += [draw.codes(kind, shape), draw.scale(), zero_point(draw, kind)]
    inputs = [*result(draw, kind), *operands]
    codes = set(range(2, len(inputs), 3))  # the parameters have to be constants
    return Node(op, inputs, axis=axis, constants=set(range(len(inputs))) - codes)


@operator("com.microsoft.QLinearWhere", count=20)
def where_on_codes(draw, op):
    condition, left, right = draw.broadcast(3, low=1)
    kind = draw.pick("uint8", "int8")
    full = [draw.booleans(condition)]
    for shape in (left, right):
        full += [draw.codes(kind, shape), draw.scale(), zero_point(draw, kind)]
    return Node(op, [*full, *result(draw, kind)], constants=[2, 3, 5, 6, 7, 8])


@operator("com.microsoft.QLinearAveragePool", count=40)
def average_pool_on_codes(draw, op):
    kind, dimensions = draw.pick("uint8", "int8"), draw.integer(1, 3)
    kernel = [draw.integer(1, 3) for _ in range(dimensions)]
    pads = [draw.integer(0, kernel[i % dimensions] - 1) for i in range(2 * dimensions)]
    shape = [draw.integer(1, 2), draw.integer(1, 3), *(draw.integer(3, 7) for _ in range(dimensions))]
    return Node(op, [*coded(draw, kind, shape), *result(draw, kind)], kernel_shape=kernel, pads=pads,
                strides=[draw.integer(1, 2) for _ in range(dimensions)], count_include_pad=draw.integer(0, 1))


@operator("com.microsoft.QLinearGlobalAveragePool", count=20)
def global_average_pool_on_codes(draw, op):
    kind = draw.pick("uint8", "int8")
    shape = [draw.integer(1, 3), draw.integer(1, 4), *draw.shape(low=1, high=2, longest=6, empty=0)]
    return Node(op, [draw.codes(kind, shape), draw.scale(), zero_point(draw, kind), *result(draw, kind)])


@operator("com.microsoft.QGemm", count=60)
def gemm_on_codes(draw, op):
    rows, depth, columns = (draw.integer(1, 9) for _ in range(3))
    kind = draw.pick("uint8", "int8")
    turned_left, turned_right = draw.integer(0, 1), draw.integer(0, 1)
    wanted = [columns] if draw.maybe() else []
    left = draw.codes(kind, [depth, rows] if turned_left else [rows, depth])
    right = draw.codes("int8", [columns, depth] if turned_right else [depth, columns])
    bias = draw.codes("int32", [columns], -9000, 9000) if draw.maybe() else None
    end = result(draw, kind) if draw.maybe(0.7) else []
    return Node(op, [left, draw.scale(), zero_point(draw, kind), right, draw.scale(wanted), np.zeros(wanted, "int8"), bias, *end],
                constants=[1, 2, 3, 4, 5, 6, 7, 8], transA=turned_left, transB=turned_right, alpha=draw.pick(None, 0.5, 2.0))


def weight_of(draw, shape):
    """Codes of B, its scale and its zero point, or one of each for every column."""
    wanted = [shape[-1]] if draw.maybe() and len(shape) == 2 else []
    return draw.codes("int8", shape), draw.scale(wanted), zero_point(draw, "int8", wanted) if draw.maybe(0.7) else None


@operator("com.microsoft.MatMulIntegerToFloat", count=40)
def matmul_to_float(draw, op):
    left, right = matrix_shapes(draw)
    kind = draw.pick("uint8", "int8")
    codes, scale, zero = weight_of(draw, right)
    bias = draw.reals([right[-1]]) if draw.maybe() and len(right) > 1 else None
    return Node(op, [draw.codes(kind, left), codes, draw.scale(), scale, zero_point(draw, kind), zero, bias], constants=[1, 3, 5])


@operator("com.microsoft.DynamicQuantizeMatMul", count=40)
def matmul_of_a_range(draw, op):
    left, right = matrix_shapes(draw)
    codes, scale, zero = weight_of(draw, right)
    bias = draw.reals([right[-1]]) if draw.maybe() and len(right) > 1 else None
    return Node(op, [draw.reals(left), codes, scale, zero, bias], constants=[1, 2, 3])


@operator("com.microsoft.QuantizeLinear", "com.microsoft.DequantizeLinear", count=30)
def sixteen_bits(draw, op):
    shape, kind = draw.shape(empty=0), draw.pick("int16", "uint16", "int8", "uint8")
    axis = draw.axis(len(shape)) if draw.maybe() else None
    wanted = [] if axis is None else [shape[axis]]
    x = draw.reals(shape) if op.endswith(".QuantizeLinear") else draw.codes(kind, shape)
    return Node(op, [x, draw.scale(wanted), draw.codes(kind, wanted, 0, 100)], axis=axis)
