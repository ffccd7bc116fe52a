"""Tests of common/model_request.py and assay_protocol.py: a converter gets the model as it is. Run: handed_over.py COMMON"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMON = sys.argv.pop(1)
sys.path.insert(0, COMMON)

try:
    import numpy
    import onnx
    from onnx import parser
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

MODEL = """<ir_version: 8, opset_import: ["": 13]> g (float[1,3,4,4] x) => (float[1,3,4,4] y) {
  [first] a = Relu (x) b = Sigmoid (a) y = Tanh (b) }"""
ADAPTER = """
import sys
from assay_protocol import changed, serve
class Adapter:
    def describe(self):
        return {"name": "c", "version": "1"}
    def convert(self, model, calibration, options, output):
        if options["change"]:
            changed("this"), changed("that"), changed("this")
        if options["fail"]:
            raise ValueError("no")
        return {"artifact": "a"}
serve(Adapter())
"""


class HandedOver(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.given, self.file = Path(self.folder.name, "given.onnx"), Path(self.folder.name, "file.onnx")

    def handed_over(self, **how):
        """The names of the nodes that the converter gets, and what is said of the model in a process of its own: whoever
        imports the protocol has no standard output left."""
        program = ("import sys; from model_request import hand_over; import assay_protocol; "
                   f"hand_over({str(self.given)!r}, {str(self.file)!r}, {how.get('called', [])!r}); "
                   "print(*assay_protocol._CHANGES, sep='\\n')")
        said = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": COMMON},
                              capture_output=True, check=True, text=True).stderr
        return [node.name for node in onnx.load(self.file).graph.node], said.split("\n")[:-1]

    def test_is_the_same_bytes(self):
        onnx.save(parser.parse_model(MODEL), self.given)
        for called in ([], ["first"]):
            self.assertEqual(self.handed_over(called=called), (["first", "", ""], [""]))
            self.assertEqual(self.file.read_bytes(), self.given.read_bytes())

    def test_names_only_what_the_converter_is_told_of(self):
        onnx.save(parser.parse_model(MODEL), self.given)
        names, said = self.handed_over(called=["b", "first"])
        self.assertEqual(names, ["first", "b", ""])
        self.assertEqual(len(said), 1)
        self.assertIn('"b"', said[0])

    def test_keeps_data_that_lie_beside_it(self):
        model = parser.parse_model(MODEL)
        model.graph.initializer.append(onnx.numpy_helper.from_array(numpy.arange(400, dtype=numpy.float32), "w"))
        onnx.save(model, self.given, save_as_external_data=True, location="data", size_threshold=0)
        names, said = self.handed_over()
        self.assertEqual(names, ["first", "", ""])
        self.assertIn("external data", said[0])
        self.given.with_name("data").unlink()
        self.assertEqual(onnx.load(self.file).graph.initializer[0].dims[:], [400])


class Changes(unittest.TestCase):
    def test_stand_in_every_answer_to_the_request_alone(self):
        asked = [{"change": change, "fail": fail} for change, fail in ((True, False), (False, False), (True, True))]
        lines = ['{"protocol":1,"id":1,"do":"describe"}\n'] + [
            f'{{"protocol":1,"id":{index},"do":"convert","model":"m","calibration":"c","output":"o","options":'
            f'{{"change":{str(each["change"]).lower()},"fail":{str(each["fail"]).lower()}}}}}\n'
            for index, each in enumerate(asked, 2)]
        answers = subprocess.run([sys.executable, "-c", ADAPTER], input="".join(lines), capture_output=True, check=True,
                                 env={**os.environ, "PYTHONPATH": COMMON}, text=True).stdout.splitlines()
        self.assertNotIn("changed", answers[0])
        self.assertIn('"changed": ["this", "that"]', answers[1])
        self.assertNotIn("changed", answers[2])
        self.assertIn('"changed": ["this", "that"]', answers[3])
        self.assertIn('"status": "error"', answers[3])


if __name__ == "__main__":
    unittest.main()
