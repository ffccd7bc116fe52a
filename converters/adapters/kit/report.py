"""ISSUE.md of a kit."""
import platform
import re
from pathlib import Path
from string import Template

import numpy
import onnx
from onnx.reference import ReferenceEvaluator

from bundles import EVALUATOR_SECONDS, read_tensors, time_limit
from clauses import clauses
from history import origins_of, page_row, spans
from needed import packages as needed
from tracker import Values, headings, plain

HOW = {"runs": "refusal", "named": "refusal", "crash": "crash", "precision": "in-float", "precision_by_product": "in-float",
       "precision_of_kind": "in-float"}  # all else is wrong without a word
ROWS_SHOWN = 12
VALUES_SHOWN = 12  # of an initializer
EVALUATED_OPSET = 21  # ONNX's evaluator has QuantizeLinear of this one, not of 13


def severity(check, printed):
    """By the check that shows it; a tool of the product's that a signal ends is a crash, however its caller puts it."""
    return "crash" if re.search(r"ended with status -\d", printed) else HOW.get(check, "silent-wrong")


def shortened(text):
    """A model's text with long lists of values cut."""
    return re.sub(r"\{((?:[^{},]+,){%d})[^{}]+\}" % VALUES_SHOWN, r"{\1…}", text)


def title(bundle, maker):
    """The defect in one line: what the case says of this product, else what the product's page does, else what it is about."""
    said = [origin["defect"] for origin in bundle.case["file"].get("origin", []) if origin.get("defect")]
    own = [origin["defect"] for origin in origins_of(bundle.case["file"], maker.product) if fits(bundle, origin["defect"])]
    group, _, why = page_row(bundle.converter, bundle.case["name"])
    why = why if fits(bundle, why) else ""
    if not own and SHARED.match(why):
        own = said
    if not own and why:
        own = [f"{group}: {first_sentence(why)}" if group else first_sentence(why)]
    about = re.split(r":\s|;\s", bundle.case["file"]["title"])[0]
    return f"{maker.product}: {own[0] if own else f'{headline(bundle)}; {about}'}"


def fits(bundle, words):
    """Whether these words may be about this verdict: one of its variants may end by a signal where the product doesn't."""
    ended = bundle.verdict["verdict"] == "crash" or re.search(r"ended with status -\d", bundle.reply.get("reason", ""))
    return bool(ended) or not re.search(r"\bsignal \d", words)


def first_sentence(text):
    return re.split(r"\.\s+(?=[A-Z\"])|\.$|;\s", text.replace("`", ""))[0]


# What is wrong, by the facet of the verdict, with the tensor or node that it is about.
FACETS = {"axis": 'scales along the wrong axis of "{tensor}"', "count": 'a wrong number of scales of "{tensor}"',
          "precision": 'node "{node}" stays in float', "numerics": 'wrong values at "{tensor}"', "integers": 'wrong values at "{tensor}"',
          "diagnostics": "an error that doesn't name what is wrong"}
REASON_SHOWN = 90


def headline(bundle):
    """The verdict in a few words."""
    facet, tensor = bundle.headline.get("facet", ""), bundle.headline.get("tensor", "")
    if facet == "status" and bundle.headline.get("stage") == "convert":
        reason = re.split(r"[;\n]", plain(bundle.reply.get("reason", "")))[0][:REASON_SHOWN]
        return {"ok": "no error", "error": reason or "an error"}.get(bundle.reply.get("status"), "a crash")
    if facet == "status":
        return "a quantized model that doesn't run"
    known = FACETS.get(facet, f"wrong {facet.replace('_', ' ')}" + (' of "{tensor}"' if tensor else ""))
    return known.format(tensor=tensor, node=bundle.headline.get("node", ""))


SHARED = re.compile(r"As (in )?ONNX Runtime\b")


def cause(bundle):
    """What the page of the converter says of it; where that points to ONNX Runtime's, what that page says as well."""
    own = page_row(bundle.converter, bundle.case["name"])[2]
    shared = page_row("onnxruntime", bundle.case["name"])[2] if SHARED.match(own) else ""
    return re.sub(r"Reported: issue \d+\.?|\[([^\]]*)\]\([^)]*\)", r"\1", f"{own} {shared}").strip()


def whose(bundle, product):
    """A sentence where the page says that another product's defect is behind it."""
    said = re.match(r"defect of (.+)", page_row(bundle.converter, bundle.case["name"])[1])
    return f"The cause lies in {said[1]}." if said and product.lower() not in said[1].lower() else ""


