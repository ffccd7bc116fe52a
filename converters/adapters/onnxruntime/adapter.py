"""ONNX Runtime's static quantization (`quantize_static`, Q/DQ format) behind Assay's protocol 1."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import onnx
import onnxruntime
from assay_protocol import Refused, calibration_batches, serve
from onnxruntime_executor import execute, optimizes
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


class Batches(CalibrationDataReader):
    """Feeds the calibration folder by name, in order, once."""

    def __init__(self, folder):
        # Kept to the end: 1.19 makes its histograms of graph inputs after the last batch, in the inputs' own memory.
        self._batches = calibration_batches(folder)
        self._next = iter(self._batches)

    def get_next(self):
        return next(self._next, None)


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
                "trace": not optimizes(),
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
        return execute(artifact, inputs, output, trace)

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
