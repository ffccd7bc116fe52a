"""ONNX Runtime's dynamic quantization: products of constants run on codes whose range each inference finds."""

from dataclasses import dataclass
from pathlib import Path

import onnx
import onnxruntime
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime_executor import Session
from onnxruntime_quantizer import renaming
from qdq_adapter import QdqAdapter
from stated_policy import stated_policy, variant_name

TYPES = {"int8": QuantType.QInt8, "uint8": QuantType.QUInt8}


@dataclass(frozen=True)
class DynamicRoute:
    session: Session = Session()
    operators: frozenset = frozenset({"Conv", "Gemm", "MatMul"})  # a Gemm as a MatMul and an Add
    by_class: bool = False  # by ONNXQuantizer itself, without preparation, as transformers.js does


# The names and what they mean stand in adapter.json, too.
DYNAMIC_ROUTES = {"dynamic": DynamicRoute(), "dynamic_optimized": DynamicRoute(session=Session(optimized=True)),
                  "dynamic_matmul": DynamicRoute(operators=frozenset({"Gemm", "MatMul"})),
                  "integer_ops": DynamicRoute(by_class=True)}


class Dynamic(QdqAdapter):
    converter = "quantize_dynamic"
    qoperators = True  # MatMulInteger and ConvInteger, which the judge reads by itself

    def __init__(self, variant):
        self.variant, self.route = variant, DYNAMIC_ROUTES[variant]
        self.session, self.operators = self.route.session, self.route.operators

    def describe(self):
        policy = stated_policy("onnxruntime", "quantize_dynamic", onnxruntime.__version__)
        if self.route.by_class:
            policy["folds_bn"] = False
        if self.session.optimized:
            policy["arithmetic"] = "unknown"
        return {
            "name": variant_name("onnxruntime", self.variant),
            "version": onnxruntime.__version__,
            "supports": self.supports(activation=["uint8"], dynamic=[True], models=["float"], weight=list(TYPES), symmetric=[False], per_axis=True,
                                      method=["minmax"]),
            "policy": policy,
            **self.on_integer_kernels(),
        }

    def renaming(self, model, artifact):
        return renaming(model, (), ("ConvBnFusion_W_",))

    def quantize(self, job):
        weight, per_channel = TYPES[job.options.get("weight", "int8")], job.options.get("per_axis", True)
        if self.route.by_class:
            self._quantize_by_class(job, weight, per_channel)
            return
        prepared = job.file.with_name("prepared.onnx")
        quant_pre_process(str(job.file), str(prepared))
        quantize_dynamic(str(prepared), str(job.written), per_channel=per_channel, weight_type=weight,
                         nodes_to_exclude=job.in_float, op_types_to_quantize=sorted(self.operators - {"Gemm"}))

    @staticmethod
    def _quantize_by_class(job, weight, per_channel):
        from onnxruntime.quantization import QuantizationMode
        from onnxruntime.quantization.onnx_quantizer import ONNXQuantizer
        from onnxruntime.quantization.registry import IntegerOpsRegistry

        quantizer = ONNXQuantizer(
            onnx.load(job.file), per_channel, False, mode=QuantizationMode.IntegerOps, static=False, weight_qType=weight,
            activation_qType=QuantType.QUInt8, tensors_range=None, nodes_to_quantize=[], nodes_to_exclude=job.in_float,
            op_types_to_quantize=list(IntegerOpsRegistry), extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True})
        quantizer.quantize_model()
        onnx.save(quantizer.model.model, Path(job.written))
