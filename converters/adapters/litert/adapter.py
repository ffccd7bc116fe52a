"""onnx2tf's integer quantization behind Assay's protocol 1, executed by LiteRT."""

import importlib.metadata
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import Refused, calibration_batches, read_tensors, serve, write_tensors  # first: TensorFlow prints
import numpy
import onnx
from captured import Failed, call
from model_request import open_model, refuse_float, wanted_precision

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import onnx2tf
from ai_edge_litert.interpreter import Interpreter

# onnx2tf downloads a file of this name unless it lies in the working directory; any pictures do.
SAMPLE = "calibration_image_sample_data_20x128x128x3_float32.npy"
FLOAT_ONLY = ("CumSum", "Erf")  # TensorFlow Lite quantizes around them
FIRST_WITH_CHANNELS, LAST_WITH_CHANNELS = 3, 5  # ranks at which onnx2tf moves axis 1 to the end


def channels_last(array):
    if not FIRST_WITH_CHANNELS <= array.ndim <= LAST_WITH_CHANNELS:
        return array
    return numpy.ascontiguousarray(numpy.moveaxis(array, 1, -1))


def cleaned(name):
    """A name as TensorFlow's signatures have it."""
    return re.sub("[^A-Za-z0-9_]", "_", name)


def matched(keys, names):
    """{key of the signature: name of the model} for its inputs."""
    found = {}
    for key in keys:
        fitting = [name for name in names if name == key] or [name for name in names if cleaned(name) == cleaned(key)]
        if len(fitting) != 1:
            raise RuntimeError(f"the model's input \"{key}\" is none or several of {', '.join(names)}")
        found[key] = fitting[0]
    return found


def of_shape(array, shape):
    """`array`, or with its last axis back at place 1 where only then it has `shape` (0: any extent)."""
    def fits(candidate):
        return candidate.ndim == len(shape) and all(want in (0, got) for want, got in zip(shape, candidate.shape))

    moved = numpy.moveaxis(array, -1, 1) if array.ndim >= FIRST_WITH_CHANNELS else array
    return numpy.ascontiguousarray(moved) if fits(moved) and not fits(array) else array


class LiteRt:
    def describe(self):
        return {
            "name": "litert",
            "version": importlib.metadata.version("onnx2tf"),
            "supports": {
                "activation": ["int8"],
                "symmetric": [False],
                "per_axis": True,
                "method": ["minmax"],
                "execute": True,
                "artifact": "opaque",
            },
            "policy": {
                "weights": "nearest",
                "bias": "nearest",
                "divisor": 127,
                "averaging": "none",
                # TensorFlow Lite's quantization specification: scale 1/256 and 1/128.
                "fixed_ranges": {"Softmax": [0, 255 / 256], "Sigmoid": [0, 255 / 256], "Tanh": [-1, 127 / 128]},
                "folds_bn": True,
                "arithmetic": "integer",
                "deterministic": True,
            },
        }

    def convert(self, model, calibration, options, output):
        original = open_model(model, options, "onnx2tf")
        refuse_float(original, options, "onnx2tf can't leave a node in float")
        for node in original.graph.node:
            if node.op_type in FLOAT_ONLY and wanted_precision(node, options) == "int8":
                raise Refused("TensorFlow Lite has no INT8 form of it", node.name, node.op_type)
        batches = calibration_batches(calibration)
        with tempfile.TemporaryDirectory() as folder:
            data = self._calibration(original, batches, Path(folder))
            built = Path(folder, "built")
            copy = Path(shutil.copy(model, Path(folder, "model.onnx")))  # onnxsim writes over what it reads
            words = call("onnx2tf", self._run, str(copy), data, options, built)[1]
            made = built / "model_integer_quant.tflite"  # float inputs and outputs
            artifact = Path(output, "model.tflite")
            if not made.is_file():
                raise Failed(f"onnx2tf: no INT8 model was written; it printed:\n{words[-3000:]}")
            artifact.write_bytes(made.read_bytes())
        shapes = {tensor.name: [axis.dim_value for axis in tensor.type.tensor_type.shape.dim]
                  for tensor in original.graph.output}
        Path(output, "outputs.json").write_text(json.dumps(shapes))
        return {"artifact": artifact}

    def execute(self, artifact, inputs, output):
        shapes = json.loads(Path(artifact).with_name("outputs.json").read_text())
        tensors = read_tensors(inputs)
        runner = Interpreter(model_path=str(artifact), num_threads=1).get_signature_runner()
        wanted = {}
        for key, name in matched(runner.get_input_details(), tensors).items():
            detail = runner.get_input_details()[key]
            array = tensors[name]
            same = list(array.shape) == list(detail["shape"])
            wanted[key] = (array if same else channels_last(array)).astype(detail["dtype"])
        results = runner(**wanted)
        names = list(shapes)  # TensorFlow numbers the outputs: output_0, output_1 …
        arrays = {names[int(key.removeprefix("output_"))]: array for key, array in results.items()}
        write_tensors({name: of_shape(array, shapes[name]) for name, array in arrays.items()}, output)

    @staticmethod
    def _calibration(original, batches, folder):
        """One file for each input with all batches along axis 0, as [[name, file, mean, std]]."""
        constants = {tensor.name for tensor in original.graph.initializer}
        data = []
        for index, tensor in enumerate(original.graph.input):
            if tensor.name in constants:
                continue
            for number, batch in enumerate(batches):
                if tensor.name not in batch:
                    raise ValueError(f"calibration batch {number:04d} has no \"{tensor.name}\"")
            arrays = [channels_last(batch[tensor.name]) for batch in batches]
            numpy.save(folder / f"{index}.npy", numpy.concatenate(arrays) if arrays[0].ndim else numpy.stack(arrays))
            data.append([tensor.name, str(folder / f"{index}.npy"), 0.0, 1.0])
        return data

    @staticmethod
    def _run(model, data, options, built):
        if not Path(SAMPLE).exists():
            numpy.save(SAMPLE, numpy.random.default_rng(0).random((20, 128, 128, 3), numpy.float32))
            # onnx2tf starts a program "onnxsim" and goes on without where there is none. The environment's own was
            # written for the folder that the environment was built in.
            Path("onnxsim").write_text(f"#!{sys.executable}\nimport onnxsim\nonnxsim.main()\n")
            Path("onnxsim").chmod(0o755)
            os.environ["PATH"] = f"{Path.cwd()}{os.pathsep}{os.environ.get('PATH', '')}"
        onnx2tf.convert(  # leaves by SystemExit where it fails
            input_onnx_file_path=model, output_folder_path=str(built), output_integer_quantized_tflite=True,
            custom_input_op_name_np_data_path=data,
            quant_type="per-channel" if options.get("per_axis", True) else "per-tensor")


if __name__ == "__main__":
    serve(LiteRt())
