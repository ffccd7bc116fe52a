"""Generators of operators that work element by element, and of reductions."""
import numpy as np
from onnx import TensorProto

from generated_models import F32, INTEGERS, Node, operator

# Where each function is asked; the ends are far enough from poles for a bound to exist.
DOMAINS = {"Acos": (-1, 1), "Acosh": (1, 9), "Asin": (-1, 1), "Atanh": (-0.97, 0.97), "Log": (1e-3, 20), "Sqrt": (0, 9),
           "Tan": (-1.4, 1.4), "Exp": (-8, 8), "Cosh": (-5, 5), "Sinh": (-5, 5), "Erf": (-3, 3)}


@operator("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf", "Exp", "Floor", "Ceil", "HardSwish",
          "Log", "Mish", "Reciprocal", "Sigmoid", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh",
          count=20)
def unary(draw, op):
    low, high = DOMAINS.get(op, (-9, 9))
    x = draw.reals(draw.shape(0), low, high)
    opset = {"HardSwish": 14, "Mish": 18}.get(op, 13)
    # A large argument of a periodic function is reduced with an error of its own.
    wild = op not in ("Sin", "Cos", "Tan")
    return Node(op, [draw.specials(x) if wild else x], opset)


@operator("Round")
def rounding(draw, op):
    x = draw.reals(draw.shape(0), -9, 9)
    halves = np.round(x * 2) / 2
    return Node(op, [draw.specials(draw.pick(x, halves)).astype(F32)])


@operator("Abs", "Neg", "Sign", "Identity", "Relu")
def signed(draw, op):
    shape = draw.shape(0)
    kind = draw.pick(F32, F32, np.dtype("int8"), np.dtype("int32"), np.dtype("int64"))
    opset = 14 if op == "Relu" else 13
    if kind == F32:
        return Node(op, [draw.specials(draw.reals(shape))], opset)
    return Node(op, [draw.codes(kind, shape, np.iinfo(kind).min + 1)], opset)


@operator("Elu", "Celu", "LeakyRelu", "Selu", "HardSigmoid", "ThresholdedRelu")
def with_parameters(draw, op):
    alpha = None if draw.maybe(0.3) else draw.pick(0.125, 0.3, 1.0, 1.7)
    attributes = {"alpha": alpha}
    if op == "HardSigmoid":
        attributes["beta"] = None if draw.maybe() else draw.pick(0.1, 0.5)
    if op == "Selu":
        attributes["gamma"] = None if draw.maybe() else draw.pick(0.9, 1.5)
    return Node(op, [draw.reals(draw.shape(0), -5, 5)], **attributes)


@operator("Gelu")
def gelu(draw, op):
    return Node(op, [draw.reals(draw.shape(0), -5, 5)], 20, approximate=draw.pick(None, "none", "tanh"))


@operator("com.microsoft.Gelu", "com.microsoft.QuickGelu")
def contributed(draw, op):
    alpha = draw.pick(None, 1.702, 0.3, -1.5) if op.endswith("QuickGelu") else None
    return Node(op, [draw.reals(draw.shape(0), -5, 5)], alpha=alpha)


@operator("IsNaN", "IsInf")
def classification(draw, op):
    x = draw.specials(draw.specials(draw.reals(draw.shape(0))))
    if op == "IsNaN":
        return Node(op, [x])
    return Node(op, [x], detect_positive=draw.pick(None, 0, 1), detect_negative=draw.pick(None, 0, 1))


@operator("Add", "Sub", "Mul", "Div", count=24)
def arithmetic(draw, op):
    left, right = draw.broadcast()
    kind = draw.pick(F32, F32, np.dtype("int32"), np.dtype("int64"), np.dtype("int8"), np.dtype("uint8"))
    if kind == F32:
        return Node(op, [draw.specials(draw.reals(left)), draw.specials(draw.reals(right))], 14)
    low = 0 if kind == np.uint8 else -90
    divisor = draw.codes(kind, right, 1, 90) * (1 if low == 0 or draw.maybe() else kind.type(-1))
    return Node(op, [draw.codes(kind, left, low, 90), divisor.astype(kind)], 14)


@operator("Mod")
def modulo(draw, op):
    left, right = draw.broadcast()
    if draw.maybe(0.4):
        return Node(op, [draw.reals(left, -9, 9), draw.reals(right, 0.5, 3)], fmod=1)
    kind = draw.pick(*INTEGERS)
    low = 0 if kind == np.uint8 else -90
    divisor = draw.codes(kind, right, 1, 9) * (1 if low == 0 or draw.maybe() else kind.type(-1))
    return Node(op, [draw.codes(kind, left, low, 90), divisor.astype(kind)], fmod=draw.pick(None, 0, 1))


@operator("Pow")
def power(draw, op):
    left, right = draw.broadcast()
    if draw.maybe(0.7):
        whole = draw.maybe()
        base = draw.reals(left, -2, 2) if whole else draw.reals(left, 0.1, 4)
        exponent = draw.codes("int32", right, 0, 3).astype(F32) if whole else draw.reals(right, -2, 2)
        return Node(op, [base, exponent])
    kinds = np.dtype("int32"), np.dtype("int64")
    return Node(op, [draw.codes(draw.pick(*kinds), left, -5, 5), draw.codes(draw.pick(*kinds), right, 0, 4)])


@operator("PRelu")
def prelu(draw, op):
    shape = draw.shape(1)
    slope = [extent if draw.maybe() else 1 for extent in shape][draw.integer(0, len(shape) - 1):]
    return Node(op, [draw.reals(shape), draw.reals(slope)])


