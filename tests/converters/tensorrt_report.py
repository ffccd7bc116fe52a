#!/usr/bin/env python3
"""What the adapter of TensorRT reads without a GPU: caches, engine layers and errors of a real TensorRT 8.6.1.

tensorrt_report.py ADAPTER_FOLDER RESULTS; RESULTS is tests/data/trt861/results.jsonl, measured on a GPU.
"""

import json
import sys
import unittest
from types import SimpleNamespace

FOLDER, RESULTS = sys.argv[1:3]
sys.path.insert(0, FOLDER)

from trt_report import blamed_node, cache_entries, joined, layer_nodes, layer_precision, node_precision, read_cache

RUNS = {(run["case"], run["route"]): run for run in map(json.loads, open(RESULTS, encoding="utf-8"))}
FLOAT, INT64 = 1, 7
ON_CODES = ("Concat", "Conv", "Relu", "Sigmoid")


def node(name, op, inputs, outputs):
    return SimpleNamespace(name=name, op_type=op, input=inputs, output=outputs)


def model(nodes, inputs=("x",), initializers=()):
    def named(names):
        return [SimpleNamespace(name=name) for name in names]
    return SimpleNamespace(graph=SimpleNamespace(node=nodes, input=named(inputs), initializer=named(initializers)))


# The nodes of the measured models, by what the engine's layers are named after.
CONCAT_RANGES = model(
    [node("ca", "Conv", ["x", "wa"], ["a"]), node("ra", "Relu", ["a"], ["ar"]), node("cb", "Conv", ["x", "wb"], ["b"]),
     node("sb", "Sigmoid", ["b"], ["bs"]), node("cat", "Concat", ["ar", "bs"], ["c"]),
     node("cc", "Conv", ["c", "wc"], ["y"])], initializers=("wa", "wb", "wc"))


class Cache(unittest.TestCase):
    def test_scales_are_the_bits_of_a_big_endian_float(self):
        header, scales = read_cache(RUNS["concat_ranges", "int8_force"]["cache"])
        self.assertEqual(header, "TRT-8601-EntropyCalibration2")
        self.assertEqual(scales["ar"], (0x800000 + 0x58D2E4) / 2**24)  # 3f58d2e4: exponent 126, 0.847
        self.assertEqual(scales["c"], (0x800000 + 0x3557F2) / 2**25)  # 3eb557f2: 0.354, narrower than its branch
        self.assertEqual(len(scales), 7)

    def test_names_hold_blanks_brackets_and_colons(self):
        self.assertEqual(read_cache("h\n(Unnamed Layer* 1) [Constant]_output: 3f800000\na: b/c:0: 40000000\n")[1],
                         {"(Unnamed Layer* 1) [Constant]_output": 1.0, "a: b/c:0": 2.0})
        self.assertIn("(Unnamed Layer* 1) [Constant]_output", read_cache(RUNS["concat_const", "int8"]["cache"])[1])

    def test_leading_zeros_may_be_missing(self):
        self.assertEqual(read_cache("h\nx: 0\n")[1], {"x": 0.0})

    def test_an_empty_cache_has_no_scales(self):
        self.assertEqual(read_cache(""), ("", {}))

    def test_what_is_no_entry_is_named(self):
        for line in ("x", "x: ", "x: 3f80000g", "x: 3f8000000"):
            with self.assertRaisesRegex(ValueError, "calibration cache"):
                read_cache(f"h\n{line}\n")

    def test_only_tensors_of_the_model_are_reported(self):
        entries = cache_entries({"x": 0.5, "(Unnamed Layer* 1) [Constant]_output": 1.0, "c": 0.25}, CONCAT_RANGES)
        self.assertEqual([(entry["name"], entry["scale"], entry["axis"]) for entry in entries],
                         [("x", [0.5], None), ("c", [0.25], None)])

    def test_a_tensor_by_a_name_of_tensorrt_s_is_what_its_layer_computes(self):
        # As 8.6.1 wrote it down on an H200: cache and layers call the Softmax's output by no name of the model.
        softmax = model([node("s", "MatMul", ["x", "w1"], ["s"]), node("p", "Softmax", ["s"], ["p"]),
                         node("y", "MatMul", ["p", "w2"], ["y"])], initializers=("w1", "w2"))
        real = [("(Unnamed Layer* 2) [Softmax]_output", "Row major linear FP32")]
        information = json.dumps({"Layers": ["Reformat", layer("p", "CaskSoftMaxV2", [("s", "Row major linear FP32")], real, nodes=["p"]),
                                             layer("reshape_before_y", "NoOp", real, [("t", "Row major linear FP32")], nodes=["y"])]})
        cache = {"s": 0.25, "(Unnamed Layer* 2) [Softmax]_output": 0.5, "(Unnamed Layer* 4) [Constant]_output": 2.0}
        self.assertEqual({entry["name"]: entry["scale"] for entry in cache_entries(cache, softmax, information)},
                         {"s": [0.25], "p": [0.5]})
        self.assertEqual({entry["name"]: entry["scale"] for entry in cache_entries({**cache, "p": 1.0}, softmax, information)},
                         {"s": [0.25], "p": [1.0]})

    def test_a_concat_s_scale_is_not_that_of_what_is_written_into_it(self):
        information = json.dumps({"Layers": [layer("ca", "CaskConvolution", [("x", "Int8")], [("c", "Int8")], nodes=["ca"])]})
        self.assertEqual([entry["name"] for entry in cache_entries({"x": 0.5, "c": 0.25}, CONCAT_RANGES, information)], ["x", "c"])