def second_opinion(bundle):
    """What ONNX's own evaluator makes of the quantized model, on the data of test_data_set_0."""
    chosen = bundle.data_set()
    ours = bundle.folder / "outputs" / chosen
    if bundle.artifact is None or not ours.is_dir():
        return ""
    try:
        evaluator = ReferenceEvaluator(onnx.version_converter.convert_version(bundle.artifact, EVALUATED_OPSET))
        names = [each.name for each in bundle.artifact.graph.output]
        with numpy.errstate(all="ignore"), time_limit(EVALUATOR_SECONDS):  # it warns of what is wrong with the model
            theirs = dict(zip(names, evaluator.run(names, read_tensors(bundle.folder / "inputs" / chosen))))
    except Exception:  # whatever it lacks
        return "ONNX's reference evaluator doesn't run the quantized model."
    lines, expected = [], read_tensors(bundle.folder / "expected" / chosen)
    for name, values in read_tensors(ours).items():
        if name in theirs and name in expected and theirs[name].shape == values.shape == expected[name].shape:
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


def noise(figures):
    """A sentence on the SQNR that is lost."""
    if "left_db" not in figures:
        return ""
    if figures["left_db"] is None:
        return "What comes out are no finite numbers."
    best = figures["left_db"] + figures["lost_db"]
    return (f"SQNR of what comes out: {figures['left_db']:.1f} dB; the float model's output, rounded to 8 bits over its range, has "
            f"{best:.1f} dB.")


def passes_words(passes):
    """A sentence on the passes of an optimizing session without which it is gone; `passes` is None where nobody looked."""
    if passes is None:
        return ""
    if not passes:
        return "It is there with all optimizations of the session off, too."
    return (f"`python repro.py {' '.join(passes)}`, which turns {'that pass' if len(passes) == 1 else 'those passes'} of the session off, "
            "exits with 0: with all others on the defect is gone.")


def expected(printed):
    """What repro.py printed as the right result."""
    lines = [line.partition(": ")[2] for line in printed.splitlines() if line.startswith("expected: ")]
    return plain("\n\n".join([*dict.fromkeys(lines), "`python repro.py` exits with 0."]))


def write(bundle, maker, history, folder, printed, figures, passes=None):
    """ISSUE.md, under the headings of the maker's tracker where it has any."""
    packages = sorted({line for lines in bundle.json["packages"].values() for line in lines})
    options = ", ".join(f"{key} {value}" for key, value in bundle.options.items() if not isinstance(value, dict))
    model = shortened((folder / "model.txt").read_text(encoding="utf-8").rstrip())
    about = bundle.case["file"]["title"]
    said = [about[0].upper() + about[1:] + ".", whose(bundle, maker.product), cause(bundle), passes_words(passes), "\n".join(clauses(bundle))]
    *others, last = needed(maker.heads["package"], (folder / "repro.py").read_text(encoding="utf-8"))
    steps = [f"`python repro.py` needs {', '.join(others)} and {last}. It converts `model.onnx` with the data in "
             f"`calibration` ({options}), and exits with 1 where the defect is there. `test_data_set_0` is a node test of ONNX: "
             "its outputs are those of the float model.", f"```\n{model}\n```"]
    table, environment = scope(bundle, history), bundle.json["environment"]
    devices = environment.get("accelerators", "")
    values = {
        "title": title(bundle, maker), "about": "\n\n".join(filter(None, said)), "steps": "\n\n".join(steps),
        "result": "\n\n".join(filter(None, [f"```\n{plain(printed).strip()}\n```", noise(figures), second_opinion(bundle)])),
        "expected": expected(printed), "urgency": history.urgency(bundle.case["name"], bundle.json["options"]["label"], bundle.version),
        "scope": f"Where it shows:\n\n{table}" if table else "",
        "platform": f"{environment['system']}, {environment['cpu']}", "system": environment["system"],
        "machine": platform.machine(), "gpu": devices or "none", "gpu_memory": "see above" if devices else "none",
        "driver": ", ".join(re.findall(r"driver ([\d.]+)", devices)) or "none",
        "gpus": str(devices.count(";") + 1 if devices else 0), "python": platform.python_version(), "version": bundle.version,
        "versions": f"{maker.product} {bundle.version}, onnx {onnx.__version__}, numpy {numpy.__version__}, Python "
                    f"{platform.python_version()}\n\n```\n" + "\n".join(packages or ["pip freeze: not recorded"]) + "\n```"}
    text = Template(headings(bundle.converter.partition(":")[0])[1]).substitute(Values(values, packages))
    Path(folder, "ISSUE.md").write_text(re.sub(r"\n{3,}", "\n\n", text), encoding="utf-8")
