#!/usr/bin/env python3
"""Writes small float models of usual shapes, with data for each: models.py DIR

Each becomes DIR/NAME with float.onnx, calibration.npz (8 batches) and inputs.npz (4 batches); the first axis of their
arrays is the batch, as `assay check` reads them. Needs onnx and numpy; the same bytes at every run.
"""

import sys
import zlib
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

CALIBRATION_BATCHES, INPUT_BATCHES = 8, 4
OPSET, IR_VERSION = 17, 8


class Net:
    """A graph under construction: each method adds one node and returns its output's name."""

    def __init__(self, name):
        self.opset = OPSET
        self.random = numpy.random.default_rng(zlib.crc32(name.encode()))
        self.name, self.nodes, self.initializers, self.inputs, self.outputs = name, [], [], {}, []
        self.shapes, self.count = {}, 0

    def input(self, name, *shape):
        self.inputs[name] = shape
        return name

    def constant(self, array, stem="c"):
        self.count += 1
        name = f"{stem}_{self.count}"
        self.initializers.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def scalar(self, value):
        self.count += 1
        self.initializers.append(numpy_helper.from_array(numpy.array(value), f"s_{self.count}"))
        return f"s_{self.count}"

    def weight(self, *shape, fan=None, stem="w"):
        """Normal values, each channel of the first axis with its own spread, as trained weights have."""
        fan = fan or int(numpy.prod(shape[1:]))
        spread = self.random.uniform(0.4, 1.6, (shape[0],) + (1,) * (len(shape) - 1))
        return self.constant((self.random.normal(size=shape) * spread / numpy.sqrt(fan)).astype("float32"), stem)

    def vector(self, extent, low=-0.3, high=0.3, stem="b"):
        return self.constant(self.random.uniform(low, high, extent).astype("float32"), stem)

    def add(self, op, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"{op.lower()}_{self.count}" + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"n{self.count}_{op}", **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, cin, cout, kernel=3, bias=True, groups=1, strides=1, dilations=1, rank=2):
        w = self.weight(cout, cin // groups, *[kernel] * rank)
        pads = [dilations * (kernel // 2)] * 2 * rank
        return self.add("Conv", x, w, *([self.vector(cout)] if bias else []), kernel_shape=[kernel] * rank, pads=pads,
                        strides=[strides] * rank, dilations=[dilations] * rank, group=groups)

    def deconv(self, x, cin, cout, kernel=2, strides=2):
        w = self.weight(cin, cout, kernel, kernel, fan=cin)
        return self.add("ConvTranspose", x, w, self.vector(cout), kernel_shape=[kernel] * 2, strides=[strides] * 2)

    def norm(self, x, channels):
        return self.add("BatchNormalization", x, self.vector(channels, 0.6, 1.4, "gamma"),
                        self.vector(channels, -0.4, 0.4, "beta"), self.vector(channels, -0.3, 0.3, "mean"),
                        self.vector(channels, 0.5, 1.5, "variance"))

    def relu(self, x):
        return self.add("Relu", x)

    def conv_norm_relu(self, x, cin, cout, **how):
        return self.relu(self.norm(self.conv(x, cin, cout, bias=False, **how), cout))

    def clip(self, x, low=0.0, high=6.0):
        return self.add("Clip", x, self.constant(numpy.float32(low)), self.constant(numpy.float32(high)))

    def linear(self, x, cin, cout, bias=True):
        y = self.add("MatMul", x, self.constant(
            (self.random.normal(size=(cin, cout)) * self.random.uniform(0.4, 1.6, (1, cout)) / cin**0.5).astype("float32"),
            "w"))
        return self.add("Add", y, self.vector(cout)) if bias else y

    def gemm(self, x, cin, cout):
        return self.add("Gemm", x, self.weight(cout, cin), self.vector(cout), transB=1)

    def integers(self, *values):
        return self.constant(numpy.array(values, "int64"), "i")

    def reshape(self, x, *shape):
        return self.add("Reshape", x, self.integers(*shape))

    def shaped(self, name, *shape):
        """`name`, whose shape no inference finds."""
        self.shapes[name] = shape
        return name

    def output(self, *names):
        self.outputs += names

    def model(self):
        value = lambda name, shape=None: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, self.name, [value(n, s) for n, s in self.inputs.items()],
                                  [value(n) for n in self.outputs], self.initializers,
                                  value_info=[value(n, s) for n, s in self.shapes.items()])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=IR_VERSION)
        inferred = onnx.shape_inference.infer_shapes(made, strict_mode=True)
        del made.graph.output[:]
        made.graph.output.extend(inferred.graph.output)
        onnx.checker.check_model(made)
        return made

    def batches(self, count, seed):
        """Typical activations: normal, each channel with an offset and a spread of its own."""
        random = numpy.random.default_rng([zlib.crc32(self.name.encode()), seed])
        channels = numpy.random.default_rng(zlib.crc32(self.name.encode()))
        arrays = {}
        for name, shape in self.inputs.items():
            extent = (1, shape[1]) + (1,) * (len(shape) - 2)
            offset, spread = channels.uniform(-0.5, 0.5, extent), channels.uniform(0.6, 1.4, extent)
            arrays[name] = (random.normal(size=(count, *shape)) * spread + offset).astype("float32")
        return arrays


def conv_relu(n):
    n.output(n.relu(n.conv(n.input("x", 2, 3, 9, 7), 3, 8)))


def conv_norm_relu(n):
    n.output(n.conv_norm_relu(n.input("x", 2, 3, 9, 7), 3, 8))


def conv_chain(n):
    x = n.conv_norm_relu(n.input("x", 2, 3, 10, 8), 3, 8)
    x = n.conv_norm_relu(x, 8, 12, strides=2)
    n.output(n.conv(x, 12, 5, kernel=1))


def residual(n):
    x = n.conv_norm_relu(n.input("x", 2, 3, 9, 7), 3, 8)
    y = n.norm(n.conv(n.conv_norm_relu(x, 8, 8), 8, 8, bias=False), 8)
    n.output(n.relu(n.add("Add", y, x)))


def residual_projected(n):
    x = n.conv_norm_relu(n.input("x", 2, 4, 8, 10), 4, 6)
    y = n.norm(n.conv(n.conv_norm_relu(x, 6, 10, strides=2), 10, 10, bias=False), 10)
    z = n.norm(n.conv(x, 6, 10, kernel=1, bias=False, strides=2), 10)
    n.output(n.relu(n.add("Add", y, z)))


def preactivated(n):
    x = n.conv(n.input("x", 2, 3, 9, 7), 3, 8)
    y = n.conv(n.relu(n.norm(x, 8)), 8, 8)
    y = n.conv(n.relu(n.norm(y, 8)), 8, 8)
    n.output(n.add("Add", x, y))


def depthwise_separable(n):
    x = n.clip(n.norm(n.conv(n.input("x", 2, 6, 9, 7), 6, 6, groups=6, bias=False), 6))
    n.output(n.clip(n.norm(n.conv(x, 6, 10, kernel=1, bias=False), 10)))


def inverted_bottleneck(n):
    x = n.input("x", 2, 5, 8, 6)
    y = n.clip(n.norm(n.conv(x, 5, 15, kernel=1, bias=False), 15))
    y = n.clip(n.norm(n.conv(y, 15, 15, groups=15, bias=False), 15))
    n.output(n.add("Add", x, n.norm(n.conv(y, 15, 5, kernel=1, bias=False), 5)))


def grouped(n):
    x = n.relu(n.conv(n.input("x", 2, 6, 9, 7), 6, 12, groups=3))
    n.output(n.conv(x, 12, 8, groups=2, dilations=2))


def encoder_decoder(n):
    x = n.conv_norm_relu(n.input("x", 2, 3, 8, 12), 3, 6)
    y = n.conv_norm_relu(n.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), 6, 10)
    y = n.add("Concat", n.relu(n.deconv(y, 10, 5)), x, axis=1)
    n.output(n.add("Sigmoid", n.conv(y, 11, 2)))