class Layers(unittest.TestCase):
    def nodes_of(self, case, route, names):
        layers = RUNS[case, route]["results"][0]["names"]
        return [layer_nodes({"Name": name, "LayerType": kind}, names) for name, kind in layers]

    def test_fused_nodes_share_a_layer(self):
        names = {node.name for node in CONCAT_RANGES.graph.node}
        found = self.nodes_of("concat_ranges", "int8_force", names)
        self.assertEqual([sorted(nodes) for nodes in found], [[], ["ca", "ra"], ["cb"], ["sb"], [], ["cc"]])

    def test_pointwise_layers_wrap_their_nodes(self):
        names = {"c1", "bn1", "r1", "c2", "bn2", "add", "r2", "downsample.0", "downsample.1"}
        found = self.nodes_of("residual_seq_conv_bn", "int8_force", names)
        self.assertEqual([sorted(nodes) for nodes in found if nodes],
                         [["bn1", "c1", "r1"], ["bn2", "c2"], ["downsample.0", "downsample.1"], ["add", "r2"]])

    def test_copies_of_tensors_are_no_nodes(self):
        # A node without a name is named by its output: "a copy" is a copy of that, not the node.
        self.assertEqual(self.nodes_of("concat_output", "int8_force", {"a", "x", "ca"}), [[], [], ["ca"], [], []])

    def test_a_name_within_a_name_is_not_found(self):
        self.assertEqual(layer_nodes({"Name": "/a/conv.1 + relu", "LayerType": "CaskConvolution"},
                                     {"conv.1", "conv", "relu", "/a/conv.1", "a"}), ["/a/conv.1", "relu"])

    def test_metadata_goes_before_the_name(self):
        layer = {"Name": "x + y", "LayerType": "PointWiseV2", "Metadata": "[ONNX Layer: p]\x1e[ONNX Layer: q [0]]"}
        self.assertEqual(layer_nodes(layer, {"x", "p", "q [0]"}), ["p", "q [0]"])

    def test_precision_is_that_of_the_weights_or_of_what_is_read(self):
        codes = {"Name": "x", "Format/Datatype": "Thirty-two wide channel vectorized row major Int8 format"}
        real = {"Name": "z", "Format/Datatype": "Row major linear FP32"}
        half = {"Name": "h", "Format/Datatype": "Row major linear FP16 format"}
        index = {"Name": "i", "Format/Datatype": "Row major Int32 format"}
        self.assertEqual(layer_precision({"Inputs": [codes], "Weights": {"Type": "Int8", "Count": 9}}), "int8")
        self.assertEqual(layer_precision({"Inputs": [codes], "Weights": {"Type": "Float", "Count": 9}}), "fp32")
        self.assertEqual(layer_precision({"Inputs": [codes, index]}), "int8")
        self.assertEqual(layer_precision({"Inputs": [codes, real]}), "fp32")
        self.assertEqual(layer_precision({"Inputs": [half]}), "fp16")
        self.assertIsNone(layer_precision({"Inputs": [index]}))


