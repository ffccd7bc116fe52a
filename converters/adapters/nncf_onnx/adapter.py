"""NNCF's post-training quantization of ONNX models (`nncf.quantize`, Q/DQ format) behind Assay's protocol 1."""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))
os.environ["NNCF_CI"] = "1"  # no usage data is sent

from assay_protocol import calibration_batches, serve  # first: NNCF prints
import nncf
import onnx
from nncf.onnx.graph.metatypes.groups import INPUTS_QUANTIZABLE_OPERATIONS, QUANTIZE_AGNOSTIC_OPERATIONS
from nncf.quantization.algorithms.min_max.onnx_backend import ONNXMinMaxAlgoBackend
from nncf_parameters import ROUTES, keep_pattern_graphs, parameters
from qdq_adapter import QdqAdapter
from stated_policy import asked_variant, stated_policy, variant_name
from weights import NncfWeights



def operators(model_type):
    """Operators whose inputs are quantized; those that only pass codes on count with the operators around them."""
    left_out = ONNXMinMaxAlgoBackend.get_ignored_metatypes(model_type, nncf.TargetDevice.ANY)
    quantized = {name for metatype in (*INPUTS_QUANTIZABLE_OPERATIONS, *QUANTIZE_AGNOSTIC_OPERATIONS) if metatype not in left_out
                 for name in metatype.get_all_aliases()}
    return quantized | {"Concat"}


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


class NncfOnnx(QdqAdapter):
    converter, outputs_in_float = "nncf.quantize", True

    def __init__(self, variant):
        self.variant, self.route = variant, ROUTES[variant]
        self.operators = operators(self.route.model_type)

    def describe(self):
        takes = {"activation": ["int8"], "symmetric": True, "per_axis": True, "method": ["minmax"]}
        return {
            "name": variant_name("nncf_onnx", self.variant),
            "version": nncf.__version__,
            # Codes are uint8 where a range has no negative end and int8 elsewhere; nobody can ask for one.
            "supports": self.supports(**takes | self.route.takes),
            # quantize_outputs fails on every ONNX model: they stay in float.
            "policy": stated_policy("nncf_onnx", self.route.policy),
        }

    def renaming(self, model, artifact):
        return renaming(model)

    def quantize(self, job):
        onnx.save(nncf.quantize(
            onnx.ModelProto.FromString(job.model.SerializeToString()),
            nncf.Dataset(calibration_batches(job.calibration)),
            ignored_scope=nncf.IgnoredScope(names=job.in_float) if job.in_float else None,
            # Outputs as codes don't work with ONNX models: "This edge does not have end node".
            **parameters(self.variant, job.options, quantize_outputs=False),
        ), job.written)


if __name__ == "__main__":
    keep_pattern_graphs()
    variant = asked_variant([*ROUTES, "weights"])
    serve(NncfWeights() if variant == "weights" else NncfOnnx(variant))
