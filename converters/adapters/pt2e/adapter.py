"""PyTorch's PT2E quantization behind Assay's protocol 1: torch.export, prepare_pt2e, calibration, convert_pt2e.

usage: adapter.py [--variant NAME]: quantizes by the quantizer of that name in ROUTES

The artifact is the converted program as a Q/DQ model (written.py). PyTorch executes the program, which lies beside it.
"""

import copy
import sys
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import serve  # first: what is imported prints
import torch
from stated_policy import asked_variant, stated_policy, variant_name
from twin_adapter import TwinAdapter, fed_tensors, with_names_of_inputs

from executorch.backends.xnnpack.quantizer import xnnpack_quantizer_utils
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torchao.quantization.pt2e import MinMaxObserver, qat_utils
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer, get_default_x86_inductor_quantization_config)

# HistogramObserver, which both recipes bring, looks for the range with the least squared error.
METHODS = ("minmax", "mse")


def each_once(export_pattern):
    """XNNPACKQuantizer exports the same 12 patterns for every network, 3 s of them."""
    known = {}

    def export_or_copy(pattern, example_inputs, *arguments):
        cells = tuple(cell.cell_contents for cell in pattern.fn.__closure__ or ())
        key = (pattern.fn.__qualname__, cells, tuple(value.shape for value in example_inputs), arguments)
        if key not in known:
            known[key] = export_pattern(pattern, example_inputs, *arguments)
        return copy.deepcopy(known[key])

    return export_or_copy


xnnpack_quantizer_utils._get_aten_graph_module_for_pattern = each_once(
    xnnpack_quantizer_utils._get_aten_graph_module_for_pattern)


def convert(prepared):
    """convert_pt2e. Wherever a BatchNormalization is left, it exports and looks for 48 patterns of quantization-aware
    training, which takes 20 s. All of them take the square root of a variance: in a program without one none is looked
    for."""
    if any(node.target is torch.ops.aten.sqrt.default for node in prepared.graph.nodes):
        return convert_pt2e(prepared)
    names = ("_get_aten_graph_module_for_pattern", "replace_pattern_with_filters")
    kept = {name: getattr(qat_utils, name) for name in names}
    try:
        qat_utils._get_aten_graph_module_for_pattern = lambda *_, **__: None
        qat_utils.replace_pattern_with_filters = lambda *_, **__: []
        return convert_pt2e(prepared)
    finally:
        for name, function in kept.items():
            setattr(qat_utils, name, function)


def observing(config, method):
    """The recipe with min-max observers of activations where they are asked for: a recipe's own search for a range."""
    if method != "minmax":
        return config
    observer = MinMaxObserver.with_args(eps=2**-12)
    return replace(config, input_activation=replace(config.input_activation, observer_or_fake_quant_ctr=observer),
                   output_activation=replace(config.output_activation, observer_or_fake_quant_ctr=observer))


def x86(options, in_float):
    quantizer = X86InductorQuantizer()
    for index in in_float:
        quantizer.set_module_name_qconfig(f"n{index}", None)
    return quantizer.set_global(observing(get_default_x86_inductor_quantization_config(), options.get("method")))


def xnnpack(options, in_float):
    paths = {f"n{index}" for index in in_float}

    def quantized(node):
        stack = (node.meta.get("nn_module_stack") or {}).values()
        return not any(path.partition(".")[0] in paths for path, _ in stack)

    config = get_symmetric_quantization_config(is_per_channel=options.get("per_axis", True))
    return XNNPACKQuantizer().set_global(observing(config, options.get("method"))).set_filter_function(quantized)


@dataclass(frozen=True)
class Route:
    quantizer: object  # (options, indices of the nodes in float) -> Quantizer
    operators: frozenset
    activation: str
    per_axis: object
    outputs_in_float: bool


# The names and what they mean stand in adapter.json, too.
ROUTES = {
    "": Route(x86, frozenset({"Conv", "Gemm", "MatMul"}), "uint8", [True], True),
    "xnnpack": Route(xnnpack, frozenset({"Add", "Concat", "Conv", "ConvTranspose", "Gemm", "MatMul", "Mul"}), "int8", True,
                     False),
}


class Pt2e(TwinAdapter):
    converter = "PT2E"

    def __init__(self, variant):
        self.variant, self.route = variant, ROUTES[variant]
        self.operators, self.outputs_in_float = self.route.operators, self.route.outputs_in_float

    def describe(self):
        return {
            "name": variant_name("pt2e", self.variant),
            "version": version("torchao"),
            "supports": self.supports(activation=[self.route.activation], weight=["int8"], symmetric=[False],
                                      per_axis=self.route.per_axis, method=list(METHODS)),
            "policy": stated_policy("pt2e", self.variant or "x86"),
        }

    def quantized(self, exported, network, batches, options, in_float):
        prepared = prepare_pt2e(copy.deepcopy(exported.program), self.route.quantizer(options, in_float))
        for batch in batches:
            calibrate(prepared, network, batch)
        return convert(prepared)


def calibrate(prepared, model, batch):
    """Lets the observers see a batch."""
    try:
        prepared(*fed_tensors(model, batch))
    except AssertionError as error:
        raise RuntimeError(with_names_of_inputs(model, error)) from error


if __name__ == "__main__":
    serve(Pt2e(asked_variant(ROUTES)))
