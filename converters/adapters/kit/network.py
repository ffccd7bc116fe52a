"""An ONNX graph as the lines of a PyTorch module, for a converter that takes no ONNX model.

They are the module that a person would write for the graph: a line for each node, and one for each layer that holds weights.
What there is no line for is NotWritten; nothing here is an importer.
"""
import keyword

import onnx
from onnx import numpy_helper

SAME = {"Relu": "torch.nn.functional.relu", "Sigmoid": "torch.sigmoid", "Tanh": "torch.tanh", "Sqrt": "torch.sqrt", "Exp": "torch.exp",
        "Neg": "torch.neg", "Abs": "torch.abs", "Erf": "torch.erf", "Max": "torch.maximum", "Min": "torch.minimum"}
SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}


class NotWritten(Exception):
    """What is in the graph and has no line here."""


def values(model):
    """The values of a template: $arguments, and $layers and $forward, lines that are indented as a method's are. A layer is
    `layer(MODULE, TENSOR …)`, with the tensors in the order of the module's state; a tensor is `held["NAME"]`."""
    network = _Network(model)
    return {"arguments": ", ".join(network.inputs), "layers": _indented(network.layers), "forward": _indented(network.forward)}


def _indented(lines):
    return "\n".join(" " * 8 + line for line in lines)


def _called(function, arguments, words):
    return f"{function}({', '.join([*arguments, *(f'{word}={value}' for word, value in words.items())])})"


