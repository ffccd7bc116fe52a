"""ISSUE.md of a kit."""
import platform
import re
from pathlib import Path

import numpy
import onnx
from onnx.reference import ReferenceEvaluator

from bundles import read_tensors
from history import RECORDS, spans

HOW = {"runs": "refusal", "crash": "crash"}  # all else is wrong without a word
ROWS_SHOWN = 12
VALUES_SHOWN = 12  # of an initializer
EVALUATED_OPSET = 21  # ONNX's evaluator has QuantizeLinear of this one, not of 13


def severity(check):
    return HOW.get(check, "silent-wrong")


def plain(text):
    """Without folders of this machine."""
    return re.sub(r"(?<![\w.:/])/(?:[\w.@+-]+/)+([\w.@+-]+)", r"…/\1", text)


def shortened(text):
    """A model's text with long lists of values cut."""
    return re.sub(r"\{((?:[^{},]+,){%d})[^{}]+\}" % VALUES_SHOWN, r"{\1…}", text)


def title(bundle, maker):
    """The defect in one line: what the case says of this product, else what it is about."""
    for origin in bundle.case["file"].get("origin", []):
        if origin.get("defect") and maker.product.lower() in origin.get("reported_against", "").lower():
            return f"{maker.product}: {origin['defect']}"
    return f"{maker.product}: {headline(bundle)} with {bundle.case['file']['title'].partition(':')[0]}"


def headline(bundle):
    """The verdict in a few words."""
    facet, tensor = bundle.headline.get("facet", ""), bundle.headline.get("tensor", "")
    if facet == "status" and bundle.headline.get("stage") == "convert":
        return {"ok": "no error", "error": "an error"}.get(bundle.reply.get("status"), "a crash")
    if facet == "status":
        return "a quantized model that doesn't run"
    return f"wrong {facet.replace('_', ' ')}" + (f' of "{tensor}"' if tensor else "")


def cause(bundle):
    """What the page of the converter says of it: the last cell of the row that names the case's family."""
    page = RECORDS / f"{bundle.converter}.md"
    for line in page.read_text(encoding="utf-8").splitlines() if page.is_file() else ():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and f"`{bundle.case['file']['family']}`" in cells[3]:
            return re.sub(r"Reported: issue \d+\.?|\[([^\]]*)\]\([^)]*\)", r"\1", cells[4]).strip()
    return ""


def clause(bundle):
    """The pages of ONNX's text that the case names."""
    return [origin["url"] for origin in bundle.case["file"].get("origin", [])
            if re.match(r"https://(onnx\.ai|github\.com/onnx/onnx)/", origin["url"])]


def second_opinion(bundle):
    """What ONNX's own evaluator makes of the quantized model, on the data of test_data_set_0."""
    chosen = bundle.data_set()
    ours = bundle.folder / "outputs" / chosen
    if bundle.artifact is None or not ours.is_dir():
        return ""
    try:
        evaluator = ReferenceEvaluator(onnx.version_converter.convert_version(bundle.artifact, EVALUATED_OPSET))
        names = [each.name for each in bundle.artifact.graph.output]
        with numpy.errstate(all="ignore"):  # it warns of what is wrong with the model
            theirs = dict(zip(names, evaluator.run(names, read_tensors(bundle.folder / "inputs" / chosen))))
    except Exception:  # whatever it lacks
        return "ONNX's reference evaluator doesn't run the quantized model."
    lines, expected = [], read_tensors(bundle.folder / "expected" / chosen)
    for name, values in read_tensors(ours).items():
        if name in theirs and theirs[name].shape == values.shape and name in expected:
            apart = float(numpy.max(numpy.abs(theirs[name].astype(float) - values)))
            off = float(numpy.max(numpy.abs(values.astype(float) - expected[name])))
            lines.append(f"ONNX's reference evaluator on the same quantized model, output `{name}`: at most {apart:.4g} from "
                         f"what the product's own execution gives, which is at most {off:.4g} from the float model.")
    return "\n".join(lines)


def scope(bundle, history):
    rows = []
    for (case, options), versions in sorted(history.verdicts.items()):
        wrong = [version for version in history.versions(case, options) if versions[version]]
        if wrong:
            rows.append((case, options, spans(list(history.versions(case, options)), wrong)))
    if not rows:
        return ""
    lines = ["| form | options | wrong in |", "| --- | --- | --- |"]
    lines += [f"| {case.partition('/')[2] or 'as here'} | {options} | {wrong} |" for case, options, wrong in rows[:ROWS_SHOWN]]
    if len(rows) > ROWS_SHOWN:
        lines.append(f"\nAnd {len(rows) - ROWS_SHOWN} more.")
    return "\n".join(lines)


def write(bundle, maker, history, folder, printed):
    packages = sorted({line for lines in bundle.json["packages"].values() for line in lines})
    options = ", ".join(f"{key} {value}" for key, value in bundle.options.items() if not isinstance(value, dict))
    model = shortened((folder / "model.txt").read_text(encoding="utf-8").rstrip())
    about = bundle.case["file"]["title"]
    parts = [f"# {title(bundle, maker)}", "", "## Describe the issue", "", about[0].upper() + about[1:] + "."]
    parts += ["", cause(bundle)] if cause(bundle) else []
    parts += ["", *(f"ONNX's text: {url}" for url in clause(bundle))] if clause(bundle) else []
    parts += ["", "## To reproduce", "", f"`python repro.py` needs {maker.heads['package']}, onnx and numpy. It converts "
              f"`model.onnx` with the data in `calibration` ({options}), and exits with 1 where the defect is there. "
              "`test_data_set_0` is a node test of ONNX: its outputs are those of the float model.", "",
              "```", model, "```", "", "## Expected and actual", "", "```", plain(printed).strip(), "```"]
    answer = second_opinion(bundle)
    parts += ["", answer] if answer else []
    parts += ["", "## Urgency", "", history.urgency(bundle.case["name"], bundle.json["options"]["label"], bundle.version)]
    table = scope(bundle, history)
    parts += ["", "Where it shows:", "", table] if table else []
    environment = bundle.json["environment"]
    parts += ["", "## Platform", "", f"{environment['system']}, {environment['cpu']}", "", "## Versions", "",
              f"{maker.product} {bundle.version}, onnx {onnx.__version__}, numpy {numpy.__version__}, Python "
              f"{platform.python_version()}", "", "```", *(packages or ["pip freeze: not recorded"]), "```"]
    Path(folder, "ISSUE.md").write_text("\n".join(parts) + "\n", encoding="utf-8")
