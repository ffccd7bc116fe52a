"""Apache TVM as executor of Q/DQ artifacts behind Assay's protocol 1."""

import importlib.metadata
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import Refused, read_tensors, serve, write_tensors
import numpy
import onnx

os.environ.setdefault("TVM_NUM_THREADS", "1")

import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


class Tvm:
    def __init__(self):
        self._artifact, self._built = None, None

    def describe(self):
        return {
            "name": "tvm",
            "version": importlib.metadata.version("apache-tvm"),
            "supports": {"execute": True, "artifact": "qdq"},
            "policy": {"arithmetic": "float", "deterministic": True},
        }

    def convert(self, model, calibration, options, output):
        raise Refused("TVM executes quantized models and quantizes none: use it with --execute-with")

    def execute(self, artifact, inputs, output):
        function, outputs, wanted = self._load(artifact)
        tensors = read_tensors(inputs)
        results = function(*(tvm.runtime.tensor(numpy.ascontiguousarray(tensors[name])) for name in wanted))
        results = list(results) if len(outputs) > 1 else [results]
        write_tensors({name: result.numpy() for name, result in zip(outputs, results)}, output)

    def _load(self, artifact):
        """The built function with its outputs' and inputs' names; the last artifact's is kept for its data sets."""
        data = Path(artifact).read_bytes()
        if data != self._artifact:
            model = onnx.load_from_string(data)
            machine = relax.VirtualMachine(tvm.compile(from_onnx(model), target="llvm"), tvm.cpu())
            constants = {tensor.name for tensor in model.graph.initializer}
            self._built = (machine["main"], [tensor.name for tensor in model.graph.output],
                           [tensor.name for tensor in model.graph.input if tensor.name not in constants])
            self._artifact = data
        return self._built


if __name__ == "__main__":
    serve(Tvm())
