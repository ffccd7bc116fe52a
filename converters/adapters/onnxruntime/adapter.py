"""ONNX Runtime's static quantization (`quantize_static`) behind Assay's protocol 1.

usage: adapter.py [--variant NAME]: quantizes and executes in the way of that name in ROUTES
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import onnxruntime
from assay_protocol import serve
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize, quantize_static
from onnxruntime.quantization.registry import QLinearOpsRegistry
from onnxruntime.quantization.shape_inference import quant_pre_process
from dynamic import DYNAMIC_ROUTES, Dynamic
from nbits import NBits
from onnxruntime_executor import Session
from onnxruntime_quantizer import Batches, histogram_options, listed_operators, renaming
from qdq_adapter import QdqAdapter
from stated_policy import asked_variant, stated_policy, variant_name

TYPES = {word: getattr(QuantType, name) for word, name in (
    ("int8", "QInt8"), ("uint8", "QUInt8"), ("int16", "QInt16"), ("uint16", "QUInt16"), ("int4", "QInt4"), ("uint4", "QUInt4"),
) if hasattr(QuantType, name)}  # 16 bits since 1.16, 4 bits since 1.18
ACTIVATIONS = [name for name in TYPES if not name.endswith("4")]
METHODS = {
    "minmax": CalibrationMethod.MinMax,
    "entropy": CalibrationMethod.Entropy,
    "percentile": CalibrationMethod.Percentile,
}
OPERATORS = listed_operators()


@dataclass(frozen=True)
class Route:
    """One of the ways that people take."""

    session: Session = Session()
    policy: str = "quant_pre_process"  # the variant in policies.json
    prepared: bool = True  # by quant_pre_process, the documented preparation
    symbolic: bool = True  # its symbolic shape inference, which not every model passes
    quant_format: QuantFormat = QuantFormat.QDQ
    settings: dict = field(default_factory=dict)  # of quantize_static
    extra: dict = field(default_factory=dict)  # its extra_options
    takes: dict = field(default_factory=dict)  # what of the options it takes, where it isn't everything
    for_qnn: bool = False  # settings by get_qnn_qdq_config
    operators: frozenset = OPERATORS
    outputs_in_float: bool = False  # pairs stand only where an operator reads them, and none is taken into another


# The names and what they mean stand in adapter.json, too.
ROUTES = {
    "": Route(),
    "optimized": Route(session=Session(optimized=True)),
    "threads": Route(session=Session(threads=4)),
    "unprepared": Route(policy="no quant_pre_process", prepared=False),
    "onnx_shapes": Route(symbolic=False),
    "qoperator": Route(policy="QOperator", quant_format=QuantFormat.QOperator, operators=frozenset(QLinearOpsRegistry),
                       takes={"activation": ["int8", "uint8"], "weight": ["int8", "uint8"]}),
    "reduce_range": Route(policy="reduce_range", settings={"reduce_range": True},
                          takes={"symmetric": [False], "activation": ["int8", "uint8"], "weight": ["int8", "uint8"]}),
    "moving_average": Route(policy="CalibMovingAverage", extra={"CalibMovingAverage": True},
                            takes={"method": ["minmax"]}),
    "float_bias": Route(policy="QuantizeBias off", extra={"QuantizeBias": False}),
    "qnn": Route(policy="get_qnn_qdq_config", for_qnn=True, takes={"method": ["minmax"]}),
    # What ONNX Runtime's examples for TensorRT set: pairs right before each reader, weights and biases in float.
    "tensorrt": Route(policy="for TensorRT", operators=OPERATORS - {"Relu", "Clip"}, outputs_in_float=True,
                      takes={"activation": ["int8"], "weight": ["int8"], "symmetric": [True]},
                      extra={"AddQDQPairToWeight": True, "DedicatedQDQPair": True, "QuantizeBias": False,
                             "OpTypesToExcludeOutputQuantization": sorted(OPERATORS)}),
}


class OnnxRuntime(QdqAdapter):
    converter = "quantize_static"

    def __init__(self, variant):
        self.variant, self.route = variant, ROUTES[variant]
        self.session, self.operators = self.route.session, self.route.operators
        self.outputs_in_float = self.route.outputs_in_float
        self.qoperators = self.route.quant_format == QuantFormat.QOperator
        self.fuses = () if self.route.outputs_in_float else self.fuses

    def describe(self):
        policy = stated_policy("onnxruntime", self.route.policy, onnxruntime.__version__)
        if self.session.optimized:
            policy["arithmetic"] = "unknown"  # in integers where a kernel takes the whole unit of nodes, else in float
        takes = {"activation": ACTIVATIONS, "weight": list(TYPES), "symmetric": True, "per_axis": True, "method": list(METHODS)}
        return {
            "name": variant_name("onnxruntime", self.variant),
            "version": onnxruntime.__version__,
            "supports": self.supports(**takes | self.route.takes),
            "policy": policy,
            **(self.on_integer_kernels() if self.session.optimized or self.qoperators else {}),
        }

    def renaming(self, model, artifact):
        return renaming(model, (), ("ConvBnFusion_W_",))

    def quantize(self, job):
        options, route = job.options, self.route
        prepared = job.file
        if route.prepared:  # shape inference and the basic optimizations, BatchNormalization folded
            prepared = job.file.with_name("prepared.onnx")
            quant_pre_process(str(job.file), str(prepared), skip_symbolic_shape=not route.symbolic)
        if route.for_qnn:
            return self._quantize_for_qnn(job, prepared)
        quantize_static(
            str(prepared),
            str(job.written),
            Batches(job.calibration),
            quant_format=route.quant_format,
            per_channel=options.get("per_axis", True),
            activation_type=TYPES[options.get("activation", "int8")],
            weight_type=TYPES[options.get("weight", "int8")],
            nodes_to_exclude=job.in_float,
            calibrate_method=METHODS[options.get("method", "minmax")],
            extra_options=self._extra_options(options),
            **route.settings,
        )

    @staticmethod
    def _quantize_for_qnn(job, prepared):
        from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config  # not in every release

        options = job.options
        config = get_qnn_qdq_config(
            str(prepared),
            Batches(job.calibration),
            activation_type=TYPES[options.get("activation", "int8")],
            weight_type=TYPES[options.get("weight", "int8")],
            per_channel=options.get("per_axis", True),
            activation_symmetric=options.get("symmetric", False),
            weight_symmetric=True,
        )
        config.nodes_to_exclude = job.in_float
        quantize(str(prepared), str(job.written), config)

    def _extra_options(self, options):
        return {"ActivationSymmetric": options.get("symmetric", False), "WeightSymmetric": True, **self.route.extra,
                **histogram_options(options)}


if __name__ == "__main__":
    variant = asked_variant([*ROUTES, *DYNAMIC_ROUTES, "nbits"])
    serve(NBits() if variant == "nbits" else Dynamic(variant) if variant in DYNAMIC_ROUTES else OnnxRuntime(variant))
