#!/usr/bin/env python3
"""The protocol side of Torch-TensorRT's adapter, over stand-ins for it, PyTorch and onnx2torch (fake_torch_tensorrt):
torch_tensorrt_protocol.py ADAPTER

What is fed and asked, which twins are believed, what comes back; nothing of what Torch-TensorRT makes of it. Skipped
(77) without numpy, onnx, onnxruntime and a C compiler.
"""

import json
import os
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
import plain_session  # noqa: E402, F401, skips without ONNX Runtime

import numpy  # noqa: E402
import onnx  # noqa: E402
from onnx import numpy_helper, parser  # noqa: E402

ADAPTER = Path(sys.argv[1])
FAKES = Path(__file__).resolve().parent / "fake_torch_tensorrt"
NET = """<ir_version: 8, opset_import: ["": 13]>
agraph (float[n,2] b, float[n,2] a) => (float[n,2] y, int64[2] j) {{
  s = {op} (b)
  y = Add (s, a)
  j = Shape (a)
}}"""


def start(root, **gpu):
    """The adapter over a CUDA runtime that tells of such a GPU."""
    info = fake_cuda_runtime(root, **gpu) / "torch_tensorrt-2.4.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_tensorrt\nVersion: 2.4.0\n")
    return Adapter(ADAPTER, PYTHONPATH=f"{FAKES}:{root}", PYTHONDONTWRITEBYTECODE="1", ASKED=str(root / "asked.json"))


def write(folder, **arrays):
    write_tensors(folder, "input", arrays)


def filled(value, length=3):
    return numpy.full((length, 2), value, numpy.float32)


