"""TensorRT behind Assay's protocol 1, driven through Polygraphy's Python API.

Where the model has no quantizers of its own, INT8 is implicit: a calibrator is fed with the case's batches, the layers
are asked for a precision (layer_precision.py), and what TensorRT made of that is read from the engine.
"""

import json
import logging
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import Refused, calibration_batches, changed, read_tensors, serve, write_tensors  # first: Polygraphy prints
from cuda_device import context_stands, missing_gpu  # before Polygraphy
import numpy
import onnx
import tensorrt
from layer_precision import ask_for_precision, wanted_precisions
from model_request import state_names
from polygraphy.backend.trt import (
    Calibrator, CreateConfig, Profile, TrtRunner, engine_bytes_from_network, network_from_onnx_path)
from polygraphy.backend.trt import util as trt_util
from polygraphy.common import TensorMetadata
from polygraphy.exception import PolygraphyException
from polygraphy.logger import G_LOGGER
from qdq_report import MOVING, PAIR, tensor_scales
from safe_names import SafeNames
from trt_report import blamed_node, cache_entries, joined, node_precision, read_cache
from trt_request import CALIBRATION_CACHE, OPERATORS, POLICY, WORKSPACE_BYTES, shape_range, shapes_seen

CALIBRATORS = {"entropy": tensorrt.IInt8EntropyCalibrator2, "minmax": tensorrt.IInt8MinMaxCalibrator}
OPTIMIZATION_LEVEL = 1  # a build of 10 s instead of a minute; which tactics are tried changes, not what they compute


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
                "activation": ["int8"], "weight": ["int8"],
                "symmetric": [True],
                "per_axis": [True],
                "method": list(CALIBRATORS),
                # No "operators": what has no INT8 form stays in float, so that every operator can be tried.
                "int8_operators": list(OPERATORS),
                "execute": True,
                "artifact": "scales",
                "reports": ["activations", "precision", "cache"],
            },
            "policy": POLICY,
        }

    def usable(self):
        return bool(self._missing) or context_stands()

    def convert(self, model, calibration, options, output):
        self._demand_gpu()
        original = onnx.load(model)
        state_names(original, "TensorRT's layers are told by the names of nodes")
        names = SafeNames.of(original)
        if names.table():
            changed("names with characters that TensorRT's files can't hold are written otherwise: " + ", ".join(names.table()))
        options = {**options, "precision": {names.new(name): wish for name, wish in options.get("precision", {}).items()}}
        named = Path(output, "named.onnx")
        onnx.save(original, named)
        try:
            batches = [{names.new(name): array for name, array in batch.items()}
                       for batch in calibration_batches(calibration)]
            plan, cache = self._build(original, named, batches, options)
        except PolygraphyException as error:
            self._fail([*self._messages.errors, str(error)], original, names)  # it raises
        finally:
            named.unlink()
        artifact = Path(output, "model.plan")
        artifact.write_bytes(plan)
        types = self._types(original)
        Path(output, "types.json").write_text(json.dumps({
            "outputs": {tensor.name: types[tensor.name] for tensor in original.graph.output}, "names": names.table()}))
        inspector = self._load(artifact).create_engine_inspector()
        information = inspector.get_engine_information(tensorrt.LayerInformationFormat.JSON)
        Path(output, "layers.json").write_text(information, encoding="utf-8")
        file = Path(output, "calibration.cache")
        file.write_bytes(cache)
        own = tensor_scales(original, lambda name: name)  # of the quantizers that the model has itself
        entries = own or cache_entries(read_cache(cache.decode())[1], original, information)
        precision = node_precision(original, types, information, (*OPERATORS, *MOVING))
        return {"artifact": artifact, "cache": file,
                "precision": [{**entry, "node": names.old(entry["node"])} for entry in precision],
                "tensors": [{**entry, "name": names.old(entry["name"])} for entry in entries]}

    def execute(self, artifact, inputs, output):
        self._demand_gpu()
        self._messages.errors.clear()
        said = json.loads(Path(artifact).with_name("types.json").read_text())
        types, names = said["outputs"], said["names"]
        engine = self._load(artifact)
        try:
            with TrtRunner(engine) as runner:
                expected = runner.get_input_metadata()
                new = {old: new for new, old in names.items()}
                feed = self._as_parsed({new.get(name, name): array for name, array in read_tensors(inputs).items()},
                                       expected)
                results = runner.infer({name: self._cast(feed[name], self._numpy_type(expected[name].dtype))
                                        for name in expected})
                arrays = {names.get(name, name): numpy.array(results[name]).astype(onnx.helper.tensor_dtype_to_np_dtype(types[name]))
                          for name in types}
        except PolygraphyException as error:
            raise RuntimeError(joined([*self._messages.errors, str(error)])) from error
        write_tensors(arrays, output)

    def _build(self, original, named, batches, options):
        """The serialized engine, and the calibration cache: empty where the model has quantizers of its own."""
        self._messages.errors.clear()
        builder, network, parser = network_from_onnx_path(str(named))
        kinds = {network.get_input(i).name: numpy.dtype(tensorrt.nptype(network.get_input(i).dtype))
                 for i in range(network.num_inputs)}
        batches = [self._as_parsed(batch, kinds) for batch in batches]
        explicit = any(node.op_type in PAIR for node in original.graph.node)
        wanted = wanted_precisions(original, options.get("precision", {}))
        cache, calibrator = Path(CALIBRATION_CACHE), None
        cache.write_bytes(Path(options["cache"]).read_bytes() if options.get("cache") else b"")
        if not explicit:
            ask_for_precision(network, wanted)
            feed = [{name: self._cast(array, self._calibrated_as(kinds.get(name, array.dtype)))
                     for name, array in batch.items()} for batch in batches]
            calibrator = self._as_fed(
                Calibrator(feed, cache=str(cache), BaseClass=CALIBRATORS[options.get("method", "entropy")]))
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
    def _as_parsed(arrays, inputs):
        """The arrays by the names of the network's inputs: "__x" for an "x" that the graph gives out as well."""
        parsed = {name.removeprefix("__"): name for name in inputs if name not in arrays}
        return {parsed.get(name, name): array for name, array in arrays.items()}

    @staticmethod
    def _calibrated_as(kind):
        """Calibration runs in float32: it takes every input so, but for indices and conditions."""
        return kind if kind.name in ("int32", "int64", "bool") else numpy.dtype(numpy.float32)

    @classmethod
    def _as_fed(cls, calibrator):
        """The calibrator, expecting what it is fed: Polygraphy holds that to the types of the network's inputs."""
        take = calibrator.set_input_metadata

        def take_as_fed(metadata):
            expected = TensorMetadata()
            for name, tensor in metadata.items():
                expected.add(name, cls._calibrated_as(cls._numpy_type(tensor.dtype)), tensor.shape)
            take(expected)

        calibrator.set_input_metadata = take_as_fed
        return calibrator

    @staticmethod
    def _profile(network, batches):
        """The shapes that the engine takes."""
        profile = Profile()
        for i in range(network.num_inputs):
            tensor = network.get_input(i)
            taken = shape_range(list(tensor.shape), shapes_seen(batches, tensor.name))
            if taken is not None:
                profile.add(tensor.name, *taken)
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
    def _fail(messages, model, names):
        node = blamed_node(messages, model)
        if node is None:
            raise RuntimeError(joined(messages))
        raise Refused(joined(messages), names.old(node.name), node.op_type)

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
