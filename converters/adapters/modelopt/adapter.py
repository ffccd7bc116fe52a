"""NVIDIA ModelOpt's INT8 quantization of ONNX models (`modelopt.onnx.quantization`) behind Assay's protocol 1."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import modelopt
from assay_protocol import serve
from modelopt.onnx.quantization import quantize
from onnxruntime_quantizer import Batches, renaming
from qdq_adapter import QdqAdapter
from stated_policy import stated_policy

METHODS = {"minmax": "max", "entropy": "entropy"}
# What the documentation of its INT8 mode names. Their inputs are quantized, their outputs where the next one reads them.
OPERATORS = ["Add", "AveragePool", "BatchNormalization", "Clip", "Conv", "ConvTranspose", "Gemm", "GlobalAveragePool",
             "MatMul", "MaxPool", "Mul"]


class ModelOpt(QdqAdapter):
    converter, operators, outputs_in_float = "ModelOpt", OPERATORS, True

    def describe(self):
        return {
            "name": "modelopt",
            "version": modelopt.__version__,
            "supports": self.supports(activation=["int8"], symmetric=[True], per_axis=[True], method=list(METHODS)),
            "policy": stated_policy("modelopt"),
        }

    def renaming(self, model, artifact):
        return renaming(model)

    def quantize(self, job):
        quantize(
            str(job.file),
            calibration_data_reader=Batches(job.calibration),
            calibration_method=METHODS[job.options.get("method", "minmax")],
            calibration_eps=["cpu"],
            op_types_to_quantize=[name for name in OPERATORS if any(node.op_type == name for node in job.model.graph.node)],
            nodes_to_exclude=job.in_float,
            output_path=str(job.written),
            high_precision_dtype="fp32",  # without it all else becomes float16
            log_level="WARNING",
            target_dla=True,  # without it layers below 16 channels, 1xN products and attention stay in float
        )


if __name__ == "__main__":
    serve(ModelOpt())
