"""The beginning of a conversion, the same for every converter: the model as it is handed over, and what the option
`precision` asks of its nodes."""

import os
import shutil

import onnx
from assay_protocol import Refused, changed
from onnx.external_data_helper import load_external_data_for_model, uses_external_data


def node_name(node):
    """As Assay speaks of a node everywhere: one without a name has that of its first output."""
    return node.name or next(filter(None, node.output), "")


def name_nodes(model):
    """Gives every unnamed node this name."""
    for node in model.graph.node:
        node.name = node_name(node)


def state_names(model, reason):
    """The same for a converter that gets these names, which is stated with the reason."""
    if any(not node.name for node in model.graph.node):
        name_nodes(model)
        changed(f"unnamed nodes have the names of their first outputs: {reason}")


def open_model(path, options, converter):
    """The model of a request to read from and to report about, with every node named; what the converter gets is
    `hand_over`'s. Refused where a calibration cache is to be reused."""
    if options.get("cache"):
        raise Refused(f"{converter} can't reuse a calibration cache")
    model = onnx.load(path)
    name_nodes(model)
    return model


def hand_over(path, file, called=()):
    """Writes the model in `path` into `file` as it is: byte for byte, unless a node in `called`, of which the converter is
    told by name, has none, or its data lie in other files. Such a change is stated."""
    model = onnx.load(path, load_external_data=False)
    outside = any(uses_external_data(tensor) for tensor in model.graph.initializer)
    unnamed = [node for node in model.graph.node if not node.name and node_name(node) in called]
    if not outside and not unnamed:
        shutil.copyfile(path, file)
        return
    if outside:
        load_external_data_for_model(model, os.path.dirname(path))
        changed("the model's external data were put into its file")
    for node in unnamed:
        node.name = node_name(node)
        changed(f'the unnamed node of "{node.name}" was called so, since the converter is told by name to leave it in float')
    onnx.save(model, file)


def operator_name(node):
    """The operator as every list has it: "Conv", or "com.microsoft.QuickGelu" outside ONNX's own domain."""
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


def wanted_precision(node, options):
    """What the overrides ask of a node, or None; its own name wins over its operator's."""
    precision = options.get("precision", {})
    return precision.get(node.name, precision.get(operator_name(node)))


def nodes_in_float(model, options, operators, converter):
    """The nodes that the overrides keep out; Refused where the converter can't do what they ask."""
    excluded = []
    for node in model.graph.node:
        wanted = wanted_precision(node, options)
        if wanted == "fp16":
            raise Refused(f"{converter} knows int8 and fp32, not fp16", node.name, node.op_type)
        if wanted == "int8" and operator_name(node) not in operators:
            raise Refused(f"{converter} has no INT8 form of it", node.name, node.op_type)
        if wanted == "fp32":
            excluded.append(node)
    return excluded


def refuse_float(model, options, reason):
    """For converters that can't be told to leave a node in float: Refused, with `reason`, where the overrides do."""
    for node in model.graph.node:
        if wanted_precision(node, options) in ("fp16", "fp32"):
            raise Refused(reason, node.name, node.op_type)


def graph_inputs(model):
    """Those that are fed, in the graph's order: an initializer may be listed among them."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return [tensor for tensor in model.graph.input if tensor.name not in constants]


def declared_shape(tensor):
    """Of a graph's input or output, -1 where a dimension is symbolic."""
    dimensions = tensor.type.tensor_type.shape.dim
    return [dimension.dim_value if dimension.HasField("dim_value") else -1 for dimension in dimensions]


def fits(model, batch):
    """Whether a batch has all of the inputs, in their declared shapes."""
    shapes = {tensor.name: declared_shape(tensor) for tensor in graph_inputs(model)}
    return all(name in batch and len(shape) == batch[name].ndim
               and all(extent in (-1, actual) for extent, actual in zip(shape, batch[name].shape))
               for name, shape in shapes.items())


def output_types(model):
    """{graph output: its NumPy type}."""
    return {tensor.name: onnx.helper.tensor_dtype_to_np_dtype(tensor.type.tensor_type.elem_type)
            for tensor in model.graph.output}
