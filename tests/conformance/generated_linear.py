"""Generators of sums of products, pools, normalizations and resizing, in float and in integers."""
import ml_dtypes
import numpy as np

from generated_models import F32, Node, operator

AUTO = ["NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]


def window(draw, rank, longest=3, dilated=True):
    """Attributes of a convolution or pool over `rank` axes, and the least extents it needs."""
    kernel = [draw.integer(1, longest) for _ in range(rank)]
    strides = [draw.integer(1, 3) for _ in range(rank)]
    dilations = [draw.integer(1, 2) if dilated and draw.maybe(0.3) else 1 for _ in range(rank)]
    auto = draw.pick(*AUTO)
    attributes = {"kernel_shape": kernel, "strides": None if draw.maybe(0.2) else strides}
    if auto == "NOTSET":
        # Less than the kernel: no window lies in the padding alone.
        attributes["pads"] = [draw.integer(0, each - 1) for _ in range(2) for each in kernel]
    else:
        attributes["auto_pad"] = auto
    if auto in ("NOTSET", "VALID") and dilated:
        attributes["dilations"] = dilations
    else:
        dilations = [1] * rank
    least = [(each - 1) * dilation + 1 for each, dilation in zip(kernel, dilations)]
    return attributes, [extent + draw.integer(0, 4) for extent in least]


def convolution_shapes(draw, transposed=False):
    rank = draw.pick(1, 2, 2, 3)
    attributes, spatial = window(draw, rank)
    groups = draw.integer(1, 3)
    into, out = draw.integer(1, 3), draw.integer(1, 3)
    x = [draw.integer(1, 2), groups * into, *spatial]
    weight = [groups * into, out] if transposed else [groups * out, into]
    attributes["group"] = groups
    return x, [*weight, *attributes["kernel_shape"]], groups * out, attributes


@operator("Conv", count=60)
def conv(draw, op):
    x, weight, out, attributes = convolution_shapes(draw)
    if draw.maybe(0.2):
        del attributes["kernel_shape"]
    return Node(op, [draw.reals(x), draw.reals(weight), draw.reals([out]) if draw.maybe() else None], 11, **attributes)


@operator("ConvTranspose", count=60)
def conv_transpose(draw, op):
    x, weight, out, attributes = convolution_shapes(draw, transposed=True)
    strides = attributes.get("strides") or [1] * (len(x) - 2)
    if draw.maybe(0.4):
        attributes["output_padding"] = [draw.integer(0, stride - 1) for stride in strides]
    return Node(op, [draw.reals(x), draw.reals(weight), draw.reals([out]) if draw.maybe() else None], 11, **attributes)


@operator("AveragePool", "MaxPool", count=50)
def pool(draw, op):
    rank = draw.pick(1, 2, 2, 3)
    attributes, spatial = window(draw, rank, 4, op == "MaxPool" or draw.maybe(0.3))
    opset = 19 if "dilations" in attributes and op == "AveragePool" else draw.pick(12, 19)
    attributes["ceil_mode"] = draw.pick(None, 0, 1)
    if op == "AveragePool":
        attributes["count_include_pad"] = draw.pick(None, 0, 1)
    shape = [draw.integer(1, 2), draw.integer(1, 3), *spatial]
    if op == "AveragePool":
        return Node(op, [draw.reals(shape)], opset, **attributes)
    indexed = draw.maybe(0.3)
    x = draw.distinct(shape) if indexed or draw.maybe() else draw.codes(draw.pick("int8", "uint8"), shape)
    return Node(op, [x], opset, 2 if indexed else 1, storage_order=draw.pick(None, 0, 1) if indexed else None,
                **attributes)


@operator("GlobalAveragePool", "GlobalMaxPool")
def global_pool(draw, op):
    return Node(op, [draw.reals([draw.integer(1, 3), *draw.shape(2, 4, 6, 0)])])


def matrix_shapes(draw):
    m, k, n = (draw.integer(1, 7) for _ in range(3))
    left, right = draw.broadcast(2, 0, 2)
    return ([k] if draw.maybe(0.1) else [*left, m, k]), ([k] if draw.maybe(0.1) else [*right, k, n])


@operator("MatMul", count=40)
def mat_mul(draw, op):
    left, right = matrix_shapes(draw)
    if draw.maybe(0.2):
        return Node(op, [draw.codes("int32", left, -90, 90), draw.codes("int32", right, -90, 90)])
    return Node(op, [draw.reals(left), draw.reals(right)])


@operator("Gemm", count=40)
def gemm(draw, op):
    m, k, n = (draw.integer(1, 9) for _ in range(3))
    across, down = draw.pick(None, 0, 1), draw.pick(None, 0, 1)
    bias = draw.pick(None, [m, n], [n], [1, n], [m, 1], [1], [])
    return Node(op, [draw.reals([k, m] if across else [m, k]), draw.reals([n, k] if down else [k, n]),
                     None if bias is None else draw.reals(bias)], transA=across, transB=down,
                alpha=draw.pick(None, 0.5, -1.5), beta=draw.pick(None, 0.25, 2.0))


@operator("BatchNormalization")
def batch_normalization(draw, op):
    shape = draw.shape(2, 5, empty=0)
    channels = [shape[1]]
    return Node(op, [draw.reals(shape), draw.reals(channels), draw.reals(channels), draw.reals(channels),
                     draw.reals(channels, 0.1, 4)], draw.pick(9, 15), epsilon=draw.pick(None, 1e-3))


@operator("InstanceNormalization")
def instance_normalization(draw, op):
    shape = [draw.integer(1, 2), draw.integer(1, 4), *[draw.integer(2, 6) for _ in range(draw.integer(1, 3))]]
    return Node(op, [draw.reals(shape), draw.reals(shape[1:2]), draw.reals(shape[1:2])], epsilon=draw.pick(None, 1e-2))


@operator("LayerNormalization", count=24)
def layer_normalization(draw, op):
    shape = [draw.integer(2, 5) for _ in range(draw.integer(1, 4))]
    axis = draw.axis(len(shape))
    rest = shape[axis:]
    return Node(op, [draw.reals(shape), draw.reals(rest), draw.reals(rest) if draw.maybe() else None], 17,
                draw.pick(1, 3), axis=axis, epsilon=draw.pick(None, 1e-2))


@operator("GroupNormalization")
def group_normalization(draw, op):
    groups = draw.integer(1, 3)
    channels = groups * draw.integer(1, 3)
    shape = [draw.integer(1, 2), channels, *[draw.integer(2, 5) for _ in range(draw.integer(1, 2))]]
    return Node(op, [draw.reals(shape), draw.reals([channels]), draw.reals([channels])], 21, num_groups=groups,
                epsilon=draw.pick(None, 1e-2))


@operator("LpNormalization")
def lp_normalization(draw, op):
    shape = draw.shape(1, empty=0)
    return Node(op, [draw.reals(shape)], axis=draw.axis(len(shape)), p=draw.pick(None, 1, 2))


@operator("LRN")
def lrn(draw, op):
    shape = [draw.integer(1, 2), draw.integer(1, 7), draw.integer(1, 4), draw.integer(1, 4)]
    return Node(op, [draw.reals(shape)], size=draw.pick(1, 3, 5), alpha=draw.pick(None, 0.2), beta=draw.pick(None, 0.5),
                bias=draw.pick(None, 2.0))


@operator("Resize", count=80)
def resize(draw, op):
    rank = draw.pick(1, 2, 4, 4)
    mode = draw.pick("nearest", "nearest", "linear", "cubic")
    shape = [draw.integer(2, 6) for _ in range(rank)]
    if rank == 4:
        shape[:2] = [draw.integer(1, 2), draw.integer(1, 2)]
    if mode == "cubic" and rank != 4:
        shape = [1, 1, draw.integer(4, 6), draw.integer(4, 6)]
    kept = len(shape) == 4
    # Powers of two and their halves: coordinates are exact in float32, so that nearest has no ties of rounding.
    scales = [1.0 if kept and axis < 2 else draw.pick(0.5, 1.0, 1.5, 2.0, 4.0) for axis in range(len(shape))]
    transformation = draw.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                               "half_pixel_symmetric")
    opset = 19 if transformation == "half_pixel_symmetric" else draw.pick(11, 13, 18, 19)
    attributes = {"mode": mode, "coordinate_transformation_mode": transformation}
    if mode == "nearest":
        attributes["nearest_mode"] = draw.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attributes["cubic_coeff_a"] = draw.pick(None, -0.5)
        attributes["exclude_outside"] = draw.pick(None, 0, 1)
    if opset >= 18 and mode != "nearest":
        attributes["antialias"] = draw.pick(None, None, 1)
    by_sizes = draw.maybe(0.3)
    sizes = np.array([int(extent * scale) for extent, scale in zip(shape, scales)], np.int64)
    x = draw.reals(shape)
    if by_sizes:
        return Node(op, [x, None if opset >= 13 else np.zeros(0, F32), None if opset >= 13 else np.zeros(0, F32),
                         sizes],
                    opset, constants=[3], **attributes)
    roi = None if opset >= 13 else np.zeros(0, F32)
    return Node(op, [x, roi, np.array(scales, F32)], opset, constants=[2], **attributes)


