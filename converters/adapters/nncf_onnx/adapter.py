"""NNCF's post-training quantization of ONNX models (`nncf.quantize`, Q/DQ format) behind Assay's protocol 1."""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))
os.environ["NNCF_CI"] = "1"  # no usage data is sent

from assay_protocol import Refused, calibration_batches, serve  # first: NNCF prints
import nncf
import onnx
from nncf.onnx.graph.metatypes.groups import INPUTS_QUANTIZABLE_OPERATIONS, QUANTIZE_AGNOSTIC_OPERATIONS
from nncf_parameters import POLICY, advanced_parameters, keep_pattern_graphs, preset
from onnxruntime_executor import execute, optimizes
from qdq_report import name_nodes, node_precision, nodes_in_float, tensor_scales

# Operators whose inputs are quantized; those that only pass codes on count with the operators around them.
OPERATORS = {name for metatype in (*INPUTS_QUANTIZABLE_OPERATIONS, *QUANTIZE_AGNOSTIC_OPERATIONS)
             for name in metatype.get_all_aliases()}
OPERATORS.add("Concat")


def renaming(model):
    """A function from a name in the artifact to the name that the tensor has in `model`."""
    graph = model.graph
    known = {name for node in graph.node for name in (*node.input, *node.output)}

    def original_name(name):
        if name in known:
            return name
        match = re.fullmatch(r"(?:q_output_|dq_output_)(.*)_\d+", name)
        return match[1] if match else name

    return original_name


class NncfOnnx:
    def describe(self):
        return {
            "name": "nncf_onnx",
            "version": nncf.__version__,
            "supports": {
                # Codes are uint8 where a range has no negative end and int8 elsewhere; nobody can ask for one.
                "activation": ["int8"],
                "symmetric": True,
                "per_axis": True,
                "method": ["minmax"],
                # No "operators": what has no INT8 form stays in float, so that every operator can be tried.
                "int8_operators": sorted(OPERATORS),
                "execute": True,
                "artifact": "qdq",
                "reports": ["tensors", "precision"],
                "trace": not optimizes(),
            },
            # quantize_outputs fails on every ONNX model: they stay in float.
            "policy": {**POLICY, "folds_bn": False, "arithmetic": "float", "outputs": "float"},
        }

    def convert(self, model, calibration, options, output):
        if options.get("cache"):
            raise Refused("nncf.quantize can't reuse a calibration cache")
        original = onnx.load(model)
        name_nodes(original)
        in_float = [node.name for node in nodes_in_float(original, options.get("precision", {}), OPERATORS, "nncf.quantize")]
        quantized = nncf.quantize(
            onnx.ModelProto.FromString(original.SerializeToString()),
            nncf.Dataset(calibration_batches(calibration)),
            preset=preset(options),
            ignored_scope=nncf.IgnoredScope(names=in_float) if in_float else None,
            # Outputs as codes don't work with ONNX models: "This edge does not have end node".
            advanced_parameters=advanced_parameters(options, quantize_outputs=False),
        )
        artifact = Path(output, "model.onnx")
        onnx.save(quantized, artifact)
        original_name = renaming(original)
        return {
            "artifact": artifact,
            "tensors": tensor_scales(quantized, original_name),
            "precision": node_precision(
                original, quantized, original_name, OPERATORS, in_float, outputs_in_float=True),
        }

    def execute(self, artifact, inputs, output, trace=None):
        return execute(artifact, inputs, output, trace)


if __name__ == "__main__":
    keep_pattern_graphs()
    serve(NncfOnnx())