def layer(name, kind, inputs, outputs, weights=None, nodes=()):
    def tensors(pairs):
        return [{"Name": tensor, "Format/Datatype": words} for tensor, words in pairs]
    return {"Name": name, "LayerType": kind, "Inputs": tensors(inputs), "Outputs": tensors(outputs),
            **({"Weights": {"Type": weights, "Count": 1}} if weights else {}),
            "Metadata": "".join(f"[ONNX Layer: {node}]" for node in nodes)}


class Precision(unittest.TestCase):
    def test_a_concat_without_a_layer_has_the_precision_of_what_it_reads(self):
        int8, fp32 = "Four wide channel vectorized row major Int8 format", "Row major linear FP32"
        types = {name: FLOAT for name in ("a", "ar", "b", "bs", "c", "y")}
        for second, expected in ((int8, "int8"), (fp32, "fp32")):
            information = json.dumps({"Layers": [
                layer("Reformatting CopyNode for Network Input x", "Reformat", [("x", fp32)], [("q", int8)]),
                layer("ca + ra", "CaskConvolution", [("q", int8)], [("ar", int8)], "Int8"),
                layer("cb", "CaskConvolution", [("q", int8)], [("b", int8)], "Int8"),
                layer("PWN(sb)", "PointWiseV2", [("b", int8)], [("bs", second)]),
                layer("cc", "CaskConvolution", [("c", int8)], [("y", fp32)], "Int8")]})
            got = {entry["node"]: entry["got"] for entry in node_precision(CONCAT_RANGES, types, information, ON_CODES)}
            self.assertEqual(got, {"ca": "int8", "ra": "int8", "cb": "int8", "sb": "int8", "cat": expected, "cc": "int8"})

    def test_a_concat_of_graph_inputs_without_a_layer_runs_as_they_come(self):
        inputs = model([node("cat", "Concat", ["x", "x2"], ["y"])], inputs=("x", "x2"))
        information = json.dumps({"Layers": [layer("x copy", "Reformat", [("x", "Row major linear FP32")],
                                                   [("y", "Row major linear FP32")])]})
        types = {name: FLOAT for name in ("x", "x2", "y")}
        self.assertEqual(node_precision(inputs, types, information, ON_CODES), [{"node": "cat", "op": "Concat", "got": "fp32"}])

    def test_what_is_set_around_a_product_of_a_symbolic_length_is_no_part_of_it(self):
        # As 10.6.0 wrote it down on an H200: the last product's values are put back into shape by a Shuffle.
        product = model([node("y", "MatMul", ["x", "w"], ["y"])], initializers=("w",))
        information = json.dumps({"Layers": [
            layer("reshape_before_y", "NoOp", [("x", "Float")], [("reshape_before_y", "Float")], nodes=["y"]),
            layer("y", "CaskConvolution", [("q", "Int8")], [("y_conv_out", "Float")], "Int8", nodes=["y"]),
            layer("reshape_after_y", "Shuffle", [("y_conv_out", "Float")], [("y", "Float")], nodes=["y"])]})
        self.assertEqual(node_precision(product, {"y": FLOAT}, information, ON_CODES + ("MatMul",)),
                         [{"node": "y", "op": "MatMul", "got": "int8"}])

    def test_a_function_of_codes_that_has_no_int8_form_is_float(self):
        functions = model([node("s", "Sin", ["x"], ["y"]), node("r", "Relu", ["x"], ["z"])])
        information = json.dumps({"Layers": [layer(name, "PointWiseV2", [("x", "Row major Int8 format")], [(out, "Row major linear FP32")])
                                             for name, out in (("s", "y"), ("r", "z"))]})
        got = node_precision(functions, {"y": FLOAT, "z": FLOAT}, information, ON_CODES)
        self.assertEqual({entry["node"]: entry["got"] for entry in got}, {"s": "fp32", "r": "int8"})

    def test_what_reads_real_values_inside_a_layer_is_float(self):
        attention = model([node("s", "Conv", ["x", "w"], ["t"]), node("p", "Softmax", ["t"], ["q"]),
                           node("m", "Relu", ["q"], ["y"])], initializers=("w",))
        information = json.dumps({"Layers": [
            layer("s", "CaskConvolution", [("x", "Row major Int8 format")], [("t", "Row major Int8 format")], "Int8"),
            layer("{ForeignNode[p...m]}", "Myelin", [("t", "Row major Int8 format")], [("y", "Row major linear FP32")],
                  nodes="pm")]})
        got = node_precision(attention, {"t": FLOAT, "q": FLOAT, "y": FLOAT}, information, ON_CODES)
        self.assertEqual({entry["node"]: entry["got"] for entry in got}, {"s": "int8", "p": "fp32", "m": "fp32"})

    def test_a_node_without_a_layer_behind_what_none_tells_is_as_its_output(self):
        moved = model([node("q", "QuantizeLinear", ["x", "k"], ["xq"]), node("d", "DequantizeLinear", ["xq", "k"], ["xd"]),
                       node("y", "Reshape", ["xd", "shape"], ["y"])], initializers=("k", "shape"))
        information = json.dumps({"Layers": [layer("d", "Scale", [("xq", "Row major Int8 format")],
                                                   [("y", "Row major linear FP32")])]})
        self.assertEqual(node_precision(moved, {"xd": FLOAT, "y": FLOAT}, information, ON_CODES),
                         [{"node": "y", "op": "Reshape", "got": "fp32"}])

    def test_indices_and_constants_have_none(self):
        shapes = model([node("s", "Shape", ["x"], ["n"]), node("k", "Relu", ["w"], ["wr"])], initializers=("w",))
        information = json.dumps({"Layers": [layer("k", "PointWiseV2", [("w", "Row major linear FP32")], [])]})
        self.assertEqual(node_precision(shapes, {"n": INT64, "wr": FLOAT}, information, ON_CODES), [])


