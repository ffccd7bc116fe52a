"""Executes a Q/DQ artifact with ONNX Runtime, by plain Q/DQ semantics unless the graph optimizations are asked for."""

import functools
import os
import re
import tempfile
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
from assay_protocol import Refused, read_tensors, write_tensors

PLAIN, ALL = (onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
VERBOSE = 0
# Rewriting rules, which "disabled_optimizers" takes by name and no log names: those of 1.15 to 1.32. A name that a
# release doesn't have disables nothing.
RULES = ("CastChainElimination", "CastElimination", "ClipQuantRewrite", "ConvAddFusion", "ConvBNFusion",
         "ConvMulFusion", "DivMulFusion", "EliminateDropout", "EliminateIdentity", "EliminateSlice",
         "ExpandElimination", "FuseReluClip", "GemmSumFusion", "GemmTransposeFusion", "LabelEncoderFusion",
         "MatMul_BatchNormalization_Fusion", "NoopElimination", "NotWhereFusion", "Pad_Fusion",
         "PreShapeNodeElimination", "ReluQuantRewrite", "UnsqueezeElimination")


@dataclass(frozen=True)
class Session:
    """How an artifact is executed."""

    optimized: bool = False  # the session's default: passes that may requantize, legally, and differ by up to some dB
    threads: int = 1

    def options(self):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = ALL if self.optimized else PLAIN
        options.intra_op_num_threads = self.threads
        return options


def optimizers():
    """The names of this release's optimizers, as InferenceSession's "disabled_optimizers" takes them. A verbose session
    logs each transformer that it tries, whether that changes the graph or not."""
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g",
                                   [value("x", onnx.TensorProto.FLOAT, [1])], [value("y", onnx.TensorProto.FLOAT, [1])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    options = Session(optimized=True).options()
    options.log_severity_level = VERBOSE
    with tempfile.TemporaryFile() as log:
        kept = os.dup(2)
        os.dup2(log.fileno(), 2)  # the library writes there by itself
        try:
            onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        log.seek(0)
        text = log.read().decode(errors="replace")
    transformers = dict.fromkeys(re.findall(r"GraphTransformer (\S+) modified", text))
    return [*transformers, *(rule for rule in RULES if rule not in transformers)]


# Operators whose sums of products ONNX Runtime's integer kernels take, in a plain session, too.
INTEGER_PRODUCTS = frozenset({"ConvInteger", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulInteger", "MatMulIntegerToFloat",
                              "QAttention", "QGemm", "QLinearConv", "QLinearConvTranspose", "QLinearMatMul"})


def sums_exactly(x, w):
    """Whether MatMulInteger gives the product of the uint8 matrix `x` and the int8 matrix `w` here."""
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMulInteger", ["x", "w"], ["y"])], "g",
                                   [tensor("x", onnx.TensorProto.UINT8, x.shape)],
                                   [tensor("y", onnx.TensorProto.INT32, [x.shape[0], w.shape[1]])],
                                   [onnx.numpy_helper.from_array(w, "w")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), Session().options(), providers=["CPUExecutionProvider"])
    return np.array_equal(session.run(None, {"x": x})[0], x.astype(np.int64) @ w.astype(np.int64))


@functools.cache
def unsound_products():
    """Why nothing can be judged here that ONNX Runtime's integer kernels execute, or None: what an artifact gives hangs on
    the processor then. On x86-64 without VNNI they add the products of uint8 and int8 in pairs, in 16 bits that saturate;
    with AMX, 1.21.0 to 1.24.4 leave out the end of a row in blocks of 32 by 17 to 31, which holds anything.
    ASSAY_ANY_PROCESSOR, set to anything, has it judged nevertheless."""
    if os.environ.get("ASSAY_ANY_PROCESSOR"):
        return None
    judged = "; ASSAY_ANY_PROCESSOR=1 has that judged"
    if not sums_exactly(np.full((1, 2), 255, np.uint8), np.full((2, 1), 127, np.int8)):
        return ("this processor has no VNNI: ONNX Runtime's integer kernels saturate here (255·127 + 255·127 isn't 64770), which "
                "its own documentation names" + judged)
    numbers = np.random.default_rng(32)
    if not sums_exactly(numbers.integers(1, 256, (32, 64)).astype(np.uint8), numbers.integers(1, 128, (64, 31)).astype(np.int8)):
        return ("ONNX Runtime's integer kernels give a wrong product of 32 rows and 31 columns on this processor, as 1.21.0 to "
                "1.24.4 do with AMX (microsoft/onnxruntime pull request 27671)" + judged)
    return None


def activation_codes(graph):
    """The tensors of codes that QuantizeLinear makes of anything but an initializer."""
    constants = {tensor.name for tensor in graph.initializer}
    made = [node for node in graph.node if node.op_type == "QuantizeLinear"]
    return [node.output[0] for node in made if node.input[0] not in constants]


def typed(array, name):
    """What the session gives of an output whose type it calls `name`: codes of float8 come as their bytes."""
    if not name.startswith("tensor(float8e"):
        return array
    import ml_dtypes  # which onnx brings, where it knows these types

    return array.view(getattr(ml_dtypes, name.removeprefix("tensor(").removesuffix(")").replace("float8e", "float8_e")))


def execute(artifact, inputs, output, trace=None, session=Session(), disabled_optimizers=()):
    """Writes the outputs into the folder `output` and, where `trace` is one, the codes; returns the codes' names."""
    if unsound_products():
        for node in onnx.load(artifact, load_external_data=False).graph.node:
            if node.op_type in INTEGER_PRODUCTS:
                raise Refused(unsound_products(), node.name, node.op_type)
    if trace is not None:
        model = onnx.load(artifact)
        outputs = [tensor.name for tensor in model.graph.output]
        codes = [name for name in activation_codes(model.graph) if name not in outputs]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in codes)
        artifact = model.SerializeToString()
    session = onnxruntime.InferenceSession(artifact, session.options(), providers=["CPUExecutionProvider"],
                                           disabled_optimizers=list(disabled_optimizers) or None)
    types = {tensor.name: tensor.type for tensor in session.get_outputs()}
    fed = read_tensors(inputs)  # kept until all is written: an output that is an input may look into its memory
    tensors = {name: typed(array, types[name]) for name, array in zip(types, session.run(list(types), fed))}
    if trace is None:
        write_tensors(tensors, output)
        return []
    write_tensors({name: tensors[name] for name in outputs}, output)
    write_tensors({name: tensors[name] for name in codes}, trace, "trace")
    return codes
