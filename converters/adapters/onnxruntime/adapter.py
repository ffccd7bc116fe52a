"""ONNX Runtime's static quantization (`quantize_static`, Q/DQ format) behind Assay's protocol 1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import onnxruntime
from assay_protocol import serve
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime_quantizer import Batches, renaming
from qdq_adapter import QdqAdapter
from stated_policy import stated_policy

TYPES = {"int8": QuantType.QInt8, "uint8": QuantType.QUInt8}
METHODS = {
    "minmax": CalibrationMethod.MinMax,
    "entropy": CalibrationMethod.Entropy,
    "percentile": CalibrationMethod.Percentile,
}
OPERATORS = set(QDQRegistry) | set(QLinearOpsRegistry)  # those with an INT8 form


class OnnxRuntime(QdqAdapter):
    converter, operators = "quantize_static", OPERATORS

    def describe(self):
        return {
            "name": "onnxruntime",
            "version": onnxruntime.__version__,
            "supports": self.supports(
                activation=list(TYPES), symmetric=True, per_axis=True, method=list(METHODS)),
            "policy": stated_policy("onnxruntime"),
        }

    def renaming(self, model, artifact):
        return renaming(model, (), ("ConvBnFusion_W_",))

    def quantize(self, job):
        options = job.options
        # The documented preparation: shape inference and the basic optimizations, BatchNormalization folded.
        prepared = job.file.with_name("prepared.onnx")
        quant_pre_process(str(job.file), str(prepared))
        quantize_static(
            str(prepared),
            str(job.written),
            Batches(job.calibration),
            quant_format=QuantFormat.QDQ,
            per_channel=options.get("per_axis", True),
            activation_type=TYPES[options.get("activation", "int8")],
            weight_type=TYPES[options.get("weight", "int8")],
            nodes_to_exclude=job.in_float,
            calibrate_method=METHODS[options.get("method", "minmax")],
            extra_options=self._extra_options(options),
        )

    @staticmethod
    def _extra_options(options):
        extra = {"ActivationSymmetric": options.get("symmetric", False), "WeightSymmetric": True}
        if options.get("method") == "percentile":
            extra["CalibPercentile"] = options.get("percentile", 99.99)
            extra["CalibTensorRangeSymmetric"] = options.get("symmetric", False)
        return extra


if __name__ == "__main__":
    serve(OnnxRuntime())
