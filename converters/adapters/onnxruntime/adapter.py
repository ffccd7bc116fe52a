"""ONNX Runtime's static quantization (`quantize_static`, Q/DQ format) behind Assay's protocol 1."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import onnx
import onnxruntime
from assay_protocol import Refused, calibration_batches, read_tensors, serve, write_tensors
from onnxruntime.quantization import (
    CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static)
from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry
from onnxruntime.quantization.shape_inference import quant_pre_process
from qdq_report import name_nodes, node_precision, tensor_scales

TYPES = {"int8": QuantType.QInt8, "uint8": QuantType.QUInt8}
METHODS = {
    "minmax": CalibrationMethod.MinMax,
    "entropy": CalibrationMethod.Entropy,
    "percentile": CalibrationMethod.Percentile,
}
OPERATORS = set(QDQRegistry) | set(QLinearOpsRegistry)  # those with an INT8 form
# What the quantizer adds to the names of tensors that it inserts a pair at, and the optimizer to folded weights.
SUFFIXES = ("_QuantizeLinear_Input", "_QuantizeLinear_Output", "_quantized")
FOLDED_WEIGHT = "ConvBnFusion_W_"


def renaming(model):
    """A function from a name in the artifact to the name that the tensor has in `model`."""
    graph = model.graph
    known = {name for node in graph.node for name in (*node.input, *node.output)}

    def original_name(name):
        for suffix in SUFFIXES:
            name = name if name in known else name.removesuffix(suffix)
        return name if name in known else name.removeprefix(FOLDED_WEIGHT)

    return original_name


def activation_codes(graph):
    """The tensors of codes that QuantizeLinear makes of anything but an initializer."""
    constants = {tensor.name for tensor in graph.initializer}
    return [node.output[0] for node in graph.node if node.op_type == "QuantizeLinear" and node.input[0] not in constants]


class Batches(CalibrationDataReader):
    """Feeds the calibration folder by name, in order, once."""

    def __init__(self, folder):
        self._batches = iter(calibration_batches(folder))

    def get_next(self):
        return next(self._batches, None)


class OnnxRuntime:
    def describe(self):
        return {
            "name": "onnxruntime",
            "version": onnxruntime.__version__,
            "supports": {
                "activation": list(TYPES),
                "symmetric": True,
                "per_axis": True,
                "method": list(METHODS),
                # No "operators": what has no INT8 form stays in float, so that every operator can be tried.
                "int8_operators": sorted(OPERATORS),
                "execute": True,
                "artifact": "qdq",
                "reports": ["tensors", "precision"],
                # More graph outputs would change what the optimizer may fuse, and with it the results.
                "trace": not self._optimizes(),
            },
            "policy": {
                "weights": "nearest",
                "bias": "nearest",
                "divisor": 127,
                "averaging": "none",
                "fixed_ranges": {"Softmax": [0, 1]},
                # No "shares": a MaxPool or Reshape shares its input's parameters only where an earlier node asked for
                # these, and a Relu behind it brings its own. No "fusions": Relu and Clip are taken in unless the
                # activations are symmetric.
                "folds_bn": True,
                "arithmetic": "float",
                "deterministic": True,
            },
        }

    def convert(self, model, calibration, options, output):
        if options.get("cache"):
            raise Refused("quantize_static can't reuse a calibration cache")
        original = onnx.load(model)
        name_nodes(original)
        in_float = self._nodes_in_float(original, options.get("precision", {}))
        artifact = Path(output, "model.onnx")
        with tempfile.TemporaryDirectory() as folder:
            # The documented preparation: shape inference and the basic optimizations, BatchNormalization folded.
            named, prepared = Path(folder, "named.onnx"), Path(folder, "prepared.onnx")
            onnx.save(original, named)
            quant_pre_process(str(named), str(prepared))
            quantize_static(
                str(prepared),
                str(artifact),
                Batches(calibration),
                quant_format=QuantFormat.QDQ,
                per_channel=options.get("per_axis", True),
                activation_type=TYPES[options.get("activation", "int8")],
                weight_type=TYPES[options.get("weight", "int8")],
                nodes_to_exclude=in_float,
                calibrate_method=METHODS[options.get("method", "minmax")],
                extra_options=self._extra_options(options),
            )
        quantized = onnx.load(artifact)
        original_name = renaming(original)
        return {
            "artifact": artifact,
            "tensors": tensor_scales(quantized, original_name),
            "precision": node_precision(original, quantized, original_name, OPERATORS, in_float),
        }

    def execute(self, artifact, inputs, output, trace=None):
        session_options = onnxruntime.SessionOptions()
        # Plain Q/DQ semantics. With "all" the optimizer may requantize, legally, and differs by up to some dB.
        if not self._optimizes():
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
        tensors = dict(zip(names, session.run(names, read_tensors(inputs))))
        if trace is None:
            write_tensors(tensors, output)
            return []
        write_tensors({name: tensors[name] for name in outputs}, output)
        write_tensors({name: tensors[name] for name in codes}, trace, "trace")
        return codes

    @staticmethod
    def _optimizes():
        return os.environ.get("ASSAY_ORT_OPTIMIZE") == "all"

    @staticmethod
    def _nodes_in_float(model, precision):
        """Names of the nodes that the overrides keep out; a node's own name wins over its operator's."""
        excluded = []
        for node in model.graph.node:
            wanted = precision.get(node.name, precision.get(node.op_type))
            if wanted == "fp16":
                raise Refused("quantize_static knows int8 and fp32, not fp16", node.name, node.op_type)
            if wanted == "int8" and node.op_type not in OPERATORS:
                raise Refused("quantize_static has no INT8 form of it", node.name, node.op_type)
            if wanted == "fp32":
                excluded.append(node.name)
        return excluded

    @staticmethod
    def _extra_options(options):
        extra = {"ActivationSymmetric": options.get("symmetric", False), "WeightSymmetric": True}
        if options.get("method") == "percentile":
            extra["CalibPercentile"] = options.get("percentile", 99.99)
            extra["CalibTensorRangeSymmetric"] = options.get("symmetric", False)
        return extra


if __name__ == "__main__":
    serve(OnnxRuntime())
