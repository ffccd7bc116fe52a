"""Runs the tests of this folder by pytest: run.py ASSAY ROOT [PYTHON…] [-- PYTEST'S ARGUMENTS]

With the first of this interpreter, the system's and the named ones that has pytest, numpy and onnx; exit code 77 where
none has. The package is the one of the source tree ROOT, the program ASSAY.
"""
import os
import subprocess
import sys
from pathlib import Path

NEEDED = "import pytest, numpy, onnx.numpy_helper"


def main(assay, root, *words):
    cut = words.index("--") if "--" in words else len(words)
    pythons = [sys.executable, "/usr/bin/python3", *words[:cut]]
    environment = {**os.environ, "ASSAY_PROGRAM": assay, "ASSAY_HOME": root, "PYTHONPATH": os.path.join(root, "python"),
                   "PYTEST_PLUGINS": "onnx_assay.pytest_plugin", "PYTHONDONTWRITEBYTECODE": "1"}
    for python in pythons:
        try:
            known = subprocess.run([python, "-c", NEEDED], env=environment, capture_output=True, check=False).returncode == 0
        except OSError:
            known = False
        if known:
            return subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir",
                                   Path(__file__).parent, Path(__file__).parent, *words[cut + 1:]],
                                  env=environment, check=False).returncode
    print(f"none of {', '.join(pythons)} has pytest, numpy and onnx")
    return 77


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), *sys.argv[3:]))
