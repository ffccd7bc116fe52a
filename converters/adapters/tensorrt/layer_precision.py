"""What the option `precision` asks of TensorRT's layers. It has three routes:

    nothing said     every float layer with an INT8 form is asked for INT8, and TensorRT prefers that (PREFER_…)
    "int8?"          nothing is asked of these layers: TensorRT chooses
    "int8"           demanded: TensorRT obeys what is asked, or refuses (OBEY_PRECISION_CONSTRAINTS)

"fp32" and "fp16" are asked for as they stand. An override by operator type goes to every layer of that type.
"""

import tensorrt
from qdq_report import FUSED_ACTIVATIONS
from trt_report import layer_nodes
from trt_request import OPERATORS

TYPES = {"int8": tensorrt.int8, "fp16": tensorrt.float16, "fp32": tensorrt.float32}


def wanted_precisions(model, precision):
    """{node: (precision, said)}: what its layers are asked for, or None, and whether an override says so.

    An activation becomes part of the layer before it: where an override speaks of that one, it goes along."""
    readers = {}
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    wanted = {}
    for node in model.graph.node:
        stated = precision.get(node.name, precision.get(node.op_type))
        if stated is None and node.name in wanted:
            continue  # it goes along
        asked = None if stated == "int8?" else stated or ("int8" if node.op_type in OPERATORS else None)
        wanted[node.name] = asked, stated is not None
        behind = readers.get(node.output[0], [])
        if stated is not None and len(behind) == 1 and behind[0].op_type in FUSED_ACTIVATIONS:
            wanted[behind[0].name] = wanted[node.name]
    return wanted


def ask_for_precision(network, wanted):
    """Of layers, and never of their outputs: who asks for codes there where the next layer has no INT8 form gets no
    engine ("No supported formats for {ForeignNode …}"), or one in float throughout."""
    for index in range(network.num_layers):
        layer = network.get_layer(index)
        if layer.type in (tensorrt.LayerType.CONSTANT, tensorrt.LayerType.SHAPE):
            continue
        outputs = [layer.get_output(i) for i in range(layer.num_outputs)]
        real = all(tensor.dtype in (tensorrt.float32, tensorrt.float16) for tensor in outputs)
        for name in layer_nodes({"Name": layer.name, "Metadata": layer.metadata}, wanted)[:1]:
            precision, said = wanted[name]
            if precision is not None and (real or said):  # none but the options ask for the precision of indices
                layer.precision = TYPES[precision]
