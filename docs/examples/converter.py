"""A converter for Assay: int8, min-max calibration, Q/DQ. Needs onnx and onnxruntime; docs/converter.md goes through it."""
import numpy, onnx, onnxruntime
from onnx import helper, numpy_helper
from onnx_assay.adapter import Adapter


def run(model, inputs):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"],
                                           disabled_optimizers=["QDQSelectorActionTransformer"])  # no fused kernels
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs)))


class MyConverter(Adapter):
    name, version, policy = "my_converter", "1", {"bias": "float"}
    supports = {"activation": ["int8"], "symmetric": [False], "per_axis": [True], "method": ["minmax"],
                "operators": ["Conv", "Relu"], "models": ["float"]}

    def convert(self, model, calibration, options, output):
        graph, old = model.graph, list(model.graph.node)
        constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        watched = onnx.ModelProto.FromString(model.SerializeToString())
        watched.graph.output.extend(onnx.ValueInfoProto(name=node.output[0]) for node in old[:-1])
        seen = [{**batch, **run(watched, batch)} for batch in calibration]
        del graph.node[:]

        def add(op, inputs, output, **attributes):
            graph.node.append(helper.make_node(op, inputs, [output], **attributes))

        def constant(name, values):
            graph.initializer.append(numpy_helper.from_array(values, name))
            return name

        def activation(name, source, target):  # a QuantizeLinear and a DequantizeLinear from source to target
            low, high = min(0, *(one[name].min() for one in seen)), max(0, *(one[name].max() for one in seen))
            scale = numpy.float32((high - low) / 255)
            zero_point = numpy.clip(numpy.rint(-128 - low / scale), -128, 127).astype(numpy.int8)
            parameters = [constant(name + "_scale", scale), constant(name + "_zero_point", zero_point)]
            add("QuantizeLinear", [source, *parameters], name + "_q")
            add("DequantizeLinear", [name + "_q", *parameters], target)

        def weight(name):  # one scale for each output channel, which is axis 0 of a Conv's weight
            scale = abs(constants[name]).max(axis=(1, 2, 3), keepdims=True) / numpy.float32(127)
            quantized = constant(name + "_q", numpy.rint(constants[name] / scale).astype(numpy.int8))
            add("DequantizeLinear", [quantized, constant(name + "_scale", scale.reshape(-1))], name + "_dq", axis=0)
            return name + "_dq"

        given = [tensor.name for tensor in graph.input]
        for name in given:
            activation(name, name, name + "_dq")
        for node in old:
            inputs = [name + "_dq" if name in given else name for name in node.input]
            if node.op_type == "Conv":
                inputs[1] = weight(inputs[1])
            name, node.input[:], node.output[:] = node.output[0], inputs, [node.output[0] + "_float"]
            graph.node.append(node)
            activation(name, name + "_float", name)
        return model

    def execute(self, artifact, inputs):
        return run(onnx.load(artifact), inputs)
