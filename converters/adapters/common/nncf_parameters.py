"""What both NNCF adapters ask of `nncf.quantize`: plain min-max, which the judge can compute from the stated policy."""

import functools
import os

import nncf
from nncf.common.graph.patterns.manager import PatternsManager
from nncf.quantization.advanced_parameters import AdvancedQuantizationParameters, OverflowFix, QuantizationParameters
from nncf.quantization.range_estimator import RangeEstimatorParametersSet
from stated_policy import stated_policy


def preset(options):
    """PERFORMANCE is symmetric for activations, MIXED asymmetric; weights are symmetric in both."""
    symmetric = options.get("symmetric", False)
    return nncf.QuantizationPreset.PERFORMANCE if symmetric else nncf.QuantizationPreset.MIXED


def advanced_parameters(options, quantize_outputs):
    """Documented switches: full 8 bits in the first layer too, biases as they are, extremes over all batches, one scale
    for an activation (depthwise Convs get one for each channel otherwise)."""
    return AdvancedQuantizationParameters(
        overflow_fix=OverflowFix.DISABLE,
        quantize_outputs=quantize_outputs,
        disable_bias_correction=os.environ.get("ASSAY_NNCF_BIAS") != "corrected",
        activations_quantization_params=QuantizationParameters(per_channel=False),
        activations_range_estimator_params=RangeEstimatorParametersSet.MINMAX,
        weights_quantization_params=QuantizationParameters(per_channel=options.get("per_axis", True)),
    )


def keep_pattern_graphs():
    """Has the graph of fusible patterns made once a process: it depends on backend and device alone, and making it
    takes four fifths of a small model's conversion."""
    for name in ("get_full_hw_pattern_graph", "get_full_ignored_pattern_graph"):
        setattr(PatternsManager, name, staticmethod(functools.cache(getattr(PatternsManager, name))))


# What `nncf.quantize` is known to do with these parameters on ONNX models.
POLICY = stated_policy("nncf_onnx", "extremes over all batches" if os.environ.get("ASSAY_NNCF_BIAS") == "corrected" else "")