@operator("Upsample")
def upsample(draw, op):
    shape = [draw.integer(1, 2), draw.integer(1, 2), draw.integer(2, 4), draw.integer(2, 4)]
    scales = np.array([1, 1, draw.pick(1, 2, 3), draw.pick(1, 2)], F32)
    return Node(op, [draw.reals(shape), scales], 9, constants=[1], mode=draw.pick("nearest", "linear"))


# Quantized forms. Scales are powers of two: every quotient and product is exact in float32, so that codes must agree to
# the last one, ties included.

def zero_point(draw, dtype, shape=()):
    return draw.codes(dtype, shape)


def in_blocks(draw, op):
    """Either quantizer with block_size along any axis. Codes of 4 bits, which Python doesn't feed or fetch, are constants or
    go through a Cast. Of an empty tensor ONNX Runtime 1.23's QuantizeLinear ends the process."""
    shape = draw.shape(1, 4, longest=9, empty=0)
    axis, block = draw.axis(len(shape)), draw.integer(1, 6)
    wanted = list(shape)
    wanted[axis] = -(-shape[axis] // block)
    kind = np.dtype(draw.pick("int8", "uint8", "int16", "uint16", "int4", "uint4"))
    limits = ml_dtypes.iinfo(kind)

    def drawn(of):
        return draw.rng.integers(limits.min, limits.max, of, endpoint=True).astype(kind)
    point = drawn(wanted) if kind.name != "uint8" or draw.maybe() else None
    if op == "DequantizeLinear":
        scale = draw.reals(wanted, -2, 2)  # of any sign
        return Node(op, [drawn(shape), scale, point], 21, constants=[0, 2], axis=axis, block_size=block)
    x = draw.codes("int32", shape, -2000, 2000).astype(F32) * F32.type(2.0**-9)
    node = Node(op, [x, draw.scale(wanted), point], 21, constants=[2], axis=axis, block_size=block)
    node.cast = "int8" if limits.bits == 4 else None
    return node


@operator("QuantizeLinear", count=100)
def quantize_linear(draw, op):
    if draw.maybe(0.4):
        return in_blocks(draw, op)
    shape = draw.shape(1, 4, empty=0.05)
    axis = draw.axis(len(shape))
    per_axis = draw.maybe()
    wanted = [shape[axis]] if per_axis else []
    scale = draw.scale(wanted)
    kind = draw.pick("int8", "uint8", "int8", "uint8", "int16", "uint16")
    x = draw.codes("int32", shape, -2000, 2000).astype(F32) * F32.type(2.0**-9)
    if draw.maybe(0.2):
        x = x * F32.type(1e9)
    point = zero_point(draw, kind, wanted) if kind not in ("uint8",) or draw.maybe() else None
    return Node(op, [x, scale, point], 21 if kind in ("int16", "uint16") else draw.pick(10, 13, 19) if not per_axis else
                draw.pick(13, 19, 21), axis=axis if per_axis else None)


@operator("DequantizeLinear", count=100)
def dequantize_linear(draw, op):
    if draw.maybe(0.4):
        return in_blocks(draw, op)
    shape = draw.shape(1, 4, empty=0.05)
    axis = draw.axis(len(shape))
    per_axis = draw.maybe()
    wanted = [shape[axis]] if per_axis else []
    kind = draw.pick("int8", "uint8", "int8", "uint8", "int16", "uint16", "int32")
    scale = draw.reals(wanted, 0.001, 2)
    point = None if kind == "int32" or draw.maybe(0.3) else zero_point(draw, kind, wanted)
    low, high = (-2**20, 2**20) if kind == "int32" else (None, None)
    return Node(op, [draw.codes(kind, shape, low, high), scale, point],
                21 if kind in ("int16", "uint16") else draw.pick(13, 19, 21), axis=axis if per_axis else None)


@operator("DynamicQuantizeLinear", count=40)
def dynamic_quantize_linear(draw, op):
    # A range of 255 powers of two: the scale is exact, and no quotient is near a tie but those that are one.
    shape = [draw.integer(2, 6), draw.integer(2, 6)]
    low = draw.integer(-255, 0)
    x = draw.rng.integers(4 * low, 4 * (low + 255), shape, endpoint=True) / 4
    x.flat[0], x.flat[1] = low, low + 255
    return Node(op, [(x * 2.0**draw.integer(-6, 3)).astype(F32)], 11, 3)


@operator("ConvInteger", count=50)
def conv_integer(draw, op):
    x, weight, _, attributes = convolution_shapes(draw)
    kind = "uint8"  # ONNX Runtime has no other form
    return Node(op, [draw.codes(kind, x), draw.codes(kind, weight), zero_point(draw, kind) if draw.maybe() else None,
                     zero_point(draw, kind) if draw.maybe() else None], 10, **attributes)


@operator("MatMulInteger", count=50)
def mat_mul_integer(draw, op):
    left, right = matrix_shapes(draw)
    kind, weight_kind = draw.pick("uint8", "int8"), draw.pick("uint8", "int8")
    if kind == "int8":
        weight_kind = "int8"  # ONNX Runtime has no int8 times uint8
    per_column = [right[-1]] if draw.maybe(0.3) and len(right) > 1 else []
    return Node(op, [draw.codes(kind, left), draw.codes(weight_kind, right),
                     zero_point(draw, kind) if draw.maybe() else None,
                     zero_point(draw, weight_kind, per_column) if draw.maybe() else None], 10)


@operator("QLinearConv", count=80)
def qlinear_conv(draw, op):
    x, weight, out, attributes = convolution_shapes(draw)
    kind = draw.pick("uint8", "int8")
    weight_kind = draw.pick("int8", kind)
    wanted = [out] if draw.maybe() else []
    weight_zero = np.zeros(wanted, weight_kind) if wanted or draw.maybe() else zero_point(draw, weight_kind)
    bias = draw.codes("int32", [out], -9000, 9000) if draw.maybe() else None
    return Node(op, [draw.codes(kind, x), draw.scale(), zero_point(draw, kind), draw.codes(weight_kind, weight),
                     draw.scale(wanted), weight_zero, draw.scale((), -3, 2), zero_point(draw, kind), bias], 10,
                constants=[1, 2, 3, 4, 5, 6, 7], **attributes)


@operator("QLinearMatMul", count=60)
def qlinear_mat_mul(draw, op):
    left, right = matrix_shapes(draw)
    kind = draw.pick("uint8", "int8")
    right_kind = draw.pick("int8", kind)
    wanted = [right[-1]] if draw.maybe(0.3) and len(right) == 2 else []
    return Node(op, [draw.codes(kind, left), draw.scale(), zero_point(draw, kind), draw.codes(right_kind, right),
                     draw.scale(wanted), zero_point(draw, right_kind, wanted), draw.scale((), -3, 2),
                     zero_point(draw, kind)], 10, constants=[1, 2, 4, 5, 6, 7])
