"""Tensors in files as protocol 1 has them. Without numpy and onnx, importing this ends the program with exit status 77
(skipped)."""
import sys

try:
    import onnx
    from onnx import numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def write_tensors(folder, stem, tensors):
    """folder/stem_0.pb, …, each with its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, (name, value) in enumerate(tensors.items()):
        (folder / f"{stem}_{index}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())


def read_tensors(folder, stem="*"):
    """The tensors of a folder by name."""
    protos = [onnx.TensorProto.FromString(path.read_bytes()) for path in folder.glob(f"{stem}_*.pb")]
    return {proto.name: numpy_helper.to_array(proto) for proto in protos}
