"""AMD Quark's quantization of ONNX models (`ModelQuantizer`, int8 with float scales) behind Assay's protocol 1."""

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import onnx
from assay_protocol import Refused, serve
from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry
from onnxruntime_executor import execute, optimizes
from onnxruntime_quantizer import Batches, renaming
from qdq_report import name_nodes, node_precision, nodes_in_float, tensor_scales
from quark.onnx import ModelQuantizer
from quark.onnx.quantization.config.config import QConfig
from quark.onnx.quantization.config.spec import CalibMethod, Int8Spec, QLayerConfig, QuantGranularity, UInt8Spec

SPECS = {"int8": Int8Spec, "uint8": UInt8Spec}
METHODS = {"minmax": CalibMethod.MinMax, "entropy": CalibMethod.Entropy, "percentile": CalibMethod.Percentile}
OPERATORS = set(QDQRegistry) | set(QLinearOpsRegistry)  # those with an INT8 form; Quark enters its own


class Quark:
    def describe(self):
        return {
            "name": "quark",
            "version": version("amd-quark"),
            "supports": {
                "activation": list(SPECS),
                "symmetric": True,
                "per_axis": True,
                "method": list(METHODS),
                # No "operators": what has no INT8 form stays in float, so that every operator can be tried.
                "int8_operators": sorted(OPERATORS),
                "execute": True,
                "artifact": "qdq",
                "reports": ["tensors", "precision"],
                "trace": not optimizes(),
            },
            "policy": {
                "weights": "nearest",
                "bias": "nearest",
                "divisor": 127,
                "averaging": "none",
                "fixed_ranges": {"Softmax": [0, 1]},
                "folds_bn": True,
                "arithmetic": "float",
                "deterministic": True,
            },
        }

    def convert(self, model, calibration, options, output):
        if options.get("cache"):
            raise Refused("Quark can't reuse a calibration cache")
        original = onnx.load(model)
        name_nodes(original)
        in_float = [node.name for node in nodes_in_float(original, options.get("precision", {}), OPERATORS, "Quark")]
        granularity = QuantGranularity.Channel if options.get("per_axis", True) else QuantGranularity.Tensor
        config = QConfig(
            QLayerConfig(
                activation=SPECS[options.get("activation", "int8")](
                    symmetric=options.get("symmetric", False),
                    calibration_method=METHODS[options.get("method", "minmax")]),
                weight=Int8Spec(
                    symmetric=True, calibration_method=CalibMethod.MinMax, quant_granularity=granularity)),
            exclude=in_float,
            PrintSummary=False,
            Percentile=options.get("percentile", 99.99),
        )
        artifact = Path(output, "model.onnx")
        with tempfile.TemporaryDirectory() as folder:
            named, quantized_file = Path(folder, "named.onnx"), Path(folder, "quantized.onnx")
            onnx.save(original, named)
            ModelQuantizer(config).quantize_model(str(named), str(quantized_file), Batches(calibration))
            if not quantized_file.is_file():  # it logs that the float model didn't run and returns
                raise RuntimeError("quantize_model returned without an exception and wrote no model")
            quantized = onnx.load(quantized_file)
        onnx.save(quantized, artifact)
        original_name = renaming(original, (), ("ConvBnFusion_W_",))
        return {
            "artifact": artifact,
            "tensors": tensor_scales(quantized, original_name),
            "precision": node_precision(original, quantized, original_name, OPERATORS, in_float),
        }

    def execute(self, artifact, inputs, output, trace=None):
        return execute(artifact, inputs, output, trace)


if __name__ == "__main__":
    serve(Quark())
