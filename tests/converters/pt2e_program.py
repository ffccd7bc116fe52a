#!/usr/bin/env python3
"""The Q/DQ model that PT2E's adapter writes is the program that PyTorch executes: pt2e_program.py FOLDER-OF-THE-ADAPTER

Each network is converted by both quantizers; the written model, executed by ONNX Runtime, has to give what the program
gives, and its quantizers have to stand where they are listed here. Skipped without PT2E's packages.
"""

import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, sys.argv[1])
del sys.argv[1:]  # unittest reads it, too

try:
    import adapter
    import numpy
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
from onnx import numpy_helper, parser

BESIDE = 0.02  # share of elements that lie between two steps, which another order of a sum decides
HEADER = '<ir_version: 8, opset_import: ["": 13]>\n'
NETWORKS = {  # text, and the tensors that x86 quantizes in it
    "batch norm, pads that differ": (
        "g (float[1,3,6,5] x) => (float[1,4,6,5] y) { c = Conv <kernel_shape=[3,2], pads=[1,0,1,1]> (x, w) "
        "n = BatchNormalization (c, s, b, m, v) y = Relu (n) }",
        {"w": [4, 3, 3, 2], "s": [4], "b": [4], "m": [4], "v": [4]}, {"x", "w"}),
    "factors of a Gemm": (
        "g (float[2,3] x) => (float[2,4] y) { y = Gemm <alpha=0.5, beta=3.0> (x, w, b) }", {"w": [3, 4], "b": [1, 4]},
        {"x", "w"}),
    "a matrix": ("g (float[2,3] x) => (float[2,4] y) { y = MatMul (x, w) }", {"w": [3, 4]}, {"x", "w"}),
    "a matrix and a batch norm": (
        "g (float[2,3] x) => (float[2,4] y) { p = MatMul (x, w) y = BatchNormalization (p, s, b, m, v) }",
        {"w": [3, 4], "s": [4], "b": [4], "m": [4], "v": [4]}, {"x", "w"}),
    "a Slice of two axes behind an Add": (
        "g (float[2,5,6] x) => (float[2,2,3] y) "
        "<int64[2] f = {1,0}, int64[2] t = {3,5}, int64[2] a = {1,2}, int64[2] p = {1,2}> { h = Add (x, x) y = Slice (h, f, t, a, p) }", {}, set()),
}


def drawn(random, shape):
    return random.uniform(0.2, 1.5, shape).astype(numpy.float32)


class Program(unittest.TestCase):
    def convert(self, variant, name):
        text, constants, _ = NETWORKS[name]
        random = numpy.random.default_rng(1)
        model = parser.parse_model(HEADER + text)
        model.graph.initializer.extend(numpy_helper.from_array(drawn(random, shape), constant)
                                       for constant, shape in constants.items())
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        onnx.save(model, folder / "model.onnx")
        shape = [axis.dim_value for axis in model.graph.input[0].type.tensor_type.shape.dim]
        batch = {"x": (3 * random.standard_normal(shape)).astype(numpy.float32)}
        for place in ("calibration/0000", "inputs"):
            (folder / place).mkdir(parents=True)
            tensor = numpy_helper.from_array(batch["x"], "x")
            (folder / place / "input_0.pb").write_bytes(tensor.SerializeToString())
        for place in ("converted", "outputs", "trace"):
            (folder / place).mkdir()
        converter = adapter.Pt2e(variant)
        reply = converter.convert(str(folder / "model.onnx"), str(folder / "calibration"), {"method": "minmax"},
                                  str(folder / "converted"))
        traced = converter.execute(str(reply["artifact"]), str(folder / "inputs"), str(folder / "outputs"),
                                   str(folder / "trace"))
        read = [onnx.TensorProto.FromString(file.read_bytes()) for place in ("outputs", "trace")
                for file in (folder / place).iterdir()]
        executed = {tensor.name: numpy_helper.to_array(tensor) for tensor in read}
        written = onnx.load(reply["artifact"])
        written.graph.output.extend(onnx.ValueInfoProto(name=each) for each in traced)
        plain = onnxruntime.SessionOptions()
        plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(written.SerializeToString(), plain, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return reply, executed, dict(zip(names, session.run(names, batch)))

    def test_what_is_written_is_what_is_executed(self):
        for name in NETWORKS:
            for variant in adapter.ROUTES:
                with self.subTest(name, variant=variant):
                    _, executed, expected = self.convert(variant, name)
                    self.assertEqual(set(executed), set(expected))
                    for tensor, array in expected.items():
                        self.assertEqual((executed[tensor].shape, executed[tensor].dtype), (array.shape, array.dtype))
                        near = numpy.isclose(executed[tensor].astype(float), array, rtol=1e-5, atol=1e-5)
                        self.assertLessEqual(1 - near.mean(), BESIDE, tensor)

    def test_quantized_tensors_have_the_names_of_the_model(self):
        for name, (_, _, quantized) in NETWORKS.items():
            with self.subTest(name):
                self.assertEqual({entry["name"] for entry in self.convert("", name)[0]["tensors"]}, quantized)


if __name__ == "__main__":
    unittest.main()