class Errors(unittest.TestCase):
    CASES = [
        (("concat_shape", "int8_force"), "cat", model([node("cat", "Concat", ["n", "r"], ["t"])])),
        (("qdq_residual", "explicit"), "conv", model([node("conv", "Conv", ["xq", "w"], ["a"])])),
        (("concat_ranges", "cache_without_concat"), "cat", CONCAT_RANGES),
        (("three_inputs", "cache_without_concat"), "ca", model([node("ca", "Conv", ["img", "w"], ["a"])])),
    ]

    def test_the_node_that_an_error_names_is_found(self):
        for run, name, graph in self.CASES:
            found = blamed_node(RUNS[run]["err"], graph)
            self.assertIsNotNone(found, run)
            self.assertEqual(found.name, name, run)

    def test_a_node_that_myelin_would_have_to_compute_is_blamed(self):
        norm = model([node("n", "InstanceNormalization", ["x", "s", "b"], ["y"])], initializers=("s", "b"))
        message = ("IBuilder::buildSerializedNetwork: Error Code 9: Internal Error (n requires foreign node optimizations incompatible "
                   "with int8 precision constraints. kOBEY_PRECISION_CONSTRAINTS was set, so treating as error.)")  # 10.6.0
        self.assertEqual(blamed_node([message], norm).name, "n")

    def test_a_pointwise_operator_without_a_format_is_blamed(self):
        mlp = model([node("y", "MatMul", ["a1", "w"], ["y1"]), node("a", "Tanh", ["x"], ["a1"])])
        message = "2: Assertion !n->candidateRequirements.empty() failed. No supported formats for PWN(a)"  # 8.6.1
        self.assertEqual(blamed_node([message], mlp).name, "a")

    def test_nobody_is_blamed_where_no_node_is_named(self):
        for run in (("concat_const", "no_calibrator"), ("concat_ranges", "fp16concat_nofp16flag"),
                    ("three_inputs", "calib_missing_input")):
            self.assertIsNone(blamed_node(RUNS[run]["err"], CONCAT_RANGES), run)

    def test_a_reason_holds_each_error_once(self):
        self.assertEqual(joined(["a\n b", "c", "a b"]), "a b; c")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
