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
        self.random = numpy.random.default_rng(zlib.crc32(name.encode()))
        self.name, self.nodes, self.initializers, self.inputs, self.outputs = name, [], [], {}, []
        self.count = 0

    def input(self, name, *shape):
        self.inputs[name] = shape
        return name

    def constant(self, array, stem="c"):
        self.count += 1
        name = f"{stem}_{self.count}"
        self.initializers.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

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

    def output(self, *names):
        self.outputs += names

    def model(self):
        value = lambda name, shape=None: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, self.name, [value(n, s) for n, s in self.inputs.items()],
                                  [value(n) for n in self.outputs], self.initializers)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
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


MODELS = [conv_relu, conv_norm_relu, conv_chain, residual, residual_projected, preactivated, depthwise_separable,
          inverted_bottleneck, grouped, encoder_decoder, upsampled, inception, classifier, classifier_softmax, perceptron,
          perceptron_products, gated, hard_swish, leaky, swish, parametric, attention, attention_heads, transformer_block,
          normalized, instance_normalized, shuffled, sequence, two_inputs, padded, pixel_shuffle, branches]


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
