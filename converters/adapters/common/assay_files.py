"""The files of protocol 1 (docs/protocol.md) as Python's objects, and how a converter declines."""

from pathlib import Path

import numpy
import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper


class Refused(Exception):
    """The converter declines, and says at which node and operator."""

    def __init__(self, reason, node="", op=""):
        super().__init__(reason)
        self.node, self.op = node, op


def read_tensors(folder, stem="input"):
    """The TensorProto files STEM_0.pb, STEM_1.pb … of a folder as {name: array}; ValueError names one that isn't."""
    tensors = {}
    for path in sorted(Path(folder).glob(f"{stem}_*.pb")):
        try:
            proto = onnx.TensorProto.FromString(path.read_bytes())
        except DecodeError as error:
            raise ValueError(f"\"{path.name}\" isn't a TensorProto: {error}") from error
        tensors[proto.name] = numpy_helper.to_array(proto)
    return tensors


def write_tensors(tensors, folder, stem="output"):
    """Writes {name: array} as TensorProto files that carry their names."""
    for index, (name, array) in enumerate(tensors.items()):
        proto = numpy_helper.from_array(numpy.ascontiguousarray(array).reshape(numpy.shape(array)), name)
        Path(folder, f"{stem}_{index}.pb").write_bytes(proto.SerializeToString(deterministic=True))


def calibration_batches(folder):
    """The batches 0000, 0001 … of a calibration folder, in order, each as {name: array}; ValueError names a bad one."""
    batches = []
    for batch in sorted(path for path in Path(folder).iterdir() if path.is_dir()):
        try:
            batches.append(read_tensors(batch))
        except ValueError as error:
            raise ValueError(f"calibration batch {batch.name}: {error}") from error
    return batches
