"""Which NVIDIA GPU there is, asked of CUDA's runtime from PyPI. Import it before what looks for the runtime itself."""

import ctypes
import os
from pathlib import Path

import nvidia.cuda_runtime

_FOLDER = Path(nvidia.cuda_runtime.__path__[0]) / "lib"
_MAJOR, _MINOR = 75, 76  # cudaDevAttrComputeCapabilityMajor, …Minor

os.environ["LD_LIBRARY_PATH"] = f"{_FOLDER}:{os.environ.get('LD_LIBRARY_PATH', '')}"  # where Polygraphy looks for it
os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")


def _runtime():
    runtime = ctypes.CDLL(str(next(_FOLDER.glob("libcudart.so*"))))
    runtime.cudaGetErrorString.restype = ctypes.c_char_p
    return runtime


def missing_gpu():
    """Why nothing can be converted or executed here; "" where there is a GPU."""
    runtime = _runtime()
    count = ctypes.c_int()
    status = runtime.cudaGetDeviceCount(ctypes.byref(count))
    if status != 0:
        return f"no usable NVIDIA GPU: {runtime.cudaGetErrorString(status).decode()} (CUDA error {status})"
    return "" if count.value > 0 else "no NVIDIA GPU"


def context_stands():
    """False once a kernel's fault has ended this process's context: whatever it asks of CUDA from then on fails alike."""
    return _runtime().cudaDeviceSynchronize() == 0


def compute_capability():
    """(major, minor) of the first GPU."""
    runtime, found = _runtime(), []
    for attribute in (_MAJOR, _MINOR):
        value = ctypes.c_int()
        if runtime.cudaDeviceGetAttribute(ctypes.byref(value), attribute, 0) != 0:
            raise RuntimeError("CUDA doesn't tell the compute capability of its first device")
        found.append(value.value)
    return tuple(found)
