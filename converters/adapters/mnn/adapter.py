"""MNN's offline quantization behind Assay's protocol 1.

Its native module is called as its command wrappers do; these themselves send usage data and are never called.
"""

import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import Refused, calibration_batches, read_tensors, serve, write_tensors  # first: MNN prints
import numpy
import onnx
from mnn_model import read_net
from mnn_report import OPERATORS, node_precision, quantizable, tensor_scales
from MNN import expr, nn
from model_request import nodes_in_float, open_model

METHODS = {"entropy": "KL"}
TYPES = {"float32": expr.float, "int32": expr.int, "uint8": expr.uint8, "int8": expr.int8}


def write_sample(batch, folder):
    """One calibration sample as MNN reads it: input.json, and every tensor as text."""
    folder.mkdir(parents=True)
    for name, array in batch.items():
        if not numpy.isfinite(array).all():
            raise ValueError(f"calibration batch {folder.name}: \"{name}\" holds NaN or infinity, which MNN's text "
                             "files can't")
        if ".." in Path(name).parts:
            raise Refused(f"MNN reads a file named after the input, and \"{name}\" leads out of the sample's folder")
        path = folder / (name.lstrip("/") + ".txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(f"{value:.9g}" for value in array.reshape(-1).tolist()) + "\n")
    inputs = [{"name": name, "shape": list(array.shape)} for name, array in batch.items()]
    (folder / "input.json").write_text(json.dumps({"inputs": inputs, "outputs": []}))


def call(tool, arguments, result):
    """Runs one of MNN's tools; they all return True, so what counts is whether `result` was written."""
    command = [sys.executable, str(Path(__file__).with_name("tool.py")), tool, *(str(word) for word in arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    words = done.stdout.decode(errors="replace")
    print(words, file=sys.stderr)
    if done.returncode != 0:
        raise RuntimeError(f"{tool} ended with status {done.returncode}; it printed:\n{words[-2000:]}")
    if not result.is_file() or result.stat().st_size == 0:
        raise RuntimeError(f"{tool} wrote no model; it printed:\n{words[-2000:]}")


class Mnn:
    def describe(self):
        return {
            "name": "mnn",
            "version": importlib.metadata.version("MNN"),
            "supports": {
                "activation": ["int8"],
                "symmetric": [True],
                "per_axis": [True],
                "method": list(METHODS),
                "int8_operators": list(OPERATORS),
                "execute": True,
                "artifact": "scales",
                "reports": ["tensors"],
            },
            "policy": {
                "narrow_range": True,  # codes from -127 to 127
                "weights": "nearest",
                "bias": "float",
                "divisor": 127,
                "averaging": "none",
                "folds_bn": True,
                "deterministic": True,
            },
        }

    def convert(self, model, calibration, options, output):
        original = open_model(model, options, "MNN")
        in_float = nodes_in_float(original, options, OPERATORS, "MNN")
        batches = calibration_batches(calibration)
        artifact = Path(output, "model.mnn")
        with tempfile.TemporaryDirectory() as folder:
            source, samples, config = Path(folder, "float.mnn"), Path(folder, "samples"), Path(folder, "quant.json")
            call("mnnconvert", ["-f", "ONNX", "--modelFile", model, "--MNNModel", source, "--bizCode", "assay"], source)
            for index, batch in enumerate(batches):
                write_sample(batch, samples / f"{index:04d}")
            config.write_text(json.dumps({
                "path": str(samples), "input_type": "sequence",
                "feature_quantize_method": METHODS[options.get("method", "entropy")],
                "weight_quantize_method": "MAX_ABS",
                "skip_quant_op_names": quantizable(original, read_net(source), in_float),
            }))
            call("mnnquant", [source, artifact, config], artifact)
        Path(f"{artifact}.json").unlink(missing_ok=True)  # the same scales once more
        net = read_net(artifact)
        types = {tensor.name: tensor.type.tensor_type.elem_type for tensor in original.graph.output}
        Path(output, "types.json").write_text(json.dumps(types))
        return {"artifact": artifact, "tensors": tensor_scales(original, net), "precision": node_precision(original, net)}

    def execute(self, artifact, inputs, output):
        types = json.loads(Path(artifact).with_name("types.json").read_text())
        tensors = read_tensors(inputs)
        runtime = nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": 1},))
        module = nn.load_module_from_file(str(artifact), list(tensors), list(types), runtime_manager=runtime,
                                          shape_mutable=True)
        if module is None:
            raise RuntimeError("MNN can't load its own artifact")
        results = module.forward([self._variable(array) for array in tensors.values()])
        arrays = {}
        for name, variable in zip(types, results):
            array = numpy.array(expr.convert(variable, expr.NCHW).read(), copy=True).reshape(variable.shape)
            arrays[name] = array.astype(onnx.helper.tensor_dtype_to_np_dtype(types[name]))  # MNN has no int64, no bool
        write_tensors(arrays, output)

    @staticmethod
    def _variable(array):
        if array.dtype in (numpy.int64, numpy.bool_):
            array = array.astype(numpy.int32)
        return expr.const(numpy.ascontiguousarray(array), list(array.shape), expr.NCHW, TYPES[array.dtype.name])


if __name__ == "__main__":
    serve(Mnn())
