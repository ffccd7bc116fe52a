"""What is asked of TensorRT, whoever drives it: needs no TensorRT and no GPU."""

import numpy

# Operators that were seen to run on codes, or that TensorRT's documentation lists with INT8 kernels.
OPERATORS = ("Add", "AveragePool", "BatchNormalization", "Clip", "Concat", "Conv", "ConvTranspose", "Div", "Erf", "Gemm",
             "GlobalAveragePool", "LeakyRelu", "MatMul", "Max", "MaxPool", "Min", "Mul", "Relu", "Sigmoid", "Sub", "Sum",
             "Tanh")
CALIBRATION_CACHE = "calibration.cache"  # in this process's own folder
WORKSPACE_BYTES = 4 << 30
LONGEST_BATCH = 8  # a symbolic first dimension may be as long as this at least
# Chosen by measured time, tactics may sum in another order in the next build: not deterministic.
POLICY = {"weights": "nearest", "bias": "float", "divisor": 127, "averaging": "none", "histogram": "first_batch",
          "folds_bn": True, "folds_scales": True, "deterministic": False}


def shape_range(shape, seen):
    """(least, usual, largest) shape that the engine takes of an input: what was calibrated with, any batch up to four
    times as long, twice as much along other symbolic dimensions; None where its shape is fixed or nothing was seen."""
    if -1 not in shape or not seen:
        return None
    least, most = numpy.min(seen, axis=0), numpy.max(seen, axis=0)
    free = [extent == -1 for extent in shape]
    low = [1 if open_ and axis == 0 else int(least[axis]) for axis, open_ in enumerate(free)]
    high = [(max(4 * int(most[axis]), LONGEST_BATCH) if axis == 0 else 2 * int(most[axis])) if open_ else int(most[axis])
            for axis, open_ in enumerate(free)]
    return low, list(seen[0]), high


def shapes_seen(batches, name):
    return [batch[name].shape for batch in batches if name in batch]
