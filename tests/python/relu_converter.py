"""A converter of Relu alone, executed with numpy; what goes wrong is in the environment variable DEFECT."""
import os

import numpy
import onnx
from onnx import helper, numpy_helper
from onnx_assay.adapter import Adapter, Refused

print("something that a library prints while it is imported")


class Base(Adapter):
    name, version = "relu_converter", "3"
    supports = {"activation": ["int8"], "symmetric": [False], "method": ["minmax"]}


class ReluConverter(Base):
    def convert(self, model, calibration, options, output):
        print("something that is printed while it converts")
        if os.environ.get("DEFECT") == "refuses":
            raise Refused("no room", node="y", op="Relu")
        (node,) = model.graph.node
        wide = 2 if os.environ.get("DEFECT") == "wide" else 1
        low = min(0, *(batch["x"].min() for batch in calibration)) * wide
        high = max(0, *(batch["x"].max() for batch in calibration)) * wide
        scales = {"x": (high - low) / numpy.float32(255), "y": high / numpy.float32(255)}
        zeros = {name: numpy.rint(-128 - (low if name == "x" else 0) / scale) for name, scale in scales.items()}
        for name, scale in scales.items():
            model.graph.initializer.append(numpy_helper.from_array(numpy.float32(scale), f"{name}_scale"))
            model.graph.initializer.append(numpy_helper.from_array(numpy.int8(zeros[name]), f"{name}_zero"))
        del model.graph.node[:]

        def quantize(name, source, target):
            parameters = [f"{name}_scale", f"{name}_zero"]
            model.graph.node.append(helper.make_node("QuantizeLinear", [source, *parameters], [name + "_q"]))
            model.graph.node.append(helper.make_node("DequantizeLinear", [name + "_q", *parameters], [target]))

        quantize("x", "x", "x_dq")
        model.graph.node.append(helper.make_node("Relu", ["x_dq"], ["y_float"], name=node.name))
        quantize("y", "y_float", "y")
        return model

    def execute(self, artifact, inputs):
        constants = {each.name: numpy_helper.to_array(each) for each in onnx.load(artifact).graph.initializer}

        def rounded(name, values):
            scale, zero = constants[f"{name}_scale"], constants[f"{name}_zero"].astype(numpy.float32)
            codes = numpy.clip(numpy.rint(values / scale) + zero, -128, 127)
            return ((codes - zero) * scale).astype(numpy.float32)

        return {"y": rounded("y", numpy.maximum(rounded("x", inputs["x"]), 0))}
