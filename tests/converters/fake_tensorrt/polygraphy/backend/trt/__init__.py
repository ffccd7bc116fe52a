"""As much of Polygraphy's API as the adapter calls, over the TensorRT beside it: a build calibrates by the largest
magnitude, and a layer is INT8 where that was asked. A node named "refuse_…" fails the build with TensorRT's words, one named
"float_…" stays in float, and one named "wrong_…" gives twice what it should, but for a FAKE_TENSORRT=mended in the
environment. With FAKE_TENSORRT=no_gpu nothing is built."""

import json
import os
import struct
from types import SimpleNamespace

import numpy
import onnx
import tensorrt
from onnx.reference import ReferenceEvaluator
from polygraphy.common import TensorMetadata
from polygraphy.logger import G_LOGGER

CALLS = []


class Calibrator:
    def __init__(self, data_loader, cache=None, BaseClass=tensorrt.IInt8EntropyCalibrator2):
        self.batches, self.cache, self.header, self.expected = data_loader, cache, BaseClass.header, {}

    def set_input_metadata(self, metadata):
        self.expected = metadata


class Profile:
    def __init__(self):
        self.shapes = {}

    def add(self, name, min, opt, max):
        self.shapes[name] = (min, opt, max)


def CreateConfig(**options):
    return options


def has_defect(layer, kind):
    return layer.name.startswith(f"{kind}_") and os.environ.get("FAKE_TENSORRT") != "mended"


def network_from_onnx_path(path):
    if os.environ.get("FAKE_TENSORRT") == "no_gpu":
        raise TypeError("pybind11::init(): factory function returned nullptr")
    return None, tensorrt.Network(path), None


def calibrate(network, calibrator):
    if calibrator.cache and open(calibrator.cache, encoding="utf-8").read():
        return
    largest = {}
    names = [tensor.name for tensor in network.inputs]
    model = onnx.ModelProto.FromString(network.model.SerializeToString())
    inner = [name for node in model.graph.node for name in node.output]
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inner)
    expected = TensorMetadata()
    for tensor in network.inputs:
        expected.add(tensor.name, numpy.dtype(tensorrt.nptype(tensor.dtype)), tensor.shape)
    calibrator.set_input_metadata(expected)
    for batch in calibrator.batches:
        lacking = set(names) - set(batch)
        if lacking:
            G_LOGGER.error(f"The following inputs were not found in input data: {lacking}.")
            G_LOGGER.critical("Invalid Engine. Please ensure the engine was built correctly")
        for tensor in network.inputs:
            kind = calibrator.expected[tensor.name].dtype
            if batch[tensor.name].dtype != kind:
                G_LOGGER.error(f"Input tensor: {tensor.name} | Received unexpected dtype: {batch[tensor.name].dtype}. "
                               f"Note: Expected type: {kind}")
                G_LOGGER.critical("Invalid Engine. Please ensure the engine was built correctly")
            if tensor.dtype == "int8" and batch[tensor.name].dtype != numpy.float32:
                G_LOGGER.error(f"{tensor.name}: calibration reads float32, actual {batch[tensor.name].dtype}")
                G_LOGGER.critical("Invalid Engine. Please ensure the engine was built correctly")
        types = {value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
                 for value in model.graph.input}
        fed = {name: batch[network.parsed(name)].astype(kind) for name, kind in types.items()}
        made = dict(zip(inner, ReferenceEvaluator(model).run(None, fed)))
        for name, array in {**fed, **made}.items():
            if array.dtype == numpy.float32:
                largest[name] = max(largest.get(name, 0), float(numpy.abs(array).max()))
    lines = [f"{name}: {struct.pack('>f', value / 127).hex()}" for name, value in largest.items()]
    if calibrator.cache:
        open(calibrator.cache, "w", encoding="utf-8").write("\n".join([calibrator.header, *lines]) + "\n")


def engine_bytes_from_network(parsed, config):
    _, network, _ = parsed
    for layer in network.layers:
        if has_defect(layer, "refuse"):
            G_LOGGER.error(f"3: {layer.name}: cannot use precision Int8 for layer that computes indices")
            G_LOGGER.critical("Invalid Engine. Please ensure the engine was built correctly")
    if config.get("calibrator") is not None:
        calibrate(network, config["calibrator"])
    words = {"int8": "Row major Int8 format", "float16": "Row major linear FP16 format"}
    layers = []
    for layer in network.layers:
        read = words.get(None if has_defect(layer, "float") else layer.precision, "Row major linear FP32")
        layers.append({"Name": layer.name, "LayerType": "Fake", "Metadata": layer.metadata,
                       "Inputs": [{"Name": name, "Format/Datatype": read} for name in layer.node.input],
                       "Outputs": [{"Name": name, "Format/Datatype": read} for name in layer.node.output]})
    asked = {key: config.get(key) for key in ("int8", "fp16", "precision_constraints", "tactic_sources")}
    asked["profile"] = config["profiles"][0].shapes if "profiles" in config else {}
    wrong = [name for layer in network.layers if has_defect(layer, "wrong") for name in layer.node.output]
    text = json.dumps({"layers": layers, "asked": asked, "wrong": wrong, "model": network.model.SerializeToString().hex(),
                       "inputs": {value.name: network.parsed(value.name) for value in network.model.graph.input}})
    return bytearray(text.encode())


def engine_from_bytes(plan):
    return tensorrt.Engine(plan)


class TrtRunner:
    def __init__(self, engine):
        self.wrong = engine.said["wrong"]
        self.model = onnx.ModelProto.FromString(bytes.fromhex(engine.said["model"]))
        self.parsed = engine.said["inputs"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def get_input_metadata(self):
        kinds = {onnx.TensorProto.FLOAT: numpy.float32, onnx.TensorProto.INT64: numpy.int32}
        return {self.parsed[value.name]: SimpleNamespace(dtype=numpy.dtype(kinds[value.type.tensor_type.elem_type]))
                for value in self.model.graph.input}

    def infer(self, feed):
        feed = {name: feed[parsed] for name, parsed in self.parsed.items()}
        names = [value.name for value in self.model.graph.output]
        results = dict(zip(names, ReferenceEvaluator(self.model).run(names, feed)))
        return {name: 2 * array if name in self.wrong else array for name, array in results.items()}
