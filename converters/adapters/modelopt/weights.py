"""ModelOpt's INT4 quantization of weights alone (`quantize_mode="int4"`): rounded to nearest, without data."""

import modelopt
from modelopt.onnx.quantization import quantize
from qdq_adapter import QdqAdapter
from stated_policy import stated_policy, variant_name


class ModelOptWeights(QdqAdapter):
    converter = "ModelOpt"
    operators = frozenset({"Gemm", "MatMul"})
    qoperators = True  # nothing but weights has codes, and the judge reads those

    def describe(self):
        return {
            "name": variant_name("modelopt", "weights"),
            "version": modelopt.__version__,
            "supports": self.supports(activation=["none"], weight=["int4"], symmetric=[True], per_axis=[True],
                                      format=["qdq"], method=["minmax"]),
            "policy": stated_policy("modelopt", "int4 rtn_dq"),
        }

    def renaming(self, model, artifact):
        return lambda name: name

    def quantize(self, job):
        quantize(
            str(job.file), quantize_mode="int4", calibration_method="rtn_dq", calibration_eps=["cpu"],
            block_size=job.options.get("block_size") or -1, nodes_to_exclude=job.in_float, output_path=str(job.written),
            high_precision_dtype="fp32", log_level="WARNING")
