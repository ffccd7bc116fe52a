"""ESP-PPQ's post-training quantization (platform ONNXRUNTIME, Q/DQ format) behind Assay's protocol 1."""

import contextlib
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import onnx
import torch
from assay_protocol import Refused, calibration_batches, serve
from onnxruntime_executor import execute, optimizes
from qdq_report import name_nodes, node_precision, nodes_in_float, tensor_scales

with contextlib.redirect_stdout(sys.stderr):  # it greets whoever imports it
    from esp_ppq.api import export_ppq_graph, quantize_onnx_model
    from esp_ppq.api.setting import QuantizationSettingFactory
    from esp_ppq.core import TargetPlatform
    from esp_ppq.quantization.quantizer.ORTQuantizer import OnnxruntimeQuantizer

METHODS = {"minmax": "minmax", "percentile": "percentile", "entropy": "kl", "mse": "mse"}
OPERATORS = OnnxruntimeQuantizer.quant_operation_types.fget(None)


def renaming(original, artifact):
    """A function from a name in the artifact to the name that the tensor has in `original`."""
    known = {name for node in original.graph.node for name in (*node.input, *node.output)}
    readers = {name: node for node in artifact.graph.node for name in node.input}

    def original_name(name):
        node = readers.get(name)
        while name not in known and node is not None and node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            name, node = node.output[0], readers.get(node.output[0])
        return name

    return original_name


class EspPpq:
    def describe(self):
        return {
            "name": "esp_ppq",
            "version": version("esp-ppq"),
            "supports": {
                "activation": ["int8"],
                "symmetric": [True],
                "per_axis": [True],
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
                "bias": "float",
                "divisor": 127.5,  # a range's width divided by the 255 steps between its codes
                "averaging": "none",
                "scale_floor": 1e-8,
                "folds_bn": True,
                "arithmetic": "float",
            },
        }

    def convert(self, model, calibration, options, output):
        if options.get("cache"):
            raise Refused("ESP-PPQ can't reuse a calibration cache")
        original = onnx.load(model)
        name_nodes(original)
        setting = QuantizationSettingFactory.default_setting()
        setting.quantize_activation_setting.calib_algorithm = METHODS[options.get("method", "minmax")]
        setting.dispatcher = "allin"  # as ESP-PPQ's own entry does; the default leaves a network of one Conv in float
        setting.fusion_setting.align_quantization = False  # else operands share a range: its own choice of policy
        in_float = [node.name for node in nodes_in_float(original, options.get("precision", {}), OPERATORS, "ESP-PPQ")]
        for name in in_float:
            setting.dispatching_table.append(name, TargetPlatform.FP32)
        batches = [{name: torch.from_numpy(array.copy()) for name, array in batch.items()}
                   for batch in calibration_batches(calibration)]
        artifact = Path(output, "model.onnx")
        with tempfile.TemporaryDirectory() as folder:
            named = str(Path(folder, "named.onnx"))
            onnx.save(original, named)
            graph = quantize_onnx_model(
                named, calib_dataloader=batches, calib_steps=len(batches), input_shape=None, inputs=batches[0],
                platform=TargetPlatform.ONNXRUNTIME, setting=setting, device="cpu")
            export_ppq_graph(graph, platform=TargetPlatform.ONNXRUNTIME, graph_save_to=str(artifact))
        quantized = onnx.load(artifact)
        original_name = renaming(original, quantized)
        return {
            "artifact": artifact,
            "tensors": tensor_scales(quantized, original_name),
            "precision": node_precision(original, quantized, original_name, OPERATORS, in_float),
        }

    def execute(self, artifact, inputs, output, trace=None):
        return execute(artifact, inputs, output, trace)


if __name__ == "__main__":
    serve(EspPpq())
