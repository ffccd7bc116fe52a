"""A CUDA runtime that says what a test wants of its GPUs, as the package nvidia-cuda-runtime would hold it. Without a C
compiler, importing this ends the program with exit status 77 (skipped)."""

import shutil
import subprocess
import sys

if shutil.which("cc") is None:
    print("skipped: no C compiler")
    sys.exit(77)

# A file of this name in the process's folder ends its context, as a kernel's fault would.
SOURCE = """
int access(const char* path, int mode);
int cudaGetDeviceCount(int* count) {{ *count = {count}; return {status}; }}
const char* cudaGetErrorString(int status) {{ return "no driver"; }}
int cudaDeviceSynchronize(void) {{ return access("context_is_gone", 0) == 0 ? 700 : 0; }}
int cudaDeviceGetAttribute(int* value, int attribute, int device) {{ *value = attribute == 75 ? {major} : 0; return 0; }}
"""


def fake_cuda_runtime(root, count=1, status=0, major=9):
    """Makes it below `root`, a folder for PYTHONPATH."""
    library = root / "nvidia" / "cuda_runtime" / "lib"
    library.mkdir(parents=True)
    for package in (library.parent, library.parent.parent):
        (package / "__init__.py").touch()
    command = ["cc", "-shared", "-fPIC", "-o", library / "libcudart.so.12", "-x", "c", "-"]
    subprocess.run(command, input=SOURCE.format(count=count, status=status, major=major), text=True, check=True)
    return root
