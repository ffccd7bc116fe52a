"""Torch-TensorRT's TorchScript front end behind Assay's protocol 1: PTQ of the PyTorch twin of a case (../common/torch_twin.py).

DataLoaderCalibrator is fed on the host with the inputs of each batch in the graph's order, which is how it binds them.
The whole network has to become one engine: what is left to PyTorch would need cuBLAS and cuDNN. TensorRT chooses which
layers run in INT8; there is no precision of a layer to ask for.
"""

import logging
import re
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import Refused, calibration_batches, changed, read_tensors, serve, write_tensors
from captured import Failed, call
from cuda_device import context_stands, missing_gpu
import numpy
import onnx
import torch
from model_request import declared_shape, graph_inputs, name_nodes, output_types, refuse_float
from torch_twin import Truth, as_tuple, make_twin, operators
from trt_report import cache_entries, joined, read_cache
from trt_request import CALIBRATION_CACHE, OPERATORS, POLICY, WORKSPACE_BYTES, shape_range, shapes_seen

IMPORTER = "the importer onnx2torch, not Torch-TensorRT"
METHODS = {"entropy": "ENTROPY_CALIBRATION_2", "minmax": "MINMAX_CALIBRATION"}
SAID = re.compile(r"^(ERROR|WARNING): (?:\[Torch-TensorRT[^\]]*\] - )?(.*)$", re.MULTILINE)
NARROWED = {numpy.dtype("float64"): numpy.dtype("float32")}  # as truncate_long_and_double does


def errors_in(words):
    """What Torch-TensorRT and TensorRT logged as errors."""
    return joined([text for kind, text in SAID.findall(words) if kind == "ERROR"]) or words[-1500:]


class Batches(torch.utils.data.Dataset):
    """Of each batch the inputs that it has, by position."""

    def __init__(self, names, batches):
        self._batches = [[torch.from_numpy(narrowed(batch[name])) for name in names if name in batch]
                         for batch in batches]

    def __len__(self):
        return len(self._batches)

    def __getitem__(self, index):
        return self._batches[index]


def narrowed(array):
    return numpy.array(array, dtype=NARROWED.get(array.dtype, array.dtype))


def element_type(tensor):
    """PyTorch's, of a graph's input as it is fed."""
    kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.type.tensor_type.elem_type)
    return torch.from_numpy(narrowed(numpy.zeros(0, kind))).dtype


def traced(module, inputs):
    """The module as TorchScript."""
    return torch.jit.trace(module, tuple(inputs), check_trace=False)


def only(batch):
    """Batches come as they are: one "sample" is one of them."""
    return batch[0]


