import dataclasses
import json
import math
from pathlib import Path

import numpy
import onnx
import onnx_assay
import pytest

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "schema"


def test_paths_and_objects_give_the_same_verdict(network):
    eight = [{"x": batch} for batch in network.calibration["x"]]
    results = [onnx_assay.check(network.path, artifact=network.quantized_path, calibration=network.calibration_path),
               onnx_assay.check(network.model, artifact=onnx.load(network.quantized_path), calibration=network.calibration),
               onnx_assay.check(network.model.SerializeToString(), artifact=str(network.quantized_path), calibration=eight),
               onnx_assay.check(network.path, artifact=network.quantized_path, calibration=network.calibration["x"])]
    assert [result.verdict for result in results] == ["pass"] * 4
    assert len({(result.sqnr_db, result.margin, result.whole_sqnr_db) for result in results}) == 1
    assert results[0].judged == onnx_assay.Judged(nodes=6, of=6, outputs=1.0)
    assert [node.node for node in results[1].nodes] == ["x", "ca", "cb", "ra", "sb", "cat", "cc"]
    assert results[0].raise_if_red() is results[0]


def test_data_that_an_artifact_was_not_calibrated_on_are_seen(network):
    asked = {"artifact": network.quantized_path, "options": {"method": "minmax"}, "made_by": "onnxruntime"}
    assert onnx_assay.check(network.path, calibration=network.calibration["x"], **asked).verdict == "pass"
    wrong = onnx_assay.check(network.path, calibration=network.calibration["x"] * 3, **asked)
    assert (wrong.verdict, wrong.facet, wrong.red) == ("fail", "scale", True)


def test_a_red_verdict_says_what_is_wrong_and_has_a_page(network, tmp_path):
    result = onnx_assay.check(network.path, calibration=network.calibration_path, fault="per_axis_rolled@cb")
    assert (result.verdict, result.gate, result.stage, result.facet, result.node) == ("fail", "red", "artifact", "scale", "cb")
    assert result.findings[0].op == "Conv" and "channel 0: expected" in result.findings[0].message
    assert [node.node for node in result.nodes if node.wrong] == ["cb"]
    with pytest.raises(onnx_assay.RedVerdict, match='node "cb"'):
        result.raise_if_red()
    assert 'weight "wb": 8 of 8 scales differ' in str(result)
    assert "8 of 8 scales differ" in result.html(tmp_path / "page.html").read_text()
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.verdict = "pass"


def test_require_judged_turns_amber_red(network):
    assert onnx_assay.check(network.path, artifact=network.quantized_path).gate == "amber"
    assert onnx_assay.check(network.path, artifact=network.quantized_path, require_judged=True).red


def test_what_the_program_complains_of_is_the_error(network):
    with pytest.raises(onnx_assay.AssayError, match='"nowhere.onnx" is not a readable file') as caught:
        onnx_assay.check("nowhere.onnx")
    assert caught.value.code == 2 and "nowhere.onnx" in caught.value.command
    spoilt = network.calibration["x"].copy()
    spoilt[3, 0, 0, 0, 0] = numpy.nan
    with pytest.raises(onnx_assay.AssayError, match='"x"'):
        onnx_assay.check(network.path, calibration={"x": spoilt})
    with pytest.raises(TypeError, match="ModelProto"):
        onnx_assay.check(3)
    with pytest.raises(TypeError, match="batches"):
        onnx_assay.check(network.path, calibration=[1, 2])


def test_without_a_program_it_says_so(monkeypatch):
    monkeypatch.delenv("ASSAY_PROGRAM")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("onnx_assay._program.BUNDLED", Path("/nonexistent/assay"))
    with pytest.raises(FileNotFoundError, match="ASSAY_PROGRAM"):
        onnx_assay.program()


def test_the_program_may_be_named_from_the_working_folder(monkeypatch, tmp_path):
    (tmp_path / "assay").symlink_to(onnx_assay.program())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_PROGRAM", "./assay")
    assert onnx_assay.program() == tmp_path / "assay"
    monkeypatch.setenv("ASSAY_PROGRAM", "./misspelt")
    with pytest.raises(FileNotFoundError, match="misspelt"):
        onnx_assay.program()


def test_names_of_inputs_may_be_any(tmp_path):
    value = onnx.helper.make_tensor_value_info
    names = ["file", "a/b"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", names, ["y"])], "g",
                                   [value(name, onnx.TensorProto.FLOAT, [2, 3]) for name in names],
                                   [value("y", onnx.TensorProto.FLOAT, [2, 3])])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    draw = numpy.random.default_rng(0)
    data = {name: draw.normal(size=(4, 2, 3)).astype(numpy.float32) for name in names}
    result = onnx_assay.check(model, calibration=data)
    assert result.data["calibration"] == "given", result.data
    assert result.verdict in ("pass", "unjudged"), str(result)


def test_run_counts_its_verdicts(home):
    report = onnx_assay.run(fault="bias_dropped")
    assert report.planned == 4 and report.verdicts == {"fail": 4} and len(report.red) == 4 and report.exit_code == 1
    with pytest.raises(AssertionError, match="mini/stride=2"):
        report.raise_if_red()
    assert onnx_assay.run(operators=["Conv", "Relu"]).planned == 4
    with pytest.raises(onnx_assay.AssayError, match="no operator but Relu"):
        onnx_assay.run(operators="Relu")
    one = onnx_assay.run("expecting", only="mini/stride=1", options="even", fault="bias_dropped").raise_if_red()
    assert one.verdicts == {"xfail": 1} and one.exit_code == 0
    with pytest.raises(onnx_assay.AssayError, match="near it") as caught:
        onnx_assay.run("mni")
    assert caught.value.code == 5


def test_audit_judges_parameters(network):
    right = onnx_assay.audit(network.path, artifact=network.quantized_path, calibration=network.calibration)
    assert right.verdict == "pass" and right.layers == ("L0",)
    wrong = onnx_assay.audit(network.path, artifact=network.quantized_path, calibration=network.calibration["x"] * 3)
    assert wrong.red and wrong.facet == "scale"


def test_reduce_leaves_what_fails(network, tmp_path):
    small = onnx_assay.reduce(network.path, tmp_path / "small", calibration=network.calibration, fault="per_axis_rolled@cb")
    assert small.after.nodes == 1 < small.before.nodes == 6
    assert (small.folder / "model.onnx").is_file() and "scale" in small.kept


def test_numbers_that_are_not_finite_are_numbers():
    from onnx_assay.results import Loss, _read

    loss = _read(Loss, {"tensor": "NaN?", "loss_db": "Infinity", "sqnr_db": "NaN", "of_a_later_version": 1})
    assert loss.loss_db == math.inf and math.isnan(loss.sqnr_db) and loss.tensor == "NaN?"


@pytest.mark.parametrize("kind, more, place", [
    (onnx_assay.Result, {"nodes", "data", "_files"}, ["part-result.json"]),
    (onnx_assay.Finding, set(), ["part-result.json", "findings", "items"]),
    (onnx_assay.Loss, set(), ["part-result.json", "lost_at", "items"]),
    (onnx_assay.Node, set(), ["part-node.json"]),
    (onnx_assay.Extent, set(), ["reduce.json", "before"]),
    (onnx_assay.Reduction, set(), ["reduce.json"]),
])
def test_dataclasses_have_the_keys_of_the_schema(kind, more, place):
    schema = json.loads((SCHEMA / place[0]).read_text())
    for word in place[1:]:
        schema = schema[word] if word == "items" else schema["properties"][word]
    assert {field.name for field in dataclasses.fields(kind)} - more == set(schema["properties"])
