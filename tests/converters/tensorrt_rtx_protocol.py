#!/usr/bin/env python3
"""The protocol side of the adapter of TensorRT for RTX, over a stand-in for it (fake_tensorrt_rtx):
tensorrt_rtx_protocol.py ADAPTER

What is built and what is refused; nothing of what TensorRT makes of it. Skipped (77) without numpy, onnx and a C
compiler.
"""

import json
import shutil
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
from onnx import parser  # noqa: E402

ADAPTER = Path(sys.argv[1])
FAKES = Path(__file__).resolve().parent / "fake_tensorrt_rtx"
HEAD = '<ir_version: 8, opset_import: ["": 13, "my.dom": 1]>\nagraph (float[n,2] x) => (float[n,2] y) {'
PAIRS = "k = Constant <value_float=0.5> () q = QuantizeLinear (x, k) d = DequantizeLinear (q, k)"


class Protocol(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.adapter = self.start("packages", count=0)
        write_tensors(self.root / "calibration/0000", "input", {"x": numpy.zeros((3, 2), numpy.float32)})

    def start(self, name, **gpu):
        packages = fake_cuda_runtime(self.root / name, **gpu)
        adapter = Adapter(ADAPTER, PYTHONPATH=f"{FAKES}:{packages}", PYTHONDONTWRITEBYTECODE="1")
        self.addCleanup(adapter.quit)
        return adapter

    def convert(self, body, **options):
        onnx.save(parser.parse_model(HEAD + body + "}"), self.root / "model.onnx")
        self.output = Path(tempfile.mkdtemp(dir=self.root))
        return self.adapter.answer("convert", model=str(self.root / "model.onnx"), options=options,
                                   calibration=str(self.root / "calibration"), output=str(self.output))

    def test_a_model_with_quantizers_is_built_for_one_compute_capability(self):
        reply = self.convert(PAIRS + " y = Sigmoid (d)")
        self.assertEqual((reply["status"], reply.get("diagnostics")), ("ok", ["a warning"]))
        asked = json.loads(Path(reply["artifact"]).read_text())
        self.assertEqual((asked["set_compute_capability"], asked["clear_flag"]), ([["SM89", 0]], [["TF32"]]))
        self.assertEqual(asked["add_optimization_profile"], [[{"set_shape": [["x", [1, 2], [3, 2], [12, 2]]]}]])

    def test_it_says_beforehand_that_models_come_quantized(self):
        self.assertEqual(self.adapter.ask("describe")["supports"]["models"], ["qdq"])

    def test_what_it_has_no_way_to_take_is_refused(self):
        for wanted in ("fp16", "fp32"):
            reply = self.convert(PAIRS + " y = Sigmoid (d)", precision={"Sigmoid": wanted})
            self.assertEqual((reply["status"], reply["node"], reply["op"]), ("refused", "y", "Sigmoid"))
        reply = self.convert(PAIRS + " y = Sigmoid (d)", cache="some.cache")
        self.assertEqual(reply["status"], "refused")
        self.assertIn("cache", reply["reason"])

    def test_errors_name_their_node_where_they_can_and_leave_nothing(self):
        for body, status, node, words in (("s = Exp (x) y = my.dom.Foo (s)", "refused", "y", "Plugin not found"),
                                          ("[s] s = Sin (x) y = Exp (s)", "refused", "s", "implementation for node s."),
                                          ("y = Cos (x)", "error", None, "Assertion engine failed")):
            reply = self.convert(body)
            self.assertEqual((reply["status"], reply.get("node")), (status, node), reply)
            self.assertIn(words, reply["reason"])
            self.assertEqual(list(self.output.iterdir()), [])
        self.assertEqual(self.convert("y = Exp (x)")["status"], "ok", "errors of the last build are gone")

    def test_nothing_is_executed_and_it_says_why(self):
        self.assertFalse(self.adapter.ask("describe")["supports"]["execute"])
        for gpu, words in (({"count": 0, "status": 35}, "no driver (CUDA error 35)"), ({"count": 0}, "no NVIDIA GPU"),
                           ({"major": 9}, "compute capability 9.0"), ({"major": 12}, "doesn't execute them")):
            reply = self.start(f"gpu{len(words)}", **gpu).answer("execute", artifact="", inputs="", output="")
            self.assertEqual(reply["status"], "refused")
            self.assertIn(words, reply["reason"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
