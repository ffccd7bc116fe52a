"""Generators of recurrent layers, attention, losses, detection, signal processing and sampling."""
import numpy as np
from onnx import TensorProto

from generated_models import F32, Node, operator


def longs(values):
    return np.array(values, np.int64)


def recurrent_inputs(draw, gates, biases):
    """X, W, R, B, sequence_lens and initial_h, and the direction and hidden size they are made for."""
    steps, batch, width, hidden = (draw.integer(1, 4) for _ in range(4))
    direction = draw.pick("forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    inputs = [draw.reals([steps, batch, width]), draw.reals([ways, gates * hidden, width], -1, 1),
              draw.reals([ways, gates * hidden, hidden], -1, 1),
              draw.reals([ways, biases * hidden], -1, 1) if draw.maybe() else None,
              draw.codes("int32", [batch], 1, steps) if draw.maybe(0.3) else None,
              draw.reals([ways, batch, hidden], -1, 1) if draw.maybe() else None]
    return inputs, {"direction": direction, "hidden_size": hidden}, [ways, batch, hidden]


@operator("RNN", "GRU", "LSTM", count=24)
def recurrent(draw, op):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    inputs, attributes, state = recurrent_inputs(draw, gates, 2 * gates)
    if draw.maybe(0.2) and op != "LSTM":  # see docs/disagreements.md
        attributes["clip"] = 0.7
    if op == "GRU":
        attributes["linear_before_reset"] = draw.pick(0, 1)
    if op == "LSTM":
        peepholes = draw.reals([state[0], 3 * state[2]], -1, 1) if draw.maybe(0.3) else None
        inputs += [draw.reals(state, -1, 1) if inputs[5] is not None else None, peepholes]
        attributes["input_forget"] = draw.pick(None, 1) if draw.maybe(0.3) else None
    return Node(op, inputs, 14, 3 if op == "LSTM" else 2, **attributes)


@operator("Attention", count=40)
def attention(draw, op):
    batch, heads, length, keys, width = (draw.integer(1, 4) for _ in range(5))
    groups = heads * draw.integer(1, 2)
    inputs = [draw.reals([batch, groups, length, width]), draw.reals([batch, heads, keys, width]),
              draw.reals([batch, heads, keys, draw.integer(1, 4)])]
    attributes = {"scale": draw.pick(None, 0.5), "softcap": draw.pick(None, None, 2.0)}
    # A softcap beside a mask, and is_causal with one query: see docs/disagreements.md.
    if draw.maybe(0.4) and not attributes["softcap"]:
        inputs.append(draw.reals([length, keys]))
    elif (length > 1 or keys == 1) and not attributes["softcap"]:
        attributes["is_causal"] = draw.pick(None, 1)
    return Node(op, inputs, 23, **attributes)


@operator("RMSNormalization", count=20)
def rms_normalization(draw, op):
    shape = [draw.integer(2, 5) for _ in range(draw.integer(1, 4))]
    axis = draw.axis(len(shape))
    return Node(op, [draw.reals(shape), draw.reals(shape[axis:])], 23, axis=axis, epsilon=draw.pick(None, 1e-2))


@operator("RotaryEmbedding", count=20)
def rotary_embedding(draw, op):
    batch, heads, length, half = (draw.integer(1, 3) for _ in range(4))
    angles = draw.reals([5, half])
    places = draw.codes("int64", [batch, length], 0, 4)
    return Node(op, [draw.reals([batch, heads, length, 2 * half]), np.cos(angles), np.sin(angles), places], 23,
                interleaved=draw.pick(None, 0, 1))


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", count=24)
def loss(draw, op):
    batch, classes = draw.integer(1, 4), draw.integer(2, 5)
    extra = [draw.integer(1, 3) for _ in range(draw.integer(0, 2))]
    target = draw.codes("int64", [batch, *extra], 0, classes - 1)
    weights = draw.reals([classes], 0.2, 2) if draw.maybe() else None
    return Node(op, [draw.reals([batch, classes, *extra]), target, weights], 13,
                2 if op.startswith("Softmax") and draw.maybe(0.3) else 1,
                reduction=draw.pick(None, "none", "sum", "mean"), ignore_index=draw.pick(None, None, 1))


@operator("Hardmax")
def hardmax(draw, op):
    shape = draw.shape(1, 4, empty=0)
    x = draw.distinct(shape) if draw.maybe() else draw.codes("int32", shape, -1, 1).astype(F32)
    return Node(op, [x], 13, axis=draw.axis(len(shape)))


@operator("Det")
def determinant(draw, op):
    side = draw.integer(1, 4)
    return Node(op, [draw.reals([*draw.shape(0, 2, 3, 0), side, side])], 11)


