"""Stands in for TensorRT for RTX: an "engine" is a text of what was asked. An operator of another domain is refused while
parsing, a Sin while building, both with TensorRT's words; a Cos fails without a name."""

import enum
import json
from types import SimpleNamespace

import onnx

__version__ = "1.7.1.116"
ComputeCapability = SimpleNamespace(SM89="SM89")
BuilderFlag = SimpleNamespace(TF32="TF32")


class ILogger:
    Severity = enum.IntEnum("Severity", "INTERNAL_ERROR ERROR WARNING INFO VERBOSE", start=0)


class OnnxParser:
    def __init__(self, network, logger):
        self.network, self.logger = network, logger

    def parse(self, text):
        self.network.model = onnx.ModelProto.FromString(text)
        for index, node in enumerate(self.network.model.graph.node):
            if node.domain:
                where = f'While parsing node number {index} [{node.op_type} -> "{node.output[0]}"]:'
                self.logger.log(ILogger.Severity.ERROR, "ModelImporter.cpp:140: " + where)
                self.logger.log(ILogger.Severity.ERROR, "Plugin not found")
                return False
        return True


class Asked:
    """A configuration or a profile: notes what is asked of it."""

    def __init__(self):
        self.asked = {}

    def __getattr__(self, name):
        return lambda *words: self.asked.setdefault(name, []).append([getattr(word, "asked", word) for word in words])


class Builder:
    def __init__(self, logger):
        self.logger = logger
        self.create_network = SimpleNamespace
        self.create_builder_config = self.create_optimization_profile = Asked

    def build_serialized_network(self, network, config):
        self.logger.log(ILogger.Severity.WARNING, "a warning")
        self.logger.log(ILogger.Severity.INFO, "chatter")
        for node in network.model.graph.node:
            if node.op_type == "Sin":
                self.logger.log(ILogger.Severity.ERROR, f"IBuilder: Could not find any implementation for node {node.name}.")
                return None
            if node.op_type == "Cos":
                self.logger.log(ILogger.Severity.ERROR, "Assertion engine failed")
                return None
        return json.dumps(config.asked).encode()
