"""A folder that `assay bundle` wrote, for who makes a kit of it."""
import contextlib
import json
import re
import signal
from pathlib import Path

import numpy
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

EVALUATOR_SECONDS = 60
PAIR = ("QuantizeLinear", "DequantizeLinear")


@contextlib.contextmanager
def time_limit(seconds):
    """TimeoutError within the block after so many seconds: ONNX's evaluator takes minutes for a Resize."""
    def end(*_):
        raise TimeoutError(f"no end within {seconds} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def read_tensors(folder):
    """The TensorProto files of a folder as {name: array}, in their order."""
    files = sorted(Path(folder).glob("*_*.pb"), key=lambda file: int(re.search(r"_(\d+)\.pb$", file.name)[1]))
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in map(onnx.load_tensor, map(str, files))}


def constants(graph):
    """Initializers and Constant nodes as {name: array}."""
    made = {node.output[0]: node.attribute[0].t for node in graph.node if node.op_type == "Constant"}
    made.update({tensor.name: tensor for tensor in graph.initializer})
    return {name: numpy_helper.to_array(tensor) for name, tensor in made.items()}


class Bundle:
    """`alone`: of the first calibration batch only, which is the data that is fed, too. Its range is the calibrated one then,
    whatever a converter makes of the ranges of several batches."""
    alone = False

    def __init__(self, folder):
        self.folder = Path(folder)
        self.json = json.loads((self.folder / "bundle.json").read_text(encoding="utf-8"))
        self.verdict, self.case = self.json["verdict"], self.json["case"]
        self.converter, self.version = self.json["converter"]["name"], self.json["converter"]["version"]
        self.findings = self.verdict["findings"]
        self.headline = self.findings[0] if self.findings else {}
        self.options = self.json["options_asked"]
        self.model = onnx.load(self.folder / "model.onnx")
        self.parameters = {each["tensor"]: each for each in self.json["parameters"]}
        self.reply = self.json["conversions"][-1]["reply"] if self.json["conversions"] else {}
        self.artifact = None
        if str(self.reply.get("artifact", "")).endswith(".onnx"):
            self.artifact = onnx.load(self.folder / "artifact" / Path(self.reply["artifact"]).name)

    def data_set(self):
        """The one that shows it: the headline's, else the first."""
        names = [each["name"] for each in self.json["data_sets"]]
        return self.headline.get("data_set") or ("typical" if "typical" in names else names[0])

    def folded(self):
        """Whether a BatchNormalization of the model is none in the artifact, as far as that is known."""
        if self.artifact is None:
            return any(node.op_type == "BatchNormalization" for node in self.model.graph.node)
        count = [[node.op_type for node in each.graph.node].count("BatchNormalization") for each in (self.model, self.artifact)]
        return count[0] > count[1]

    def batches(self):
        folders = sorted(each for each in (self.folder / "calibration").iterdir() if each.is_dir())
        return [read_tensors(folder) for folder in (folders[:1] if self.alone else folders)]

    def given(self, data_set):
        """What is fed; nothing where none is recorded."""
        return self.batches()[0] if self.alone else self._recorded("inputs", data_set)

    def expected(self, data_set):
        """The outputs of the float model; where `alone`, by ONNX's reference evaluator."""
        if not self.alone:
            return self._recorded("expected", data_set)
        names = [each.name for each in self.model.graph.output]
        return dict(zip(names, ReferenceEvaluator(self.model).run(names, self.batches()[0])))

    def _recorded(self, kind, data_set):
        place = self.folder / kind / data_set
        return read_tensors(place) if place.is_dir() else {}

    def scale_name(self, tensor):
        """How the artifact calls the scale that it has for `tensor`; "" where none is found."""
        if self.artifact is None:
            return ""
        obtained = [each["scale"] for each in self.parameters.get(tensor, {}).get("obtained", [])]
        held, named, others = constants(self.artifact.graph), [], []
        for node in self.artifact.graph.node:
            scale = held.get(node.input[1]) if node.op_type in PAIR else None
            if scale is None or not any(numpy.size(each) == scale.size and
                                        numpy.allclose(numpy.array(each, float), scale.flatten(), rtol=1e-6, equal_nan=True)
                                        for each in obtained):
                continue
            near = (node.input[0], node.output[0], node.input[1])
            (named if any(re.match(re.escape(tensor) + r"($|\W|_)", name) for name in near) else others).append(node.input[1])
        return next(iter((*named, *(others if len(set(others)) == 1 else ()))), "")
