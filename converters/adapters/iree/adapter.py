"""IREE as executor of Q/DQ artifacts behind Assay's protocol 1."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import Refused, read_tensors, serve, write_tensors
import iree.runtime
import numpy
import onnx
from iree.compiler import ir, tools
from iree.compiler.extras import onnx_importer

OPSET = 17  # what IREE's importer asks for; its own tool converts older models the same way


class Iree:
    def __init__(self):
        self._artifact, self._compiled = None, None

    def describe(self):
        return {
            "name": "iree",
            "version": importlib.metadata.version("iree-base-compiler"),
            "supports": {"execute": True, "artifact": "qdq"},
            "policy": {"arithmetic": "float", "deterministic": True},
        }

    def convert(self, model, calibration, options, output):
        raise Refused("IREE executes quantized models and quantizes none: use it with --execute-with")

    def execute(self, artifact, inputs, output):
        function, names, wanted = self._load(artifact)
        tensors = read_tensors(inputs)
        results = function(*(numpy.ascontiguousarray(tensors[name]) for name in wanted))
        results = results if isinstance(results, (list, tuple)) else [results]
        write_tensors({name: result.to_host() for name, result in zip(names, results)}, output)

    def _load(self, artifact):
        """The compiled function with its outputs' and inputs' names; the last artifact's is kept for its data sets."""
        data = Path(artifact).read_bytes()
        if data != self._artifact:
            self._artifact, self._compiled = data, self._compile(onnx.load_from_string(data))
        return self._compiled

    @staticmethod
    def _compile(model):
        opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
        if opset < OPSET:
            model = onnx.version_converter.convert_version(model, OPSET)
        model.graph.name = "main"
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
        with ir.Context() as context:
            info = onnx_importer.ModelInfo(model)
            module = info.create_module(context=context).operation
            onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
            text = module.get_asm()
        binary = tools.compile_str(text, input_type="onnx", target_backends=["llvm-cpu"],
                                   extra_args=["--iree-llvmcpu-target-cpu=host"])
        config = iree.runtime.Config("local-sync")
        loaded = iree.runtime.load_vm_module(iree.runtime.VmModule.copy_buffer(config.vm_instance, binary), config)
        constants = {tensor.name for tensor in model.graph.initializer}
        return (loaded["main"], [tensor.name for tensor in model.graph.output],
                [tensor.name for tensor in model.graph.input if tensor.name not in constants])


if __name__ == "__main__":
    serve(Iree())