class _Network:
    def __init__(self, model):
        graph, inferred = model.graph, onnx.shape_inference.infer_shapes(model).graph
        self.shapes = {each.name: [extent.dim_value for extent in each.type.tensor_type.shape.dim]
                       for each in (*inferred.input, *inferred.value_info, *inferred.output)}
        self.shapes.update({tensor.name: [*tensor.dims] for tensor in graph.initializer})
        self.opset = next(each.version for each in model.opset_import if each.domain in ("", "ai.onnx"))
        self.held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self.inputs = [each.name for each in graph.input if each.name not in self.held]
        self.layers = []
        names = [*self.inputs, *self.held, *(name for node in graph.node for name in node.output)]
        strange = [name for name in names if not name.isidentifier() or keyword.iskeyword(name) or name == "self"]
        if strange:
            raise NotWritten(f'no name of Python\'s: "{strange[0]}"')
        self.forward = [f"{', '.join(node.output)} = {self._value(node)}" for node in graph.node]
        results = [self._name(each.name) for each in graph.output]
        self.forward.append(f"return {', '.join(results)}{',' if len(results) == 1 else ''}")

    def _value(self, node):
        write = None if node.domain else getattr(self, f"_{node.op_type}", None)
        if write:
            return write(node, {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute})
        if not node.domain and node.op_type in SIGNS:
            return f" {SIGNS[node.op_type]} ".join(map(self._name, node.input))
        if not node.domain and node.op_type in SAME:
            return f"{SAME[node.op_type]}({', '.join(map(self._name, node.input))})"
        raise NotWritten(f"no line for {node.op_type}")

    def _name(self, name):
        """What the tensor is called in `forward`."""
        if name not in self.held:
            return name
        line = f'self.{name} = torch.nn.Parameter(held["{name}"], requires_grad=False)'
        if line not in self.layers:
            self.layers.append(line)
        return f"self.{name}"

    def _layer(self, node, data, module, names, turned=False):
        """A module that holds these constants, applied to `data`."""
        if not all(name in self.held for name in names):
            raise NotWritten(f"no line for {node.op_type} by what is no constant")
        tensors = [f'held["{name}"]' for name in names]
        tensors[0] += ".T" if turned else ""
        self.layers.append(f"self.of_{node.output[0]} = layer({', '.join([module, *tensors])})")
        return f"self.of_{node.output[0]}({data})"

    def _window(self, node, given, defaults):
        """(input, {word: value}) of a Conv's or a pool's window; pads of a Conv whose ends differ are a Pad in front."""
        if given.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID") or given.get("ceil_mode") or "output_shape" in given:
            raise NotWritten(f"no line for a {node.op_type} of this geometry")
        data = self._name(node.input[0])
        words = {word: tuple(given[name]) for name, word, plain in defaults if name in given and set(given[name]) != {plain}}
        pads = given.get("pads", [])
        half = len(pads) // 2
        if pads[:half] == pads[half:]:
            words.update({"padding": tuple(pads[:half])} if any(pads) else {})
        elif node.op_type == "Conv":
            ends = [end for axis in reversed(range(half)) for end in (pads[axis], pads[axis + half])]
            data = f"torch.nn.functional.pad({data}, {tuple(ends)})"
        else:
            raise NotWritten(f"no line for a {node.op_type} with pads that differ")
        return data, words

    def _convolution(self, node, given, module, channels):
        """`channels`, as (in, out): where a weight's first two extents are times the groups."""
        data, words = self._window(node, given, (("strides", "stride", 1), ("dilations", "dilation", 1),
                                                 ("output_padding", "output_padding", 0)))
        weight = self.held.get(node.input[1])
        if weight is None:
            raise NotWritten(f"no line for {node.op_type} by what is no constant")
        groups = given.get("group", 1)
        words.update({"groups": groups} if groups > 1 else {}, **({} if len(node.input) > 2 else {"bias": False}))
        count, kernel = channels(weight.shape, groups), tuple(weight.shape[2:])
        made = _called(f"torch.nn.{module}{len(kernel)}d", [*map(str, count), str(kernel)], words)
        return self._layer(node, data, made, node.input[1:])

    def _Conv(self, node, given):
        return self._convolution(node, given, "Conv", lambda shape, groups: (shape[1] * groups, shape[0]))

    def _ConvTranspose(self, node, given):
        return self._convolution(node, given, "ConvTranspose", lambda shape, groups: (shape[0], shape[1] * groups))

    def _BatchNormalization(self, node, given):
        features = self.held[node.input[1]].size if node.input[1] in self.held else 0
        words = {"eps": f"{given['epsilon']:.6g}"} if "epsilon" in given else {}  # 1e-5 in both
        extents = max(self._rank(node) - 2, 1)
        return self._layer(node, self._name(node.input[0]), _called(f"torch.nn.BatchNorm{extents}d", [str(features)], words), node.input[1:])

    def _rank(self, node):
        if node.input[0] not in self.shapes:
            raise NotWritten(f"no line for {node.op_type} of what has no known rank")
        return len(self.shapes[node.input[0]])

    def _linear(self, node, turned):
        data, weight, *bias = node.input
        extents = self.held[weight].shape[::1 if turned else -1]
        made = _called("torch.nn.Linear", map(str, extents), {} if bias else {"bias": False})
        return self._layer(node, self._name(data), made, [weight, *bias], turned)

    def _MatMul(self, node, _):
        data, weight = node.input
        if data not in self.held and weight in self.held and self.held[weight].ndim == 2:
            return self._linear(node, True)
        return f"torch.matmul({self._name(data)}, {self._name(weight)})"

    def _Gemm(self, node, given):
        data, weight, *bias = node.input
        if given.get("alpha", 1) != 1 or given.get("beta", 1) != 1:
            raise NotWritten("no line for Gemm with alpha or beta")
        vectors = all(each in self.held and self.held[each].shape == (self.held[weight].shape[0 if given.get("transB") else 1],)
                      for each in bias)
        if data not in self.held and weight in self.held and not given.get("transA") and vectors:
            return self._linear(node, not given.get("transB"))
        left, right = (self._name(name) + (".T" if given.get(word) else "") for name, word in ((data, "transA"), (weight, "transB")))
        return " + ".join([f"torch.matmul({left}, {right})", *map(self._name, bias)])

    def _MaxPool(self, node, given):
        if len(node.output) > 1:
            raise NotWritten("no line for MaxPool with indices")
        data, words = self._window(node, given, (("dilations", "dilation", 1),))
        kernel = tuple(given["kernel_shape"])
        words["stride"] = tuple(given.get("strides", [1] * len(kernel)))
        return _called(f"torch.nn.functional.max_pool{len(kernel)}d", [data, str(kernel)], words)

    def _AveragePool(self, node, given):
        if set(given.get("dilations", [1])) != {1}:
            raise NotWritten("no line for AveragePool with dilations")
        data, words = self._window(node, given, ())
        kernel = tuple(given["kernel_shape"])
        words.update({"stride": tuple(given.get("strides", [1] * len(kernel)))},
                     **({"count_include_pad": bool(given.get("count_include_pad"))} if "padding" in words else {}))
        return _called(f"torch.nn.functional.avg_pool{len(kernel)}d", [data, str(kernel)], words)

    def _GlobalAveragePool(self, node, _):
        return f"{self._name(node.input[0])}.mean({tuple(range(2, self._rank(node)))}, True)"

    def _listed(self, node, given, place, word):
        """The integers of an attribute, or of the input that later opsets have in its place; None where there is neither."""
        if word in given:
            return [*given[word]]
        name = [*node.input, *[""] * place][place]
        if name and name not in self.held:
            raise NotWritten(f"no line for {node.op_type} by what is no constant")
        return [*map(int, self.held[name].flatten())] if name else None

    def _Pad(self, node, given):
        pads, axes = self._listed(node, given, 1, "pads"), self._listed(node, {}, 3, "axes")
        value = self.held[node.input[2]].item() if len(node.input) > 2 and node.input[2] in self.held else given.get("value", 0)
        if given.get("mode", b"constant") != b"constant" or axes is not None:
            raise NotWritten("no line for a Pad of this kind")
        half = len(pads) // 2
        ends = [end for axis in reversed(range(half)) for end in (pads[axis], pads[axis + half])]
        return f"torch.nn.functional.pad({self._name(node.input[0])}, {tuple(ends)}, value={value:.9g})"

    def _Reshape(self, node, given):
        shape = self._listed(node, given, 1, "shape")
        if 0 in shape:
            raise NotWritten("no line for a Reshape that keeps extents")
        return f"torch.reshape({self._name(node.input[0])}, {tuple(shape)})"

    def _Flatten(self, node, given):
        if given.get("axis", 1) != 1:
            raise NotWritten("no line for Flatten of another axis than 1")
        return f"torch.flatten({self._name(node.input[0])}, 1)"

    def _Squeeze(self, node, given):
        axes = self._listed(node, given, 1, "axes")
        return f"torch.squeeze({self._name(node.input[0])}{'' if axes is None else f', {tuple(axes)}'})"

    def _Unsqueeze(self, node, given):
        axes = self._listed(node, given, 1, "axes")
        if len(axes) != 1:
            raise NotWritten("no line for Unsqueeze of several axes")
        return f"torch.unsqueeze({self._name(node.input[0])}, {axes[0]})"

    def _Expand(self, node, given):
        shape = self._listed(node, given, 1, "shape")
        if self.shapes.get(node.output[0]) != shape:
            raise NotWritten("no line for an Expand to fewer extents than it has")
        return f"torch.broadcast_to({self._name(node.input[0])}, {tuple(shape)})"

    def _reduced(self, node, given, function):
        axes = self._listed(node, given, 1, "axes")
        if axes is None:
            raise NotWritten(f"no line for {node.op_type} over all axes")
        return f"{function}({self._name(node.input[0])}, {tuple(axes)}, {bool(given.get('keepdims', 1))})"

    def _ReduceMin(self, node, given):
        return self._reduced(node, given, "torch.amin")

    def _ReduceMax(self, node, given):
        return self._reduced(node, given, "torch.amax")

    def _ReduceMean(self, node, given):
        return self._reduced(node, given, "torch.mean")

    def _Softmax(self, node, given):
        if self.opset < 13:
            raise NotWritten("no line for Softmax of an opset before 13")
        return f"torch.softmax({self._name(node.input[0])}, {given.get('axis', -1)})"

    def _Sum(self, node, _):
        return " + ".join(map(self._name, node.input))

    def _Gather(self, node, given):
        return f"{self._name(node.input[0])}[{':, ' * (given.get('axis', 0) % self._rank(node))}{self._name(node.input[1])}]"

    def _LayerNormalization(self, node, given):
        rank = self._rank(node)
        extents = self.shapes[node.input[0]][given.get("axis", -1) % rank:]
        words = {"eps": f"{given['epsilon']:.6g}"} if "epsilon" in given else {}
        return _called("torch.nn.functional.layer_norm", [self._name(node.input[0]), str(tuple(extents)), *map(self._name, node.input[1:])], words)

    def _Concat(self, node, given):
        joined = "".join(f"{self._name(name)}, " for name in node.input)  # a tuple, as PyTorch's documentation has it
        return f"torch.cat(({joined.strip() if len(node.input) == 1 else joined[:-2]}), {given['axis']})"

    def _Clip(self, node, given):
        low, high = (self._name(name) if name else "None" for name in [*node.input[1:], "", ""][:2])
        low, high = given.get("min", low), given.get("max", high)  # attributes before opset 11
        return f"torch.clamp({self._name(node.input[0])}, {low}, {high})"

    def _Transpose(self, node, given):
        if "perm" not in given:
            raise NotWritten("no line for a Transpose without perm")
        return f"{self._name(node.input[0])}.permute({', '.join(map(str, given['perm']))})"

    def _Identity(self, node, _):
        return self._name(node.input[0])
