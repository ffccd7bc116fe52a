"""TensorRT for RTX behind Assay's protocol 1, as a converter that builds and doesn't execute.

Its networks are strongly typed: there is neither a calibrator nor a flag that allows INT8, so that quantizers come with
the model. It builds for a compute capability that it is told, without a GPU, and leaves the choice of kernels to the
GPU that loads the engine.
"""

import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import Refused, calibration_batches, serve
from cuda_device import compute_capability, missing_gpu
import tensorrt_rtx_bindings as tensorrt
from model_request import declared_shape, graph_inputs, hand_over, open_model, refuse_float
from trt_report import blamed_node, joined
from trt_request import OPERATORS, shape_range, shapes_seen

BUILT_FOR = tensorrt.ComputeCapability.SM89  # of those that 1.7 builds for; the engine then loads on no other
NOT_RUN_ON = (9, 0)  # its runtime has nothing for data centre GPUs


class Messages(tensorrt.ILogger):
    """What TensorRT logs: errors are kept for the reply, warnings become diagnostics."""

    def __init__(self):
        tensorrt.ILogger.__init__(self)
        self.errors = []

    def log(self, severity, message):
        if severity > tensorrt.ILogger.Severity.WARNING:  # the graver, the smaller
            return
        logging.getLogger("tensorrt_rtx").warning(message)
        if severity <= tensorrt.ILogger.Severity.ERROR:
            self.errors.append(message)


class TensorRtRtx:
    def __init__(self):
        self._messages = Messages()
        self._builder = tensorrt.Builder(self._messages)

    def describe(self):
        return {
            "name": "tensorrt_rtx",
            "version": tensorrt.__version__,
            "supports": {
                "activation": ["int8"],
                "symmetric": [True],
                "per_axis": [True],
                "models": ["qdq"],
                "int8_operators": list(OPERATORS),
                "execute": False,
                "artifact": "opaque",
                "reports": [],
            },
            "policy": {"deterministic": False},  # nothing is executed that could show it
        }

    def convert(self, model, calibration, options, output):
        original = open_model(model, options, "TensorRT for RTX, which has no calibration,")
        refuse_float(original, options, "in strongly typed networks the model's own types decide")
        self._messages.errors.clear()
        given = Path(output, "given.onnx")
        hand_over(model, given)
        data = given.read_bytes()
        given.unlink()
        engine = self._build(original, data, calibration_batches(calibration))
        artifact = Path(output, "model.engine")
        artifact.write_bytes(engine)
        return {"artifact": artifact}

    def execute(self, artifact, inputs, output):
        reason = missing_gpu()
        if not reason and compute_capability() == NOT_RUN_ON:
            reason = "TensorRT for RTX has no runtime for compute capability 9.0"
        raise Refused(reason or "this adapter builds engines and doesn't execute them")

    def _build(self, model, data, batches):
        network = self._builder.create_network()
        parser = tensorrt.OnnxParser(network, self._messages)
        if not parser.parse(data):
            self._fail(self._messages.errors, model)
        config = self._builder.create_builder_config()
        config.clear_flag(tensorrt.BuilderFlag.TF32)
        config.num_compute_capabilities = 1
        config.set_compute_capability(BUILT_FOR, 0)
        profile = self._builder.create_optimization_profile()
        for tensor in graph_inputs(model):
            taken = shape_range(declared_shape(tensor), shapes_seen(batches, tensor.name))
            if taken is not None:
                profile.set_shape(tensor.name, *taken)
        config.add_optimization_profile(profile)
        engine = self._builder.build_serialized_network(network, config)
        if engine is None:
            self._fail(self._messages.errors, model)
        return bytes(engine)

    @staticmethod
    def _fail(messages, model):
        node = blamed_node(messages, model)
        if node is None:
            raise RuntimeError(joined(messages))
        raise Refused(joined(messages), node.name, node.op_type)


if __name__ == "__main__":
    serve(TensorRtRtx())
