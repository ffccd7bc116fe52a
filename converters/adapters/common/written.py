"""The converted program as a Q/DQ model: the model's own operators, with a QuantizeLinear and a DequantizeLinear where the
program has quantize and dequantize nodes, and what it has folded into its constants.

Nothing is chosen here. What the program computes in another way than the operator it comes from, with quantizers inside
of it above all, is written as the aten operators that it is made of; what can't be written is NotFollowed.
"""

import numpy
import onnx
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401: it registers quantized_decomposed's operators
from exported import NotFollowed, constant_of, flat
from onnx import helper, numpy_helper

DECOMPOSED = torch.ops.quantized_decomposed
QUANTIZE = {DECOMPOSED.quantize_per_tensor.default, DECOMPOSED.quantize_per_channel.default}
DEQUANTIZE = {DECOMPOSED.dequantize_per_tensor.default, DECOMPOSED.dequantize_per_channel.default}
PER_CHANNEL = {DECOMPOSED.quantize_per_channel.default, DECOMPOSED.dequantize_per_channel.default}
PAIR = QUANTIZE | DEQUANTIZE
LIMITS = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int32: (-2**31, 2**31 - 1)}
ATEN = torch.ops.aten
ONE_BY_ONE = {  # aten operators that are an ONNX operator of the same inputs
    ATEN.add.Tensor: "Add", ATEN.sub.Tensor: "Sub", ATEN.mul.Tensor: "Mul", ATEN.div.Tensor: "Div",
    ATEN.matmul.default: "MatMul",
    ATEN.relu.default: "Relu", ATEN.neg.default: "Neg", ATEN.sqrt.default: "Sqrt", ATEN.sigmoid.default: "Sigmoid",
    ATEN.tanh.default: "Tanh", ATEN.abs.default: "Abs", ATEN.exp.default: "Exp", ATEN.add_.Tensor: "Add",
    ATEN.maximum.default: "Max", ATEN.minimum.default: "Min", ATEN.erf.default: "Erf", ATEN.mul_.Tensor: "Mul",
    ATEN.reciprocal.default: "Reciprocal"}
WITH_BIAS = {ATEN.conv1d.default, ATEN.conv2d.default, ATEN.linear.default, ATEN.conv3d.default,
             ATEN.conv_transpose1d.default, ATEN.conv_transpose2d.input, ATEN.conv_transpose3d.input}
WEIGHT, BIAS = 1, 2  # places in the arguments of those, and in the inputs of Conv, ConvTranspose and Gemm
VANISHING = {"BatchNormalization", "Dropout"}  # what PT2E takes into what is before it


def is_pair(node):
    return isinstance(node, torch.fx.Node) and node.op == "call_function" and node.target in PAIR


class Quantizer:
    """One quantizer's numbers, and its two steps as a program has them. Several scales lie along an axis."""

    def __init__(self, scale, zero_point, kind, axis=None, limits=None):
        scale, zero_point = scale.detach().float().reshape(-1), zero_point.detach().to(torch.int32).reshape(-1)
        self.kind, self.limits, self.axis = kind, limits or LIMITS[kind], axis if scale.numel() > 1 else None
        if self.axis is None:
            self.numbers = (scale.item(), zero_point.expand_as(scale)[0].item(), *self.limits, kind)
        else:
            self.numbers = (scale, zero_point.expand_as(scale), axis, *self.limits, kind)

    def codes(self, data):
        quantize = DECOMPOSED.quantize_per_tensor if self.axis is None else DECOMPOSED.quantize_per_channel
        return quantize(data, *self.numbers)

    def values(self, codes):
        dequantize = DECOMPOSED.dequantize_per_tensor if self.axis is None else DECOMPOSED.dequantize_per_channel
        return dequantize(codes, *self.numbers)


