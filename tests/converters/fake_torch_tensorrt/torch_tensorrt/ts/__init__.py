import json
import os
import struct

import numpy
import onnx
from torch_tensorrt.ts import ptq


def _operators(script):
    return {node.op_type for node in onnx.ModelProto.FromString(script.module.model).graph.node}


def check_method_op_support(script, method):
    return "Erf" not in _operators(script)


def compile(script, inputs, calibrator, **asked):
    os.write(2, b"WARNING: [Torch-TensorRT] - a warning\nnoise\n")
    if "Sin" in _operators(script):
        open("context_is_gone", "w").close()  # fake_cuda: the GPU's context ends with it
        os.write(2, b"ERROR: [Torch-TensorRT TorchScript Conversion Context] - 2: no tactic\n")
        raise RuntimeError("[Error thrown at core/conversion] Building failed")
    if not calibrator.use_cache:
        largest = {}
        while (batch := calibrator.get_batch()) is not None:
            for position, tensor in enumerate(batch):
                largest[position] = max(largest.get(position, 0), float(numpy.abs(tensor.array).max()))
        lines = [f"input_{position}: {struct.pack('>f', value / 127).hex()}" for position, value in largest.items()]
        with open(calibrator.cache_file, "w", encoding="utf-8") as file:
            file.write("\n".join(["TRT-100600-" + calibrator.algo_type, *lines]) + "\n")
    asked["enabled_precisions"] = sorted(map(str, asked["enabled_precisions"]))
    with open(os.environ["ASKED"], "w", encoding="utf-8") as file:
        json.dump({"inputs": inputs, **asked}, file)
    return script
