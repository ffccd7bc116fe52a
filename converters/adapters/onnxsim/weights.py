"""onnxsim's weight-only quantizers: symmetric codes rounded to nearest, by output channel or in blocks of 32."""

from importlib.metadata import version

import onnx
import onnxsim
from assay_protocol import Refused, changed
from qdq_adapter import QdqAdapter
from stated_policy import stated_policy, variant_name

# By variant: the quantizer, the type of its codes, its only block (0: by channel) and its format.
QUANTIZERS = {"weights": (onnxsim.quantize_weight_only, "int8", 0, "qdq"),
              "weights_int8_blocks": (onnxsim.quantize_weight_only_int8_block, "int8", 32, "qdq"),
              "weights_int4": (onnxsim.quantize_weight_only_int4, "int4", 32, "qdq"),
              "weights_nbits": (onnxsim.quantize_weight_only_matmul_nbits, "uint4", 32, "nbits")}


class OnnxSimWeights(QdqAdapter):
    converter = "onnxsim"
    operators = frozenset({"Conv", "Gemm", "MatMul"})
    qoperators = True  # nothing but weights has codes, and the judge reads those

    def __init__(self, variant):
        self.variant = variant
        self.quantizer, self.type, self.block, self.format = QUANTIZERS[variant]

    def describe(self):
        return {
            "name": variant_name("onnxsim", self.variant),
            "version": version("onnxsim"),
            "supports": self.supports(activation=["none"], weight=[self.type], block_size=[self.block], symmetric=[True],
                                      per_axis=[True], format=[self.format], method=["minmax"]),
            "policy": stated_policy("onnxsim", "quantize_weight_only"),
        }

    def renaming(self, model, artifact):
        return lambda name: name

    def quantize(self, job):
        if job.in_float:
            node = next(node for node in job.model.graph.node if node.name == job.in_float[0])
            raise Refused("the weight-only quantizers can't leave a node out", node.name, node.op_type)
        # A node whose data have no known type is left in float, and nothing is inferred.
        changed("ONNX's shape inference ran over the model: the quantizer reads types of tensors from it")
        onnx.save(self.quantizer(onnx.shape_inference.infer_shapes(job.model)), job.written)