class TorchTensorRt:
    def __init__(self):
        self._missing = missing_gpu()
        if not self._missing:
            import torch_tensorrt  # asks for the current GPU while it is imported
            import torch_tensorrt.ts.ptq
            import tensorrt
            self._converter = torch_tensorrt
            self._device = torch.device("cuda:0")
            # The front end makes a builder for each engine; this one keeps the kernels' library loaded between two cases.
            self._builder = tensorrt.Builder(tensorrt.Logger(tensorrt.Logger.ERROR))
        self._kept = (None, None)

    def describe(self):
        return {
            "name": "torch_tensorrt",
            "version": version("torch_tensorrt"),
            "unavailable": self._missing,
            "supports": {
                "activation": ["int8"], "weight": ["int8"],
                "symmetric": [True],
                "per_axis": [True],
                "method": list(METHODS),
                "models": ["float"],
                "operators": operators(),
                "int8_operators": list(OPERATORS),
                "execute": True,
                # The cache names all but the inputs after TensorRT's layers, "(Unnamed Layer* 8) [Concatenation]_output".
                "artifact": "opaque",
                "reports": ["inputs", "cache"],
            },
            "policy": POLICY,
        }

    def usable(self):
        return bool(self._missing) or context_stands()

    def convert(self, model, calibration, options, output):
        if self._missing:
            raise Refused(self._missing)
        original = onnx.load(model)
        name_nodes(original)
        changed("the network is a TorchScript one that onnx2torch made of the model")
        refuse_float(original, options, "Torch-TensorRT enables precisions for a whole engine, not for a layer")
        batches = calibration_batches(calibration)
        twin = make_twin(original, batches, IMPORTER, traced)
        if not call("support", self._converter.ts.check_method_op_support, twin, "forward")[0]:
            raise Refused("Torch-TensorRT has no converter for an operator of the twin, which PyTorch would run")
        artifact = Path(output, "artifact")
        artifact.mkdir()
        try:
            onnx.save(original, artifact / "model.onnx")
            twin.save(str(artifact / "twin.ts"))
            cache = Path(CALIBRATION_CACHE)
            cache.write_bytes(Path(options["cache"]).read_bytes() if options.get("cache") else b"")
            engine, words = call("compile", self._compile, twin, original, batches, options, said=errors_in)
            engine.save(str(artifact / "engine.ts"))
            (artifact / "calibration.cache").write_bytes(cache.read_bytes())
        except Exception:
            shutil.rmtree(artifact)
            raise
        for _, text in SAID.findall(words):
            logging.getLogger("torch_tensorrt").warning(text)
        return {"artifact": artifact, "cache": artifact / "calibration.cache",
                "tensors": self._input_scales(cache.read_text(), original)}

    def execute(self, artifact, inputs, output):
        if self._missing:
            raise Refused(self._missing)
        truth, twin, engine = self._load(Path(artifact))
        feed = read_tensors(inputs)
        truth.demand(twin, feed)
        fed = [torch.from_numpy(narrowed(feed[tensor.name])).to(self._device) for tensor in graph_inputs(truth.model)]
        results = as_tuple(call("execute", engine, *fed, said=errors_in)[0])
        types = output_types(truth.model)
        if len(results) != len(types):
            raise Failed(f"{len(results)} outputs where the model has {len(types)}")
        write_tensors({name: tensor.cpu().numpy().astype(types[name]) for name, tensor in zip(types, results)}, output)

    @staticmethod
    def _input_scales(cache, model):
        """Of the cache's entries those of the graph's inputs, which it calls by their places: "input_0"."""
        scales = read_cache(cache)[1]
        places = {f"input_{index}": tensor.name for index, tensor in enumerate(graph_inputs(model))}
        return cache_entries({places[name]: scale for name, scale in scales.items() if name in places}, model)

    def _compile(self, twin, model, batches, options):
        ptq = self._converter.ts.ptq
        inputs = [self._input(tensor, batches) for tensor in graph_inputs(model)]
        loader = torch.utils.data.DataLoader(Batches([tensor.name for tensor in graph_inputs(model)], batches),
                                             batch_size=1, shuffle=False, collate_fn=only)
        calibrator = ptq.DataLoaderCalibrator(
            loader, cache_file=CALIBRATION_CACHE, use_cache=bool(options.get("cache")), device=self._device,
            algo_type=getattr(ptq.CalibrationAlgo, METHODS[options.get("method", "entropy")]))
        return self._converter.ts.compile(
            twin.to(self._device), inputs=inputs, device=self._converter.Device("cuda:0"), calibrator=calibrator,
            enabled_precisions={torch.float32, torch.int8}, disable_tf32=True, workspace_size=WORKSPACE_BYTES,
            truncate_long_and_double=True, require_full_compilation=True)

    def _input(self, tensor, batches):
        dtype, shape = element_type(tensor), declared_shape(tensor)
        taken = shape_range(shape, shapes_seen(batches, tensor.name))
        if taken is None:
            return self._converter.Input(shape=shape, dtype=dtype)
        return self._converter.Input(min_shape=taken[0], opt_shape=taken[1], max_shape=taken[2], dtype=dtype)

    def _load(self, artifact):
        """The model, its twin and its engine."""
        if self._kept[0] != artifact:
            self._kept = (None, None)
            self._kept = (artifact, (Truth(onnx.load(artifact / "model.onnx"), IMPORTER),
                                     torch.jit.load(str(artifact / "twin.ts")), torch.jit.load(str(artifact / "engine.ts"))))
        return self._kept[1]


if __name__ == "__main__":
    serve(TorchTensorRt())
