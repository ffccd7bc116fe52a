"""A model as torch.export gives it out, and which of its tensors the exported graph's values are.

The twin has a module for each ONNX node, and torch.export notes for each aten node the module that it comes from.
"""

import operator
from dataclasses import dataclass, field

import numpy
import onnx
import torch
from model_request import declared_shape, graph_inputs
from onnx import numpy_helper

CONSTANT_VALUES = ("value_float", "value_floats", "value_int", "value_ints")
WRITTEN_OUT = 64  # elements of an integer constant that torch.export is to know while it traces: axes, shapes, indices


def importable(model):
    """A copy that onnx2torch can name things after: nodes are n0, n1 … in the graph's order, what Constant nodes hold are
    initializers."""
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    kept = []
    for index, node in enumerate(copy.graph.node):
        node.name = f"n{index}"
        value = constant_of(node)
        if value is None:
            kept.append(node)
        else:
            copy.graph.initializer.append(numpy_helper.from_array(value, node.output[0]))
    del copy.graph.node[:]
    copy.graph.node.extend(kept)
    return copy


def constant_of(node):
    """What a Constant node holds, None of any other node."""
    if node.op_type != "Constant" or node.domain or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    if attribute.name == "value":
        return numpy_helper.to_array(attribute.t)
    if attribute.name not in CONSTANT_VALUES:
        return None
    value = onnx.helper.get_attribute_value(attribute)
    return numpy.array(value, numpy.float32 if "float" in attribute.name else numpy.int64)


class ConstantSlice(torch.nn.Module):
    """Slice by constants, which onnx2torch takes for NumPy's arrays and torch.export hands over as tensors."""

    def __init__(self, starts, ends, axes=None, steps=None):
        super().__init__()
        count = len(starts)
        axes, steps = (list(range(count)) if axes is None else axes), ([1] * count if steps is None else steps)
        self.slices = list(zip(starts, ends, axes, steps))

    def forward(self, data, *_):
        for start, end, axis, step in self.slices:
            extent = data.shape[axis]
            if step < 0:
                data = torch.flip(data, [axis])
                start, end, step = -start - 1, -end - 1, -step
            start, end = (max(min(place + extent if place < 0 else place, extent), 0) for place in (start, end))
            if (start, end, step) != (0, extent, 1):
                data = torch.ops.aten.slice.Tensor(data, axis, start, max(end, start), step)
        return data


