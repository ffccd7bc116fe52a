"""What adapters of converters have in common that write Q/DQ models of ONNX models, executed by ONNX Runtime."""

import shutil
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import onnx
from model_request import hand_over, nodes_in_float, open_model
from onnxruntime_executor import Session, execute, optimizers, unsound_products
from qdq_report import FUSED_ACTIVATIONS, node_precision, tensor_scales


@dataclass
class Job:
    """One conversion."""

    file: Path  # what the converter gets, alone in a folder that is gone afterwards
    written: Path  # where the Q/DQ model belongs
    calibration: str  # the folder of the batches
    options: dict
    in_float: list  # names of the nodes that the options keep out

    @cached_property
    def model(self):
        """What lies in the file: only nodes that the converter is told by name have to have one."""
        return onnx.load(self.file)


class QdqAdapter:
    """An adapter gives what is listed first, `describe`, `quantize` and `renaming`."""

    converter = ""  # as messages call it
    operators = ()  # those with an INT8 form
    fuses = FUSED_ACTIVATIONS  # into the operator before: no pair stands between
    moves_codes = False  # it puts no pair behind what only moves codes
    outputs_in_float = False  # it puts pairs only where the next operator reads them
    qoperators = False  # it writes QLinear operators, which the judge reads by itself: it reports nothing
    session = Session()  # how artifacts are executed

    @property
    def reports(self):
        return [] if self.qoperators else ["tensors", "precision"]

    def quantize(self, job):
        """Writes job.written."""
        raise NotImplementedError

    def called(self, model, in_float):
        """The names of the nodes, all of which `model` names, that the converter is told."""
        return in_float

    def renaming(self, model, artifact):
        """A function from a name in `artifact` to the name that the tensor has in `model`."""
        raise NotImplementedError

    def as_computed(self, quantized):
        """The artifact as the converter means it, where its operators are not ONNX's one by one."""
        return quantized

    def supports(self, **stated):
        """What all of them declare, and what is stated; weights are int8 where nothing else is said. No "operators": what has
        no INT8 form stays in float, so that every operator can be tried. More graph outputs would change what the optimizer
        may fuse, and with it the results: no trace with optimizations."""
        return {"weight": ["int8"], **stated, "int8_operators": sorted(self.operators), "execute": True, "artifact": "qdq",
                "reports": self.reports, "trace": not self.session.optimized,
                "optimizers": optimizers() if self.session.optimized else []}

    @staticmethod
    def on_integer_kernels():
        """What `describe` adds where ONNX Runtime's integer kernels execute the artifacts."""
        reason = unsound_products()
        return {} if reason is None else {"unavailable": reason}

    def convert(self, model, calibration, options, output):
        original = open_model(model, options, self.converter)
        in_float = [node.name for node in nodes_in_float(original, options, self.operators, self.converter)]
        artifact = Path(output, "model.onnx")
        with tempfile.TemporaryDirectory() as folder:
            file, written = Path(folder, "model.onnx"), Path(folder, "quantized", "model.onnx")
            written.parent.mkdir()
            hand_over(model, file, self.called(original, in_float))
            self.quantize(Job(file, written, calibration, options, in_float))
            if not written.is_file():
                raise RuntimeError(f"{self.converter} returned without an exception and wrote no model")
            shutil.copyfile(written, artifact)
        quantized = onnx.load(artifact)
        original_name = self.renaming(original, quantized)
        told = {
            "tensors": tensor_scales(quantized, original_name),
            "precision": node_precision(original, self.as_computed(quantized), original_name, self.operators, in_float,
                                        self.outputs_in_float, self.fuses, self.moves_codes),
        }
        return {"artifact": artifact} | {key: told[key] for key in self.reports}

    def execute(self, artifact, inputs, output, trace=None, disabled_optimizers=()):
        return execute(artifact, inputs, output, trace, self.session, disabled_optimizers)
