"""onnxsim's static quantizers behind Assay's protocol 1.

usage: adapter.py [--variant NAME]: quantizes in the way of that name in ROUTES
"""

import re
import sys
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import onnx
from assay_protocol import Refused, calibration_batches, serve
from onnxruntime_quantizer import renaming
from onnxsim import quantize_static
from onnxsim.full_qdq import quantize_full_qdq
from qdq_adapter import QdqAdapter
from stated_policy import asked_variant, stated_policy, variant_name
from weights import QUANTIZERS, OnnxSimWeights

# What it adds to a tensor's name in front of its pair and behind an input's, and to a constant's for its codes.
SUFFIXES = ("_float", "_dequantized", "/f", "/dq")
CODES = re.compile(r"(_(w(_\d+)?|b_.*|c)_quantized|/qdq\d+/(int8|int32|q))$")
METHODS = ("minmax", "percentile")
PRODUCTS = frozenset({"Conv", "Gemm", "MatMul"})
WHOLE = PRODUCTS | {
    "Add", "AveragePool", "Clip", "Concat", "ConvTranspose", "Div", "GlobalAveragePool", "LeakyRelu", "MaxPool", "Mul", "Pad",
    "Relu", "Resize", "Sigmoid", "Softmax", "Split", "Sub", "Tanh"}


@dataclass(frozen=True)
class Route:
    policy: str  # the variant in policies.json
    quantize: object  # (model, batches, options, names of nodes in float) -> model
    operators: frozenset
    takes: dict = field(default_factory=dict)  # of the options
    in_float: bool = True  # whether single nodes can be left out


def range_of(options):
    """How calibration data become a range."""
    if options.get("method") == "percentile":
        return {"method": "percentile", "percentile": options.get("percentile", 99.999)}
    return {"method": "minmax"}


def static(model, batches, options, in_float):
    return quantize_static(model, batches, **range_of(options))


def full_graph(model, batches, options, in_float):
    return quantize_static(model, batches, full_graph=True, per_channel=options.get("per_axis", True),
                           nodes_to_exclude=in_float, **range_of(options))


def full_qdq(model, batches, options, in_float):
    chosen = range_of(options)
    return quantize_full_qdq(
        model, batches, activation_dtype=options.get("activation", "int8"), per_channel=options.get("per_axis", True),
        symmetric_activations=options.get("symmetric", False), exclude_nodes=in_float, method=chosen.pop("method"),
        calibrate_options=chosen)


# The names and what they mean stand in adapter.json, too.
ROUTES = {
    "": Route("quantize_static", static, PRODUCTS, in_float=False,
              takes={"activation": ["uint8"], "symmetric": [False], "per_axis": [True]}),
    "full_graph": Route("full_graph", full_graph, WHOLE, takes={"activation": ["uint8"], "symmetric": [False]}),
    "full_qdq": Route("full_qdq", full_qdq, WHOLE),
}


class OnnxSim(QdqAdapter):
    converter = "onnxsim"

    def __init__(self, variant):
        self.variant, self.route = variant, ROUTES[variant]
        self.operators = self.route.operators
        self.outputs_in_float = not variant
        self.fuses = self.fuses if variant == "full_qdq" else ()

    def describe(self):
        takes = {"activation": ["int8", "uint8"], "weight": ["int8"], "symmetric": True, "per_axis": True,
                 "method": list(METHODS)}
        return {
            "name": variant_name("onnxsim", self.variant),
            "version": version("onnxsim"),
            "supports": self.supports(**takes | self.route.takes),
            "policy": stated_policy("onnxsim", self.route.policy),
        }

    def renaming(self, model, artifact):
        of_activation = renaming(model, SUFFIXES)
        return lambda name: of_activation(CODES.sub("", name))

    def quantize(self, job):
        if job.in_float and not self.route.in_float:
            node = next(node for node in job.model.graph.node if node.name == job.in_float[0])
            raise Refused("quantize_static leaves single nodes in float with full_graph alone", node.name, node.op_type)
        quantized = self.route.quantize(job.model, calibration_batches(job.calibration), job.options, job.in_float)
        onnx.save(quantized, job.written)


if __name__ == "__main__":
    variant = asked_variant([*ROUTES, *QUANTIZERS])
    serve(OnnxSimWeights(variant) if variant in QUANTIZERS else OnnxSim(variant))
