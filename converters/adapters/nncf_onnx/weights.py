"""NNCF's weight compression of ONNX models (`nncf.compress_weights`), without data: rounded to nearest."""

import nncf
import onnx
from assay_protocol import Refused
from qdq_adapter import QdqAdapter
from stated_policy import stated_policy, variant_name

Mode = nncf.CompressWeightsMode
# By format, the type of the codes and whether they are symmetric.
MODES = {"qdq": {("int4", True): Mode.INT4_SYM, ("uint4", False): Mode.INT4_ASYM,
                 ("int8", True): Mode.INT8_SYM, ("uint8", False): Mode.INT8_ASYM},
         "nbits": {("uint4", True): Mode.INT4_SYM, ("uint4", False): Mode.INT4_ASYM}}
CONTRIB = "com.microsoft"  # of MatMulNBits, which has the place of a product in groups before opset 21


class NncfWeights(QdqAdapter):
    converter = "nncf.compress_weights"
    operators = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
    qoperators = True  # nothing but weights has codes, and the judge reads those

    def describe(self):
        return {
            "name": variant_name("nncf_onnx", "weights"),
            "version": nncf.__version__,
            "supports": self.supports(activation=["none"], weight=["int4", "uint4", "int8", "uint8"], symmetric=True,
                                      per_axis=[True], format=list(MODES), method=["minmax"]),
            "policy": stated_policy("nncf_onnx", "compress_weights"),
        }

    def renaming(self, model, artifact):
        return lambda name: name

    def quantize(self, job):
        options = job.options
        form = options.get("format", "qdq")
        mode = MODES[form].get((options["weight"], options.get("symmetric", False)))
        if mode is None:
            raise Refused("codes with a sign are symmetric, and those without one aren't; MatMulNBits has 4 bits")
        before_21 = next(each.version for each in job.model.opset_import if each.domain in ("", "ai.onnx")) < 21
        if (form == "nbits") != bool(options.get("block_size") and before_21):
            raise Refused("a product in groups is MatMulNBits before opset 21, and DequantizeLinear from there on")
        groups = {"group_size": options.get("block_size") or -1, "all_layers": True} if "4" in options["weight"] else {}
        if options.get("block_size") and not groups:
            raise Refused("codes of 8 bits have a scale for each channel")
        compressed = nncf.compress_weights(
            onnx.ModelProto.FromString(job.model.SerializeToString()), mode=mode,
            ignored_scope=nncf.IgnoredScope(names=job.in_float) if job.in_float else None, **groups)
        if any(node.domain == CONTRIB for node in compressed.graph.node) and all(
                opset.domain != CONTRIB for opset in compressed.opset_import):
            # No reader of ONNX takes the model as it is; ONNX Runtime does, and so the rest of it can be judged.
            compressed.opset_import.add(domain=CONTRIB, version=1)
        onnx.save(compressed, job.written)
