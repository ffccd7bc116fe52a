#!/usr/bin/env python3
"""Holds one adapter of a released converter to what all of them promise, with that converter's own interpreter.

usage: adapter_contract.py ADAPTER_SCRIPT

A Conv with a weight of three channels and a Relu, neither of them named, under the adapter's own first options, with
quantizers of its own where the converter takes no other model; what isn't executed isn't looked at:
- what it describes has the words of protocol 1;
- the scale that it reports of the graph's input, where it reports any, is the range of the batches that were fed;
- the outputs have the model's names and shapes, lie near the float network's and are the same twice;
- a calibration cache is refused where none is reported; what the options ask to leave in float is left there, or refused with the node's name;
- fp16 is refused with the node's name;
- an input that is missing from a batch is an error that leaves the process alive, where batches are read.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from adapter_process import Adapter  # noqa: E402
from onnx_files import read_tensors, write_tensors  # noqa: E402

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

SHAPE, OUT = [2, 4, 10, 8], [2, 3, 10, 8]
LOW, HIGH = np.float32(-1.25), np.float32(2.5)  # of the input, over all batches
NODE, REPORTED_WITHIN = "c", 2.0**-22


def network():
    rng = np.random.default_rng(3)
    weight = rng.normal(size=(3, 4, 3, 3)).astype(np.float32) * 0.3
    bias = np.array([0.4, -0.2, 0.1], np.float32)
    nodes = [helper.make_node("Conv", ["x", "w", "b"], [NODE], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", [NODE], ["y"])]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", onnx.TensorProto.FLOAT, SHAPE)],
                              [value("y", onnx.TensorProto.FLOAT, OUT)],
                              [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "b")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), weight, bias


def with_quantizers(model):
    """The network with its input on codes of its own range and its weight on codes for each channel."""
    graph, added = model.graph, []
    weight = numpy_helper.to_array(graph.initializer[0])
    scales = {"x": np.array(HIGH / 127, np.float32), "w": np.abs(weight).max(axis=(1, 2, 3)) / np.float32(127)}
    for name, scale in scales.items():
        axis = {"axis": 0} if scale.ndim else {}
        added += [helper.make_node("QuantizeLinear", [name, f"{name}_scale"], [f"{name}_codes"], **axis),
                  helper.make_node("DequantizeLinear", [f"{name}_codes", f"{name}_scale"], [f"{name}_back"], **axis)]
        graph.initializer.append(numpy_helper.from_array(scale, f"{name}_scale"))
        zero = numpy_helper.from_array(np.zeros(scale.shape, np.int8), f"{name}_zero")
        graph.initializer.append(zero)
        for node in added[-2:]:
            node.input.append(zero.name)
    nodes = [*added, *graph.node]
    nodes[4].input[0], nodes[4].input[1] = "x_back", "w_back"
    del graph.node[:]
    graph.node.extend(nodes)


def expected(x, weight, bias):
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.maximum(np.einsum("nchwij,ocij->nohw", windows, weight) + bias.reshape(-1, 1, 1), 0)


def first_options(supports):
    """Of each kind the first that it declares; true and false stand for [true, false]."""
    options = {}
    for key, fallback in (("activation", "int8"), ("symmetric", False), ("per_axis", True), ("method", "minmax")):
        declared = supports.get(key, [fallback])
        options[key] = fallback if isinstance(declared, bool) or fallback in declared else declared[0]
    return options


class Contract:
    def __init__(self, script, folder):
        self.folder, self.count = folder, 0
        self.adapter = Adapter(script)
        self.described = self.adapter.ask("describe")
        self.options = first_options(self.described["supports"])
        self.averages = self.described["policy"].get("averaging", "none") != "none"
        self.model, self.weight, self.bias = network()
        onnx.save(self.model, folder / "model.onnx")
        rng = np.random.default_rng(5)
        for batch in range(4):
            x = rng.uniform(-1, 1, SHAPE).astype(np.float32)
            x.flat[batch] = (LOW, HIGH, LOW, 0)[batch]
            write_tensors(folder / f"calibration/{batch:04}", "input", {"x": x})
        self.x = rng.uniform(-1, 1, SHAPE).astype(np.float32)
        write_tensors(folder / "inputs", "input", {"x": self.x})
        self.calibrates = "float" in self.described["supports"].get("models", ["float"])
        if not self.calibrates:
            with_quantizers(self.model)
            onnx.save(self.model, folder / "model.onnx")

    def convert(self, calibration="calibration", **options):
        self.count += 1
        output = self.folder / f"out_{self.count}"
        output.mkdir()
        return self.adapter.answer("convert", model=str(self.folder / "model.onnx"), output=str(output),
                                   calibration=str(self.folder / calibration), options={**self.options, **options})

    def execute(self, made):
        self.count += 1
        output = self.folder / f"outputs_{self.count}"
        output.mkdir()
        self.adapter.ask("execute", artifact=made["artifact"], inputs=str(self.folder / "inputs"), output=str(output))
        return read_tensors(output, "output")

    def describes_itself(self):
        supports = self.described["supports"]
        assert self.described["name"] and self.described["version"]
        assert supports["artifact"] in ("qdq", "scales", "opaque"), supports["artifact"]
        assert set(supports.get("reports", [])) <= {"tensors", "activations", "inputs", "precision", "cache"}, supports["reports"]

    def converts_and_executes(self):
        made = self.convert()
        assert made["status"] == "ok", made
        for what in self.described["supports"].get("reports", []):
            assert {"activations": "tensors", "inputs": "tensors"}.get(what, what) in made, f"\"reports\" lists {what}"
        for entry in made.get("tensors", []):
            assert len(entry["scale"]) == len(entry["zero_point"]) and min(entry["scale"]) > 0, entry
        scales = {entry["name"]: entry for entry in made.get("tensors", [])}
        if scales and self.options["method"] == "minmax":
            policy = self.described["policy"]
            steps = policy.get("divisor", 127)
            wanted = HIGH / steps if self.options["symmetric"] else (HIGH - LOW) / 255
            if self.averages:
                assert 0 < scales["x"]["scale"][0] <= wanted, (scales["x"], wanted)
            elif self.options["symmetric"] or policy.get("zero", "rounded") == "rounded":
                assert abs(scales["x"]["scale"][0] - wanted) <= REPORTED_WITHIN * wanted, (scales["x"], wanted)
        if not self.described["supports"].get("execute", True):
            return
        first, second = self.execute(made), self.execute(made)
        assert list(first) == ["y"] and list(first["y"].shape) == OUT, {k: v.shape for k, v in first.items()}
        np.testing.assert_array_equal(first["y"], second["y"])
        error = np.abs(first["y"] - expected(self.x, self.weight, self.bias)).max()
        # Far more than rounding to 8 bits costs (K = 36 products of steps 0.015 and 0.007) or cutting to an average of the
        # batches' ranges does, far less than a wrong layout.
        assert 0 < error < (1 if self.averages else 0.2), f"largest error {error}"

    def refuses_a_cache(self):
        if "cache" in self.described["supports"].get("reports", []):
            return
        answer = self.convert(cache=str(self.folder / "some.cache"))
        assert answer["status"] == "refused" and "cache" in answer["reason"], answer

    def leaves_a_node_in_float(self):
        answer = self.convert(precision={NODE: "fp32"})
        if answer["status"] == "refused":
            assert answer["node"] == NODE and answer["op"] == "Conv", answer
            return
        assert answer["status"] == "ok", answer
        got = {entry["node"]: entry["got"] for entry in answer.get("precision", [])}
        assert got.get(NODE, "fp32") == "fp32", got

    def refuses_fp16(self):
        answer = self.convert(precision={"Conv": "fp16"})
        assert answer["status"] == "refused" and answer["node"] == NODE, answer

    def survives_a_batch_without_its_input(self):
        write_tensors(self.folder / "other/0000", "input", {"z": self.x})
        answer = self.convert("other")
        assert not self.calibrates or answer["status"] in ("error", "refused"), answer
        assert self.convert()["status"] == "ok", "the next case is none the worse"

    def run(self):
        """The exit status: 77 where the converter can't run on this machine."""
        if self.described.get("unavailable"):
            print("skipped:", self.described["unavailable"])
            self.adapter.quit()
            return 77
        for check in (self.describes_itself, self.converts_and_executes, self.refuses_a_cache,
                      self.leaves_a_node_in_float, self.refuses_fp16, self.survives_a_batch_without_its_input):
            check()
            print("ok", check.__name__, flush=True)
        self.adapter.quit()
        return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(Contract(sys.argv[1], pathlib.Path(scratch)).run())
