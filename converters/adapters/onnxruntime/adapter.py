"""ONNX Runtime's static quantization (`quantize_static`, Q/DQ format) behind Assay's protocol 1."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import onnx
import onnxruntime
from assay_protocol import Refused, serve
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime_executor import execute, optimizes
from onnxruntime_quantizer import Batches, renaming
from qdq_report import name_nodes, node_precision, nodes_in_float, tensor_scales

TYPES = {"int8": QuantType.QInt8, "uint8": QuantType.QUInt8}
METHODS = {
    "minmax": CalibrationMethod.MinMax,
    "entropy": CalibrationMethod.Entropy,
    "percentile": CalibrationMethod.Percentile,
}
OPERATORS = set(QDQRegistry) | set(QLinearOpsRegistry)  # those with an INT8 form


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
        in_float = [node.name for node in nodes_in_float(original, options.get("precision", {}), OPERATORS, "quantize_static")]
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
        original_name = renaming(original, (), ("ConvBnFusion_W_",))
        return {
            "artifact": artifact,
            "tensors": tensor_scales(quantized, original_name),
            "precision": node_precision(original, quantized, original_name, OPERATORS, in_float),
        }

    def execute(self, artifact, inputs, output, trace=None):
        return execute(artifact, inputs, output, trace)

    @staticmethod
    def _extra_options(options):
        extra = {"ActivationSymmetric": options.get("symmetric", False), "WeightSymmetric": True}
        if options.get("method") == "percentile":
            extra["CalibPercentile"] = options.get("percentile", 99.99)
            extra["CalibTensorRangeSymmetric"] = options.get("symmetric", False)
        return extra


if __name__ == "__main__":
    serve(OnnxRuntime())
