"""OpenVINO with NNCF's post-training quantization (`nncf.quantize` on an OpenVINO model) behind Assay's protocol 1.

usage: adapter.py [--variant NAME]: compiles with the hints of that name in HINTS
"""

import os
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))
os.environ["NNCF_CI"] = "1"  # no usage data is sent
if tuple(map(int, version("nncf").split(".")[:2])) < (2, 18):
    # It measures ranges on a model compiled without a precision hint: where the CPU has bfloat16, in bfloat16.
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI")

from assay_protocol import calibration_batches, serve  # first: NNCF prints
import nncf
import numpy
import openvino
from model_request import nodes_in_float, open_model
from nncf_parameters import keep_pattern_graphs, parameters
from openvino_executor import IN_FLOAT32, Executor
from openvino_report import node_precision, original_operations, tensor_scales
from stated_policy import asked_variant, stated_policy, variant_name

# ONNX operators whose OpenVINO forms NNCF quantizes the inputs of, and those that only pass codes on.
OPERATORS = {
    "Add", "AveragePool", "BatchNormalization", "Concat", "Conv", "ConvTranspose", "DepthToSpace", "Div", "Expand",
    "Flatten", "Gather", "Gemm", "GlobalAveragePool", "GlobalMaxPool", "Identity", "InstanceNormalization",
    "LayerNormalization", "LpNormalization", "MatMul", "Max", "MaxPool", "Min", "Mul", "Pad", "Pow", "ReduceMax",
    "ReduceMean", "Reshape", "Resize", "SpaceToDepth", "Split", "Squeeze", "Sub", "Sum", "Tile", "Transpose",
    "Unsqueeze"}

# The names and what they mean stand in adapter.json, too.
HINTS = {"": IN_FLOAT32, "default_hint": {}}


class OpenVino:
    def __init__(self, variant):
        self._variant = variant
        self._executor = Executor(HINTS[variant])

    def describe(self):
        policy = stated_policy("nncf_onnx")
        return {
            "name": variant_name("openvino", self._variant),
            "version": openvino.__version__.split("-")[0],
            "supports": {
                # Codes are unsigned where a range has no negative end; nobody can ask for one kind.
                "activation": ["int8"], "weight": ["int8"],
                "symmetric": True,
                "per_axis": True,
                "method": ["minmax"],
                # No "operators": what has no INT8 form stays in float, so that every operator can be tried.
                "int8_operators": sorted(OPERATORS),
                "execute": True,
                "artifact": "scales",
                "reports": ["tensors", "precision"],
            },
            # As on ONNX models, but outputs become codes, folding is the plugin's own choice, and by FakeQuantize's
            # specification a value is output_low + level·width.
            "policy": {**{word: policy[word] for word in policy if word not in ("outputs", "folds_bn", "arithmetic")},
                       "dequantize": "affine"},
        }

    def convert(self, model, calibration, options, output):
        original = open_model(model, options, "nncf.quantize")
        in_float = nodes_in_float(original, options, OPERATORS, "nncf.quantize")
        network = self._executor.core.read_model(model)
        ignored = [name for node in in_float for name in original_operations(network, node)]
        inputs = {tensor.name for tensor in original.graph.input}
        outputs = {tensor.name for tensor in original.graph.output}
        given = [port.get_names() & outputs for port in network.outputs]  # a tensor may stand for several of ONNX
        fed = [port.get_names() & inputs for port in network.inputs]
        quantized = nncf.quantize(
            network,
            # OpenVINO takes no array that it may not write to.
            nncf.Dataset([{name: numpy.array(array) for name, array in batch.items()}
                          for batch in calibration_batches(calibration)]),
            ignored_scope=nncf.IgnoredScope(names=ignored) if ignored else None,
            **parameters("", options, quantize_outputs=True),
        )
        for port, names in zip(quantized.outputs, given):
            port.get_tensor().set_names(names)  # some releases lose them
        for port, names in zip(quantized.inputs, fed):
            for name in names:
                port.get_node().set_friendly_name(name)  # its tensor's names may have gone to an output
        artifact = Path(output, "model.xml")
        openvino.save_model(quantized, artifact, compress_to_fp16=False)
        runtime = self._executor.compile(artifact).get_runtime_model()
        return {
            "artifact": artifact,
            "tensors": tensor_scales(quantized, original),
            "precision": node_precision(original, runtime),
        }

    def execute(self, artifact, inputs, output):
        self._executor.execute(artifact, inputs, output)


if __name__ == "__main__":
    keep_pattern_graphs()
    serve(OpenVino(asked_variant(HINTS)))