class ConstantReshape(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape

    def forward(self, data):
        return data.reshape([data.shape[axis] if extent == 0 else extent for axis, extent in enumerate(self.shape)])


class Known(list):
    """A constant where onnx2torch's modules take a tensor and want numbers, which torch.export doesn't know of tensors."""

    def tolist(self):
        return list(self)

    def nelement(self):
        return len(self)


class WithConstants(torch.nn.Module):
    """A module of onnx2torch whose inputs but the first are constants."""

    def __init__(self, module, arguments, named):
        super().__init__()
        self.module, self.arguments, self.named = module, arguments, named

    def forward(self, data):
        return self.module(data, *self.arguments, **self.named)


@dataclass
class Exported:
    """The exported graph module, and of each of its values what it is in the model."""

    program: torch.fx.GraphModule
    twin: torch.fx.GraphModule  # the module that it was exported from, with a module n0, n1 … for each ONNX node
    traced_with: tuple = ()  # its inputs
    dynamic_shapes: object = None
    owner: dict = field(default_factory=dict)  # aten node -> index of the ONNX node that it computes
    tensors: dict = field(default_factory=dict)  # aten node -> names that its value has in the model
    arguments: dict = field(default_factory=dict)  # aten node -> its arguments, flat
    outputs: list = field(default_factory=list)  # aten nodes


def plain_module(graph_module):
    """A module of the same children and the same forward as a graph module, and that isn't one: as a network is written.
    They share parameters."""
    made = type("Network", (torch.nn.Module,), {"forward": type(graph_module).forward})()
    for name, tensor in graph_module._buffers.items():
        made.register_buffer(name, tensor)
    for name, child in graph_module.named_children():
        made.add_module(name, child)
    return made.eval()


def flat(arguments):
    """An aten node's arguments in one list: nodes, numbers, None."""
    if isinstance(arguments, (list, tuple)):
        return [each for argument in arguments for each in flat(argument)]
    return [arguments]


class NotFollowed(Exception):
    """What this adapter doesn't follow from PyTorch back to ONNX."""


def index_of(module):
    """Of the ONNX node whose module this path leads into, None of any other."""
    first = module.partition(".")[0]
    return int(first[1:]) if first[:1] == "n" and first[1:].isdigit() else None


def _rewritten(twin, model):
    """The twin as torch.export and the quantizers want it; returns {buffer of a constant: its name in the model}."""
    names = {}
    for node in list(twin.graph.nodes):
        if node.op != "call_module":
            continue
        module = twin.get_submodule(node.target)
        given = dict(zip(range(len(node.args)), module.onnx_mapping.inputs))
        for place, argument in enumerate(node.args):
            if isinstance(argument, torch.fx.Node) and argument.op == "get_attr":
                names[argument.target] = given[place]
        index = index_of(node.target)
        operator_type = model.graph.node[index].op_type
        constants = [_buffer(twin, argument) for argument in node.args]
        behind_data = [*constants[1:], *(_buffer(twin, argument) for argument in node.kwargs.values())]
        fixed = behind_data and constants[0] is None and all(constant is not None for constant in behind_data)
        made = None
        if operator_type == "MatMul" and fixed and constants[1].dim() == 2:
            made = _linear(constants[1].T)
        elif operator_type == "Gemm" and fixed and not module.trans_a:  # C isn't a vector
            weight = constants[1] if module.trans_b else constants[1].T
            bias = constants[2] if len(constants) > 2 else torch.zeros(())
            made = _linear(weight * module.alpha, bias * module.beta) if bias.numel() in (1, len(weight)) else None
        elif operator_type == "Slice" and fixed:
            made = ConstantSlice(*(constant.tolist() for constant in constants[1:]))
        elif operator_type == "Reshape" and fixed:
            made = ConstantReshape(constants[1].tolist())
        elif operator_type in ("Pad", "Resize", "Split") and fixed:
            made = WithConstants(module, [_known(constant) for constant in constants[1:]],
                                 {name: _known(_buffer(twin, argument)) for name, argument in node.kwargs.items()})
        if made is not None:
            _replace(twin, node, made, node.args[:1])
        else:
            _write_out(twin, node)
    twin.graph.eliminate_dead_code()
    twin.recompile()
    return names


def _replace(twin, node, module, arguments):
    module.onnx_mapping = twin.get_submodule(node.target).onnx_mapping
    twin.set_submodule(node.target, module)
    node.args, node.kwargs = tuple(arguments), {}


def _linear(weight, bias=None):
    """What a network written in PyTorch has for a product with a constant matrix: of that alone the quantizers know."""
    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None).eval()
    layer.weight = torch.nn.Parameter(weight.contiguous(), requires_grad=False)
    if bias is not None:
        layer.bias = torch.nn.Parameter(bias.reshape(-1).expand(len(weight)).contiguous(), requires_grad=False)
    return layer


def _known(constant):
    return Known(constant.tolist()) if constant.dim() else constant.item()


def _write_out(twin, node):
    """Has integer constants made where they are used, so that torch.export knows their values."""
    for place, argument in enumerate(node.args):
        constant = _buffer(twin, argument)
        if constant is None or constant.numel() > WRITTEN_OUT or constant.is_floating_point():
            continue
        with twin.graph.inserting_before(node):
            made = twin.graph.call_function(torch.tensor, (constant.tolist(),), {"dtype": constant.dtype})
        node.update_arg(place, made)


def _buffer(twin, argument):
    """The constant that an argument is, None of any other."""
    is_constant = isinstance(argument, torch.fx.Node) and argument.op == "get_attr"
    return twin.get_buffer(argument.target) if is_constant else None


