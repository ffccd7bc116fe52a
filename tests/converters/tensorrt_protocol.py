#!/usr/bin/env python3
"""The protocol side of TensorRT's adapter, over stand-ins for TensorRT and Polygraphy (fake_tensorrt): tensorrt_protocol.py ADAPTER

What is asked of which layer, what is fed, what comes back; nothing of what TensorRT makes of it. Skipped (77) without
numpy, onnx and a C compiler.
"""

import json
import shutil
import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from adapter_process import Adapter  # noqa: E402
from fake_cuda import fake_cuda_runtime  # noqa: E402, skips without a C compiler
from onnx_files import write_tensors  # noqa: E402, skips without numpy and onnx

import numpy  # noqa: E402
import onnx  # noqa: E402
from onnx import numpy_helper, parser  # noqa: E402

ADAPTER = Path(sys.argv[1])
FAKES = Path(__file__).resolve().parent / "fake_tensorrt"
NET = """<ir_version: 8, opset_import: ["": 13]>
agraph (float[n,2,3] x, int64[2] i) => (float[n,2,3] y, int64[2] j, float[n,2,2] z) {
  s = Sigmoid (x)
  c = Concat <axis=2> (s, x)
  y = Slice (c, zero, three, two)
  z = Gather <axis=2> (c, i)
  j = Concat <axis=0> (i)
}"""


def write(folder, **arrays):
    write_tensors(folder, "input", arrays)


def start(root, environment=None, **gpu):
    """The adapter over a CUDA runtime that tells of such a GPU."""
    return Adapter(ADAPTER, PYTHONPATH=f"{FAKES}:{fake_cuda_runtime(root, **gpu)}", PYTHONDONTWRITEBYTECODE="1",
                   **(environment or {}))