class Protocol(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.adapter = start(self.root / "packages")
        self.addCleanup(self.adapter.quit)
        write(self.root / "calibration/0000", a=filled(8), b=filled(0.25))  # not in the graph's order
        write(self.root / "calibration/0001", a=filled(-4), b=filled(-0.5))

    def convert(self, op="Sigmoid", text=None, **options):
        model = parser.parse_model(text or NET.format(op=op))
        onnx.save(model, self.root / "model.onnx")
        self.output = Path(tempfile.mkdtemp(dir=self.root))
        return self.adapter.answer("convert", model=str(self.root / "model.onnx"), options=options,
                                   calibration=str(self.root / "calibration"), output=str(self.output))

    def execute(self, artifact, **arrays):
        inputs, outputs = (Path(tempfile.mkdtemp(dir=self.root)) for _ in range(2))
        write(inputs, **arrays)
        reply = self.adapter.answer("execute", artifact=artifact, inputs=str(inputs), output=str(outputs))
        made = [onnx.TensorProto.FromString(file.read_bytes()) for file in sorted(outputs.iterdir())]
        return reply, {tensor.name: numpy_helper.to_array(tensor) for tensor in made}

    def asked(self):
        return json.loads((self.root / "packages/asked.json").read_text())

    def test_inputs_are_calibrated_in_the_order_of_the_graph(self):
        reply = self.convert()
        self.assertEqual(reply["status"], "ok", reply)
        self.assertEqual(Path(reply["cache"]).read_text().splitlines(),
                         ["TRT-100600-EntropyCalibration2", "input_0: " + struct.pack(">f", 0.5 / 127).hex(),
                          "input_1: " + struct.pack(">f", 8 / 127).hex()])
        self.assertEqual({entry["name"]: entry["scale"] for entry in reply["tensors"]},
                         {"b": [numpy.float32(0.5 / 127)], "a": [numpy.float32(8 / 127)]})
        self.assertEqual(reply["diagnostics"], ["a warning"])
        self.assertIn("MinMax", Path(self.convert(method="minmax")["cache"]).read_text())

    def test_one_engine_of_everything_with_int8_allowed(self):
        self.convert()
        asked = self.asked()
        self.assertTrue(asked["require_full_compilation"] and asked["truncate_long_and_double"] and asked["disable_tf32"])
        self.assertEqual(asked["enabled_precisions"], ["float32", "int8"])
        self.assertEqual(asked["inputs"][0], {"shape": [[1, 2], [3, 2], [12, 2]], "dtype": "float32"})

    def test_a_cache_is_handed_on_and_kept(self):
        given = self.root / "given.cache"
        given.write_text("TRT-100600-EntropyCalibration2\ninput_0: 3f000000\n")
        self.assertEqual(Path(self.convert(cache=str(given))["cache"]).read_text(), given.read_text())

    def test_a_twin_that_computes_something_else_is_not_converted(self):
        write(self.root / "calibration/0001", a=filled(2), b=filled(-0.5))
        reply = self.convert("Tanh")
        self.assertEqual(reply["status"], "refused")
        self.assertIn("the importer onnx2torch", reply["reason"])
        self.assertIn("output \"y\" is off by 1,", reply["reason"])
        self.assertEqual(list(self.output.iterdir()), [])

    def test_a_twin_that_is_wrong_on_the_data_alone_is_not_judged(self):
        for batch in ("0000", "0001"):
            write(self.root / f"calibration/{batch}", a=filled(0), b=filled(0.25))
        made = self.convert("Tanh")
        self.assertEqual(made["status"], "ok", made)
        self.assertEqual(self.execute(made["artifact"], a=filled(0), b=filled(0.5))[0]["status"], "ok")
        reply, outputs = self.execute(made["artifact"], a=filled(2), b=filled(0.5))
        self.assertEqual((reply["status"], outputs), ("refused", {}))

    def test_what_the_importer_lacks_is_said_beforehand(self):
        supports = self.adapter.ask("describe")["supports"]
        self.assertEqual((supports["models"], supports["operators"]),
                         (["float"], ["Add", "Cos", "Erf", "Shape", "Sigmoid", "Sin", "Tanh"]))

    def test_what_the_importer_or_the_front_end_cannot_take_is_refused(self):
        for op, at, reason in (("Exp", ("s", "Exp"), "the importer onnx2torch, not Torch-TensorRT: NotImplementedError: "
                                                     "Converter is not implemented (Exp 13)"),
                               ("Cos", ("s", "Cos"), "the importer onnx2torch, not Torch-TensorRT: ValueError: no such Cos"),
                               ("Erf", ("", ""), "Torch-TensorRT has no converter for an operator of the twin")):
            reply = self.convert(op)
            self.assertEqual((reply["status"], reply["node"], reply["op"]), ("refused", *at), reply)
            self.assertIn(reason, reply["reason"])
            self.assertEqual(list(self.output.iterdir()), [])

    def test_a_precision_of_one_layer_is_refused_at_its_node(self):
        for wanted in ("fp32", "fp16"):
            reply = self.convert(precision={"Add": wanted})
            self.assertEqual((reply["status"], reply["node"], reply["op"]), ("refused", "y", "Add"))
        self.assertEqual(self.convert(precision={"Add": "int8?"})["status"], "ok")

    def test_what_is_logged_as_an_error_is_the_reason(self):
        reply = self.convert("Sin")
        self.assertEqual(reply["status"], "error")
        self.assertIn("Building failed", reply["reason"])
        self.assertTrue(reply["reason"].endswith("2: no tactic"), reply["reason"])
        self.assertEqual(list(self.output.iterdir()), [])

    def test_a_context_that_ended_is_no_other_case_s_error(self):
        def folder():
            return os.readlink(f"/proc/{self.adapter.process.pid}/cwd")
        self.convert()
        first = folder()
        self.convert("Exp")
        self.assertEqual(folder(), first)  # refused: nothing to start anew for
        self.assertEqual(self.convert("Sin")["status"], "error")
        made = self.convert()
        self.assertEqual(made["status"], "ok", made)
        self.assertNotEqual(folder(), first)
        self.assertFalse(Path(first).exists())
        self.assertEqual(self.execute(made["artifact"], a=filled(1), b=filled(0))[0]["status"], "ok")

    def test_a_batch_without_an_input_leaves_the_others_their_positions(self):
        for batch in ("0000", "0001"):
            shutil.rmtree(self.root / "calibration" / batch)
            write(self.root / "calibration" / batch, a=filled(8))
        self.assertEqual(Path(self.convert()["cache"]).read_text().splitlines()[1:],
                         ["input_0: " + struct.pack(">f", 8 / 127).hex()])

    def test_outputs_come_back_by_name_in_the_types_of_the_model(self):
        _, outputs = self.execute(self.convert()["artifact"], a=filled(1), b=filled(0))
        self.assertEqual({name: array.dtype.name for name, array in outputs.items()}, {"y": "float32", "j": "int64"})
        numpy.testing.assert_array_equal(outputs["y"], filled(1.5))

    def test_without_a_gpu_it_says_so_and_refuses(self):
        for count, status, words in ((0, 35, "no driver (CUDA error 35)"), (0, 0, "no NVIDIA GPU")):
            self.adapter = start(self.root / f"without-{status}", count=count, status=status)
            self.addCleanup(self.adapter.quit)
            self.assertIn(words, self.adapter.ask("describe")["unavailable"])
            reply = self.convert()
            self.assertEqual(reply["status"], "refused")
            self.assertIn(words, reply["reason"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
