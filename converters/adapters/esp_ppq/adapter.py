"""ESP-PPQ's post-training quantization (platform ONNXRUNTIME, Q/DQ format) behind Assay's protocol 1."""

import contextlib
import gc
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import torch
from assay_protocol import calibration_batches, serve
from qdq_adapter import QdqAdapter
from qdq_report import PAIR
from stated_policy import stated_policy

with contextlib.redirect_stdout(sys.stderr):  # it greets whoever imports it
    from esp_ppq.api import export_ppq_graph, quantize_onnx_model
    from esp_ppq.api.setting import QuantizationSettingFactory
    from esp_ppq.core import TargetPlatform
    from esp_ppq.quantization.quantizer.ORTQuantizer import OnnxruntimeQuantizer

# Its percentile is the mean over the batches of each one's, at 99.99 % and nothing else: no policy states that.
METHODS = {"minmax": "minmax", "entropy": "kl", "mse": "mse"}
OPERATORS = OnnxruntimeQuantizer.quant_operation_types.fget(None)


class EspPpq(QdqAdapter):
    converter, operators = "ESP-PPQ", OPERATORS
    moves_codes = True
    fuses = ("Relu", "Clip", "Sigmoid", "LeakyRelu")  # into the operator before, of OnnxruntimeQuantizer

    def describe(self):
        return {
            "name": "esp_ppq",
            "version": version("esp-ppq"),
            "supports": self.supports(activation=["int8"], symmetric=[True], per_axis=[True], method=list(METHODS)),
            "policy": stated_policy("esp_ppq"),
        }

    def renaming(self, model, artifact):
        known = {name for node in model.graph.node for name in (*node.input, *node.output)}
        readers = {name: node for node in artifact.graph.node for name in node.input}

        def original_name(name):
            node = readers.get(name)
            while name not in known and node is not None and node.op_type in PAIR:
                name, node = node.output[0], readers.get(node.output[0])
            return name

        return original_name

    def quantize(self, job):
        setting = QuantizationSettingFactory.default_setting()
        setting.quantize_activation_setting.calib_algorithm = METHODS[job.options.get("method", "minmax")]
        setting.dispatcher = "allin"  # as ESP-PPQ's own entry does; the default leaves a network of one Conv in float
        setting.fusion_setting.align_quantization = False  # else operands share a range: its own choice of policy
        for name in job.in_float:
            setting.dispatching_table.append(name, TargetPlatform.FP32)
        batches = [{name: torch.from_numpy(array.copy()) for name, array in batch.items()}
                   for batch in calibration_batches(job.calibration)]
        graph = quantize_onnx_model(
            str(job.file), calib_dataloader=batches, calib_steps=len(batches), input_shape=None, inputs=batches[0],
            platform=TargetPlatform.ONNXRUNTIME, setting=setting, device="cpu")
        export_ppq_graph(graph, platform=TargetPlatform.ONNXRUNTIME, graph_save_to=str(job.written))


if __name__ == "__main__":
    gc.freeze()  # it collects garbage in each of its steps: nine tenths of the time, were the imported modules looked through
    serve(EspPpq())