class Pair(torch.nn.Module):
    """Quantizes and dequantizes, behind an activation where one is given."""

    def __init__(self, quantizer, activation=None):
        super().__init__()
        self.quantizer, self.activation = quantizer, activation

    def forward(self, data):
        data = data if self.activation is None else self.activation(data)
        return self.quantizer.values(self.quantizer.codes(data))


def with_codes(program):
    """An exported program whose quantized constants are codes already, as convert_pt2e leaves them."""
    for count, node in enumerate([each for each in program.graph.nodes if each.op == "call_function" and
                                  each.target in QUANTIZE and each.args[0].op == "get_attr"]):
        numbers = [attribute(program, each) if isinstance(each, torch.fx.Node) else each for each in node.args]
        program.register_buffer(f"codes_{count}", node.target(*numbers))
        with program.graph.inserting_before(node):
            codes = program.graph.get_attr(f"codes_{count}")
        codes.meta = dict(node.meta)
        node.replace_all_uses_with(codes)
        program.graph.erase_node(node)
    program.graph.eliminate_dead_code()
    program.recompile()
    return program


def attribute(program, node):
    """The tensor that a get_attr node of a program gives."""
    value = program
    for part in node.target.split("."):
        value = getattr(value, part)
    return value.detach()


def is_real(node):
    """Whether a node of the exported program gives floating-point values, which alone are quantized."""
    value = node.meta.get("val")
    return value is None or isinstance(value, torch.Tensor) and value.is_floating_point()


def behind_pairs(node):
    """The value that a chain of quantizers starts from."""
    while is_pair(node):
        node = node.args[0]
    return node


def unused(name, taken):
    """`name`, or with a number where it is taken; it is taken then."""
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name}_{count}"
    taken.add(free)
    return free