class Protocol(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.adapter = start(self.root / "packages")
        self.addCleanup(self.adapter.quit)
        model = parser.parse_model(NET)
        for name, values in (("zero", [0]), ("three", [3]), ("two", [2])):
            model.graph.initializer.append(numpy_helper.from_array(numpy.array(values, numpy.int64), name))
        self.model = self.root / "model.onnx"
        onnx.save(model, self.model)
        self.batches = [numpy.full((size, 2, 3), value, numpy.float32) for size, value in ((2, 0.5), (3, -2.0))]
        for index, batch in enumerate(self.batches):
            write(self.root / "calibration" / f"{index:04d}", x=batch, i=numpy.array([0, 1]))

    def convert(self, name="out", model=None, **options):
        output = self.root / name
        output.mkdir()
        return self.adapter.answer("convert", model=str(model or self.model), calibration=str(self.root / "calibration"),
                                options=options, output=str(output))

    def built(self, reply):
        return json.loads(Path(reply["artifact"]).read_text())["asked"]

    def test_every_float_layer_with_an_int8_form_is_asked_for_it(self):
        reply = self.convert()
        self.assertEqual(reply["status"], "ok", reply)
        got = {entry["node"]: entry["got"] for entry in reply["precision"]}
        self.assertEqual(got, {"s": "int8", "c": "int8", "y": "fp32", "z": "fp32"})  # j holds indices
        asked = self.built(reply)
        self.assertEqual((asked["int8"], asked["fp16"], asked["precision_constraints"]), (True, False, "prefer"))
        self.assertEqual(asked["tactic_sources"], [])

    def test_scales_are_those_of_the_cache(self):
        reply = self.convert()
        scales = {entry["name"]: entry["scale"][0] for entry in reply["tensors"]}
        self.assertEqual(scales["x"], numpy.float32(2 / 127))
        text = Path(reply["cache"]).read_text()
        self.assertIn("x: " + struct.pack(">f", 2 / 127).hex(), text)
        self.assertTrue(text.startswith("TRT-8601-EntropyCalibration2\n"))
        self.assertIn("MinMax", Path(self.convert("other", method="minmax")["cache"]).read_text())

    def test_a_cache_is_handed_on(self):
        cache = self.root / "given.cache"
        cache.write_text("TRT-8601-EntropyCalibration2\nx: 3f000000\nnobody: 3f800000\n")
        reply = self.convert(cache=str(cache))
        self.assertEqual([(entry["name"], entry["scale"]) for entry in reply["tensors"]], [("x", [0.5])])

    def test_allowed_asks_nothing_and_demanded_is_obeyed(self):
        allowed = self.convert("allowed", precision={"Sigmoid": "int8?", "c": "int8?"})
        self.assertEqual({entry["got"] for entry in allowed["precision"]}, {"fp32"})
        self.assertEqual(self.built(allowed)["precision_constraints"], "prefer")
        demanded = self.convert("demanded", precision={"Sigmoid": "int8", "c": "fp16"})
        self.assertEqual({entry["node"]: entry["got"] for entry in demanded["precision"]},
                         {"s": "int8", "c": "fp16", "y": "fp32", "z": "fp32"})
        asked = self.built(demanded)
        self.assertEqual((asked["fp16"], asked["precision_constraints"]), (True, "obey"))

    def test_an_activation_goes_along_with_the_node_before_it(self):
        model = self.root / "activation.onnx"
        onnx.save(parser.parse_model(NET[:NET.index("agraph")] + """agraph (float[2,2,3] x) => (float[2,2,3] y) {
            a = Sigmoid (x) r = Relu (a) b = Sigmoid (r) y = Relu (b) }"""), model)
        reply = self.convert(model=model, precision={"a": "fp32"})
        self.assertEqual({entry["node"]: entry["got"] for entry in reply["precision"]},
                         {"a": "fp32", "r": "fp32", "b": "int8", "y": "int8"})
        reply = self.convert("said", model=model, precision={"a": "fp32", "Relu": "int8"})
        self.assertEqual({entry["node"]: entry["got"] for entry in reply["precision"]}["r"], "int8")

    def test_symbolic_dimensions_get_a_range(self):
        self.assertEqual(self.built(self.convert())["profile"], {"x": [[1, 2, 3], [2, 2, 3], [12, 2, 3]]})

    def test_a_failed_build_names_its_node_and_leaves_nothing(self):
        model = onnx.load(self.model)
        model.graph.node[1].name = "refuse_me"
        onnx.save(model, self.root / "refused.onnx")
        reply = self.convert(model=self.root / "refused.onnx")
        self.assertEqual((reply["status"], reply["node"], reply["op"]), ("refused", "refuse_me", "Concat"))
        self.assertIn("computes indices", reply["reason"])
        self.assertEqual(list((self.root / "out").iterdir()), [])

    def test_what_the_calibrator_logs_is_the_reason(self):
        for batch in (self.root / "calibration").iterdir():
            (batch / "input_1.pb").unlink()
        reply = self.convert()
        self.assertEqual(reply["status"], "error")
        self.assertIn("{'i'}", reply["reason"])
        self.assertEqual(list((self.root / "out").iterdir()), [])

    def test_outputs_come_back_in_the_types_of_the_model(self):
        artifact = self.convert()["artifact"]
        write(self.root / "inputs", x=self.batches[0], i=numpy.array([1, 0]))
        (self.root / "outputs").mkdir()
        reply = self.adapter.answer("execute", artifact=artifact, inputs=str(self.root / "inputs"),
                                 output=str(self.root / "outputs"))
        self.assertEqual(reply["status"], "ok", reply)
        made = [onnx.TensorProto.FromString(file.read_bytes()) for file in (self.root / "outputs").iterdir()]
        types = {tensor.name: numpy_helper.to_array(tensor).dtype.name for tensor in made}
        self.assertEqual(types, {"y": "float32", "z": "float32", "j": "int64"})

    def test_quantizers_of_the_model_are_left_alone(self):
        model = parser.parse_model("""<ir_version: 8, opset_import: ["": 13]>
            agraph (float[2] x, int64[2] i) => (float[2] y) {
              q = QuantizeLinear (x, k)
              d = DequantizeLinear (q, k)
              y = Sigmoid (d)
            }""")
        model.graph.initializer.append(numpy_helper.from_array(numpy.array(0.25, numpy.float32), "k"))
        onnx.save(model, self.root / "explicit.onnx")
        reply = self.convert(model=self.root / "explicit.onnx")
        self.assertEqual([(entry["name"], entry["scale"]) for entry in reply["tensors"]], [("x", [0.25])])
        self.assertIsNone(self.built(reply)["precision_constraints"])
        self.assertEqual(Path(reply["cache"]).read_bytes(), b"")

    def test_a_list_of_one_scale_is_per_tensor(self):
        model = parser.parse_model("""<ir_version: 8, opset_import: ["": 13]>
            agraph (float[2,3] x, int64[2] i) => (float[2,3] y) <float[1] k = {0.25}, int8[1] z = {0}> {
              q = QuantizeLinear (x, k, z)
              d = DequantizeLinear (q, k, z)
              y = Sigmoid (d)
            }""")
        onnx.save(model, self.root / "listed.onnx")
        reply = self.convert(model=self.root / "listed.onnx")
        self.assertEqual([(entry["scale"], entry["axis"]) for entry in reply["tensors"]], [([0.25], None)])

    def run_both(self, text, array, wish=None):
        """Converts and executes a model of one input x; (the reply, {output: array})."""
        model = self.root / "other.onnx"
        onnx.save(text if isinstance(text, onnx.ModelProto) else parser.parse_model(text), model)
        shutil.rmtree(self.root / "calibration")
        write(self.root / "calibration" / "0000", x=array)
        write(self.root / "given", x=array)
        reply = self.convert(model=model, precision=wish or {})
        self.assertEqual(reply["status"], "ok", reply)
        (self.root / "made").mkdir()
        answer = self.adapter.answer("execute", artifact=reply["artifact"], inputs=str(self.root / "given"),
                                     output=str(self.root / "made"))
        self.assertEqual(answer["status"], "ok", answer)
        made = [onnx.TensorProto.FromString(file.read_bytes()) for file in (self.root / "made").iterdir()]
        return reply, {tensor.name: numpy_helper.to_array(tensor) for tensor in made}

    def test_names_that_tensorrt_cant_write_come_back_as_they_were(self):
        model = parser.parse_model("""<ir_version: 8, opset_import: ["": 13]>
            agraph (float[2] x) => (float[2] y) { a_b = Sigmoid (x) t = Tanh (a_b) y = Relu (t) }""")
        sigmoid, tanh, relu = model.graph.node
        sigmoid.name, tanh.name, relu.name = "größe", 'a"b', "c\nd"
        tanh.output[0] = relu.input[0] = 't\n"'
        relu.output[0] = model.graph.output[0].name = "y\\"
        reply, made = self.run_both(model, numpy.array([0.5, -1], numpy.float32), {'a"b': "fp32"})
        self.assertEqual({entry["node"]: entry["got"] for entry in reply["precision"]},
                         {"größe": "int8", 'a"b': "fp32", "c\nd": "fp32"})  # the activation goes along
        self.assertEqual({entry["name"] for entry in reply["tensors"]}, {"x", "a_b", 't\n"', "y\\"})
        self.assertEqual(list(made), ["y\\"])

    def test_no_name_depends_on_the_locale(self):
        self.adapter.quit()
        self.adapter = start(self.root / "ascii", {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
        self.addCleanup(self.adapter.quit)
        model = parser.parse_model("""<ir_version: 8, opset_import: ["": 13]>
            agraph (float[2] x) => (float[2] y) { y = Sigmoid (x) }""")
        model.graph.node[0].output[0] = model.graph.output[0].name = "ü"
        reply, _ = self.run_both(model, numpy.ones(2, numpy.float32))
        self.assertIn("ü", {entry["name"] for entry in reply["tensors"]})

    def test_an_input_that_is_an_output_too_is_fed_by_its_own_name(self):
        array = numpy.array([0.5, -1], numpy.float32)
        reply, made = self.run_both("""<ir_version: 8, opset_import: ["": 13]>
            agraph (float[2] x) => (float[2] y, float[2] x) { y = Sigmoid (x) }""", array)
        self.assertEqual({entry["name"]: entry["scale"][0] for entry in reply["tensors"]}["x"], numpy.float32(1 / 127))
        numpy.testing.assert_array_equal(made["x"], array)

    def test_calibration_is_fed_float32(self):
        model = self.root / "int8.onnx"
        onnx.save(parser.parse_model("""<ir_version: 8, opset_import: ["": 13]>
            agraph (int8[2] x) => (float[2] y) { c = Cast <to=1> (x) y = Sigmoid (c) }"""), model)
        shutil.rmtree(self.root / "calibration")
        write(self.root / "calibration" / "0000", x=numpy.array([-100, 127], numpy.int8))
        self.assertEqual(self.convert(model=model)["status"], "ok")

    def test_without_a_gpu_it_says_so_and_refuses(self):
        for count, status, words in ((0, 35, "no driver (CUDA error 35)"), (0, 0, "no NVIDIA GPU")):
            adapter = start(self.root / f"without-{status}", count=count, status=status)
            self.addCleanup(adapter.quit)
            description = adapter.ask("describe")
            self.assertEqual(description["status"], "ok")
            self.assertIn(words, description["unavailable"])
            output = self.root / f"nothing-{status}"
            output.mkdir()
            reply = adapter.answer("convert", model=str(self.model), calibration=str(self.root / "calibration"),
                                options={}, output=str(output))
            self.assertEqual(reply["status"], "refused")
            self.assertIn(words, reply["reason"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
