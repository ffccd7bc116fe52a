"""Assay for Python: judges quantized ONNX models and the converters that make them.

    import onnx_assay
    result = onnx_assay.check("float.onnx", artifact="int8.onnx", calibration={"x": batches})
    result.raise_if_red()

This is a thin layer over the program `assay` and what it prints with --json; NumPy arrays, paths and onnx.ModelProto are
taken as they are. `onnx_assay.adapter` puts a converter of yours under test, `onnx_assay.pytest_plugin` is found by pytest
by itself.
"""

from ._program import AssayError, program
from .api import audit, check, reduce, run
from .results import Extent, Finding, Judged, Loss, Node, RedVerdict, Reduction, Report, Result, Unjudged

__all__ = ["AssayError", "Extent", "Finding", "Judged", "Loss", "Node", "RedVerdict", "Reduction", "Report", "Result",
           "Unjudged", "audit", "check", "program", "reduce", "run"]