@operator("Shrink")
def shrink(draw, op):
    return Node(op, [draw.reals(draw.shape(0))], 9, bias=draw.pick(None, 0.25), lambd=draw.pick(None, 1.5))


@operator("MeanVarianceNormalization")
def mean_variance_normalization(draw, op):
    x = draw.reals([draw.integer(2, 3) for _ in range(4)])
    return Node(op, [x], 13, axes=draw.pick(None, [0, 2, 3], [1], [2, 3]))


@operator("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")
def bitwise(draw, op):
    kind = draw.pick("int8", "uint8", "int32", "int64", "uint16")
    return Node(op, [draw.codes(kind, shape) for shape in draw.broadcast(1 if op == "BitwiseNot" else 2)], 18)


@operator("Unique", count=24)
def unique(draw, op):
    shape = draw.shape(1, 3, 4, 0)
    x = draw.codes("int64", shape, -1, 1)
    axis = None if draw.maybe(0.4) else draw.axis(len(shape))
    return Node(op, [x if draw.maybe() else x.astype(F32)], 11, 4, axis=axis, sorted=draw.pick(None, 0, 1))


@operator("ReverseSequence")
def reverse_sequence(draw, op):
    batch, time = draw.integer(1, 4), draw.integer(1, 5)
    along = draw.pick(0, 1)
    shape = [batch, time] if along == 1 else [time, batch]
    return Node(op, [draw.reals([*shape, *draw.shape(0, 2)]), draw.codes("int64", [batch], 1, time)], 10,
                batch_axis=1 - along, time_axis=along)


@operator("NonMaxSuppression", count=30)
def non_max_suppression(draw, op):
    batch, classes, boxes = draw.integer(1, 2), draw.integer(1, 2), draw.integer(1, 6)
    # Corners on a coarse grid, thresholds off it: no overlap is near its threshold.
    corners = draw.codes("int32", [batch, boxes, 4], 0, 4).astype(F32)
    centred = draw.maybe()
    if centred:
        corners[..., 2:] += 1
    else:
        corners[..., 2:] = corners[..., :2] + 1 + draw.codes("int32", [batch, boxes, 2], 0, 3)
    scores = np.abs(draw.distinct([batch, classes, boxes])) / 9 + draw.distinct([batch, classes, boxes]) / 1000
    limits = [longs([draw.integer(1, 4)]), np.array([draw.pick(0.21, 0.47, 0.73)], F32),
              np.array([draw.pick(-1.0, 0.313)], F32) if draw.maybe() else None]
    return Node(op, [corners, scores.astype(F32), *limits], 11, center_point_box=int(centred))


@operator("RoiAlign", count=24)
def roi_align(draw, op):
    batch, regions = 2, draw.integer(1, 3)
    begin = draw.codes("int32", [regions, 2], 0, 6) / 4
    rois = np.concatenate([begin, begin + draw.codes("int32", [regions, 2], 4, 16) / 4], 1).astype(F32)
    # With mode max ONNX Runtime takes the largest weighted corner, as its documentation says.
    x = draw.reals([batch, draw.integer(1, 3), draw.integer(3, 7), draw.integer(3, 7)])
    return Node(op, [x, rois, draw.codes("int64", [regions], 0, batch - 1)], 16,
                mode="avg", output_height=draw.integer(1, 3), output_width=draw.integer(1, 3),
                sampling_ratio=draw.pick(0, 1, 2), spatial_scale=draw.pick(None, 0.5),
                coordinate_transformation_mode=draw.pick("half_pixel", "output_half_pixel"))


@operator("MaxRoiPool")
def max_roi_pool(draw, op):
    regions = draw.integer(1, 3)
    begin = draw.codes("int32", [regions, 2], 0, 3)
    ends = begin + draw.codes("int32", [regions, 2], 0, 4)
    rois = np.concatenate([draw.codes("int32", [regions, 1], 0, 1), begin, ends], 1).astype(F32)
    pooled = [draw.integer(1, 3), draw.integer(1, 3)]
    return Node(op, [draw.reals([2, draw.integer(1, 3), 8, 8]), rois], 11, pooled_shape=pooled, spatial_scale=1.0)


@operator("MaxUnpool")
def max_unpool(draw, op):
    height, width = draw.integer(1, 3), draw.integer(1, 3)
    x = draw.reals([1, 1, height, width])
    places = draw.rng.permutation(4 * height * width)[:height * width].reshape(x.shape).astype(np.int64)
    return Node(op, [x, places], 11, kernel_shape=[2, 2], strides=[2, 2])


