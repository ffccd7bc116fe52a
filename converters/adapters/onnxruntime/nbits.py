"""ONNX Runtime's MatMulNBitsQuantizer: the constants of MatMul alone, in blocks along what is summed, rounded to nearest."""

import onnx
import onnxruntime
from assay_protocol import Refused
from onnxruntime.quantization import QuantFormat
from onnxruntime_executor import Session
from qdq_adapter import QdqAdapter
from stated_policy import stated_policy, variant_name

FORMATS = {"qdq": QuantFormat.QDQ, "nbits": QuantFormat.QOperator}
BITS = {"uint4": 4, "int4": 4, "uint8": 8}


def missing():
    """Why the quantizer can't be had, or None: it was called otherwise before 1.22, and needs onnx_ir from 1.24 on."""
    try:
        from onnxruntime.quantization import matmul_nbits_quantizer  # noqa: F401
    except ImportError as error:
        return f"MatMulNBitsQuantizer of ONNX Runtime {onnxruntime.__version__} can't be imported: {error}"
    return None


class NBits(QdqAdapter):
    converter = "MatMulNBitsQuantizer"
    operators = frozenset({"MatMul"})
    qoperators = True  # the judge reads MatMulNBits by itself
    session = Session()

    def describe(self):
        return {
            **({} if missing() is None else {"unavailable": missing()}),
            "name": variant_name("onnxruntime", "nbits"),
            "version": onnxruntime.__version__,
            "supports": self.supports(activation=["none"], weight=list(BITS), symmetric=True, per_axis=[True],
                                      block_size=[16, 32, 64, 128, 256, 512], format=list(FORMATS), method=["minmax"]),
            "policy": stated_policy("onnxruntime", "MatMulNBitsQuantizer", onnxruntime.__version__),
        }

    def renaming(self, model, artifact):
        return lambda name: name

    def quantize(self, job):
        from onnxruntime.quantization import matmul_nbits_quantizer as nbits

        options = job.options
        symmetric = options.get("symmetric", False)
        signed = symmetric and options.get("format", "qdq") == "qdq"
        if options["weight"] in ("int4", "uint4") and (options["weight"] == "int4") != signed:
            raise Refused("4-bit codes are int4 where they are symmetric and between quantizers, and else uint4")
        quant_format, bits = FORMATS[options.get("format", "qdq")], BITS[options["weight"]]
        config = nbits.DefaultWeightOnlyQuantConfig(
            block_size=options["block_size"], is_symmetric=symmetric, quant_format=quant_format,
            op_types_to_quantize=("MatMul",), bits=bits)
        quantizer = nbits.MatMulNBitsQuantizer(onnx.load(job.file), nodes_to_exclude=job.in_float, algo_config=config)
        quantizer.process()
        quantizer.model.save_model_to_file(str(job.written))
