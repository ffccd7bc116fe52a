"""Microsoft Olive's static quantization of ONNX models (the pass `OnnxStaticQuantization`) behind Assay's protocol 1.

usage: adapter.py [--variant NAME]: quantizes in the way of that name in ROUTES
"""

import logging
import os
import sys
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))
# Olive reports its use to its makers. OLIVE_DISABLE_TELEMETRY alone lets a first message through, in pipelines it sends none.
os.environ.update(OLIVE_DISABLE_TELEMETRY="1", CI="true")

import onnx
import onnxruntime
from assay_protocol import calibration_batches, serve
import olive
from olive.data.registry import Registry
from onnxruntime.quantization.registry import QLinearOpsRegistry
from model_request import node_name
from onnxruntime_quantizer import histogram_options, listed_operators, renaming
from qdq_adapter import QdqAdapter
from stated_policy import asked_variant, stated_policy, variant_name

TYPES = ("int8", "uint8")
METHODS = {"minmax": "MinMax", "entropy": "Entropy", "percentile": "Percentile"}
EVERY = frozenset(schema.name for schema in onnx.defs.get_all_schemas()) - {"Cast", "QuantizeLinear", "DequantizeLinear"}


@dataclass(frozen=True)
class Route:
    """One of the ways that the pass documents."""

    policy: str = "get_qdq_config"  # the variant in the policies of ONNX Runtime, whose quantizer it is
    settings: dict = field(default_factory=dict)  # of the pass
    provider: str = "CPUExecutionProvider"
    device: str = "cpu"
    takes: dict = field(default_factory=dict)  # what of the options it takes, where it isn't everything
    operators: frozenset = EVERY
    activation_key: str = "activation_type"  # of the pass; `olive quantize --act_precision` writes another one
    in_float: str = "nodes_to_exclude"  # the setting that keeps nodes in float
    weights_alone: bool = False  # the pass OnnxBlockWiseRtnQuantization


# The names and what they mean stand in adapter.json, too.
ROUTES = {
    "": Route(),
    "limited": Route(policy="quant_pre_process", settings={"prepare_qdq_config": False}, operators=listed_operators()),
    "unprepared": Route(policy="no quant_pre_process", settings={"quant_preprocess": False}),
    "qoperator": Route(policy="QOperator", settings={"quant_format": "QOperator"}, operators=frozenset(QLinearOpsRegistry)),
    "reduce_range": Route(policy="reduce_range", settings={"reduce_range": True}, takes={"symmetric": [False]}),
    "qnn": Route(policy="get_qnn_qdq_config", provider="QNNExecutionProvider", device="npu", takes={"method": ["minmax"]}),
    "act_precision": Route(activation_key="act_precision"),
    "nodes_to_quantize": Route(in_float="nodes_to_quantize"),
    "op_types_to_exclude": Route(in_float="op_types_to_exclude"),
    "rtn": Route(policy="MatMulNBitsQuantizer", weights_alone=True, operators=frozenset({"MatMul"}),
                 takes={"activation": ["none"], "weight": ["uint4", "uint8"], "block_size": [16, 32, 64, 128, 256],
                        "per_axis": [True], "format": ["nbits"], "method": ["minmax"]}),
}


@Registry.register_dataset()
def assay_batches(folder):
    """The data set of the data config: the calibration folder, a dict of arrays for each batch."""
    return calibration_batches(folder)


class LoggedErrors(logging.Handler):
    """What Olive logs and doesn't raise: olive.run returns without a model then."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.errors = []

    def emit(self, record):
        error = record.exc_info[1] if record.exc_info else None
        while error is not None:
            self.errors.append(f"{type(error).__name__}: {error}")
            error = error.__cause__


def kept_in_float(job, setting):
    """The setting of that name, so that `job.in_float` stays in float and all else is quantized."""
    if setting == "nodes_to_quantize":
        return {setting: [node.name for node in job.model.graph.node if node.name not in job.in_float]}
    if setting == "op_types_to_exclude":
        return {setting: sorted({node.op_type for node in job.model.graph.node if node_name(node) in job.in_float})}
    return {setting: job.in_float}


def rounded_in_blocks(job, route):
    """The pass that quantizes weights alone."""
    options = job.options
    return {"type": "OnnxBlockWiseRtnQuantization", "bits": 8 if "8" in options["weight"] else 4,
            "block_size": options["block_size"], "is_symmetric": options.get("symmetric", False),
            **kept_in_float(job, route.in_float)}


def static_quantization(job, route):
    """The pass that quantizes activations and weights."""
    options = job.options
    return {
        "type": "OnnxStaticQuantization",
        "data_config": "calibration",
        "precision": options.get("weight", "int8"),
        route.activation_key: options.get("activation", "int8"),
        "activation_symmetric": options.get("symmetric", False),
        "per_channel": options.get("per_axis", True),
        "calibrate_method": METHODS[options.get("method", "minmax")],
        **kept_in_float(job, route.in_float),
        "extra_options": histogram_options(options),
        **route.settings,
    }


def workflow(job, route):
    """The workflow of one pass, as olive.run takes it."""
    quantization = rounded_in_blocks(job, route) if route.weights_alone else static_quantization(job, route)
    accelerator = {"device": route.device, "execution_providers": [route.provider]}
    return {
        "input_model": {"type": "OnnxModel", "model_path": str(job.file)},
        "systems": {"target": {"type": "LocalSystem", "accelerators": [accelerator]}},
        "data_configs": [{
            "name": "calibration",
            "load_dataset_config": {"type": "assay_batches", "params": {"folder": job.calibration}},
            "dataloader_config": {"type": "no_auto_batch_dataloader"},  # each item is a batch already
        }],
        "passes": {"quantization": quantization},
        "target": "target",
        "output_dir": str(job.written.parent),
        "cache_dir": str(job.file.parent / "cache"),  # its cache finds a run again whatever the batches hold
    }


class Olive(QdqAdapter):
    converter = "Olive"

    def __init__(self, variant):
        self.variant, self.route = variant, ROUTES[variant]
        self.operators = self.route.operators
        self.qoperators = self.route.weights_alone or self.route.settings.get("quant_format") == "QOperator"

    def describe(self):
        takes = {"activation": list(TYPES), "symmetric": True, "per_axis": True, "method": list(METHODS)}
        return {
            "name": variant_name("olive", self.variant),
            "version": version("olive-ai"),
            "supports": self.supports(**takes | self.route.takes),
            "policy": stated_policy("onnxruntime", self.route.policy, onnxruntime.__version__),
            **(self.on_integer_kernels() if self.route.settings.get("quant_format") == "QOperator" else {}),
        }

    def renaming(self, model, artifact):
        return renaming(model, (), ("ConvBnFusion_W_",))

    def called(self, model, in_float):
        return {"op_types_to_exclude": [], "nodes_to_quantize": [node.name for node in model.graph.node]}.get(
            self.route.in_float, in_float)

    def quantize(self, job):
        logged, log = LoggedErrors(), logging.getLogger("olive")
        log.addHandler(logged)
        try:
            olive.run(workflow(job, self.route))
        finally:
            log.removeHandler(logged)
        if not job.written.is_file() and logged.errors:
            raise RuntimeError("olive.run returned no model; it logged: " + "; from ".join(logged.errors))


if __name__ == "__main__":
    serve(Olive(asked_variant(ROUTES)))
