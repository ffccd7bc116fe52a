"""TensorRT behind Assay's protocol 1, driven through Polygraphy's Python API.

Where the model has no quantizers of its own, INT8 is implicit: a calibrator is fed with the case's batches, the layers
are asked for a precision, and what TensorRT made of that is read from the engine. `precision` has three routes:

    nothing said     every float layer with an INT8 form is asked for INT8, and TensorRT prefers that (PREFER_…)
    "int8?"          nothing is asked of these layers: TensorRT chooses
    "int8"           demanded: TensorRT obeys what is asked, or refuses (OBEY_PRECISION_CONSTRAINTS)

"fp32" and "fp16" are asked for as they stand. An override by operator type goes to every layer of that type.
"""

import ctypes
import json
import logging
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import Refused, calibration_batches, read_tensors, serve, write_tensors  # first: Polygraphy prints
import numpy
import nvidia.cuda_runtime

CUDART = Path(nvidia.cuda_runtime.__path__[0]) / "lib"
os.environ["LD_LIBRARY_PATH"] = f"{CUDART}:{os.environ.get('LD_LIBRARY_PATH', '')}"  # where Polygraphy looks for it
os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")

import onnx
import tensorrt
from model_request import name_nodes
from polygraphy.backend.trt import (
    Calibrator, CreateConfig, Profile, TrtRunner, engine_bytes_from_network, network_from_onnx_path)
from polygraphy.backend.trt import util as trt_util
from polygraphy.exception import PolygraphyException
from polygraphy.logger import G_LOGGER
from qdq_report import FUSED_ACTIVATIONS, MOVING, PAIR, tensor_scales
from trt_report import blamed_node, cache_entries, joined, layer_nodes, node_precision, read_cache

CALIBRATORS = {"entropy": tensorrt.IInt8EntropyCalibrator2, "minmax": tensorrt.IInt8MinMaxCalibrator}
TYPES = {"int8": tensorrt.int8, "fp16": tensorrt.float16, "fp32": tensorrt.float32}
OPTIMIZATION_LEVEL = 1  # a build of 10 s instead of a minute; which tactics are tried changes, not what they compute
CALIBRATION_CACHE = "calibration.cache"  # in this process's own folder
WORKSPACE_BYTES = 4 << 30
LONGEST_BATCH = 8  # a symbolic first dimension may be as long as this at least
# Operators that were seen to run on codes, or that TensorRT's documentation lists with INT8 kernels.
OPERATORS = ("Add", "AveragePool", "BatchNormalization", "Clip", "Concat", "Conv", "ConvTranspose", "Div", "Erf", "Gemm",
             "GlobalAveragePool", "LeakyRelu", "MatMul", "Max", "MaxPool", "Min", "Mul", "Relu", "Sigmoid", "Sub", "Sum",
             "Tanh")


def missing_gpu():
    """Why nothing can be converted or executed here; "" where there is a GPU."""
    cudart = ctypes.CDLL(str(next(CUDART.glob("libcudart.so*"))))
    cudart.cudaGetErrorString.restype = ctypes.c_char_p
    count = ctypes.c_int()
    status = cudart.cudaGetDeviceCount(ctypes.byref(count))
    if status != 0:
        return f"no usable NVIDIA GPU: {cudart.cudaGetErrorString(status).decode()} (CUDA error {status})"
    return "" if count.value > 0 else "no NVIDIA GPU"


class Messages:
    """What TensorRT and Polygraphy log: errors are kept for the reply, warnings become diagnostics."""

    def __init__(self):
        self.errors = []
        self._log, G_LOGGER.log = G_LOGGER.log, self.log

    def log(self, message, severity, *arguments, **options):
        if severity >= G_LOGGER.WARNING:
            message = str(message() if callable(message) else message)
            logging.getLogger("tensorrt").warning(message)
            if severity >= G_LOGGER.ERROR:
                self.errors.append(message)
        self._log(message, severity, *arguments, **options)


