"""What the quantizers that build on ONNX Runtime's have in common."""

from assay_protocol import calibration_batches
from onnxruntime.quantization import CalibrationDataReader
from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry

# What ONNX Runtime's quantizer adds to the names of tensors that it inserts a pair at.
SUFFIXES = ("_QuantizeLinear_Input", "_QuantizeLinear_Output", "_quantized")


def renaming(model, added_suffixes=(), added_prefixes=()):
    """A function from a name in the artifact to the name that the tensor has in `model`."""
    known = {name for node in model.graph.node for name in (*node.input, *node.output)}

    def original_name(name):
        for suffix in (*added_suffixes, *SUFFIXES):
            name = name if name in known else name.removesuffix(suffix)
        for prefix in added_prefixes:
            name = name if name in known else name.removeprefix(prefix)
        return name

    return original_name


def listed_operators():
    """Those with an INT8 form, in either format: its own and what a package that builds on it has entered."""
    return frozenset(QDQRegistry) | frozenset(QLinearOpsRegistry)


def histogram_options(options):
    """What `extra_options` hold for a method that makes histograms."""
    if options.get("method") != "percentile":
        return {}
    return {"CalibPercentile": options.get("percentile", 99.99),
            "CalibTensorRangeSymmetric": options.get("symmetric", False)}


class Batches(CalibrationDataReader):
    """Feeds the calibration folder by name, in order; from the start again after `rewind`."""

    def __init__(self, folder):
        # Kept to the end: 1.19 makes its histograms of graph inputs after the last batch, in the inputs' own memory.
        self._batches = calibration_batches(folder)
        self.rewind()

    def get_next(self):
        return next(self._feed, None)

    def get_first(self):
        return self._batches[0] if self._batches else None

    def rewind(self):
        self._feed = iter(self._batches)