def upsampled(n):
    x = n.relu(n.conv(n.input("x", 2, 3, 8, 12), 3, 6))
    y = n.relu(n.conv(x, 6, 9, strides=2))
    y = n.add("Resize", y, "", n.constant(numpy.array([1, 1, 2, 2], "float32")), mode="nearest")
    n.output(n.conv(n.add("Concat", x, y, axis=1), 15, 4))


def inception(n):
    x = n.input("x", 2, 4, 9, 7)
    branches = [n.relu(n.conv(x, 4, 3, kernel=1)), n.relu(n.conv(x, 4, 5)), n.relu(n.conv(x, 4, 2, kernel=5))]
    branches.append(n.add("AveragePool", x, kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1]))
    n.output(n.conv(n.add("Concat", *branches, axis=1), 14, 6, kernel=1))


def classifier(n):
    x = n.conv_norm_relu(n.input("x", 2, 3, 10, 8), 3, 8)
    x = n.conv_norm_relu(n.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), 8, 12)
    x = n.add("Flatten", n.add("GlobalAveragePool", x), axis=1)
    n.output(n.gemm(x, 12, 7))


def classifier_softmax(n):
    x = n.relu(n.conv(n.input("x", 2, 3, 8, 6), 3, 6, strides=2))
    x = n.relu(n.gemm(n.reshape(x, 2, 72), 72, 20))
    n.output(n.add("Softmax", n.gemm(x, 20, 9), axis=1))


