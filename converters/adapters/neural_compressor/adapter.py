"""ONNX Neural Compressor's static quantization (Q/DQ format, CPU) behind Assay's protocol 1."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import onnx
from assay_protocol import Refused, calibration_batches, serve
from onnx_neural_compressor import constants, data_reader, version
from onnx_neural_compressor.quantization import CalibrationMethod, QuantFormat, QuantType, config, quantize
from onnxruntime_executor import execute, optimizes
from onnxruntime_quantizer import renaming
from qdq_report import name_nodes, node_precision, nodes_in_float, tensor_scales

TYPES = {"int8": QuantType.QInt8, "uint8": QuantType.QUInt8}
METHODS = {"minmax": CalibrationMethod.MinMax, "entropy": CalibrationMethod.Entropy}  # its percentile can't be set
OPERATORS = constants.STATIC_QDQ_CPU_OP_LIST


class Batches(data_reader.CalibrationDataReader):
    """Feeds the calibration folder by name, in order; from the start again after `rewind`."""

    def __init__(self, folder):
        self._batches = calibration_batches(folder)
        self.rewind()

    def __len__(self):
        return len(self._batches)

    def get_next(self):
        return next(self._feed, None)

    def rewind(self):
        self._feed = iter(self._batches)


class NeuralCompressor:
    def describe(self):
        return {
            "name": "neural_compressor",
            "version": version.__version__,
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
                "trace": not optimizes(),
            },
            "policy": {
                "weights": "nearest",
                "bias": "nearest",
                "divisor": 127,
                "averaging": "none",
                "folds_bn": True,
                "arithmetic": "float",
                "deterministic": True,
            },
        }

    def convert(self, model, calibration, options, output):
        if options.get("cache"):
            raise Refused("it can't reuse a calibration cache")
        original = onnx.load(model)
        name_nodes(original)
        in_float = [node.name for node in nodes_in_float(original, options.get("precision", {}), OPERATORS, "ONNX Neural Compressor")]
        artifact = Path(output, "model.onnx")
        batches = Batches(calibration)
        with tempfile.TemporaryDirectory() as folder:
            named, quantized_file = Path(folder, "named.onnx"), Path(folder, "quantized.onnx")
            onnx.save(original, named)
            quantize(str(named), str(quantized_file), config.StaticQuantConfig(
                calibration_data_reader=batches,
                calibrate_method=METHODS[options.get("method", "minmax")],
                quant_format=QuantFormat.QDQ,
                activation_type=TYPES[options.get("activation", "int8")],
                weight_type=TYPES[options.get("weight", "int8")],
                nodes_to_exclude=in_float,
                per_channel=options.get("per_axis", True),
                extra_options={"ActivationSymmetric": options.get("symmetric", False), "WeightSymmetric": True},
                calibration_sampling_size=len(batches),
                execution_provider="CPUExecutionProvider",
            ))
            quantized = onnx.load(quantized_file)
        for node in quantized.graph.node:
            node.name = node.name.removesuffix("_quant")  # a node keeps its name, whatever was done to it
        onnx.save(quantized, artifact)
        original_name = renaming(original, ("_QuantizeInput",), ("ConvBnFusion_W_",))
        return {
            "artifact": artifact,
            "tensors": tensor_scales(quantized, original_name),
            "precision": node_precision(original, quantized, original_name, OPERATORS, in_float),
        }

    def execute(self, artifact, inputs, output, trace=None):
        return execute(artifact, inputs, output, trace)


if __name__ == "__main__":
    serve(NeuralCompressor())
