#!/usr/bin/env python3
"""Asks `assay bisect --over optimizers` for the pass that makes ONNX Runtime's Softmax wrong (docs/converters/onnxruntime.md).

usage: onnxruntime_optimizers.py ASSAY SOURCE_TREE

QLinearSoftmax multiplies by floor(1/scale), and QDQSelectorActionTransformer makes Q/DQ units of operators into such kernels.
Exit status 77 (skipped) where ONNX Runtime is not installed.
"""
import json
import os
import pathlib
import subprocess
import sys

try:
    import onnxruntime  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

CASE = "normalization/form=softmax,axis=1,what=mild"
ADAPTER = pathlib.Path(sys.argv[2], "converters", "adapters", "onnxruntime", "adapter.py")


def bisect(*variant):
    command = " ".join([sys.executable, str(ADAPTER), *variant])
    done = subprocess.run([sys.argv[1], "bisect", CASE, "--over", "optimizers", "--json", "--converter-cmd", command],
                          capture_output=True, text=True,
                          env=os.environ | {"ASSAY_ANY_PROCESSOR": "1"})  # no sum of products is in this case
    return done.returncode, done.stdout, done.stderr


def main():
    code, out, err = bisect("--variant", "optimized")
    assert code == 1, err
    found = json.loads(out)
    assert found["guilty"] == ["QDQSelectorActionTransformer"], found
    assert set(found["guilty"]) < set(found["optimizers"])
    # The plain session has none, and says so.
    code, out, err = bisect()
    assert code == 2 and "lists no optimizers" in err, (code, out, err)


if __name__ == "__main__":
    main()