def perceptron(n):
    x = n.relu(n.gemm(n.input("x", 5, 16), 16, 24))
    x = n.relu(n.gemm(x, 24, 20))
    n.output(n.gemm(x, 20, 6))


def perceptron_products(n):
    x = n.relu(n.linear(n.input("x", 2, 5, 16), 16, 24))
    n.output(n.linear(x, 24, 6))


def gated(n):
    x = n.conv_norm_relu(n.input("x", 2, 3, 9, 7), 3, 8)
    s = n.relu(n.conv(n.add("GlobalAveragePool", x), 8, 4, kernel=1))
    s = n.add("Sigmoid", n.conv(s, 4, 8, kernel=1))
    n.output(n.conv(n.add("Mul", x, s), 8, 5, kernel=1))


def hard_swish(n):
    x = n.norm(n.conv(n.input("x", 2, 3, 9, 7), 3, 8, bias=False), 8)
    x = n.add("HardSwish", x)
    n.output(n.conv(x, 8, 6))


def leaky(n):
    x = n.add("LeakyRelu", n.norm(n.conv(n.input("x", 2, 3, 9, 7), 3, 8, bias=False), 8), alpha=0.1)
    n.output(n.add("LeakyRelu", n.conv(x, 8, 6), alpha=0.2))


def swish(n):
    x = n.norm(n.conv(n.input("x", 2, 3, 9, 7), 3, 8, bias=False), 8)
    n.output(n.conv(n.add("Mul", x, n.add("Sigmoid", x)), 8, 6))


def parametric(n):
    x = n.conv(n.input("x", 2, 3, 9, 7), 3, 8)
    n.output(n.conv(n.add("PRelu", x, n.constant(n.random.uniform(0.05, 0.4, (8, 1, 1)).astype("float32"))), 8, 5))


def attention(n):
    x = n.input("x", 2, 6, 16)
    q, k, v = (n.linear(x, 16, 12) for _ in range(3))
    scores = n.add("MatMul", q, n.add("Transpose", k, perm=[0, 2, 1]))
    scores = n.add("Softmax", n.add("Div", scores, n.constant(numpy.float32(12**0.5))), axis=-1)
    n.output(n.linear(n.add("MatMul", scores, v), 12, 16))


def attention_heads(n):
    x = n.input("x", 1, 7, 12)
    heads = lambda name: n.add("Transpose", n.reshape(name, 1, 7, 3, 4), perm=[0, 2, 1, 3])
    q, k, v = (heads(n.linear(x, 12, 12)) for _ in range(3))
    scores = n.add("MatMul", q, n.add("Transpose", k, perm=[0, 1, 3, 2]))
    scores = n.add("Softmax", n.add("Mul", scores, n.constant(numpy.float32(0.5))), axis=-1)
    y = n.reshape(n.add("Transpose", n.add("MatMul", scores, v), perm=[0, 2, 1, 3]), 1, 7, 12)
    n.output(n.add("Add", x, n.linear(y, 12, 12)))


def layer_norm(n, x, extent):
    return n.add("LayerNormalization", x, n.vector(extent, 0.6, 1.4, "gamma"), n.vector(extent, -0.3, 0.3, "beta"), axis=-1)


