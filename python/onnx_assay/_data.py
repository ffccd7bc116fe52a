"""Models and data as files: paths stay as they are, objects are written into a folder."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Union

#: A path; a ModelProto or its bytes.
Model = Union[str, "os.PathLike[str]", bytes, Any]
#: A path; {input: array whose first axis is the batch index}; the batches one by one, each {input: array};
#: or one array, for a model with one input.
Data = Union[str, "os.PathLike[str]", Mapping[str, Any], Iterable[Mapping[str, Any]], Any]

MESSAGE_LIMIT_BYTES = 2**31 - 1  # of a protobuf message


def model_file(model: Model, folder: Path, name: str) -> str:
    """The path of `model`; a ModelProto or bytes are written as `folder`/`name`.onnx."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    file = folder / f"{name}.onnx"
    if isinstance(model, bytes):
        file.write_bytes(model)
    elif hasattr(model, "SerializeToString"):
        import onnx

        onnx.save(model, file, save_as_external_data=model.ByteSize() > MESSAGE_LIMIT_BYTES, location=f"{name}.data")
    else:
        raise TypeError(f"a model is a path, an onnx.ModelProto or its bytes, not {type(model).__name__}")
    return os.fspath(file)


def data_file(data: Data, folder: Path, name: str) -> str:
    """The path of `data`; arrays are written below `folder`, as an .npz or .npy file or a folder of batches."""
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    if isinstance(data, Mapping):
        return _write_npz(data, folder / f"{name}.npz")
    if hasattr(data, "__array__"):
        import numpy

        numpy.save(folder / f"{name}.npy", numpy.asarray(data), allow_pickle=False)
        return os.fspath(folder / f"{name}.npy")
    return _write_batches(list(data), folder / name)


def _write_npz(arrays: Mapping[str, Any], file: Path) -> str:
    import numpy

    write_array: Any = numpy.lib.format.write_array  # without types in older NumPy
    # Not numpy.savez: its own parameters' names can't be names of inputs.
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                write_array(entry, numpy.asanyarray(array), allow_pickle=False)
    return os.fspath(file)


def _write_batches(batches: list[Mapping[str, Any]], folder: Path) -> str:
    import numpy
    from onnx import numpy_helper

    if not batches or not all(isinstance(batch, Mapping) for batch in batches):
        raise TypeError("data are a path, {input: array}, an array, or a list of batches that are {input: array} each")
    for index, batch in enumerate(batches):
        here = folder / f"{index:04}"
        here.mkdir(parents=True)
        for place, (name, array) in enumerate(batch.items()):
            proto = numpy_helper.from_array(numpy.asarray(array, order="C"), name)
            (here / f"input_{place}.pb").write_bytes(proto.SerializeToString())
    return os.fspath(folder)