def _give_outputs_by_name(twin, model):
    """onnx2torch gives out nodes, each once, where the model has tensors."""
    modules = {name: (node, place) for node in twin.graph.nodes if node.op == "call_module"
               for place, name in enumerate(twin.get_submodule(node.target).onnx_mapping.outputs)}
    several = {node: len(twin.get_submodule(node.target).onnx_mapping.outputs) > 1 for node, _ in modules.values()}
    inputs = {tensor.name: node for tensor, node in
              zip(graph_inputs(model), (node for node in twin.graph.nodes if node.op == "placeholder"))}
    given = []
    last = twin.graph.output_node()
    with twin.graph.inserting_before(last):
        for tensor in model.graph.output:
            if tensor.name in inputs:
                given.append(inputs[tensor.name])
                continue
            if tensor.name not in modules:
                raise NotFollowed(f"the output \"{tensor.name}\" is a constant")
            node, place = modules[tensor.name]
            given.append(twin.graph.call_function(operator.getitem, (node, place)) if several[node] else node)
    last.args = (tuple(given),)
    twin.recompile()


def _with_free_extents(model, inputs):
    """The inputs, and which of their extents are symbolic; those that are 1 are doubled, since torch.export takes a 1 for
    a constant."""
    free, fed = [], []
    for tensor, value in zip(graph_inputs(model), inputs):
        axes = [axis for axis, extent in enumerate(declared_shape(tensor)) if extent == -1]
        for axis in axes:
            if value.shape[axis] == 1:
                value = value.repeat_interleave(2, axis)
        free.append({axis: torch.export.Dim.AUTO for axis in axes})
        fed.append(value)
    return tuple(fed), free


def export(twin, model, inputs):
    """The twin of `model` as an Exported."""
    names = _rewritten(twin, model)
    _give_outputs_by_name(twin, model)
    fed, free = _with_free_extents(model, inputs)
    shapes = free if any(free) else None
    program = torch.export.export(twin, fed, dynamic_shapes=shapes).module()
    exported = Exported(program, twin, fed, shapes)
    _follow(exported, twin, model, names)
    return exported


def _owner(node):
    """The ONNX node that an aten node computes, by the last module of its stack that is one."""
    for path, _ in reversed(list((node.meta.get("nn_module_stack") or {}).values())):
        index = index_of(path)
        if index is not None:
            return index
    return None


def _is_tensor(node):
    return isinstance(node.meta.get("val"), torch.Tensor)


def _follow(exported, twin, model, names):
    """Fills in the names."""
    nodes = list(exported.program.graph.nodes)
    groups = {}
    for node in nodes:
        if node.op == "call_function":
            index = _owner(node)
            exported.owner[node.name] = index
            groups.setdefault(index, []).append(node)
        exported.arguments[node.name] = flat(node.args)
    exported.outputs = flat(exported.program.graph.output_node().args)
    placed = [node for node in nodes if node.op == "placeholder"]
    value = {}  # node of the twin -> aten node, or a list of them
    for node in nodes:
        if node.op == "get_attr" and node.target in names:
            exported.tensors[node.name] = [names[node.target]]
    for node in twin.graph.nodes:
        if node.op == "placeholder":
            given = placed[sum(other.op == "placeholder" for other in value)]
            value[node] = given
            exported.tensors[given.name] = [graph_inputs(model)[placed.index(given)].name]
        elif node.op == "call_function" and node.target is operator.getitem and isinstance(value.get(node.args[0]), dict):
            value[node] = value[node.args[0]].get(node.args[1])
        elif node.op == "call_module":
            module, index = twin.get_submodule(node.target), index_of(node.target)
            outputs = module.onnx_mapping.outputs
            value[node] = _results(groups.get(index, []), outputs, [value.get(given) for given in node.args
                                                                    if isinstance(given, torch.fx.Node)])
            results = value[node] if isinstance(value[node], dict) else {0: value[node]}
            for place, result in results.items():
                if result is not None and place < len(outputs):
                    exported.tensors.setdefault(result.name, []).append(outputs[place])


def _results(group, outputs, given):
    """The aten node that an ONNX node's result is, or {place: aten node} where it has several."""
    inside = set(group)
    seen = [node for node in group if _is_tensor(node) and any(user not in inside for user in node.users)]
    if len(outputs) > 1:
        picked = {node.args[1]: node for node in group if node.target is operator.getitem}
        return picked or None
    if len(seen) > 1:
        seen = [node for node in seen if node is seen[-1]] if not any(user in inside for user in seen[-1].users) else []
    if seen:
        return seen[0]
    computed = [node for node in group if _is_tensor(node)]
    if computed:
        return computed[-1]
    return next((each for each in given if isinstance(each, torch.fx.Node)), None)