class TensorRt:
    def __init__(self):
        self._missing = missing_gpu()
        self._messages = Messages()
        logger = trt_util.get_trt_logger()
        # One builder lives as long as the process: the kernels' library stays loaded between two cases.
        self._builder = None if self._missing else tensorrt.Builder(logger)
        self._runtime = None if self._missing else tensorrt.Runtime(logger)
        self._engine = (None, None)

    def describe(self):
        return {
            "name": "tensorrt",
            "version": tensorrt.__version__,
            "unavailable": self._missing,
            "supports": {
                "activation": ["int8"],
                "symmetric": [True],
                "per_axis": [True],
                "method": list(CALIBRATORS),
                # No "operators": what has no INT8 form stays in float, so that every operator can be tried.
                "int8_operators": list(OPERATORS),
                "execute": True,
                "artifact": "scales",
                "reports": ["activations", "precision", "cache"],
            },
            "policy": {
                "weights": "nearest",
                "bias": "float",
                "divisor": 127,
                "averaging": "none",
                "histogram": "first_batch",
                "folds_bn": True,
                # Tactics are chosen by measured time: two builds may sum in another order.
                "deterministic": False,
            },
        }

    def convert(self, model, calibration, options, output):
        self._demand_gpu()
        original = onnx.load(model)
        name_nodes(original)
        named = Path(output, "named.onnx")
        onnx.save(original, named)
        try:
            plan, cache = self._build(original, named, calibration, options)
        except PolygraphyException as error:
            self._fail([*self._messages.errors, str(error)], original)  # it raises
        finally:
            named.unlink()
        artifact = Path(output, "model.plan")
        artifact.write_bytes(plan)
        types = self._types(original)
        Path(output, "types.json").write_text(json.dumps({tensor.name: types[tensor.name]
                                                          for tensor in original.graph.output}))
        inspector = self._load(artifact).create_engine_inspector()
        information = inspector.get_engine_information(tensorrt.LayerInformationFormat.JSON)
        Path(output, "layers.json").write_text(information)
        file = Path(output, "calibration.cache")
        file.write_bytes(cache)
        own = tensor_scales(original, lambda name: name)  # of the quantizers that the model has itself
        return {"artifact": artifact, "cache": file,
                "precision": node_precision(original, types, information, (*OPERATORS, *MOVING)),
                "tensors": own or cache_entries(read_cache(cache.decode())[1], original)}

    def execute(self, artifact, inputs, output):
        self._demand_gpu()
        self._messages.errors.clear()
        types = json.loads(Path(artifact).with_name("types.json").read_text())
        engine = self._load(artifact)
        feed = read_tensors(inputs)
        try:
            with TrtRunner(engine) as runner:
                expected = runner.get_input_metadata()
                results = runner.infer({name: self._cast(feed[name], self._numpy_type(expected[name].dtype))
                                        for name in expected})
                arrays = {name: numpy.array(results[name]).astype(onnx.helper.tensor_dtype_to_np_dtype(types[name]))
                          for name in types}
        except PolygraphyException as error:
            raise RuntimeError(joined([*self._messages.errors, str(error)])) from error
        write_tensors(arrays, output)

    def _build(self, original, named, calibration, options):
        """The serialized engine, and the calibration cache: empty where the model has quantizers of its own."""
        self._messages.errors.clear()
        batches = calibration_batches(calibration)
        builder, network, parser = network_from_onnx_path(str(named))
        explicit = any(node.op_type in PAIR for node in original.graph.node)
        wanted = self._wanted(original, options.get("precision", {}))
        cache, calibrator = Path(CALIBRATION_CACHE), None
        cache.write_bytes(Path(options["cache"]).read_bytes() if options.get("cache") else b"")
        if not explicit:
            self._ask_for_precision(network, wanted)
            kinds = {network.get_input(i).name: numpy.dtype(tensorrt.nptype(network.get_input(i).dtype))
                     for i in range(network.num_inputs)}
            feed = [{name: self._cast(array, kinds.get(name, array.dtype)) for name, array in batch.items()}
                    for batch in batches]
            calibrator = Calibrator(feed, cache=str(cache), BaseClass=CALIBRATORS[options.get("method", "entropy")])
        demanded = any(precision == "int8" for precision in options.get("precision", {}).values())
        config = CreateConfig(
            int8=True, fp16="fp16" in [precision for precision, _ in wanted.values()], calibrator=calibrator,
            profiles=[self._profile(network, batches)],
            precision_constraints=None if explicit else "obey" if demanded else "prefer",
            tactic_sources=[], profiling_verbosity=tensorrt.ProfilingVerbosity.DETAILED,
            builder_optimization_level=OPTIMIZATION_LEVEL,
            memory_pool_limits={tensorrt.MemoryPoolType.WORKSPACE: WORKSPACE_BYTES})
        plan = engine_bytes_from_network((builder, network, parser), config)
        return bytes(plan), b"" if explicit else cache.read_bytes()

    @staticmethod
    def _wanted(model, precision):
        """{node: (precision, said)}: what its layers are asked for, or None, and whether an override says so.

        An activation becomes part of the layer before it: where an override speaks of that one, it goes along."""
        readers = {}
        for node in model.graph.node:
            for name in node.input:
                readers.setdefault(name, []).append(node)
        wanted = {}
        for node in model.graph.node:
            stated = precision.get(node.name, precision.get(node.op_type))
            if stated is None and node.name in wanted:
                continue  # it goes along
            asked = None if stated == "int8?" else stated or ("int8" if node.op_type in OPERATORS else None)
            wanted[node.name] = asked, stated is not None
            behind = readers.get(node.output[0], [])
            if stated is not None and len(behind) == 1 and behind[0].op_type in FUSED_ACTIVATIONS:
                wanted[behind[0].name] = wanted[node.name]
        return wanted

    @staticmethod
    def _ask_for_precision(network, wanted):
        """Of layers, and never of their outputs: who asks for codes there where the next layer has no INT8 form gets no
        engine ("No supported formats for {ForeignNode …}"), or one in float throughout."""
        for index in range(network.num_layers):
            layer = network.get_layer(index)
            if layer.type in (tensorrt.LayerType.CONSTANT, tensorrt.LayerType.SHAPE):
                continue
            outputs = [layer.get_output(i) for i in range(layer.num_outputs)]
            real = all(tensor.dtype in (tensorrt.float32, tensorrt.float16) for tensor in outputs)
            for name in layer_nodes({"Name": layer.name, "Metadata": layer.metadata}, wanted)[:1]:
                precision, said = wanted[name]
                if precision is not None and (real or said):  # none but the options ask for the precision of indices
                    layer.precision = TYPES[precision]

    @staticmethod
    def _profile(network, batches):
        """The shapes that the engine takes: what was calibrated with, any batch up to four times as long, twice as much
        along other symbolic dimensions."""
        profile = Profile()
        for i in range(network.num_inputs):
            tensor = network.get_input(i)
            shapes = [batch[tensor.name].shape for batch in batches if tensor.name in batch]
            if -1 not in tensor.shape or not shapes:
                continue
            least, most = numpy.min(shapes, axis=0), numpy.max(shapes, axis=0)
            free = [extent == -1 for extent in tensor.shape]
            low = [1 if open_ and axis == 0 else int(least[axis]) for axis, open_ in enumerate(free)]
            high = [(max(4 * int(most[axis]), LONGEST_BATCH) if axis == 0 else 2 * int(most[axis])) if open_
                    else int(most[axis]) for axis, open_ in enumerate(free)]
            profile.add(tensor.name, min=low, opt=list(shapes[0]), max=high)
        return profile

    def _load(self, artifact):
        key = (str(artifact), os.stat(artifact).st_mtime_ns)
        if self._engine[0] != key:
            self._engine = (None, None)
            engine = self._runtime.deserialize_cuda_engine(Path(artifact).read_bytes())
            if engine is None:
                raise RuntimeError("TensorRT can't load its own engine: " + joined(self._messages.errors))
            self._engine = (key, engine)
        return self._engine[1]

    def _demand_gpu(self):
        if self._missing:
            raise Refused(self._missing)

    @staticmethod
    def _fail(messages, model):
        node = blamed_node(messages, model)
        if node is None:
            raise RuntimeError(joined(messages))
        raise Refused(joined(messages), node.name, node.op_type)

    @staticmethod
    def _numpy_type(kind):
        """Of a NumPy type, as runners tell it, or of Polygraphy's own."""
        return numpy.dtype(kind.numpy() if hasattr(kind, "numpy") else kind)

    @staticmethod
    def _cast(array, dtype):
        """TensorRT 8 has no int64 and no float64: its parser narrows such inputs."""
        return numpy.asarray(array, dtype=dtype, order="C")

    @staticmethod
    def _types(model):
        graph = onnx.shape_inference.infer_shapes(model).graph
        return {info.name: info.type.tensor_type.elem_type for info in (*graph.value_info, *graph.input, *graph.output)}


if __name__ == "__main__":
    serve(TensorRt())
