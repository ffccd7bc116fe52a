"""MNN's offline quantization behind Assay's protocol 1.

Its native module is called as its command wrappers do; these themselves send usage data and are never called.

usage: adapter.py [--variant NAME]: quantizes in the way of that name in ROUTES
"""

import importlib.metadata
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import Refused, calibration_batches, read_tensors, serve, write_tensors  # first: MNN prints
import numpy
import onnx
from mnn_model import read_net
from mnn_report import OPERATORS, node_precision, quantizable, tensor_scales
from MNN import expr, nn
from model_request import nodes_in_float, open_model, refuse_float
from stated_policy import asked_variant, variant_name

TYPES = {"float32": expr.float, "int32": expr.int, "uint8": expr.uint8, "int8": expr.int8}


@dataclass(frozen=True)
class Route:
    """One of the ways that its documentation has."""

    method: str = "entropy"  # as options call it
    features: str = "KL"  # `feature_quantize_method`; none where weights alone are quantized, by mnnconvert
    weights: str = "MAX_ABS"  # `weight_quantize_method`
    symmetric: bool = True
    policy: dict = field(default_factory=dict)  # what it changes


# The names and what they mean stand in adapter.json, too.
ROUTES = {
    "": Route(),
    "admm": Route(method="mse", features="ADMM"),
    "admm_weights": Route(weights="ADMM", policy={"weights": "adapted"}),
    "ema": Route(method="minmax", features="EMA", symmetric=False, policy={"averaging": "ema"}),
    "weights": Route(method="minmax", features="", policy={"chooses_int8": True}),
}


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
    def __init__(self, variant):
        self.variant, self.route = variant, ROUTES[variant]

    def describe(self):
        return {
            "name": variant_name("mnn", self.variant),
            "version": importlib.metadata.version("MNN"),
            "supports": {
                "activation": ["int8"], "weight": ["int8"],
                "symmetric": [self.route.symmetric],
                "per_axis": [True],
                "method": [self.route.method],
                "int8_operators": list(OPERATORS),
                "execute": True,
                # What weights alone are quantized to has a zero that is no code: no table states it.
                "artifact": "scales" if self.route.features else "opaque",
                "reports": ["tensors"] if self.route.features else [],
            },
            "policy": {
                "narrow_range": True,  # codes from -127 to 127
                "weights": "nearest",
                "bias": "float",
                "divisor": 127,
                "averaging": "none",
                "folds_bn": True,
                "deterministic": True,
            } | self.route.policy,
        }

    def convert(self, model, calibration, options, output):
        original = open_model(model, options, "MNN")
        if not self.route.features:
            refuse_float(original, options, "MNN quantizes the weights of all nodes or of none")
        in_float = nodes_in_float(original, options, OPERATORS, "MNN")
        batches = calibration_batches(calibration)
        artifact = Path(output, "model.mnn")
        with tempfile.TemporaryDirectory() as folder:
            source, samples, config = Path(folder, "float.mnn"), Path(folder, "samples"), Path(folder, "quant.json")
            words = ["-f", "ONNX", "--modelFile", model, "--bizCode", "assay"]
            call("mnnconvert", [*words, "--MNNModel", source], source)
            for index, batch in enumerate(batches):
                write_sample(batch, samples / f"{index:04d}")
            config.write_text(json.dumps({
                "path": str(samples), "input_type": "sequence",
                "feature_quantize_method": self.route.features,
                "weight_quantize_method": self.route.weights,
                "skip_quant_op_names": quantizable(original, read_net(source), in_float),
            }))
            if self.route.features:
                call("mnnquant", [source, artifact, config], artifact)
            else:
                call("mnnconvert", [*words, "--MNNModel", artifact, "--weightQuantBits", 8], artifact)
        Path(f"{artifact}.json").unlink(missing_ok=True)  # the same scales once more
        net = read_net(artifact)
        types = {tensor.name: tensor.type.tensor_type.elem_type for tensor in original.graph.output}
        Path(output, "types.json").write_text(json.dumps(types))
        answer = {"artifact": artifact, "precision": node_precision(original, net)}
        return answer | {"tensors": tensor_scales(original, net)} if self.route.features else answer

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
        elif array.dtype == numpy.float16:  # MNN computes such models in float32
            array = array.astype(numpy.float32)
        return expr.const(numpy.ascontiguousarray(array), list(array.shape), expr.NCHW, TYPES[array.dtype.name])


if __name__ == "__main__":
    serve(Mnn(asked_variant(ROUTES)))
