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
from mnn_model import CONVOLUTION, DECONVOLUTION, DEPTHWISE, DEPTHWISE_DECONVOLUTION, read_net
from MNN import expr, nn
from qdq_report import name_nodes

METHODS = {"entropy": "KL"}
CONVOLUTIONS = ("Conv", "Gemm", "MatMul")  # with a constant weight; all become MNN's Convolution
WEIGHTED = (*CONVOLUTIONS, "ConvTranspose")
# What was seen to run on codes.
OPERATORS = (*CONVOLUTIONS, "Add", "AveragePool", "Concat", "DepthToSpace", "Div", "Exp", "GlobalAveragePool", "HardSwish",
             "InstanceNormalization", "LayerNormalization", "Max", "MaxPool", "Min", "Mul", "PRelu", "Pad", "Pow",
             "Reshape", "Sigmoid", "Slice", "Softmax", "Split", "Sub", "Tanh", "Transpose")
WEIGHT_AXIS = {CONVOLUTION: 0, DEPTHWISE: 0, DECONVOLUTION: 1, DEPTHWISE_DECONVOLUTION: 1}
TYPES = {"float32": expr.float, "int32": expr.int, "uint8": expr.uint8, "int8": expr.int8}
# What its converter adds to the name of an operator that it makes of one of the model's.
SUFFIXES = ("__before_tr", "__matmul_converted")


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
        if options.get("cache"):
            raise Refused("MNN can't reuse a calibration cache")
        original = onnx.load(model)
        name_nodes(original)
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
                "skip_quant_op_names": self._skipped(original, read_net(source), options.get("precision", {})),
            }))
            call("mnnquant", [source, artifact, config], artifact)
        Path(f"{artifact}.json").unlink(missing_ok=True)  # the same scales once more
        net = read_net(artifact)
        types = {tensor.name: tensor.type.tensor_type.elem_type for tensor in original.graph.output}
        Path(output, "types.json").write_text(json.dumps(types))
        return {"artifact": artifact, "tensors": self._tensors(original, net), "precision": self._precision(original, net)}

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

    @staticmethod
    def _plain(name):
        """The name of the node that an operator was made of, where the converter left it there."""
        name = name.partition("__group__")[0]
        for suffix in SUFFIXES:
            name = name.removesuffix(suffix)
        return name

    def _hosts(self, original, net):
        """The nodes of the model that became operators with quantizable weights: [(node, operators)].

        A grouped Conv becomes several operators, some of them with names of their own: such a one belongs to the node
        that what it computes ends up in.
        """
        known = {name: node for node in original.graph.node for name in node.output if name}
        readers = {}
        for op in net.ops:
            for index in op.inputs:
                readers.setdefault(index, []).append(op)

        def node_of(op, depth=0):
            if self._plain(op.name) in known or depth > 64:
                return known.get(self._plain(op.name))
            behind = (reader for index in op.outputs for reader in readers.get(index, []))
            return next((node for reader in behind if (node := node_of(reader, depth + 1)) is not None), None)

        hosts = {}
        for op in net.ops:
            node = node_of(op) if op.type in WEIGHT_AXIS else None
            # It has the name of the last node that was folded into it.
            while node is not None and node.op_type not in WEIGHTED:
                node = known.get(node.input[0]) if node.input else None
            if node is not None:
                hosts.setdefault(node.output[0], (node, []))[1].append(op)
        return list(hosts.values())

    def _skipped(self, original, net, precision):
        """Names of the operators that the overrides keep out; a node's own name wins over its operator's."""
        wishes = {}
        for node in original.graph.node:
            wishes[node.output[0]] = precision.get(node.name, precision.get(node.op_type))
            if wishes[node.output[0]] == "fp16":
                raise Refused("MNN's quantizer knows int8 and fp32, not fp16", node.name, node.op_type)
            if wishes[node.output[0]] == "int8" and node.op_type not in OPERATORS:
                raise Refused("MNN has no INT8 form of it", node.name, node.op_type)
        return [op.name for node, ops in self._hosts(original, net) for op in ops if wishes[node.output[0]] == "fp32"]

    def _tensors(self, original, net):
        graph = onnx.shape_inference.infer_shapes(original).graph
        floats = {info.name for info in (*graph.value_info, *graph.input, *graph.output)
                  if info.type.tensor_type.elem_type == onnx.TensorProto.FLOAT}
        dimensions = {tensor.name: tensor.dims for tensor in original.graph.initializer}
        entries = {}

        def add(name, scales, axis=None):
            entries.setdefault(name, {"name": name, "scale": scales, "zero_point": [0] * len(scales), "type": "int8",
                                      "axis": axis})

        for index, (scale, _) in net.scales.items():
            if net.tensors[index] in floats:
                add(net.tensors[index], [scale])
        for node, ops in self._hosts(original, net):
            scales = [scale for op in ops for scale in op.weight_scales]
            # Behind a decomposition with names of its own nobody can tell which scale serves which channel.
            if not scales or len(ops) > 1 and any(self._plain(op.name) != node.output[0] for op in ops):
                continue
            transposed = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
            if len(ops) == 1 and ops[0].inputs[0] in net.scales and node.input[0] in floats:
                # It may have another name there; where it has both, with a scale each, the narrower one cuts.
                scale = net.scales[ops[0].inputs[0]][0]
                add(node.input[0], [scale])
                entries[node.input[0]]["scale"] = [min(scale, *entries[node.input[0]]["scale"])]
            last = max(len(dimensions.get(node.input[1], ())) - 1, 0)
            axis = {"Gemm": 0 if transposed else 1, "MatMul": last}.get(node.op_type, WEIGHT_AXIS[ops[0].type])
            add(node.input[1], scales, axis)
        return list(entries.values())

    def _precision(self, original, net):
        """What is known of operators with weights: MNN's runtime decides about the others."""
        entries = []
        for node, ops in self._hosts(original, net):
            quantized = all(op.weight_scales and op.type in (CONVOLUTION, DEPTHWISE) and
                            all(index in net.scales for index in (*op.inputs, *op.outputs)) for op in ops)
            entries.append({"node": node.name, "op": node.op_type, "got": "int8" if quantized else "fp32"})
        return entries


if __name__ == "__main__":
    serve(Mnn())
