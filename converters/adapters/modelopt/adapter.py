"""NVIDIA ModelOpt's INT8 quantization of ONNX models (`modelopt.onnx.quantization`) behind Assay's protocol 1."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import modelopt
import onnx
from assay_protocol import Refused, serve
from modelopt.onnx.quantization import quantize
from onnxruntime_executor import execute, optimizes
from onnxruntime_quantizer import Batches, renaming
from qdq_report import name_nodes, node_precision, nodes_in_float, tensor_scales

METHODS = {"minmax": "max", "entropy": "entropy"}
# What the documentation of its INT8 mode names. Their inputs are quantized, their outputs where the next one reads them.
OPERATORS = ["Add", "AveragePool", "BatchNormalization", "Clip", "Conv", "ConvTranspose", "Gemm", "GlobalAveragePool",
             "MatMul", "MaxPool", "Mul"]


class ModelOpt:
    def describe(self):
        return {
            "name": "modelopt",
            "version": modelopt.__version__,
            "supports": {
                "activation": ["int8"],
                "symmetric": [True],
                "per_axis": [True],
                "method": list(METHODS),
                # No "operators": what has no INT8 form stays in float, so that every operator can be tried.
                "int8_operators": OPERATORS,
                "execute": True,
                "artifact": "qdq",
                "reports": ["tensors", "precision"],
                "trace": not optimizes(),
            },
            "policy": {
                "weights": "nearest",
                "bias": "float",
                "divisor": 127,
                "averaging": "none",
                "fixed_ranges": {"Softmax": [0, 1]},
                "folds_bn": False,
                "arithmetic": "float",
                "outputs": "float",
                "deterministic": True,
            },
        }

    def convert(self, model, calibration, options, output):
        if options.get("cache"):
            raise Refused("its calibration cache is TensorRT's, another format than this artifact's")
        original = onnx.load(model)
        name_nodes(original)
        in_float = [node.name for node in nodes_in_float(original, options.get("precision", {}), OPERATORS, "ModelOpt")]
        artifact = Path(output, "model.onnx")
        with tempfile.TemporaryDirectory() as folder:
            named, quantized_file = Path(folder, "named.onnx"), Path(folder, "quantized.onnx")
            onnx.save(original, named)
            operators = [name for name in OPERATORS if any(node.op_type == name for node in original.graph.node)]
            quantize(
                str(named),
                calibration_data_reader=Batches(calibration),
                calibration_method=METHODS[options.get("method", "minmax")],
                calibration_eps=["cpu"],
                op_types_to_quantize=operators,
                nodes_to_exclude=in_float,
                output_path=str(quantized_file),
                high_precision_dtype="fp32",  # without it all else becomes float16
                log_level="WARNING",
                target_dla=True,  # without it layers below 16 channels, 1xN products and attention stay in float
            )
            quantized = onnx.load(quantized_file)
        onnx.save(quantized, artifact)
        original_name = renaming(original)
        return {
            "artifact": artifact,
            "tensors": tensor_scales(quantized, original_name),
            "precision": node_precision(
                original, quantized, original_name, OPERATORS, in_float, outputs_in_float=True),
        }

    def execute(self, artifact, inputs, output, trace=None):
        return execute(artifact, inputs, output, trace)


if __name__ == "__main__":
    serve(ModelOpt())