def transformer_block(n):
    x = n.input("x", 2, 6, 16)
    y = layer_norm(n, x, 16)
    q, k, v = (n.linear(y, 16, 16) for _ in range(3))
    scores = n.add("MatMul", q, n.add("Transpose", k, perm=[0, 2, 1]))
    scores = n.add("Softmax", n.add("Mul", scores, n.constant(numpy.float32(0.25))), axis=-1)
    x = n.add("Add", x, n.linear(n.add("MatMul", scores, v), 16, 16))
    y = n.linear(layer_norm(n, x, 16), 16, 24)
    half = n.add("Mul", y, n.constant(numpy.float32(0.5)))
    erf = n.add("Erf", n.add("Div", y, n.constant(numpy.float32(2**0.5))))
    y = n.add("Mul", half, n.add("Add", erf, n.constant(numpy.float32(1))))
    n.output(n.add("Add", x, n.linear(y, 24, 16)))


def normalized(n):
    x = n.linear(n.input("x", 2, 5, 16), 16, 12)
    n.output(n.linear(layer_norm(n, x, 12), 12, 8))


def instance_normalized(n):
    x = n.conv(n.input("x", 2, 3, 9, 7), 3, 8)
    x = n.add("InstanceNormalization", x, n.vector(8, 0.6, 1.4, "gamma"), n.vector(8, -0.3, 0.3, "beta"))
    n.output(n.conv(n.relu(x), 8, 4))


def shuffled(n):
    x = n.relu(n.conv(n.input("x", 2, 4, 8, 6), 4, 8))
    left, right = n.add("Split", x, outputs=2, axis=1)
    right = n.relu(n.conv(right, 4, 4))
    x = n.reshape(n.add("Concat", left, right, axis=1), 2, 2, 4, 8, 6)
    x = n.reshape(n.add("Transpose", x, perm=[0, 2, 1, 3, 4]), 2, 8, 8, 6)
    n.output(n.conv(x, 8, 5, kernel=1))


def sequence(n):
    x = n.relu(n.conv(n.input("x", 2, 4, 21), 4, 8, rank=1))
    x = n.add("MaxPool", x, kernel_shape=[2], strides=[2])
    n.output(n.conv(x, 8, 6, rank=1))


def two_inputs(n):
    x, y = n.input("x", 2, 4, 9, 7), n.input("y", 2, 4, 9, 7)
    z = n.add("Add", n.relu(n.conv(x, 4, 6)), n.conv(y, 4, 6, kernel=1))
    n.output(n.conv(n.add("Mul", z, n.add("Sigmoid", z)), 6, 3), z)


def padded(n):
    x = n.add("Pad", n.input("x", 2, 3, 8, 6), n.integers(0, 0, 1, 1, 0, 0, 1, 1), n.constant(numpy.float32(0)))
    w = n.weight(6, 3, 3, 3)
    x = n.relu(n.add("Conv", x, w, n.vector(6), kernel_shape=[3, 3]))
    x = n.add("Slice", x, n.integers(0), n.integers(6), n.integers(2))
    n.output(n.conv(x, 6, 4))


def pixel_shuffle(n):
    x = n.relu(n.conv(n.input("x", 2, 3, 6, 5), 3, 12))
    n.output(n.conv(n.add("DepthToSpace", x, blocksize=2, mode="CRD"), 3, 2))


def branches(n):
    """An If whose branches read a Relu's output."""
    x = n.input("x", 2, 3, 9, 7)
    y = n.relu(n.conv(x, 3, 6))
    condition = n.add("Greater", n.add("ReduceMean", x, keepdims=0), n.constant(numpy.float32(0)))
    value = helper.make_tensor_value_info
    bodies = [helper.make_graph([helper.make_node(op, [y, *more], [f"{op}_out"], name=f"branch_{op}")], f"branch_{op}",
                                [], [value(f"{op}_out", TensorProto.FLOAT, [2, 6, 9, 7])])
              for op, more in (("Neg", []), ("Tanh", []))]
    y = n.add("If", condition, then_branch=bodies[0], else_branch=bodies[1])
    n.output(n.conv(y, 6, 4))


def body(name, nodes, inputs, outputs, initializers=()):
    """A graph of an If, Loop or Scan: `inputs` and `outputs` are (name, type, shape)."""
    value = lambda facts: helper.make_tensor_value_info(*facts)
    return helper.make_graph(nodes, name, [value(each) for each in inputs], [value(each) for each in outputs],
                             list(initializers))


