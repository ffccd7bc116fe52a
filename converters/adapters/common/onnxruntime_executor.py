"""Executes a Q/DQ artifact with ONNX Runtime, plain Q/DQ semantics unless ASSAY_ORT_OPTIMIZE=all asks for more."""

import os

import onnx
import onnxruntime
from assay_protocol import read_tensors, write_tensors


def optimizes():
    """Whether the graph optimizations are on: these may requantize, legally, and differ by up to some dB."""
    return os.environ.get("ASSAY_ORT_OPTIMIZE") == "all"


def activation_codes(graph):
    """The tensors of codes that QuantizeLinear makes of anything but an initializer."""
    constants = {tensor.name for tensor in graph.initializer}
    made = [node for node in graph.node if node.op_type == "QuantizeLinear"]
    return [node.output[0] for node in made if node.input[0] not in constants]


def execute(artifact, inputs, output, trace=None):
    """Writes the outputs into the folder `output` and, where `trace` is one, the codes; returns the codes' names."""
    session_options = onnxruntime.SessionOptions()
    if not optimizes():
        session_options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session_options.intra_op_num_threads = int(os.environ.get("ASSAY_ORT_THREADS", "1"))
    if trace is not None:
        model = onnx.load(artifact)
        outputs = [tensor.name for tensor in model.graph.output]
        codes = [name for name in activation_codes(model.graph) if name not in outputs]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in codes)
        artifact = model.SerializeToString()
    session = onnxruntime.InferenceSession(artifact, session_options, providers=["CPUExecutionProvider"])
    names = [tensor.name for tensor in session.get_outputs()]
    fed = read_tensors(inputs)  # kept until all is written: an output that is an input may look into its memory
    tensors = dict(zip(names, session.run(names, fed)))
    if trace is None:
        write_tensors(tensors, output)
        return []
    write_tensors({name: tensors[name] for name in outputs}, output)
    write_tensors({name: tensors[name] for name in codes}, trace, "trace")
    return codes
