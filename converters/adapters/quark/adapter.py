"""AMD Quark's quantization of ONNX models (`ModelQuantizer`) behind Assay's protocol 1.

usage: adapter.py [--variant NAME]: quantizes in the way of that name in ROUTES
"""

import sys
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import serve
from onnxruntime_quantizer import Batches, listed_operators, renaming
from qdq_adapter import QdqAdapter
from stated_policy import asked_variant, stated_policy, variant_name
from quark.onnx import ModelQuantizer
from quark.onnx.quantization.config import Config, get_default_config
from quark.onnx.quantization.config.algorithm import AdaRoundConfig, CLEConfig
from quark.onnx.quantization.config.config import QConfig
from quark.onnx.quantization.config.spec import CalibMethod, Int16Spec, Int8Spec, QLayerConfig, QuantGranularity, UInt16Spec, UInt8Spec, XInt8Spec

SPECS = {"int8": Int8Spec, "uint8": UInt8Spec, "int16": Int16Spec, "uint16": UInt16Spec}
WEIGHTS = {"int8": Int8Spec, "int16": Int16Spec}
METHODS = {"minmax": CalibMethod.MinMax, "entropy": CalibMethod.Entropy, "percentile": CalibMethod.Percentile,
           "mse": CalibMethod.MinMSE}
OPERATORS = listed_operators()  # Quark enters its own
# What the presets are: one scale for each tensor, around zero.
PRESET = {"activation": ["int8"], "weight": ["int8"], "symmetric": [True], "per_axis": False}


def short_adaround():
    """AdaRound with fewer steps than its 1000, which take longer than a case has."""
    return AdaRoundConfig(num_iterations=100)


@dataclass(frozen=True)
class Route:
    """One of the ways that Quark documents."""

    policy: str = ""  # the variant in policies.json
    preset: str = ""  # the configuration of that name, `get_default_config`; without one a QConfig
    algorithms: tuple = ()  # `algo_config`: makers of what comes before or after the quantization
    takes: dict = field(default_factory=dict)  # what of the options it takes, where it isn't everything
    power_of_two: bool = False
    operators: tuple = tuple(OPERATORS)


# The names and what they mean stand in adapter.json, too.
ROUTES = {
    "": Route(),
    "a8w8": Route(policy="CLE", preset="A8W8", takes=PRESET | {"method": ["minmax"]}),
    "cle": Route(policy="CLE", algorithms=(CLEConfig,)),
    "adaround": Route(policy="AdaRound", algorithms=(short_adaround,)),
    "xint8": Route(policy="XINT8", power_of_two=True, takes=PRESET | {"method": ["mse"]}),
    "xint8_minmax": Route(policy="XINT8", power_of_two=True, takes=PRESET | {"method": ["minmax"]}),
    "nbits": Route(policy="MATMUL_NBITS", preset="MATMUL_NBITS", operators=("MatMul",),
                   takes={"activation": ["none"], "weight": ["uint4", "uint8"], "block_size": [16, 32, 64, 128, 256], "per_axis": [True],
                          "format": ["nbits"], "method": ["minmax"]}),
}


class Quark(QdqAdapter):
    converter = "Quark"

    def __init__(self, variant):
        self.variant, self.route = variant, ROUTES[variant]
        self.operators = self.route.operators
        self.qoperators = variant == "nbits"

    def describe(self):
        takes = {"activation": list(SPECS), "weight": list(WEIGHTS), "symmetric": True, "per_axis": True, "method": ["minmax", "entropy", "percentile"]}
        return {
            "name": variant_name("quark", self.variant),
            "version": version("amd-quark"),
            "supports": self.supports(**takes | self.route.takes),
            "policy": stated_policy("quark", self.route.policy),
        }

    def renaming(self, model, artifact):
        return renaming(model, (), ("ConvBnFusion_W_",))

    def quantize(self, job):
        config = self._preset(job) if self.route.preset else self._config(job)
        # Where the float model doesn't run it logs so, returns and writes nothing.
        ModelQuantizer(config).quantize_model(str(job.file), str(job.written), Batches(job.calibration))

    def _preset(self, job):
        preset = get_default_config(self.route.preset)
        preset.nodes_to_exclude = job.in_float
        preset.print_summary = False
        if self.variant == "nbits":
            options = job.options
            preset.extra_options["MatMulNBitsParams"] = {
                "GroupSize": options["block_size"], "Symmetric": options.get("symmetric", False), "Bits": 8 if "8" in options["weight"] else 4}
        return Config(global_quant_config=preset)

    def _config(self, job):
        options, route = job.options, self.route
        symmetric, method = options.get("symmetric", False), METHODS[options.get("method", "minmax")]
        if route.power_of_two:
            activation, weight = XInt8Spec(calibration_method=method), XInt8Spec(calibration_method=method)
        else:
            granularity = QuantGranularity.Channel if options.get("per_axis", True) else QuantGranularity.Tensor
            activation = SPECS[options.get("activation", "int8")](symmetric=symmetric, calibration_method=method)
            weight = WEIGHTS[options.get("weight", "int8")](symmetric=True, calibration_method=CalibMethod.MinMax, quant_granularity=granularity)
        return QConfig(
            QLayerConfig(activation=activation, weight=weight),
            exclude=job.in_float,
            algo_config=[algorithm() for algorithm in route.algorithms],
            PrintSummary=False,
            Percentile=options.get("percentile", 99.99),
        )


if __name__ == "__main__":
    serve(Quark(asked_variant(ROUTES)))
