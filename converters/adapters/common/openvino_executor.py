"""Executes a model with OpenVINO on the CPU, with one thread; in float32 where it isn't INT8, unless told otherwise."""

import os

import numpy
import openvino
from assay_protocol import read_tensors, write_tensors

SETTINGS = {"INFERENCE_NUM_THREADS": "1", "NUM_STREAMS": "1"}
# Without it, CPUs with bfloat16 units compute "float" in bfloat16.
IN_FLOAT32 = {"INFERENCE_PRECISION_HINT": "f32"}


class Executor:
    """Compiles models; the last one is kept, since an artifact is executed on several data sets."""

    def __init__(self, hints=IN_FLOAT32):
        self.core = openvino.Core()
        self._settings = SETTINGS | hints
        self._kept, self._compiled, self._names = None, None, []

    def compile(self, artifact):
        key = (os.fspath(artifact), os.stat(artifact).st_mtime_ns, os.stat(artifact).st_size)
        if key != self._kept:
            network = self.core.read_model(artifact)
            self._names = [set(port.get_names()) for port in network.outputs]  # compiling may add others to them
            self._compiled = self.core.compile_model(network, "CPU", self._settings)
            self._kept = key
        return self._compiled

    def execute(self, artifact, inputs, output, outputs=None):
        """Writes the outputs; a port may have several names, of which `outputs` are the ones asked for."""
        compiled = self.compile(artifact)
        # An input that is an output too may have lost its name to it; its operation keeps it.
        ports = {name: port for port in compiled.inputs
                 for name in (port.get_node().get_friendly_name(), *port.get_names())}
        # It takes no array that it may not write to, and no input that the network lost.
        tensors = {ports[name]: numpy.array(array) for name, array in read_tensors(inputs).items() if name in ports}
        results = compiled(tensors)
        named = {}
        for port, names in zip(compiled.outputs, self._names):
            for name in names if outputs is None else names & outputs:
                named[name] = numpy.array(results[port])
        write_tensors(named, output)
