"""Tests of common/qdq_report.py: which nodes of a Q/DQ model count as INT8. Run: node_precision.py COMMON"""

import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))

try:
    from onnx import parser
    from qdq_report import node_precision
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HEADER = '<ir_version: 8, opset_import: ["": 13]> '
PARAMETERS = "<float s = {0.1}, int8 z = {0}, float[3,3,1,1] w = {1,0,0,0,1,0,0,0,1}>"
ORIGINAL = HEADER + """g (float[1,3,4,4] x) => (float[1,3,2,2] y) <float[3,3,1,1] w = {1,0,0,0,1,0,0,0,1}> {
  [pool] m = MaxPool <kernel_shape=[2,2], strides=[2,2]> (x)
  [conv] y = Conv (m, w) }"""


def artifact(behind_the_pool, behind_the_conv):
    """The artifact with these texts behind its nodes: of what they are called m_float and y_float."""
    return HEADER + "g (float[1,3,4,4] x) => (float[1,3,2,2] y) " + PARAMETERS + """ {
      xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z)
      wq = QuantizeLinear (w, s, z) wd = DequantizeLinear (wq, s, z)
      [pool] m_float = MaxPool <kernel_shape=[2,2], strides=[2,2]> (xd) """ + behind_the_pool + """
      [conv] y_float = Conv (m, wd) """ + behind_the_conv + " }"


def pair(name):
    return f"{name}q = QuantizeLinear ({name}_float, s, z) {name} = DequantizeLinear ({name}q, s, z)"


def renamed(name):
    return f"{name} = Identity ({name}_float)"


class NodePrecision(unittest.TestCase):
    def got(self, text, **how):
        entries = node_precision(parser.parse_model(ORIGINAL), parser.parse_model(text), lambda name: name,
                                 ("MaxPool", "Conv", "Identity"), **how)
        return [entry["got"] for entry in entries]

    def test_a_pair_behind_each(self):
        self.assertEqual(self.got(artifact(pair("m"), pair("y"))), ["int8", "int8"])

    def test_no_pair_behind_what_only_moves_codes(self):
        """The pool gives codes on as they are; what computes with them is INT8 if it ends in codes again."""
        moved = artifact(renamed("m"), pair("y"))
        self.assertEqual(self.got(moved, moves_codes=True), ["int8", "int8"])
        self.assertEqual(self.got(moved), ["fp32", "fp32"])

    def test_what_computes_needs_its_pair(self):
        """Only a quantizer that puts none behind outputs at all (outputs_in_float) is granted one that is missing."""
        open_end = artifact(renamed("m"), renamed("y"))
        self.assertEqual(self.got(open_end, moves_codes=True), ["int8", "fp32"])
        self.assertEqual(self.got(open_end, outputs_in_float=True), ["int8", "int8"])

    def of_conv_behind(self, how, node):
        """What the Conv runs in behind `node`, which gives the Conv's input from xd, in model and artifact."""
        text = artifact(renamed("m"), renamed("y")).replace("[pool] m_float = MaxPool <kernel_shape=[2,2], strides=[2,2]> (xd)", node)
        entries = node_precision(parser.parse_model(ORIGINAL), parser.parse_model(text), lambda name: name, ("Conv",), **how)
        return next(entry["got"] for entry in entries if entry["node"] == "conv")

    def test_what_gives_codes_on_unchanged(self):
        """A Pad does by values of its input and by zero, a Concat where none of what it joins is a float constant."""
        given = "p = Constant <value = int64[8] {0,0,1,1,0,0,1,1}> () c = Constant <value = float[1] {0.5}> () m_float = Pad "
        for pad, expected in (('<mode="edge"> (xd, p, c)', "int8"), ("(xd, p)", "int8"), ("(xd, p, c)", "fp32")):
            self.assertEqual(self.of_conv_behind({"outputs_in_float": True}, given + pad), expected, pad)
        for joined, expected in (("xd, xd", "int8"), ("xd, w", "fp32")):
            self.assertEqual(self.of_conv_behind({"outputs_in_float": True}, f"m_float = Concat <axis=0> ({joined})"), expected, joined)

    def test_what_was_to_be_left_alone(self):
        """Pairs around it are its neighbours'; where its weight is codes, too, it wasn't left alone."""
        both = artifact(pair("m"), pair("y"))
        self.assertEqual(self.got(both, in_float=("pool",)), ["fp32", "int8"])
        self.assertEqual(self.got(both, in_float=("conv",)), ["int8", "int8"])
        self.assertEqual(self.got(both.replace("Conv (m, wd)", "Conv (m, w)"), in_float=("conv",)), ["int8", "fp32"])


if __name__ == "__main__":
    unittest.main()
