import json
import subprocess
import sys
from pathlib import Path

import numpy
import onnx
import onnx_assay
import pytest
from onnx import helper
from onnx_assay.adapter import brought

CONVERTER = [sys.executable, "-m", "onnx_assay.adapter", Path(__file__).with_name("relu_converter.py")]


@pytest.fixture
def relu():
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "g",
                              [value("x", onnx.TensorProto.FLOAT, [4, 50])], [value("y", onnx.TensorProto.FLOAT, [4, 50])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    data = {"x": numpy.random.default_rng(5).normal(size=(6, 4, 50)).astype(numpy.float32)}
    return model, data


def converted(adapter, folder):
    """What `adapter` answers to converting m.onnx of a folder into its folder out, and what it wrote to standard error."""
    (folder / "calibration").mkdir()
    (folder / "out").mkdir()
    request = {"protocol": 1, "id": 1, "do": "convert", "model": str(folder / "m.onnx"), "options": {},
               "calibration": str(folder / "calibration"), "output": str(folder / "out")}
    done = subprocess.run([sys.executable, "-m", "onnx_assay.adapter", adapter], capture_output=True, text=True,
                          input=json.dumps(request) + "\n")
    return json.loads(done.stdout), done.stderr


def test_two_methods_are_a_converter(relu):
    model, data = relu
    result = onnx_assay.check(model, converter_cmd=CONVERTER, calibration=data)
    assert result.verdict == "pass", str(result)
    assert (result.converter, result.version, result.layers) == ("relu_converter", "3", ("L0", "L1", "L2"))


def test_its_defect_is_red(relu, monkeypatch):
    model, data = relu
    monkeypatch.setenv("DEFECT", "wide")
    result = onnx_assay.check(model, converter_cmd=CONVERTER, calibration=data)
    assert (result.verdict, result.facet) == ("fail", "scale"), str(result)


def test_it_may_decline(relu, monkeypatch):
    model, data = relu
    monkeypatch.setenv("DEFECT", "refuses")
    result = onnx_assay.check(model, converter_cmd=CONVERTER, calibration=data)
    assert result.verdict == "refused" and "no room" in result.reason, str(result)


# A list that has the operator of ONNX's own domain, or of another one, says nothing of the other's.
@pytest.mark.parametrize("domain, body, listed", [("", False, ""), ("my.domain", False, ""), ("", True, ""),
                                                  ("my.domain", False, "Swirl"), ("", False, "my.domain.Swirl"),
                                                  ("my.domain", False, "my.domain.Swirl")])
def test_an_operator_that_it_does_not_list_is_refused_for_it(tmp_path, domain, body, listed):
    file = tmp_path / "c.py"
    operators = ["Relu", "If", *([listed] if listed else [])]
    file.write_text(f"from onnx_assay.adapter import Adapter\nclass A(Adapter):\n    supports = {{'operators': {operators}}}\n"
                    "    def convert(self, model, calibration, options, output):\n"
                    "        (output / 'q.bin').write_text('made')\n        return output / 'q.bin'\n")
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Identity", ["x"], ["same"]), helper.make_node("Relu", ["same"], ["r"]),
             helper.make_node("Swirl", ["r"], ["y"], domain=domain)]
    outputs = [value("y", onnx.TensorProto.FLOAT, [4])]
    if body:
        inner = [helper.make_graph([helper.make_node("Swirl", ["x"], ["y"], domain=domain)], name, [], outputs)
                 for name in ("then", "else")]
        nodes = [helper.make_node("If", ["c"], ["y"], then_branch=inner[0], else_branch=inner[1])]
    inputs = [value("x", onnx.TensorProto.FLOAT, [4]), value("c", onnx.TensorProto.BOOL, [])]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", inputs, outputs)), tmp_path / "m.onnx")
    answer, said = converted(file, tmp_path)
    name = f"{domain}.Swirl" if domain else "Swirl"
    if name == listed:
        assert answer["status"] == "ok", answer
        return
    assert (answer["status"], answer["node"], answer["op"]) == ("refused", "y", "Swirl"), said
    assert f"\"y\" is a {name}, which has no INT8 form here; this converter takes {', '.join(operators)}" in answer["reason"]
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("text, said", [
    ("", "has no class"),
    ("class A(Adapter): pass\nclass B(Adapter): pass\n", "has A, B"),
])
def test_a_file_without_one_adapter_is_named(tmp_path, text, said):
    file = tmp_path / "c.py"
    file.write_text("from onnx_assay.adapter import Adapter\n" + text)
    done = subprocess.run([sys.executable, "-m", "onnx_assay.adapter", file], capture_output=True, text=True, input="")
    assert done.returncode == 2 and said in done.stderr and not done.stdout


def test_one_of_several_can_be_named(tmp_path):
    file = tmp_path / "c.py"
    file.write_text("from onnx_assay.adapter import Adapter\nclass A(Adapter): pass\nclass B(Adapter): name = 'b'\n")
    done = subprocess.run([sys.executable, "-m", "onnx_assay.adapter", f"{file}:B"], capture_output=True, text=True,
                          input='{"protocol":1,"id":1,"do":"describe"}\n')
    assert '"name": "b"' in done.stdout, done.stderr


def test_an_adapter_that_assay_brings_takes_this_python():
    *words, file = brought("onnxruntime")
    assert words == [sys.executable] and Path(file).is_file()
    assert brought("aimet")[-1].endswith("adapter.py")
    assert brought("relu_converter.py") == []


def test_it_answers_by_its_name():
    pytest.importorskip("onnxruntime.quantization")
    done = subprocess.run([sys.executable, "-m", "onnx_assay.adapter", "onnxruntime"], capture_output=True, text=True,
                          input='{"protocol":1,"id":1,"do":"describe"}\n')
    assert done.returncode == 0 and '"name": "onnxruntime"' in done.stdout, done


def test_what_a_convert_wrote_that_raised_is_removed(tmp_path):
    file = tmp_path / "c.py"
    file.write_text("from onnx_assay.adapter import Adapter\nclass A(Adapter):\n"
                    "    def convert(self, model, calibration, options, output):\n"
                    "        (output / 'half').write_text('made')\n        raise RuntimeError('no more')\n")
    value = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4])
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4])
    onnx.save(helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value], [output])),
              tmp_path / "m.onnx")
    answer, said = converted(file, tmp_path)
    assert answer["status"] == "error" and "no more" in answer["reason"], said
    assert not list((tmp_path / "out").iterdir())
