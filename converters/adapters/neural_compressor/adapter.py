"""ONNX Neural Compressor's static quantization (Q/DQ format, CPU) behind Assay's protocol 1.

usage: adapter.py [--variant dynamic]: its dynamic quantization
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import onnx
from assay_protocol import calibration_batches, serve
from onnx_neural_compressor import constants, data_reader, version
from onnx_neural_compressor.quantization import CalibrationMethod, QuantFormat, QuantType, config, quantize
from onnxruntime_quantizer import renaming
from qdq_adapter import QdqAdapter
from stated_policy import asked_variant, stated_policy, variant_name

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


class NeuralCompressor(QdqAdapter):
    converter, operators = "ONNX Neural Compressor", OPERATORS

    def describe(self):
        return {
            "name": "neural_compressor",
            "version": version.__version__,
            "supports": self.supports(
                activation=list(TYPES), symmetric=True, per_axis=True, method=list(METHODS)),
            "policy": stated_policy("neural_compressor"),
        }

    def renaming(self, model, artifact):
        return renaming(model, ("_QuantizeInput",), ("ConvBnFusion_W_",))

    def quantize(self, job):
        options, batches = job.options, Batches(job.calibration)
        quantize(str(job.file), str(job.written), config.StaticQuantConfig(
            calibration_data_reader=batches,
            calibrate_method=METHODS[options.get("method", "minmax")],
            quant_format=QuantFormat.QDQ,
            activation_type=TYPES[options.get("activation", "int8")],
            weight_type=TYPES[options.get("weight", "int8")],
            nodes_to_exclude=job.in_float,
            per_channel=options.get("per_axis", True),
            extra_options={"ActivationSymmetric": options.get("symmetric", False), "WeightSymmetric": True},
            calibration_sampling_size=len(batches),
            execution_provider="CPUExecutionProvider",
        ))
        quantized = onnx.load(job.written)
        for node in quantized.graph.node:
            node.name = node.name.removesuffix("_quant")  # a node keeps its name, whatever was done to it
        onnx.save(quantized, job.written)


class Dynamic(NeuralCompressor):
    operators = frozenset({"MatMul"})  # with a Conv it ends in an AttributeError, whatever is asked for
    qoperators = True  # MatMulInteger, which the judge reads by itself

    def describe(self):
        return {
            "name": variant_name("neural_compressor", "dynamic"),
            "version": version.__version__,
            "supports": self.supports(activation=["uint8"], weight=list(TYPES), dynamic=[True], symmetric=[False], per_axis=True,
                                      method=["minmax"], models=["float"]),
            "policy": stated_policy("neural_compressor", "DynamicQuantConfig"),
            **self.on_integer_kernels(),
        }

    def quantize(self, job):
        quantize(str(job.file), str(job.written), config.DynamicQuantConfig(
            weight_type=TYPES[job.options.get("weight", "int8")],
            op_types_to_quantize=["MatMul"],
            nodes_to_exclude=job.in_float,
            per_channel=job.options.get("per_axis", True),
            execution_provider="CPUExecutionProvider",
        ))
        onnx.save(onnx.load(job.written), job.written)  # it puts constants into a file beside the model


if __name__ == "__main__":
    serve(Dynamic() if asked_variant(["", "dynamic"]) else NeuralCompressor())
