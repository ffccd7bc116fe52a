import json
import subprocess
from pathlib import Path

import numpy
import onnx
import onnx_assay
import pytest

pytest_plugins = ["pytester"]

DATA = Path(__file__).resolve().parents[1] / "data" / "trt861"


class Network:
    """A small network with its calibration data, as paths and as objects."""

    path = DATA / "concat_ranges.onnx"
    calibration_path = DATA / "concat_ranges.calibration.npz"

    def __init__(self, folder):
        self.model = onnx.load(self.path)
        self.calibration = dict(numpy.load(self.calibration_path))
        self.quantized_path = folder / "model.onnx"
        subprocess.run([onnx_assay.program(), "convert", self.path, "--calibration", self.calibration_path, "--output",
                        folder], check=True, capture_output=True)


@pytest.fixture(scope="session")
def network(tmp_path_factory):
    return Network(tmp_path_factory.mktemp("network"))


FAMILY = {
    "family": "mini", "title": "a plain Conv", "tags": ["Conv"], "matrix": {"stride": [1, 2]},
    "graph": ["agraph (float[2,3,9,7] x) => (float[N,5,H,W] y) {",
              "  y = Conv <kernel_shape=[3,2], strides=[$stride,$stride]> (x, w, b)", "}"],
    "opset": 13,
    "initializers": {"w": {"shape": [5, 3, 3, 2], "data": "normal", "spread": {"axis": 0, "ratio": 20}},
                     "b": {"shape": [5], "data": "normal"}},
    "inputs": {"x": {"data": ["typical", "saturate"], "range": [-3, 2]}},
    "kills": ["bias_dropped"]}


@pytest.fixture
def home(pytester, monkeypatch):
    """A home with two cases, and suites over them, for runs of pytest inside a test."""
    for folder in ("cases", "suites"):
        (pytester.path / "home" / folder).mkdir(parents=True)
    monkeypatch.setenv("ASSAY_HOME", str(pytester.path / "home"))

    def write(file, content):
        (pytester.path / "home" / file).write_text(json.dumps(content))

    write("cases/mini.json", FAMILY)
    suite = {"title": "all", "select": ["*"], "converters": ["embedded"],
             "option_sets": [{"label": "default", "options": {}}, {"label": "even", "options": {"symmetric": True}}]}
    write("suites/default.json", suite)
    expected = {"case": "mini/stride=1", "converter": "embedded", "stage": "artifact", "facet": "bias", "reason": ".",
                "url": "https://example.org/1"}
    write("suites/expecting.json", {**suite, "expected_failures": [expected]})
    return pytester.path / "home"