class Writer:
    def __init__(self, model, exported, converted):
        self.model, self.exported, self.converted = model, exported, converted
        self.nodes = {node.name: node for node in converted.graph.nodes}
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        self.constants.update((node.output[0], constant_of(node)) for node in model.graph.node
                              if constant_of(node) is not None)
        self.taken = {name for node in model.graph.node for name in (*node.input, *node.output)} | set(self.constants)
        self.taken |= {tensor.name for tensor in (*model.graph.input, *model.graph.output)}
        self.taken_nodes = {node.name for node in model.graph.node}
        self.made, self.initializers, self.written = [], [], {}
        self.origins, self.traced = {}, []
        self.pads = {node.name: node.args[0] for node in converted.graph.nodes if self._is_pad(node)}
        self.renamed = {}  # graph outputs that are quantized last: name of the value in front of the quantizer
        self.is_now = self._computed_by()

    def write(self):
        """The model; self.origins: {a name of its own: the tensor of the model}, self.traced: the quantizers' codes, in
        the program's order, each with the part of them that is in the model."""
        self._demand_known_nodes()
        graph, outputs = self.model.graph, flat(self.converted.graph.output_node().args)
        for tensor, node in zip(graph.output, outputs):
            if is_pair(node) and tensor.name not in self.renamed:
                self.renamed[tensor.name] = self._free(f"{tensor.name}/float")
                self.origins[self.renamed[tensor.name]] = tensor.name
        nodes = []
        for index, node in enumerate(graph.node):
            nodes += self._of_node(index, node)
        for tensor, node in zip(graph.output, outputs):
            name = self._name(node)
            if name != tensor.name:
                self.made.append(helper.make_node("Identity", [name], [tensor.name], name=self._free_node(tensor.name)))
        for node in self.converted.graph.nodes:  # what nothing but a trace reads is in the model, too
            if node.op == "call_function" and node.target in QUANTIZE:
                self.traced.append((self._name(node), self._inside(node.args[0])))
        return self._assembled(nodes + self.made)

    def _is_pad(self, node):
        """Whether it pads a Conv's input with zeros, as PyTorch does in front of a Conv whose ends differ. A quantizer
        gives 0 for 0, so that the Conv may pad in its place."""
        if node.op != "call_function" or node.target not in (ATEN.pad.default, ATEN.constant_pad_nd.default):
            return False
        index = self.exported.owner.get(node.name)
        words = [argument for argument in node.args[2:] if argument not in (None, "constant")]
        return index is not None and self.model.graph.node[index].op_type == "Conv" and not any(words)

    def _inside(self, node):
        """[(from, to)] along each axis, from which a pad in front of a quantizer has taken its edges."""
        if node.name not in self.pads:
            return []
        pads = list(node.args[1])
        around = [(pads[place], -pads[place + 1] or None) for place in range(0, len(pads), 2)][::-1]
        return [(None, None)] * (node.meta["val"].dim() - len(around)) + around

    # ---- what stands for what

    def _computed_by(self):
        """{node of the converted program: node of the exported one}, where it computes what another one did: a Conv what
        the BatchNormalization behind it gave."""
        is_now = {}
        for before, after in self._arguments():
            source = behind_pairs(after)
            if not isinstance(before, torch.fx.Node) or not isinstance(source, torch.fx.Node) or before.name == source.name:
                continue
            if before.name in self.nodes or before.op != "call_function" or source.op != "call_function":
                continue
            index = self.exported.owner.get(before.name)
            if index is None or self.model.graph.node[index].op_type not in VANISHING:
                raise NotFollowed(f"the converted program has no {before.name}, which {source.name} stands for")
            is_now[source.name] = before.name
        return is_now

    def _arguments(self):
        """(argument in the exported program, argument in the converted one) of every node and of the outputs."""
        for node in self.converted.graph.nodes:
            if node.op == "call_function" and node.target not in PAIR and node.name in self.exported.arguments:
                yield from zip(self.exported.arguments[node.name], flat(node.args))
        yield from zip(self.exported.outputs, flat(self.converted.graph.output_node().args))

    def _demand_known_nodes(self):
        for node in self.converted.graph.nodes:
            if node.op == "call_function" and node.target not in PAIR and node.name not in self.exported.owner:
                raise NotFollowed(f"the converted program has a node of its own: {node.format_node()}")
            if node.op == "call_function" and node.target in PAIR:
                limits = LIMITS.get(node.args[-1])
                if limits is None or node.target in QUANTIZE and tuple(node.args[-3:-1]) != limits:
                    raise NotFollowed(f"no QuantizeLinear of these limits: {node.format_node()}")

    # ---- names

    def _free(self, name):
        return unused(name, self.taken)

    def _free_node(self, name):
        return unused(name, self.taken_nodes)

    def _raw(self, name):
        """The float value of a tensor of the model."""
        return self.renamed.get(name, name)

    def _tensor(self, node):
        """The tensor of the model that a node of the converted program computes."""
        names = self.exported.tensors.get(self.is_now.get(node.name, node.name))
        if not names:
            raise NotFollowed(f"the value of {node.name} is no tensor of the model")
        return names[0]

    def _name(self, node):
        """A value of the converted program in the written model."""
        if node.name not in self.written:
            self.written[node.name] = self._pair(node) if is_pair(node) else self._value(node)
        return self.written[node.name]

    def _value(self, node):
        if node.name in self.pads:
            return self._name(self.pads[node.name])
        if node.op == "get_attr":
            return self._constant(node, self.exported.tensors.get(node.name, [node.name])[0])
        name = self._tensor(node)
        return name if node.op == "placeholder" else self._raw(name)

    def _pair(self, node):
        of = self._name(node.args[0])
        base = self._of_model(of)
        last = node in flat(self.converted.graph.output_node().args)
        outputs = [tensor.name for tensor, given in
                   zip(self.model.graph.output, flat(self.converted.graph.output_node().args)) if given is node]
        quantizes = node.target in QUANTIZE
        name = outputs[0] if last and outputs and not quantizes else self._free(f"{base}/{'codes' if quantizes else 'dq'}")
        self.origins.setdefault(name, base)
        self._append_pair(node, of, name)
        return name

    def _of_model(self, name):
        return self.origins.get(name, name)

    # ---- constants and quantizers

    def _initializer(self, name, array):
        name = self._free(name)
        self.initializers.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def _attribute(self, node):
        return attribute(self.converted, node).numpy()

    def _constant(self, node, name, arrange=lambda array: array):
        """A float constant under its name in the model where it is the same, or a new one."""
        array = arrange(self._attribute(node))
        known = self.constants.get(name)
        if known is not None and known.dtype == array.dtype and numpy.array_equal(known, array, equal_nan=True):
            return name
        made = self._initializer(f"{name}/folded" if known is not None else name, array)
        self.origins[made] = name
        return made

    def _append_pair(self, node, of, name, transposed=False):
        attributes = {}
        if node.target in PER_CHANNEL:
            scale, zero, axis = self._attribute(node.args[1]), self._attribute(node.args[2]), node.args[3]
            attributes["axis"] = 1 - axis if transposed else axis
        else:
            scale, zero = numpy.float32(node.args[1]), node.args[2]
        element = torch.empty(0, dtype=node.args[-1]).numpy().dtype
        base = self._of_model(of)
        scale = self._initializer(f"{base}/scale", numpy.asarray(scale, numpy.float32))
        zero = self._initializer(f"{base}/zero_point", numpy.asarray(zero).astype(element))
        kind = "QuantizeLinear" if node.target in QUANTIZE else "DequantizeLinear"
        self.made.append(helper.make_node(kind, [of, scale, zero], [name], name=self._free_node(name), **attributes))

    def _weight(self, node, name, transposed):
        """A constant of a layer that may be quantized, under the tensor `name`, in the model's own layout."""
        def arrange(array):
            return array.T if transposed else array

        if node.op == "get_attr":
            return self._constant(node, name, arrange)
        if node.target not in DEQUANTIZE or node.args[0].op != "get_attr":
            raise NotFollowed(f"\"{name}\" is neither a constant nor one that is dequantized: {node.format_node()}")
        key = (node.name, transposed)
        if key not in self.written:
            codes = self._initializer(f"{name}/codes", arrange(self._attribute(node.args[0])))
            self.origins[codes] = name
            self.written[key] = self._free(f"{name}/dq")
            self.origins[self.written[key]] = name
            self._append_pair(node, codes, self.written[key], transposed)
        return self.written[key]

    # ---- nodes

    def _of_node(self, index, node):
        """What an ONNX node is in the written model, as a list of nodes."""
        group = [each for each in self.converted.graph.nodes
                 if each.op == "call_function" and each.target not in PAIR and self.exported.owner.get(each.name) == index
                 and not str(each.target).startswith("aten._assert")]
        before = [name for name, owner in self.exported.owner.items() if owner == index]
        if before and not group:
            return []  # folded: into a constant, or into the node before
        changed = helper.make_node(node.op_type, [], [], domain=node.domain)
        changed.CopyFrom(node)
        try:
            slots = self._slots(index, node, group)
        except NotFollowed as reason:
            return self._one_by_one(index, node, group, reason)
        changed.input[:] = [slots.get((place, name), self._raw(name)) for place, name in enumerate(node.input)]
        for (place, _), given in slots.items():
            if place == len(changed.input):  # a bias that a BatchNormalization has left
                changed.input.append(given)
        changed.output[:] = [self._output(index, group, name) for name in node.output]
        self._without_factors(changed, group)
        if node.op_type != "MatMul" or len(changed.input) == len(node.input):
            return [changed]
        added = helper.make_node("Add", [self._free(f"{node.output[0]}/product"), changed.input.pop()], changed.output,
                                 name=self._free_node(f"{node.name}/bias"))
        changed.output[:] = added.input[:1]
        return [changed, added]

    def _output(self, index, group, name):
        """The name of a result: that of the BatchNormalization that was folded into the node."""
        for each in group:
            if each.name in self.is_now and name in self.exported.tensors.get(each.name, ()):
                return self._raw(self._tensor(each))
        return self._raw(name)

    def _without_factors(self, node, group):
        """A Gemm that is a Linear has alpha and beta in its constants."""
        if node.op_type == "Gemm" and any(each.target is ATEN.linear.default for each in group):
            kept = [attribute for attribute in node.attribute if attribute.name not in ("alpha", "beta")]
            del node.attribute[:]
            node.attribute.extend(kept)

    def _slots(self, index, node, group):
        """{(place, name): what the node reads there}; NotFollowed where the operator doesn't say what the program does."""
        slots = {}
        for each in group:
            if each.name in self.pads:
                continue
            before, after = self.exported.arguments[each.name], flat(each.args)
            for place, (was, now) in enumerate(zip(before, after)):
                if not isinstance(now, torch.fx.Node) or each.target in WITH_BIAS and place == BIAS and was is None:
                    continue
                if isinstance(was, torch.fx.Node) and was.name in self.pads:
                    was = self.exported.arguments[was.name][0]
                if not isinstance(was, torch.fx.Node) or self.exported.owner.get(was.name, -1) == index:
                    if isinstance(was, torch.fx.Node) and now.name == was.name:
                        continue
                    raise NotFollowed(f"{each.name}: a quantizer inside of {node.op_type}")
                self._fill(slots, node, each, place, was, now)
            if each.target in WITH_BIAS and len(after) > BIAS and isinstance(after[BIAS], torch.fx.Node) and (
                    len(before) <= BIAS or before[BIAS] is None):
                name = f"{node.output[0]}/bias"
                slots[BIAS, name] = self._weight(after[BIAS], name, False)
        return slots

    def _fill(self, slots, node, each, place, was, now):
        if not is_real(was):
            return
        names = self.exported.tensors.get(was.name)
        transposed = False
        if each.target in WITH_BIAS and place in (WEIGHT, BIAS) and was.op == "get_attr":
            names = [node.input[place]]
            transposed = place == WEIGHT and each.target is ATEN.linear.default and not (
                node.op_type == "Gemm" and any(a.name == "transB" and a.i for a in node.attribute))
            given = self._weight(now, names[0], transposed)
        elif was.op == "get_attr" and not names:  # a parameter of a module: by its value
            value = self._attribute_before(was)
            names = [name for name in node.input if name in self.constants
                     and numpy.array_equal(numpy.squeeze(self.constants[name]), numpy.squeeze(value))]
            if now.op == "get_attr":
                return  # the operator reads its own
            given = self._weight(now, names[0], False) if names else None
        elif was.op == "get_attr" and now.op != "get_attr":
            given = self._weight(now, names[0], False) if now.args[0].op == "get_attr" else self._name(now)
        else:
            given = self._name(now)
        places = [(slot, name) for slot, name in enumerate(node.input) if names and name in names]
        if not places:
            raise NotFollowed(f"{each.name}: no input of {node.op_type} is {was.name}")
        for key in places:
            if slots.setdefault(key, given) != given:
                raise NotFollowed(f"{each.name}: {node.op_type} reads \"{key[1]}\" in two ways")

    def _attribute_before(self, node):
        return attribute(self.exported.program, node).numpy()

    def _one_by_one(self, index, node, group, reason):
        """An operator as the aten operators that the program has in its place."""
        nodes = []
        results = {name for name in node.output if name}
        for each in group:
            names = [name for name in self.exported.tensors.get(each.name, ()) if name in results]
            name = self._raw(names[0]) if names else self._free(f"{node.output[0]}/{each.name}")
            self.written.setdefault(each.name, name)
            if not names:
                self.origins[name] = name
            nodes += self._aten(each, self.written[each.name], node, reason)
        return nodes

    def _aten(self, each, name, node, reason):
        def given(argument):
            if isinstance(argument, torch.fx.Node):
                return self._name(argument)
            return self._initializer(f"{name}/number", numpy.float32(argument))

        def shape(values):
            if not all(isinstance(value, int) for value in values):
                raise NotFollowed(f"the shape of {each.name} is computed")
            return self._initializer(f"{name}/shape", numpy.array(values, numpy.int64))

        title = self._free_node(f"{node.name}/{each.name}")
        if each.target in ONE_BY_ONE and not each.kwargs:
            inputs = [given(argument) for argument in each.args]
            return [helper.make_node(ONE_BY_ONE[each.target], inputs, [name], name=title)]
        if each.target in (ATEN.view.default, ATEN.reshape.default):
            return [helper.make_node("Reshape", [given(each.args[0]), shape(each.args[1])], [name], name=title)]
        if each.target in (ATEN.clip.default, ATEN.clamp.default):
            ends = [given(argument) if argument is not None else "" for argument in each.args[1:3]]
            return [helper.make_node("Clip", [given(each.args[0]), *ends], [name], name=title)]
        if each.target is ATEN.slice.Tensor:
            axis, start, end = each.args[1:4]
            ends = [shape([value]) for value in (start, end, axis, each.args[4] if len(each.args) > 4 else 1)]
            return [helper.make_node("Slice", [given(each.args[0]), *ends], [name], name=title)]
        if each.target is ATEN.flatten.using_ints:
            return [helper.make_node("Reshape", [given(each.args[0]), shape(each.meta["val"].shape)], [name], name=title)]
        if each.target is ATEN.permute.default:
            return [helper.make_node("Transpose", [given(each.args[0])], [name], name=title, perm=list(each.args[1]))]
        if each.target in (ATEN.transpose.int, ATEN.t.default):
            rank = each.meta["val"].dim()
            order = list(range(rank))
            one, other = (each.args[1] % rank, each.args[2] % rank) if len(each.args) > 2 else (0, 1)
            order[one], order[other] = order[other], order[one]
            return [helper.make_node("Transpose", [given(each.args[0])], [name], name=title, perm=order)]
        raise NotFollowed(f"{reason}, and {each.target} isn't written")

    # ---- the whole

    def _assembled(self, nodes):
        graph = self.model.graph
        made = onnx.ModelProto.FromString(self.model.SerializeToString())
        made.graph.initializer.extend(self.initializers)
        of = {name: node for node in nodes for name in node.output if name}
        outputs = {tensor.name for tensor in graph.output}
        reached, order = set(), []

        def visit(start):
            stack = [(start, False)]
            while stack:
                node, done = stack.pop()
                if done:
                    order.append(node)
                elif id(node) not in reached:
                    reached.add(id(node))
                    stack.append((node, True))
                    stack += [(of[name], False) for name in node.input if name in of and id(of[name]) not in reached]

        for name in [*(tensor.name for tensor in graph.output), *(name for name, _ in self.traced)]:
            if name in of:
                visit(of[name])
        used = {name for node in order for name in node.input} | outputs | {
            name for node in order for attribute in node.attribute if attribute.HasField("g")
            for inner in attribute.g.node for name in inner.input}
        del made.graph.node[:]
        made.graph.node.extend(order)
        kept = [tensor for tensor in made.graph.initializer if tensor.name in used]
        listed = {tensor.name for tensor in made.graph.input}
        del made.graph.initializer[:]
        made.graph.initializer.extend(kept)
        gone = listed & (self.constants.keys() - {tensor.name for tensor in kept})
        inputs = [tensor for tensor in made.graph.input if tensor.name not in gone]
        del made.graph.input[:]
        made.graph.input.extend(inputs)
        del made.graph.value_info[:]
        opset = max((each.version for each in made.opset_import if each.domain in ("", "ai.onnx")), default=13)
        if opset < 13:
            made = onnx.version_converter.convert_version(made, 13)
        return made
