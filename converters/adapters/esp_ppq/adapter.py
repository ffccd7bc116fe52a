"""ESP-PPQ's post-training quantization, exported as a Q/DQ model, behind Assay's protocol 1.

usage: adapter.py [--variant NAME]: quantizes for the platform of that name in ROUTES; without one for ONNXRUNTIME
"""

import contextlib
import gc
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import torch
from assay_protocol import calibration_batches, serve
from qdq_adapter import QdqAdapter
from qdq_report import PAIR
from stated_policy import asked_variant, stated_policy, variant_name

with contextlib.redirect_stdout(sys.stderr):  # it greets whoever imports it
    from esp_ppq.api import espdl_quantize_onnx, export_ppq_graph, quantize_onnx_model
    from esp_ppq.api.setting import QuantizationSettingFactory
    from esp_ppq.core import TargetPlatform
    from esp_ppq.quantization.quantizer import EspdlQuantizer, OnnxruntimeQuantizer, TensorRTQuantizer

# Its percentile is the mean over the batches of each one's, at 99.99 % and nothing else.
METHODS = {"minmax": "minmax", "entropy": "kl", "mse": "mse"}


@dataclass(frozen=True)
class Route:
    """One of the platforms that ESP-PPQ quantizes for."""

    platform: TargetPlatform
    quantizer: type
    fuses: tuple  # activations that it takes into the operator before, as the quantizer lists them
    chip: str = ""  # of Espressif's: `espdl_quantize_onnx` with its own settings
    aligned: bool = True  # operands of one operator have one range, as by default


# The names and what they mean stand in adapter.json, too.
ROUTES = {
    "": Route(TargetPlatform.ONNXRUNTIME, OnnxruntimeQuantizer, ("Relu", "Clip", "Sigmoid", "LeakyRelu"), aligned=False),
    "espdl": Route(TargetPlatform.ESPDL_INT8, EspdlQuantizer, ("Relu", "Clip"), chip="esp32p4"),
    "tensorrt": Route(TargetPlatform.TRT_INT8, TensorRTQuantizer, ("Relu", "Clip", "Sigmoid", "Gelu")),
}


class EspPpq(QdqAdapter):
    converter = "ESP-PPQ"
    moves_codes = True

    def __init__(self, variant):
        self.variant, self.route = variant, ROUTES[variant]
        self.operators = self.route.quantizer.quant_operation_types.fget(None)
        self.fuses = self.route.fuses

    @property
    def reports(self):
        # Aligned, a tensor has one range behind its maker and another before its reader, which no table of names holds.
        return ["precision"] if self.route.aligned else super().reports

    def describe(self):
        return {
            "name": variant_name("esp_ppq", self.variant),
            "version": version("esp-ppq"),
            "supports": self.supports(activation=["int8"], symmetric=[True], per_axis=[True], method=list(METHODS)),
            "policy": stated_policy("esp_ppq", self.variant),
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
        factory = QuantizationSettingFactory
        setting = factory.espdl_setting() if self.route.chip else factory.default_setting()
        setting.quantize_activation_setting.calib_algorithm = METHODS[job.options.get("method", "minmax")]
        setting.dispatcher = "allin"  # as ESP-PPQ's own entry does; the default leaves a network of one Conv in float
        setting.fusion_setting.align_quantization = self.route.aligned
        for name in job.in_float:
            setting.dispatching_table.append(name, TargetPlatform.FP32)
        batches = [{name: torch.from_numpy(array.copy()) for name, array in batch.items()}
                   for batch in calibration_batches(job.calibration)]
        graph = self._quantized(str(job.file), batches, setting)
        export_ppq_graph(graph, platform=TargetPlatform.ONNXRUNTIME, graph_save_to=str(job.written))

    def _quantized(self, file, batches, setting):
        """The graph that the entry for the platform returns. Espressif's simplifies the model in `file` first."""
        if self.route.chip:
            return espdl_quantize_onnx(
                file, file + ".espdl", calib_dataloader=batches, calib_steps=len(batches), input_shape=None, inputs=batches[0],
                target=self.route.chip, collate_fn=lambda batch: batch, setting=setting, error_report=False, skip_export=True)
        return quantize_onnx_model(
            file, calib_dataloader=batches, calib_steps=len(batches), input_shape=None, inputs=batches[0],
            platform=self.route.platform, setting=setting, device="cpu")


if __name__ == "__main__":
    gc.freeze()  # it collects garbage in each of its steps: nine tenths of the time, were the imported modules looked through
    serve(EspPpq(asked_variant(ROUTES)))
