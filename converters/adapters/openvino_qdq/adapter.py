"""OpenVINO as an executor of other converters' Q/DQ artifacts behind Assay's protocol 1; it converts nothing itself."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import onnx
import openvino
from assay_protocol import Refused, serve
from openvino_executor import Executor


class OpenVinoQdq:
    def __init__(self):
        self._executor = Executor()

    def describe(self):
        return {
            "name": "openvino_qdq",
            "version": openvino.__version__.split("-")[0],
            "supports": {"execute": True, "artifact": "qdq"},
            # The plugin turns Q/DQ pairs into INT8 layers where it has them and computes the others in float.
            "policy": {"deterministic": True, "dequantize": "affine"},
        }

    def convert(self, model, calibration, options, output):
        raise Refused("openvino_qdq executes Q/DQ models and makes none; the adapter openvino converts")

    def execute(self, artifact, inputs, output):
        outputs = {tensor.name for tensor in onnx.load(artifact).graph.output}
        self._executor.execute(artifact, inputs, output, outputs)


if __name__ == "__main__":
    serve(OpenVinoQdq())
