"""Google's AI Edge Quantizer behind Assay's protocol 1: onnx2tf makes the float model, LiteRT executes the quantized one.

usage: adapter.py [--variant NAME]: calibrates in the way of that name in VARIANTS
"""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import calibration_batches, serve
import onnx2tf_route
import numpy
from ai_edge_litert.interpreter import Interpreter
from ai_edge_quantizer.calibrator import Calibrator
from ai_edge_quantizer.qtyping import QuantGranularity, TFLOperationName
from ai_edge_quantizer.quantizer import Quantizer
from ai_edge_quantizer.recipe_manager import RecipeManager
from ai_edge_quantizer.utils.qsv_utils import min_max_update
from captured import call
from stated_policy import asked_variant, variant_name

SIGNATURE = "serving_default"  # of every file that onnx2tf makes
FLOAT = "float.tflite"  # what was quantized, beside the artifact
VARIANTS = ("", "extremes", "int16", "dynamic")  # what they mean stands in adapter.json
# Each inference finds the range of what these read, and nothing else but weights is quantized.
DYNAMIC = {"activation": ["int8", "uint8"], "dynamic": [True], "models": ["float"], "int8_operators": ["Conv", "Gemm", "MatMul"], "reports": []}


class AiEdgeQuantizer:
    def __init__(self, variant):
        self.variant = variant

    def describe(self):
        return {
            "name": variant_name("ai_edge_quantizer", self.variant),
            "version": importlib.metadata.version("ai-edge-quantizer"),
            "supports": {
                "activation": ["int8"], "weight": ["int8"],
                "symmetric": [False],
                "per_axis": True,
                "method": ["minmax"],
                "execute": True,
                "artifact": "opaque",
                "reports": ["inputs"],
            } | (DYNAMIC if self.variant == "dynamic" else onnx2tf_route.INT16 if self.variant == "int16" else {}),
            "policy": onnx2tf_route.POLICY | self._policy(),
        }

    def _policy(self):
        if self.variant == "dynamic":
            return {"bias": "float", "fixed_ranges": {}, "arithmetic": "unknown"}
        if self.variant == "int16":
            return onnx2tf_route.INT16_POLICY
        return {} if self.variant == "extremes" else {"averaging": "ema"}

    def convert(self, model, calibration, options, output):
        original = onnx2tf_route.opened(model, options, "AI Edge Quantizer on a model of onnx2tf's")
        batches = onnx2tf_route.checked(calibration_batches(calibration), original)
        file = onnx2tf_route.made_float(model)
        Path(output, FLOAT).write_bytes(file)
        with onnx2tf_route.in_own_names(original):
            quantized = call("AI Edge Quantizer", self._quantize, file, batches, options)[0]
        artifact = onnx2tf_route.write_artifact(quantized, original, batches, output)
        if self.variant == "dynamic":
            return {"artifact": artifact}
        return {"artifact": artifact,
                "tensors": self._inputs(quantized, [tensor.name for tensor in onnx2tf_route.graph_inputs(original)])}

    def execute(self, artifact, inputs, output):
        onnx2tf_route.execute(artifact, inputs, output)

    def _quantize(self, file, batches, options):
        quantizer = Quantizer(file)
        granularity = QuantGranularity.CHANNELWISE if options.get("per_axis", True) else QuantGranularity.TENSORWISE
        if self.variant == "dynamic":  # what recipe.dynamic_wi8_afp32() does
            quantizer.add_dynamic_config(".*", TFLOperationName.ALL_SUPPORTED, num_bits=8, granularity=granularity)
            return bytes(quantizer.quantize().quantized_model)
        quantizer.add_static_config(  # what recipe.static_wi8_ai8() and static_wi8_ai16() do with one scale for each channel
            ".*", TFLOperationName.ALL_SUPPORTED, activation_num_bits=16 if self.variant == "int16" else 8, weight_num_bits=8,
            weight_granularity=granularity)
        runner = Interpreter(model_content=file).get_signature_runner(SIGNATURE)
        data = {SIGNATURE: [onnx2tf_route.fed(runner, batch) for batch in batches]}
        return bytes(quantizer.quantize(self._calibrated(quantizer, file, data)).quantized_model)

    def _calibrated(self, quantizer, file, data):
        if self.variant not in ("extremes", "int16"):
            return quantizer.calibrate(data, num_threads=1)
        manager = RecipeManager()
        manager.load_quantization_recipe(quantizer.get_quantization_recipe())
        calibrator = Calibrator(file, num_threads=1, qsv_update_func=min_max_update)
        calibrator.calibrate(data, manager)
        return calibrator.get_model_qsvs()

    @staticmethod
    def _inputs(file, names):
        """The scales of the graph's inputs, as protocol 1 lists them."""
        details = Interpreter(model_content=file).get_signature_runner(SIGNATURE).get_input_details()
        tensors = []
        for key, name in onnx2tf_route.matched(details, names).items():
            scale, zero_point = details[key]["quantization"]
            if scale:
                tensors.append({"name": name, "scale": [float(scale)], "zero_point": [int(zero_point)],
                                "type": numpy.dtype(details[key]["dtype"]).name, "axis": None})
        return tensors


if __name__ == "__main__":
    serve(AiEdgeQuantizer(asked_variant(VARIANTS)))
