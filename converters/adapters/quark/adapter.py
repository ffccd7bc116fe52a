"""AMD Quark's quantization of ONNX models (`ModelQuantizer`, int8 with float scales) behind Assay's protocol 1."""

import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import serve
from onnxruntime_quantizer import Batches, listed_operators, renaming
from qdq_adapter import QdqAdapter
from stated_policy import stated_policy
from quark.onnx import ModelQuantizer
from quark.onnx.quantization.config.config import QConfig
from quark.onnx.quantization.config.spec import CalibMethod, Int8Spec, QLayerConfig, QuantGranularity, UInt8Spec

SPECS = {"int8": Int8Spec, "uint8": UInt8Spec}
METHODS = {"minmax": CalibMethod.MinMax, "entropy": CalibMethod.Entropy, "percentile": CalibMethod.Percentile}
OPERATORS = listed_operators()  # Quark enters its own


class Quark(QdqAdapter):
    converter, operators = "Quark", OPERATORS

    def describe(self):
        return {
            "name": "quark",
            "version": version("amd-quark"),
            "supports": self.supports(
                activation=list(SPECS), symmetric=True, per_axis=True, method=list(METHODS)),
            "policy": stated_policy("quark"),
        }

    def renaming(self, model, artifact):
        return renaming(model, (), ("ConvBnFusion_W_",))

    def quantize(self, job):
        options = job.options
        granularity = QuantGranularity.Channel if options.get("per_axis", True) else QuantGranularity.Tensor
        config = QConfig(
            QLayerConfig(
                activation=SPECS[options.get("activation", "int8")](
                    symmetric=options.get("symmetric", False),
                    calibration_method=METHODS[options.get("method", "minmax")]),
                weight=Int8Spec(
                    symmetric=True, calibration_method=CalibMethod.MinMax, quant_granularity=granularity)),
            exclude=job.in_float,
            PrintSummary=False,
            Percentile=options.get("percentile", 99.99),
        )
        # Where the float model doesn't run it logs so, returns and writes nothing.
        ModelQuantizer(config).quantize_model(str(job.file), str(job.written), Batches(job.calibration))


if __name__ == "__main__":
    serve(Quark())
