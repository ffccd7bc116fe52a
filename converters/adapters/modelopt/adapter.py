"""NVIDIA ModelOpt's INT8 quantization of ONNX models (`modelopt.onnx.quantization`) behind Assay's protocol 1.

usage: adapter.py [--variant NAME]: quantizes in the way of that name in ROUTES
"""

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import modelopt
from assay_protocol import serve
from modelopt.onnx.quantization import quantize
from onnxruntime_quantizer import Batches, renaming
from qdq_adapter import QdqAdapter
from stated_policy import asked_variant, stated_policy, variant_name
from weights import ModelOptWeights

TYPES = {"int8": "int8", "fp8": "float8e4m3fn"}  # of codes, by `quantize_mode`
METHODS = {"minmax": "max", "entropy": "entropy"}
# What the documentation of its INT8 mode names. Their inputs are quantized, their outputs where the next one reads them.
OPERATORS = ["Add", "AveragePool", "BatchNormalization", "Clip", "Conv", "ConvTranspose", "Gemm", "GlobalAveragePool",
             "MatMul", "MaxPool", "Mul"]


@dataclass(frozen=True)
class Route:
    """One of the ways that its documentation has."""

    target_dla: bool = False  # without it layers below 16 channels, 1xN products and attention stay in float
    lists_operators: bool = False  # `op_types_to_quantize`; its own search for what pays on a GPU without
    high_precision_dtype: str = "fp32"  # of everything that isn't INT8
    mode: str = "int8"  # `quantize_mode`


# The names and what they mean stand in adapter.json, too.
ROUTES = {
    "": Route(target_dla=True, lists_operators=True),
    "defaults": Route(high_precision_dtype="fp16"),
    "fp32": Route(),
    "op_types": Route(lists_operators=True),
    "fp8": Route(lists_operators=True, mode="fp8"),
}


class ModelOpt(QdqAdapter):
    converter, operators, outputs_in_float = "ModelOpt", OPERATORS, True

    def __init__(self, variant):
        self.variant, self.route = variant, ROUTES[variant]

    def describe(self):
        return {
            "name": variant_name("modelopt", self.variant),
            "version": modelopt.__version__,
            "supports": self.supports(activation=[TYPES[self.route.mode]], weight=[TYPES[self.route.mode]], symmetric=[True],
                                      per_axis=[True], method=list(METHODS)),
            "policy": stated_policy("modelopt") | {"chooses_int8": not self.route.target_dla},
        }

    def renaming(self, model, artifact):
        return renaming(model)

    def quantize(self, job):
        operators = OPERATORS if self.route.mode == "int8" else ["Conv", "ConvTranspose", "Gemm", "MatMul"]
        listed = [name for name in operators if any(node.op_type == name for node in job.model.graph.node)]
        quantize(
            str(job.file),
            quantize_mode=self.route.mode,
            calibration_data_reader=Batches(job.calibration),
            calibration_method=METHODS[job.options.get("method", "minmax")],
            calibration_eps=["cpu"],
            op_types_to_quantize=listed if self.route.lists_operators else None,
            nodes_to_exclude=job.in_float,
            output_path=str(job.written),
            high_precision_dtype=self.route.high_precision_dtype,
            log_level="WARNING",
            **({"target_dla": True} if self.route.target_dla else {}),
        )


if __name__ == "__main__":
    variant = asked_variant([*ROUTES, "weights"])
    serve(ModelOptWeights() if variant == "weights" else ModelOpt(variant))