@operator("And", "Or", "Xor", "Not")
def logic(draw, op):
    shapes = draw.broadcast(1 if op == "Not" else 2)
    return Node(op, [draw.booleans(shape) for shape in shapes])


@operator("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def comparison(draw, op):
    left, right = draw.broadcast()
    kind = draw.pick(F32, np.dtype("int32"), np.dtype("int64"))
    values = [draw.codes("int32", shape, -3, 3).astype(kind) for shape in (left, right)]
    return Node(op, [draw.specials(each) if kind == F32 else each for each in values], 16)


@operator("Max", "Min", "Sum", "Mean")
def variadic(draw, op):
    shapes = draw.broadcast(draw.integer(1, 4))
    if op in ("Max", "Min") and draw.maybe(0.4):
        kind = draw.pick(*INTEGERS)
        return Node(op, [draw.codes(kind, shape) for shape in shapes])
    values = [draw.reals(shape) for shape in shapes]
    return Node(op, [draw.specials(value) for value in values] if op in ("Max", "Min") else values)


@operator("Clip")
def clip(draw, op):
    shape = draw.shape(0)
    kind = draw.pick(F32, F32, np.dtype("int8"), np.dtype("int64"))
    values = draw.reals(shape, -9, 9) if kind == F32 else draw.codes(kind, shape, -50, 50)
    low = None if draw.maybe(0.3) else np.array(draw.integer(-5, 0), kind)
    high = None if draw.maybe(0.3) else np.array(draw.integer(-2, 7), kind)
    return Node(op, [values, low, high])


@operator("Where")
def where(draw, op):
    shapes = draw.broadcast(3)
    kind = draw.pick(F32, np.dtype("int64"), np.dtype("uint8"))
    values = [draw.reals(shape) if kind == F32 else draw.codes(kind, shape) for shape in shapes[1:]]
    return Node(op, [draw.booleans(shapes[0]), *values], 16)


@operator("BitShift")
def shift(draw, op):
    left, right = draw.broadcast()
    kind = draw.pick(*(np.dtype(name) for name in ("uint8", "uint32", "uint64")))
    high = np.iinfo(kind).max if kind != np.uint64 else 2**62
    return Node(op, [draw.codes(kind, left, 0, high), draw.codes(kind, right, 0, 7)],
                direction=draw.pick("LEFT", "RIGHT") if kind != np.uint64 else "RIGHT")


@operator("Cast", "CastLike", count=40)
def cast(draw, op):
    shape = draw.shape(0)
    kinds = ["float32", "float16", "float64", "int8", "uint8", "int32", "int64", "bool"]
    source, target = draw.pick(*kinds), draw.pick(*kinds)
    values = draw.reals(shape, 0, 90) if "uint8" in (source, target) else draw.reals(shape, -90, 90)
    values = (values > 0) if source == "bool" else values.astype(source)
    if op == "CastLike":
        return Node(op, [values, np.zeros(draw.shape(0), target)], 15)
    number = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}.get(target) or TensorProto.DataType.Value(
        target.upper())
    return Node(op, [values], to=number)


@operator("Dropout")
def dropout(draw, op):
    x = draw.reals(draw.shape(1))
    return Node(op, [x, np.array(0.4, F32) if draw.maybe() else None], outputs=draw.pick(1, 2))


REDUCTIONS = ["ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
              "ReduceProd", "ReduceSum", "ReduceSumSquare"]


@operator(*REDUCTIONS, count=20)
def reduction(draw, op):
    empty = 0.1 if op in ("ReduceSum", "ReduceL1") else 0
    shape = draw.shape(1, 4, empty=empty)
    kind = F32 if op in ("ReduceLogSum", "ReduceLogSumExp", "ReduceMean") else draw.pick(F32, F32, np.dtype("int32"))
    x = draw.reals(shape, 0.2 if op == "ReduceLogSum" else -3, 3) if kind == F32 else draw.codes(kind, shape, -3, 3)
    keepdims = draw.pick(None, 0, 1)
    axes = draw.axes(len(shape), 1)
    opset = draw.pick(11, 13, 18)
    if opset >= (13 if op == "ReduceSum" else 18):
        noop = draw.pick(None, None, 0, 1)
        given = None if draw.maybe(0.3) else np.array(axes if not noop or draw.maybe() else [], np.int64)
        return Node(op, [x, given], opset, keepdims=keepdims, noop_with_empty_axes=noop,
                    constants=[1] if draw.maybe() else [])
    return Node(op, [x], opset, keepdims=keepdims, axes=None if draw.maybe(0.3) else axes)


@operator("ArgMax", "ArgMin")
def arg_best(draw, op):
    shape = draw.shape(1, 4, empty=0)
    ties = draw.maybe()
    x = draw.codes("int32", shape, -2, 2).astype(F32) if ties else draw.distinct(shape)
    return Node(op, [x], axis=draw.axis(len(shape)), keepdims=draw.pick(None, 0, 1), select_last_index=draw.pick(0, 1))


@operator("CumSum")
def cum_sum(draw, op):
    shape = draw.shape(1)
    x = draw.reals(shape) if draw.maybe() else draw.codes("int64", shape, -90, 90)
    return Node(op, [x, np.array(draw.axis(len(shape)), np.int64)], 14, exclusive=draw.pick(None, 0, 1),
                reverse=draw.pick(None, 0, 1))


@operator("Softmax", "LogSoftmax")
def softmax(draw, op):
    shape = draw.shape(1, 4, empty=0)
    opset = draw.pick(11, 13)
    axis = draw.axis(len(shape)) if opset == 13 else draw.integer(0, len(shape) - 1)
    return Node(op, [draw.reals(shape, -6, 6)], opset, axis=None if draw.maybe(0.2) and len(shape) > 1 else axis)
