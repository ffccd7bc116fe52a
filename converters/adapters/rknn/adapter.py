"""RKNN-Toolkit2's post-training quantization and its simulator behind Assay's protocol 1."""

import os
import re
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import calibration_batches, read_tensors, serve, write_tensors  # first: RKNN prints
import numpy
import onnx
from captured import Failed, call
from model_request import hand_over, open_model, refuse_float
from qdq_report import PAIR
from rknn.api import RKNN

TARGET = "rk3588"
METHODS = {"minmax": "normal", "entropy": "kl_divergence", "mse": "mmse"}
# What its table was seen to hold in codes; CumSum too, whose sums leave them.
OPERATORS = ["Add", "AveragePool", "BatchNormalization", "Clip", "Concat", "Conv", "ConvTranspose", "CumSum", "Div", "Erf",
             "Expand", "Flatten", "Gather", "Gemm", "GlobalAveragePool", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu",
             "MatMul", "Max", "MaxPool", "Min", "Mul", "PRelu", "Pad", "Reciprocal", "ReduceMean", "Relu", "Reshape",
             "Resize", "Sigmoid", "Slice", "Split", "Squeeze", "Sub", "Tanh", "Transpose", "Unsqueeze", "Where"]
PRECISIONS = {"int8": "int8", "float32": "fp32", "float16": "fp16"}


def errors_in(words):
    """What the toolkit's log says went wrong."""
    lines = words.replace("\r", "\n").splitlines()
    said = [line.removeprefix("E ").strip() for line in lines if re.match(r"E |\w+Error", line)]
    return "\n".join(dict.fromkeys(line for line in said if "version" not in line)) or words[-1500:]


def run(step, function, *arguments, **options):
    """Runs one step, which returns -1 where it fails and doesn't end the process or raise."""
    result, words = call(step, function, *arguments, said=errors_in, **options)
    if result not in (0, None):
        raise Failed(f"{step}: {errors_in(words)}")


def write_samples(folder, batches, names):
    """The batches as the toolkit reads them: a line each, a .npy file for each input in its order."""
    lines = []
    for index, batch in enumerate(batches):
        files = [folder / f"{index}_{position}.npy" for position in range(len(names))]
        for name, file in zip(names, files):
            numpy.save(file, batch[name])
        lines.append(" ".join(map(str, files)))
    listed = folder / "samples.txt"
    listed.write_text("\n".join(lines) + "\n")
    return str(listed)


class Rknn:
    def __init__(self):
        self._kept, self._toolkit = None, None

    def describe(self):
        return {
            "name": "rknn",
            "version": version("rknn-toolkit2"),
            "supports": {
                "activation": ["int8"], "weight": ["int8"],
                "symmetric": [False],
                "per_axis": True,
                "method": list(METHODS),
                "int8_operators": OPERATORS,
                "execute": True,
                "artifact": "opaque",
                "reports": ["precision"],
            },
            "policy": {
                "weights": "nearest",
                "bias": "nearest",
                "averaging": "none",
                "folds_bn": True,
                "deterministic": True,
            },
        }

    def convert(self, model, calibration, options, output):
        original = open_model(model, options, "RKNN-Toolkit2")
        refuse_float(original, options, "only its two steps of hybrid quantization keep a layer in float")
        artifact = Path(output, "artifact")
        artifact.mkdir()
        hand_over(model, artifact / "model.onnx")
        shutil.copytree(calibration, artifact / "calibration")
        (artifact / "options.txt").write_text(
            f"{METHODS[options.get('method', 'minmax')]} {'channel' if options.get('per_axis', True) else 'layer'}")
        try:
            toolkit = self._build(artifact)
        except Exception:
            shutil.rmtree(artifact)
            raise
        return {"artifact": artifact, "precision": self._precision(original, toolkit)}

    def execute(self, artifact, inputs, output):
        toolkit = self._build(Path(artifact))
        fed = read_tensors(inputs)
        arrays = [fed[name] for name in toolkit.assay_inputs]
        results = call("inference", toolkit.inference, arrays, data_format=["nchw"] * len(arrays), said=errors_in)[0] or []
        types = {tensor.name: tensor.type.tensor_type.elem_type for tensor in toolkit.assay_model.graph.output}
        if len(results) != len(types):
            raise Failed(f"inference: {len(results)} outputs where the model has {len(types)}")
        write_tensors({name: array.astype(onnx.helper.tensor_dtype_to_np_dtype(types[name]))
                       for name, array in zip(types, results)}, output)

    def _build(self, folder):
        """The toolkit with the network of the folder in its simulator, which takes no exported model: built anew where
        it isn't the last one."""
        if folder == self._kept:
            return self._toolkit
        if self._toolkit is not None:
            self._toolkit.release()
        self._kept = None
        model = onnx.load(folder / "model.onnx")
        batches = calibration_batches(folder / "calibration")
        constants = {tensor.name for tensor in model.graph.initializer}
        names = [tensor.name for tensor in model.graph.input if tensor.name not in constants]
        algorithm, method = (folder / "options.txt").read_text().split()
        toolkit = self._toolkit = RKNN()
        given = any(node.op_type in PAIR for node in model.graph.node)  # to be built as it is; its own advice is level 2
        run("config", toolkit.config, target_platform=TARGET, quantized_algorithm=algorithm, quantized_method=method,
            optimization_level=2 if given else 3)
        shapes = [list(batches[0][name].shape) for name in names]
        free = any(not dimension.dim_value for tensor in model.graph.input
                   for dimension in tensor.type.tensor_type.shape.dim)
        named = {"inputs": names, "input_size_list": shapes} if free else {}
        run("load_onnx", toolkit.load_onnx, str(folder / "model.onnx"), **named)
        run("build", toolkit.build, do_quantization=not given, dataset=write_samples(folder, batches, names))
        run("init_runtime", toolkit.init_runtime)
        toolkit.assay_inputs, toolkit.assay_model = names, model
        self._kept = folder
        return toolkit

    @staticmethod
    def _precision(original, toolkit):
        """What the toolkit's table says of the tensors that kept their names; it rewrites the network before it quantizes."""
        table = toolkit.rknn_base.quantizer.quant_tab
        computed = {output.removesuffix("_int8"): table[output]["dtype"]
                    for node in toolkit.rknn_base.ir.model.graph.node
                    for output in node.output if output in table and node.op_type != "exDataConvert"}
        return [{"node": node.name, "op": node.op_type, "got": PRECISIONS[computed[node.output[0]]]}
                for node in original.graph.node if computed.get(node.output[0]) in PRECISIONS]


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    serve(Rknn())
