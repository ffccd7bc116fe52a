"""What the generators of second_opinion.py are written in: random shapes, values and one-node models."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32 = np.dtype("float32")
INTEGERS = [np.dtype(name) for name in ("int8", "uint8", "int32", "int64")]
GENERATORS = {}  # operator → (function, number of cases)


def operator(*names, count=16):
    """Registers a generator, called with a Draw and the operator's name, for each of `names`."""
    def register(function):
        for name in names:
            assert name not in GENERATORS, name
            GENERATORS[name] = (function, count)
        return function
    return register


class Node:
    """One operator with its data, "domain.Op" outside ONNX's own. An input left out is None; those in `constants` become
    initializers."""

    def __init__(self, op, inputs, opset=13, outputs=1, constants=(), **attributes):
        self.domain, _, self.op = op.rpartition(".")
        self.inputs, self.opset, self.outputs, self.constants = inputs, opset, outputs, set(constants)
        self.cast = None  # the type to which a Cast brings the output: of 4 bits it can't be fetched
        self.attributes = {key: value for key, value in attributes.items() if value is not None}

    def model(self):
        """The model, without types of its outputs, and what is fed to it by name."""
        names = [f"x{index}" if value is not None else "" for index, value in enumerate(self.inputs)]
        while names and not names[-1]:
            names.pop()
        outputs = [f"y{index}" for index in range(self.outputs)]
        node = helper.make_node(self.op, names, outputs, "n", domain=self.domain, **self.attributes)
        feeds, infos, constants = {}, [], []
        for index, name in enumerate(names):
            if not name:
                continue
            value = np.asarray(self.inputs[index])  # arithmetic turns arrays without axes into numbers
            if index in self.constants:
                constants.append(numpy_helper.from_array(value, name))
            else:
                feeds[name] = value
                infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype),
                                                           value.shape))
        nodes = [node]
        if self.cast is not None:
            node.output[0] = "codes"
            nodes.append(helper.make_node("Cast", ["codes"], outputs[:1], to=helper.np_dtype_to_tensor_dtype(np.dtype(self.cast))))
        graph = helper.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name=name) for name in outputs], constants)
        opsets = [helper.make_opsetid("", self.opset)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, 1))
        return helper.make_model(graph, opset_imports=opsets, ir_version=8 if self.opset < 21 else 10), feeds


class GraphNode(Node):
    """Several nodes, given as a ready graph whose outputs carry no types."""

    def __init__(self, graph, feeds, opset=13):
        super().__init__("", [], opset)
        self.graph, self.feeds = graph, feeds

    def model(self):
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(self.graph, opset_imports=opsets, ir_version=8), self.feeds


class Draw:
    """A source of random choices, seeded by the run's seed, the operator and the number of the case."""

    def __init__(self, seed, op, number):
        self.rng = np.random.default_rng([seed, number, *op.encode()])

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def maybe(self, probability=0.5):
        return bool(self.rng.random() < probability)

    def integer(self, low, high):
        """Both ends included."""
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=1, high=4, longest=5, empty=0.03):
        """Of rank low to high; sometimes with an extent of 0."""
        shape = [self.integer(1, longest) for _ in range(self.integer(low, high))]
        if shape and self.maybe(empty):
            shape[self.integer(0, len(shape) - 1)] = 0
        return shape

    def axis(self, rank):
        """A legal axis, from the front or from the back."""
        return self.integer(-rank, rank - 1)

    def axes(self, rank, low=0):
        chosen = self.rng.permutation(rank)[:self.integer(min(low, rank), rank)]
        return [int(axis) - (rank if self.maybe(0.3) else 0) for axis in chosen]

    def reals(self, shape, low=-3.0, high=3.0):
        """Float32, uniform or bell-shaped within the ends."""
        if self.maybe():
            return self.rng.uniform(low, high, shape).astype(F32)
        return np.clip(self.rng.normal((low + high) / 2, (high - low) / 6, shape), low, high).astype(F32)

    def specials(self, values):
        """Now and then NaN, infinities, both zeros and the least numbers, in place of some values."""
        values = np.array(values)
        if self.maybe(0.5):
            for place in np.ndindex(values.shape):
                if self.maybe(0.2):
                    values[place] = self.pick(np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1.2e-38, 3.4e38)
        return values

    def codes(self, dtype, shape, low=None, high=None):
        limits = np.iinfo(dtype)
        low, high = limits.min if low is None else low, limits.max if high is None else high
        return self.rng.integers(low, high, shape, np.dtype(dtype), endpoint=True)

    def distinct(self, shape):
        """Float32 without equal elements: nothing to break ties about."""
        count = int(np.prod(shape))
        return (self.rng.permutation(count).reshape(shape).astype(F32) - count / 2) * F32.type(0.37)

    def booleans(self, shape):
        return self.rng.integers(0, 2, shape).astype(bool)

    def broadcast(self, count=2, low=0, high=4):
        """Shapes that broadcast to one, each with some extents 1 or left out in front."""
        whole = self.shape(low, high)
        shapes = [list(whole) for _ in range(count)]
        for shape in shapes[1:] if self.maybe(0.8) else shapes:
            for axis in range(len(shape)):
                if self.maybe(0.3) and shape[axis] != 0:
                    shape[axis] = 1
            del shape[:self.integer(0, len(shape)) if self.maybe(0.4) else 0]
        order = self.rng.permutation(count)
        return [shapes[place] for place in order]

    def scale(self, shape=(), low=-7, high=-2):
        """Scales of Q/DQ: powers of two, where a float32 division is exact, ties included."""
        return np.ldexp(F32.type(1), self.rng.integers(low, high, shape, endpoint=True)).astype(F32)