@operator("GridSample", count=60)
def grid_sample(draw, op):
    shape = [draw.integer(1, 2), draw.integer(1, 2), draw.integer(2, 5), draw.integer(2, 5)]
    # Eighths: what lies on a pixel or half way does so exactly.
    grid = draw.codes("int32", [shape[0], draw.integer(1, 3), draw.integer(1, 3), 2], -11, 11) / 8
    opset = draw.pick(16, 20)
    modes = ("bilinear", "nearest", "bicubic") if opset == 16 else ("linear", "nearest", "cubic")
    return Node(op, [draw.reals(shape), grid.astype(F32)], opset, mode=draw.pick(*modes),
                padding_mode=draw.pick("zeros", "border", "reflection"), align_corners=draw.pick(0, 1))


@operator("AffineGrid")
def affine_grid(draw, op):
    batch = draw.integer(1, 2)
    return Node(op, [draw.reals([batch, 2, 3]), longs([batch, 1, draw.integer(2, 4), draw.integer(2, 4)])], 20,
                align_corners=draw.pick(0, 1))


@operator("Col2Im")
def col_to_im(draw, op):
    kernel = [draw.integer(1, 2), draw.integer(1, 3)]
    image = [draw.integer(kernel[0], 5), draw.integer(kernel[1], 5)]
    blocks = (image[0] - kernel[0] + 1) * (image[1] - kernel[1] + 1)
    return Node(op, [draw.reals([draw.integer(1, 2), draw.integer(1, 2) * kernel[0] * kernel[1], blocks]), longs(image),
                     longs(kernel)], 18)


@operator("CenterCropPad")
def center_crop_pad(draw, op):
    shape = draw.shape(1, 4, 6, 0)
    axes = [axis % len(shape) for axis in draw.axes(len(shape), 1)]
    return Node(op, [draw.reals(shape), longs([draw.integer(1, 7) for _ in axes])], 18, axes=axes)


@operator("LpPool", count=24)
def lp_pool(draw, op):
    rank = draw.integer(1, 3)
    kernel = [draw.integer(1, 3) for _ in range(rank)]
    shape = [draw.integer(1, 2), draw.integer(1, 2), *[each + draw.integer(0, 4) for each in kernel]]
    return Node(op, [draw.reals(shape)], 18, kernel_shape=kernel, strides=[draw.integer(1, 2) for _ in kernel],
                pads=[draw.integer(0, each - 1) for _ in range(2) for each in kernel], p=draw.pick(None, 1, 2, 3))


@operator("GlobalLpPool")
def global_lp_pool(draw, op):
    return Node(op, [draw.reals([1, 2, *[draw.integer(1, 4) for _ in range(draw.integer(1, 3))]])], 13,
                p=draw.pick(None, 1, 3))


@operator("HannWindow", "HammingWindow", "BlackmanWindow")
def cosine_window(draw, op):
    return Node(op, [np.array(draw.integer(3, 12), draw.pick(np.int32, np.int64))], 17, periodic=draw.pick(None, 0, 1),
                output_datatype=draw.pick(None, TensorProto.FLOAT))


@operator("MelWeightMatrix")
def mel_weights(draw, op):
    values = [longs(draw.integer(2, 8)), longs(draw.pick(16, 32)), longs(8192), np.array(0, F32), np.array(4096, F32)]
    return Node(op, values, 17)


@operator("DFT", count=24)
def dft(draw, op):
    length, parts = draw.integer(1, 9), draw.pick(1, 2)
    onesided = 1 if parts == 1 and draw.maybe(0.3) else None
    inverse = draw.pick(None, 1) if onesided is None else None
    opset = draw.pick(17, 20)
    x = draw.reals([draw.integer(1, 2), length, parts])
    if opset == 17:
        return Node(op, [x], 17, axis=1, inverse=inverse, onesided=onesided)
    return Node(op, [x, None, longs(1)], 20, inverse=inverse, onesided=onesided)


@operator("STFT")
def stft(draw, op):
    frame = draw.pick(4, 8)
    window = draw.reals([frame], 0, 1) if draw.maybe() else None
    return Node(op, [draw.reals([draw.integer(1, 2), 16, 1]), longs(draw.integer(1, 5)), window, longs(frame)], 17,
                onesided=draw.pick(None, 0, 1))


@operator("TfIdfVectorizer")
def tf_idf(draw, op):
    return Node(op, [draw.codes("int64", draw.pick([9], [2, 6]), 0, 4)], 9, max_gram_length=2,
                min_gram_length=draw.pick(1, 2),
                max_skip_count=draw.integer(0, 2), mode=draw.pick("TF", "IDF", "TFIDF"), ngram_counts=[0, 3],
                ngram_indexes=[0, 1, 2, 3, 4], pool_int64s=[0, 1, 3, 1, 2, 3, 4], weights=[0.5, 1.0, 2.0, 0.25, 3.0])