def branches_of_products(n):
    """An If whose branches hold convolutions of their own and read a quantized tensor and a graph input."""
    x = n.input("x", 2, 3, 9, 7)
    y = n.relu(n.conv(x, 3, 6))
    condition = n.add("Less", n.add("ReduceMax", y, keepdims=0), n.constant(numpy.float32(0)))

    def branch(name, kernel):
        weight = (n.random.normal(size=(4, 6, kernel, kernel)) / (6 * kernel * kernel)**0.5).astype("float32")
        nodes = [helper.make_node("Conv", [y, f"{name}_w"], [f"{name}_y"], name=f"{name}_conv",
                                  pads=[kernel // 2] * 4),
                 helper.make_node("Relu", [f"{name}_y"], [f"{name}_out"], name=f"{name}_relu")]
        return body(name, nodes, [], [(f"{name}_out", TensorProto.FLOAT, [2, 4, 9, 7])],
                    [numpy_helper.from_array(weight, f"{name}_w")])

    y = n.add("If", condition, then_branch=branch("small", 1), else_branch=branch("large", 3))
    n.output(n.conv(y, 4, 3))


def branch_of_a_branch(n):
    """An If inside an If, in between a residual."""
    x = n.conv_norm_relu(n.input("x", 2, 3, 8, 6), 3, 6)
    y = n.conv(x, 6, 6)
    mean = n.add("ReduceMean", y, keepdims=0)
    outer = n.add("Greater", mean, n.constant(numpy.float32(-9)))
    inner = n.add("Greater", mean, n.constant(numpy.float32(9)))
    facts = lambda name: [(name, TensorProto.FLOAT, [2, 6, 8, 6])]
    leaf = lambda op, name: body(name, [helper.make_node(op, [y], [f"{name}_out"], name=f"{name}_{op}")], [],
                                 facts(f"{name}_out"))
    nested = helper.make_node("If", [inner], ["nested_out"], name="nested_if", then_branch=leaf("Tanh", "a"),
                              else_branch=leaf("Sigmoid", "b"))
    y = n.add("If", outer, then_branch=body("nested", [nested], [], facts("nested_out")), else_branch=leaf("Neg", "c"))
    n.output(n.conv(n.relu(n.add("Add", y, x)), 6, 4))


def loop(n):
    """A Loop of three steps whose body reads a quantized tensor from outside."""
    x = n.relu(n.conv(n.input("x", 2, 3, 8, 6), 3, 5))
    start = n.conv(x, 5, 5, kernel=1)
    nodes = [helper.make_node("Mul", ["carried", "half"], ["halved"], name="body_mul"),
             helper.make_node("Add", ["halved", x], ["next"], name="body_add"),
             helper.make_node("Identity", ["go"], ["go_on"], name="body_go")]
    shape = [2, 5, 8, 6]
    of_body = body("steps", nodes,
                   [("step", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("carried", TensorProto.FLOAT, shape)],
                   [("go_on", TensorProto.BOOL, []), ("next", TensorProto.FLOAT, shape)],
                   [numpy_helper.from_array(numpy.float32(0.5), "half")])
    y = n.add("Loop", n.scalar(numpy.int64(3)), n.scalar(True), start, body=of_body)
    n.shaped(y, 2, 5, 8, 6)
    n.output(n.conv(y, 5, 4))


def scan(n):
    """A Scan over time with a state, as an unrolled recurrence without gates has it."""
    x = n.linear(n.input("x", 6, 2, 8), 8, 10)
    state = n.constant(numpy.zeros((2, 10), "float32"))
    nodes = [helper.make_node("Mul", ["state", "keep"], ["kept"], name="body_keep"),
             helper.make_node("Add", ["kept", "slice"], ["sum"], name="body_add"),
             helper.make_node("Tanh", ["sum"], ["new_state"], name="body_tanh"),
             helper.make_node("Identity", ["new_state"], ["shown"], name="body_show")]
    facts = lambda name: (name, TensorProto.FLOAT, [2, 10])
    of_body = body("step", nodes, [facts("state"), facts("slice")], [facts("new_state"), facts("shown")],
                   [numpy_helper.from_array(numpy.float32(0.6), "keep")])
    _, y = n.add("Scan", state, x, outputs=2, body=of_body, num_scan_inputs=1)
    n.output(n.linear(y, 10, 5))


def normalization_first(n):
    """BatchNormalization with nothing before it to be folded into."""
    x = n.norm(n.input("x", 2, 3, 9, 7), 3)
    n.output(n.conv(n.relu(x), 3, 6))


def normalization_of_a_sum(n):
    x = n.conv_norm_relu(n.input("x", 2, 3, 9, 7), 3, 6)
    y = n.add("Add", n.conv(x, 6, 6), x)
    y = n.relu(n.norm(y, 6))
    n.output(n.conv(n.norm(n.add("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]), 6), 6, 4))


def normalization_of_rows(n):
    """BatchNormalization behind a Gemm and behind a transposed convolution, which converters fold in part."""
    x = n.relu(n.norm(n.gemm(n.input("x", 4, 16), 16, 24), 24))
    y = n.reshape(x, 4, 6, 2, 2)
    n.output(n.relu(n.norm(n.deconv(y, 6, 3), 3)))


def group_normalized(n):
    n.opset = 21
    x = n.conv(n.input("x", 2, 3, 9, 7), 3, 8)
    x = n.add("GroupNormalization", x, n.vector(8, 0.6, 1.4, "gamma"), n.vector(8, -0.3, 0.3, "beta"), num_groups=4)
    n.shaped(x, 2, 8, 9, 7)
    n.output(n.conv(n.relu(x), 8, 4))


def lp_normalized(n):
    x = n.relu(n.linear(n.input("x", 3, 5, 16), 16, 12))
    x = n.add("LpNormalization", x, axis=-1, p=2)
    n.output(n.linear(x, 12, 8))


def layer_normalized_alone(n):
    x = n.input("x", 2, 5, 16)
    y = layer_norm(n, n.add("Add", x, n.linear(x, 16, 16)), 16)
    n.output(layer_norm(n, n.relu(y), 16))


def instance_normalized_residual(n):
    x = n.relu(n.conv(n.input("x", 2, 3, 8, 8), 3, 6))
    norm = lambda t: n.add("InstanceNormalization", t, n.vector(6, 0.6, 1.4, "gamma"), n.vector(6, -0.3, 0.3, "beta"))
    y = norm(n.conv(n.relu(norm(n.conv(x, 6, 6))), 6, 6))
    n.output(n.conv(n.add("Add", x, y), 6, 3))


def layer_norm_spelled_out(n):
    """Mean, variance and quotient as the operators that older exporters write."""
    x = n.linear(n.input("x", 2, 5, 16), 16, 12)
    centred = n.add("Sub", x, n.add("ReduceMean", x, axes=[-1]))
    variance = n.add("ReduceMean", n.add("Mul", centred, centred), axes=[-1])
    deviation = n.add("Sqrt", n.add("Add", variance, n.constant(numpy.float32(1e-5))))
    y = n.add("Mul", n.add("Div", centred, deviation), n.vector(12, 0.6, 1.4, "gamma"))
    n.output(n.linear(n.add("Add", y, n.vector(12, -0.3, 0.3, "beta")), 12, 8))


def attention_masked(n):
    """Causal, by a constant that is added."""
    x = n.input("x", 2, 6, 16)
    q, k, v = (n.linear(x, 16, 12) for _ in range(3))
    scores = n.add("MatMul", q, n.add("Transpose", k, perm=[0, 2, 1]))
    scores = n.add("Mul", scores, n.constant(numpy.float32(12**-0.5)))
    mask = numpy.triu(numpy.full((6, 6), -10000, "float32"), 1)
    scores = n.add("Softmax", n.add("Add", scores, n.constant(mask, "mask")), axis=-1)
    n.output(n.linear(n.add("MatMul", scores, v), 12, 16))


def attention_where(n):
    """Causal, by a Where."""
    x = n.input("x", 1, 7, 12)
    heads = lambda name: n.add("Transpose", n.reshape(name, 1, 7, 3, 4), perm=[0, 2, 1, 3])
    q, k, v = (heads(n.linear(x, 12, 12)) for _ in range(3))
    scores = n.add("MatMul", q, n.add("Transpose", k, perm=[0, 1, 3, 2]))
    scores = n.add("Mul", scores, n.constant(numpy.float32(0.5)))
    kept = n.constant(numpy.tril(numpy.ones((7, 7), bool)), "kept")
    scores = n.add("Where", kept, scores, n.constant(numpy.float32(-1000)))
    y = n.add("MatMul", n.add("Softmax", scores, axis=-1), v)
    y = n.reshape(n.add("Transpose", y, perm=[0, 2, 1, 3]), 1, 7, 12)
    n.output(layer_norm(n, n.add("Add", x, n.linear(y, 12, 12)), 12))


def attention_crossed(n):
    """Queries of one input, keys and values of another."""
    x, memory = n.input("x", 2, 5, 12), n.input("memory", 2, 8, 16)
    q, k, v = n.linear(x, 12, 12), n.linear(memory, 16, 12), n.linear(memory, 16, 12)
    scores = n.add("MatMul", q, n.add("Transpose", k, perm=[0, 2, 1]))
    scores = n.add("Softmax", n.add("Div", scores, n.constant(numpy.float32(12**0.5))), axis=-1)
    n.output(n.add("Add", x, n.linear(n.add("MatMul", scores, v), 12, 12)))


def encoder_decoder_deep(n):
    pool = lambda t: n.add("MaxPool", t, kernel_shape=[2, 2], strides=[2, 2])
    x = n.conv_norm_relu(n.input("x", 1, 3, 8, 12), 3, 4)
    y = n.conv_norm_relu(pool(x), 4, 6)
    z = n.conv_norm_relu(pool(y), 6, 8)
    y = n.conv_norm_relu(n.add("Concat", n.deconv(z, 8, 6), y, axis=1), 12, 6)
    x = n.conv_norm_relu(n.add("Concat", n.deconv(y, 6, 4), x, axis=1), 8, 4)
    n.output(n.add("Tanh", n.conv(x, 4, 2, kernel=1)))


def decoder_resized(n):
    x = n.conv_norm_relu(n.input("x", 1, 3, 8, 12), 3, 6)
    y = n.conv_norm_relu(x, 6, 8, strides=2)
    y = n.add("Resize", y, "", n.constant(numpy.array([1, 1, 2, 2], "float32")), mode="linear",
              coordinate_transformation_mode="half_pixel")
    n.output(n.conv(n.add("Add", n.conv(y, 8, 6, kernel=1), x), 6, 3))


def residual_stages(n):
    x = n.conv_norm_relu(n.input("x", 1, 3, 12, 12), 3, 6, strides=2)
    for cin, cout in ((6, 6), (6, 10)):
        strides = 1 if cin == cout else 2
        y = n.norm(n.conv(n.conv_norm_relu(x, cin, cout, strides=strides), cout, cout, bias=False), cout)
        skip = x if cin == cout else n.norm(n.conv(x, cin, cout, kernel=1, bias=False, strides=2), cout)
        x = n.relu(n.add("Add", y, skip))
    n.output(n.gemm(n.add("Flatten", n.add("GlobalAveragePool", x), axis=1), 10, 5))


MODELS = [conv_relu, conv_norm_relu, conv_chain, residual, residual_projected, preactivated, depthwise_separable,
          inverted_bottleneck, grouped, encoder_decoder, upsampled, inception, classifier, classifier_softmax, perceptron,
          perceptron_products, gated, hard_swish, leaky, swish, parametric, attention, attention_heads, transformer_block,
          normalized, instance_normalized, shuffled, sequence, two_inputs, padded, pixel_shuffle, branches,
          branches_of_products, branch_of_a_branch, loop, scan, normalization_first, normalization_of_a_sum,
          normalization_of_rows, group_normalized, lp_normalized, layer_normalized_alone, instance_normalized_residual,
          layer_norm_spelled_out, attention_masked, attention_where, attention_crossed, encoder_decoder_deep,
          decoder_resized, residual_stages]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for build in MODELS:
        net = Net(build.__name__)
        build(net)
        folder = Path(sys.argv[1], net.name)
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(net.model(), folder / "float.onnx")
        numpy.savez(folder / "calibration.npz", **net.batches(CALIBRATION_BATCHES, 1))
        numpy.savez(folder / "inputs.npz", **net.batches(INPUT_BATCHES, 2))
    print(f"{len(MODELS)} models in {sys.argv[1]}")


if __name__ == "__main__":
    main()
