#!/usr/bin/env python3
"""A function that stands in for a library's says its name before it ends the process: stand_ins.py ADAPTERS_FOLDER"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

if shutil.which("cc") is None:
    print("skipped: no C compiler")
    sys.exit(77)

sys.path.insert(0, sys.argv[1])
from layers import compile_library, stand_ins  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    library = Path(folder, "libstand_in.so")
    compile_library(library, stand_ins(["cudnnCreate", "cublasLtCreate"]))
    done = subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL('{library}').cublasLtCreate()"],
                          capture_output=True, text=True, check=False)
assert done.returncode < 0, f"it goes on: {done.returncode}"
assert done.stderr.startswith("called cublasLtCreate, "), f"it says: {done.stderr}"
