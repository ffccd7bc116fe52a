"""Stands in for TensorRT where there is no GPU: networks of one layer for each ONNX node, engines that say what was asked
of them. It computes nothing; tests/converters/tensorrt_protocol.py tells what it is for."""

import enum
import json
from types import SimpleNamespace

import numpy
import onnx

__version__ = "8.6.1"
int8, int32, float16, float32 = "int8", "int32", "float16", "float32"
LayerType = enum.Enum("LayerType", "CONSTANT SHAPE OTHER")
LayerInformationFormat = enum.Enum("LayerInformationFormat", "JSON")
ProfilingVerbosity = enum.Enum("ProfilingVerbosity", "DETAILED")
MemoryPoolType = enum.Enum("MemoryPoolType", "WORKSPACE")
KINDS = {onnx.TensorProto.FLOAT: float32, onnx.TensorProto.INT64: int32, onnx.TensorProto.INT8: int8}


class IInt8EntropyCalibrator2:
    header = "TRT-8601-EntropyCalibration2"


class IInt8MinMaxCalibrator:
    header = "TRT-8601-MinMaxCalibration"


def nptype(kind):
    return getattr(numpy, kind)


class Layer:
    def __init__(self, node, outputs):
        self.name, self.metadata, self.type = node.name, f"[ONNX Layer: {node.name}]", LayerType.OTHER
        self.node, self.outputs, self.precision = node, outputs, None
        self.num_outputs = len(outputs)

    def get_output(self, index):
        return self.outputs[index]


class Network:
    def __init__(self, file):
        self.model = onnx.shape_inference.infer_shapes(onnx.load(file))
        graph = self.model.graph
        types = {info.name: info.type.tensor_type for info in (*graph.value_info, *graph.input, *graph.output)}
        results = {tensor.name for tensor in graph.output}

        def tensor(name):
            shape = tuple(dim.dim_value if dim.HasField("dim_value") else -1 for dim in types[name].shape.dim)
            return SimpleNamespace(name=name, dtype=KINDS.get(types[name].elem_type, "uint8"), shape=shape,
                                   is_network_output=name in results)

        self.inputs = [tensor(value.name) for value in graph.input]
        for value in self.inputs:
            value.name = self.parsed(value.name)
        self.layers = [Layer(node, [tensor(name) for name in node.output]) for node in graph.node]
        self.num_inputs, self.num_layers = len(self.inputs), len(self.layers)

    def parsed(self, name):
        """What an input is called: it has another name where it is a result as well."""
        return ("__" if any(value.name == name for value in self.model.graph.output) else "") + name

    def get_input(self, index):
        return self.inputs[index]

    def get_layer(self, index):
        return self.layers[index]


class Engine:
    def __init__(self, plan):
        self.said = json.loads(bytes(plan))

    def create_engine_inspector(self):
        text = json.dumps({"Layers": self.said["layers"]}, ensure_ascii=False)
        # Names, as 8.6.1 writes them: as they are, but for what isn't ASCII.
        as_they_are = text.replace('\\"', '"').replace("\\n", "\n").encode("ascii", "replace").decode()
        return SimpleNamespace(get_engine_information=lambda form: as_they_are)

    def get_tensor_dtype(self, name):
        graph = onnx.ModelProto.FromString(bytes.fromhex(self.said["model"])).graph
        return next(KINDS[value.type.tensor_type.elem_type] for value in graph.input if value.name == name)


class Builder:
    def __init__(self, logger):
        pass


class Runtime:
    def __init__(self, logger):
        pass

    def deserialize_cuda_engine(self, plan):
        return Engine(plan)
