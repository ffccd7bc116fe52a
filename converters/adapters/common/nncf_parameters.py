"""What both NNCF adapters ask of `nncf.quantize`."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import nncf
from nncf.common.graph.patterns.manager import PatternsManager
from nncf.quantization.advanced_parameters import (AdvancedQuantizationParameters, AdvancedSmoothQuantParameters,
                                                   OverflowFix, QuantizationParameters)
from nncf.quantization.range_estimator import RangeEstimatorParametersSet


@dataclass(frozen=True)
class Route:
    """One of the ways that its documentation has."""

    policy: str = ""  # the variant in the policies of nncf_onnx
    plain: bool = False  # min-max and 8 bits throughout; otherwise NNCF's defaults
    takes: dict = field(default_factory=lambda: {"per_axis": [True]})  # what of the options it takes, where it isn't everything
    model_type: nncf.ModelType | None = None
    chosen: Callable[[], dict] = dict  # the other arguments of nncf.quantize; made anew each time, since it changes them


# The names and what they mean stand in adapter.json, too.
ROUTES = {
    "": Route(plain=True, takes={}),
    "presets": Route("preset mixed"),
    "layer_biases": Route("fast_bias_correction=False", chosen=lambda: {"fast_bias_correction": False}),
    "transformer": Route("model type transformer", model_type=nncf.ModelType.TRANSFORMER),
    "unsmoothed": Route("model type transformer", model_type=nncf.ModelType.TRANSFORMER, chosen=lambda: {
        "advanced_parameters": AdvancedQuantizationParameters(
            smooth_quant_alphas=AdvancedSmoothQuantParameters(convolution=-1, matmul=-1))}),
}


def parameters(variant, options, quantize_outputs):
    """The arguments of `nncf.quantize` but for model, data and scope. PERFORMANCE is symmetric for activations, MIXED
    asymmetric; weights are symmetric in both.

    A plain route has documented switches: full 8 bits in the first layer too, biases as they are, extremes over all
    batches, one scale for an activation (depthwise Convs get one for each channel otherwise)."""
    route = ROUTES[variant]
    symmetric = options.get("symmetric", False)
    chosen = {"preset": nncf.QuantizationPreset.PERFORMANCE if symmetric else nncf.QuantizationPreset.MIXED,
              "model_type": route.model_type, **route.chosen()}
    if route.plain:
        chosen["advanced_parameters"] = AdvancedQuantizationParameters(
            overflow_fix=OverflowFix.DISABLE,
            quantize_outputs=quantize_outputs,
            disable_bias_correction=True,
            activations_quantization_params=QuantizationParameters(per_channel=False),
            activations_range_estimator_params=RangeEstimatorParametersSet.MINMAX,
            weights_quantization_params=QuantizationParameters(per_channel=options.get("per_axis", True)),
        )
    return chosen


def keep_pattern_graphs():
    """Has the graph of fusible patterns made once a process: it depends on backend and device alone, and making it
    takes four fifths of a small model's conversion."""
    for name in ("get_full_hw_pattern_graph", "get_full_ignored_pattern_graph"):
        setattr(PatternsManager, name, staticmethod(functools.cache(getattr(PatternsManager, name))))
