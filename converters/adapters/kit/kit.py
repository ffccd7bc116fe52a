"""A kit of a defect for the makers of a converter: kit.py BUNDLE FOLDER.

BUNDLE is what `assay bundle` wrote. FOLDER becomes a report that needs nothing of Assay: ISSUE.md, repro.py, the model,
its data. It is run with the interpreter of the converter's environment. A kit is only made where its repro.py exits with 1;
exit code 1 says that there is none, and standard error why.
"""
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from string import Template

import numpy
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import network
import report
import rounding
from bundles import EVALUATOR_SECONDS, PAIR, Bundle, constants, read_tensors, time_limit
from history import History, limit

HERE = Path(__file__).resolve().parent
# Steps of 8 bits over an output's range that a correct INT8 model of a small graph stays well within.
STEPS_ALLOWED = 8
# How many times beyond that an output has to be, for a kit to call it wrong.
PLAINLY = 2
SECONDS_ALLOWED = 300
LINES_ALLOWED = 60  # of a repro.py; one that has more goes without empty lines, then with its imports in two
BEYOND = ("saturate", "wide")  # data sets beyond the calibrated range: a correct model is wrong on them too


class NoKit(Exception):
    """There is none, and why."""


# Checks, by what the headline is about. Each returns the values of its template, or None where it doesn't apply.

def crash(bundle):
    """Of the process that converts, or of that which executes the result."""
    if bundle.reply.get("status") == "crash":
        return {"step": "convert"}
    executed = [each["reply"]["status"] for each in bundle.json["data_sets"] if "reply" in each]
    return {"step": "execute"} if "crash" in executed else None


def accepted(bundle):
    expected = bundle.case["file"].get("expect", {}).get("status")
    return {} if expected == "refused" and bundle.reply.get("status") == "ok" else None


def named(bundle):
    """An error is right here, and has to name what is wrong."""
    wanted = bundle.case["file"].get("expect", {}).get("refused", {}).get("reason")
    in_a_log = "raises" in Maker(bundle.converter).heads
    if not wanted or bundle.headline.get("facet") != "diagnostics" or bundle.reply.get("status") == "ok" or in_a_log:
        return None
    return {"pattern": repr(wanted)}


REFUSES_A_MODEL = ("ValidationError", "InferenceError", "Fail", "InvalidGraph")  # ONNX's checker and shape inference, ONNX Runtime


def runs(bundle):
    """By the class of the exception, as the adapter passed it on: another one is another defect. Of a model that can't be read
    that of whoever is asked first."""
    if bundle.headline.get("facet") not in ("status", "diagnostics") or bundle.reply.get("status") == "crash":
        return None
    raises = Maker(bundle.converter).heads.get("raises")
    if raises:
        return {"kind": raises}
    if bundle.reply.get("status") == "error":
        said = re.match(r"(\w+):", bundle.reply.get("reason", ""))
        if said and said[1] == "Failed":  # captured.py's: which step, and the exception's class
            stated = Maker(bundle.converter).heads.get("failed")
            inner = re.match(r"Failed: [^:\n]+: (\w+): ", bundle.reply["reason"])
            return {"kind": stated or (inner[1] if inner else "Failed")}
        return {"kind": " ".join(REFUSES_A_MODEL) if said[1] in REFUSES_A_MODEL[:2] else said[1]} if said else None
    said = re.search(r"ended with error: (\w+): ", bundle.headline["message"])
    return {"kind": said[1] if said else " ".join(REFUSES_A_MODEL)}


def finite(bundle):
    tensor = bundle.headline.get("tensor", "")
    return {"tensor": tensor, "scale": bundle.scale_name(tensor)} if bundle.scale_name(tensor) else None


def averages(bundle):
    """Whether ranges are narrower than the data by design: a correct model cuts."""
    return bundle.json["converter"]["description"]["policy"].get("averaging", "none") != "none"


# A scale of 8 bits as repro.py writes it, by what is divided by how many steps; that which gives what the audit expects is taken.
FORMULAS = [
    ("(high - low) / 255", lambda low, high: (high - low) / 255, "the range, zero in it, over 255 steps"),
    ("max(-low, high) / 127", lambda low, high: max(-low, high) / 127, "the larger end of the range over 127 steps"),
    ("max(-low, high) / 127.5", lambda low, high: max(-low, high) / 127.5, "twice the larger end of the range over 255 steps"),
    ("max(-low, high) / 128", lambda low, high: max(-low, high) / 128, "the larger end of the range over 128 steps"),
    ("max(-low, high) / 448", lambda low, high: max(-low, high) / 448, "the larger end of the range over 448, the largest float8e4m3fn"),
]
FORMULA_AGREES = 1e-3  # relative: less than what tells 127 from 127.5


def scale(bundle):
    tensor = bundle.headline.get("tensor", "")
    expected = bundle.parameters.get(tensor, {}).get("expected")
    name = bundle.scale_name(tensor)
    if not expected or not name or len(expected["scale"]) != 1 or bundle.options.get("method", "minmax") != "minmax":
        return None
    if bundle.folded():  # tensors in front of the BatchNormalization hold other values then, rightly
        return None
    model = onnx.ModelProto.FromString(bundle.model.SerializeToString())
    model.graph.output.append(onnx.ValueInfoProto(name=tensor))
    fed = tensor in [each.name for each in bundle.model.graph.input]
    values = [batch[tensor] if fed else ReferenceEvaluator(model).run([tensor], batch)[0] for batch in bundle.batches()]
    low, high = float(min(0, *map(numpy.min, values))), float(max(0, *map(numpy.max, values)))
    for formula, compute, words in FORMULAS:
        if math.isclose(compute(low, high), expected["scale"][0], rel_tol=FORMULA_AGREES):
            return {"tensor": tensor, "scale": name, "formula": formula, "words": words}
    return None


def given_scales(bundle):
    """The scales that the model's own pairs have for a tensor, with those that read it in the artifact."""
    tensor, message = bundle.headline.get("tensor", ""), bundle.headline.get("message", "")
    reads = any(node.op_type == "QuantizeLinear" and node.input[0] == tensor for node in bundle.model.graph.node)
    return {"tensor": tensor} if reads and bundle.artifact is not None and "expected the given" in message else None


def least_scale(bundle):
    """The scale of a search for a range with the least one that the case allows."""
    tensor = bundle.headline.get("tensor", "")
    stated, name = re.search(r"expected scale (\S+) at least", bundle.headline.get("message", "")), bundle.scale_name(tensor)
    return {"tensor": tensor, "scale": name, "limit": stated[1]} if stated and name else None


WEIGHT_STEPS = (127, 127.5, 128)
STEPS_OF_SEVEN_BITS = (63, 63.5, 64)  # where the audit expects them


def weight_scale(bundle):
    """The scales of a weight's channels, where each is its channel's own."""
    tensor, held = bundle.headline.get("tensor", ""), constants(bundle.model.graph)
    known = bundle.parameters.get(tensor, {})
    tried = WEIGHT_STEPS + (STEPS_OF_SEVEN_BITS if known.get("expected") else ())
    known = known.get("expected") or next(iter(known.get("obtained", [])), None)
    shown = bundle.artifact is not None or "def scales(" in Maker(bundle.converter).code
    if not shown or not known or tensor not in held or bundle.folded() or len(known["scale"]) == 1:
        return None
    weight, scales = numpy.abs(held[tensor]), numpy.array(known["scale"])
    for along in [axis for axis, extent in enumerate(weight.shape) if extent == scales.size]:
        others = tuple(axis for axis in range(weight.ndim) if axis != along)
        for steps in tried:
            if numpy.mean(numpy.isclose(weight.max(others) / steps, scales, rtol=FORMULA_AGREES)) >= 0.5:  # of most channels
                return {"tensor": tensor, "formula": f"weight.max({others}) / {steps}",
                        "words": f"its largest magnitude over {steps} steps"}
    return None


def axis(bundle):
    tensor, message = bundle.headline.get("tensor", ""), bundle.headline.get("message", "")
    wanted = re.search(r"expected (?:one scale|(\d+) scales?(?: along axis (\d+))?)", message)
    name = bundle.scale_name(tensor)
    if not wanted or not name:
        return None
    count, along = int(wanted[1] or 1), int(wanted[2] or -1)
    if count > 1 and along < 0:
        shape = list(constants(bundle.model.graph)[tensor].shape)
        along = shape.index(count) if shape.count(count) == 1 else -1
    asked = "per_axis" in Maker(bundle.converter).text and bundle.options.get("per_axis", True)  # in words that its makers know
    if count > 1 and asked and re.search(r"actual (one for all|1 scale\b)", message):
        words = f"{count} scales along axis {along}, since one for each channel is asked for"
        return {"tensor": tensor, "scale": name, "count": count, "axis": along, "words": words, "one": "wrong"}
    words = "one scale" if count == 1 else f"one scale, or {count} along axis {along}"
    return {"tensor": tensor, "scale": name, "count": count, "axis": along, "words": words, "one": "right"}


def blocks(bundle):
    """The axis along which blocks of a constant lie, and their size."""
    tensor, stated = bundle.headline.get("tensor", ""), re.search(r"expected blocks of (\d+) along axis (\d+)", bundle.headline.get("message", ""))
    if not stated or bundle.artifact is None or tensor not in constants(bundle.model.graph):
        return None
    return {"tensor": tensor, "size": stated[1], "axis": stated[2]}


def names(bundle):
    stated = re.match(r"(input|output)s of the artifact: ", bundle.headline.get("message", ""))
    return {"ports": stated[1]} if stated and bundle.artifact is not None else None


def activation_type(bundle):
    stated = re.match(r'activation ".*": expected codes of type (\w+), actual', bundle.headline.get("message", ""))
    return {"type": stated[1].upper()} if stated and bundle.artifact is not None else None


def constant(bundle):
    tensor = bundle.headline.get("tensor", "")
    name, held = bundle.scale_name(tensor), constants(bundle.model.graph)
    stated = re.search(r"off by more than (\S+),", bundle.headline.get("message", ""))
    if not name or tensor not in held or not numpy.size(held[tensor]):
        return None
    obtained = next(iter(bundle.parameters.get(tensor, {}).get("obtained", [])), {"scale": []})
    if stated:
        limit = float(stated[1])
    elif obtained["scale"] and "by more than half a step" in bundle.headline.get("message", ""):
        limit = 0.51 * max(obtained["scale"])
    elif "expected int32" in bundle.headline.get("message", ""):
        limit = half_step_of_a_sum(bundle, tensor)
    else:
        return None
    shape = [-1 if axis == obtained.get("axis") else 1 for axis in range(held[tensor].ndim)] if obtained.get("axis") is not None else [-1]
    return {"tensor": tensor, "scale": name, "limit": f"{limit:.6g}", "shape": tuple(shape)} if limit else None


def half_step_of_a_sum(bundle, tensor):
    """Half of input scale times weight scale, the largest of a channel: what int32 values of a bias are off by."""
    node = next(node for node in bundle.model.graph.node if tensor in node.input)
    steps = [max(bundle.parameters[name]["obtained"][0]["scale"])
             for name in node.input if name != tensor and bundle.parameters.get(name, {}).get("obtained")]
    return 0.5 * math.prod(steps) if len(steps) == 2 else None


def left_to_choose(bundle):
    """Whether the headline's node was allowed INT8 ("int8?") and not asked for it: in float it is what its makers meant."""
    wishes = bundle.options.get("precision", {})
    return wishes.get(bundle.headline.get("node"), wishes.get(bundle.headline.get("op"))) == "int8?"


def precision(bundle):
    in_float = "expected int8" in bundle.headline.get("message", "")
    if bundle.artifact is None or not bundle.headline.get("node") or not in_float or left_to_choose(bundle):
        return None
    return {"node": bundle.headline["node"], "op": bundle.headline["op"]}


def precision_by_product(bundle):
    """As `precision`, by what the product says of where it runs a node."""
    in_float = "expected int8" in bundle.headline.get("message", "")
    if "def precisions(" not in Maker(bundle.converter).code or not in_float or left_to_choose(bundle):
        return None
    node = next(node for node in bundle.model.graph.node if bundle.headline["node"] in (node.name, *node.output))
    return {"node": bundle.headline["node"], "op": node.op_type, "outputs": [*node.output]}


SAME_PRODUCT = ({"Gemm", "MatMul"},)  # either may be written for the other


def precision_of_kind(bundle):
    """As `precision`, where the artifact's nodes have names of the product's own: of all nodes of this operator."""
    maker, kind = Maker(bundle.converter), bundle.headline.get("op", "")
    demanded = "expected int8" in bundle.headline.get("message", "") and not bundle.options.get("precision")
    if not maker.own_names or not maker.quantized.endswith(".onnx") or not kind or not demanded:
        return None
    return {"op": kind, "kinds": sorted(next((kinds for kinds in SAME_PRODUCT if kind in kinds), {kind}))}


def kept_out(bundle):
    """A node that was to stay in float is in INT8, or part of another one."""
    if bundle.artifact is None or "expected fp" not in bundle.headline.get("message", ""):
        return None
    return {"node": bundle.headline["node"], "op": bundle.headline["op"]}


def bias_type(bundle):
    own = bundle.json["converter"]["description"]["policy"].get("bias") == "own_scale"  # of the weights' type, by design
    return {} if bundle.artifact is not None and not own else None


def corrected(bundle):
    """A bias whose correction leaves a larger mean error than none."""
    tensor, policy = bundle.headline.get("tensor", ""), bundle.json["converter"]["description"]["policy"]
    if bundle.artifact is None or "corrected" not in policy.get("bias", "") or tensor not in constants(bundle.artifact.graph):
        return None
    outputs = {each.name: len(each.type.tensor_type.shape.dim) for each in bundle.model.graph.output}
    node = next((node for node in bundle.model.graph.node if tensor in node.input and node.output[0] in outputs), None)
    if node is None:
        return None
    others = [axis + 1 for axis in range(outputs[node.output[0]]) if axis != 1]
    return {"tensor": tensor, "output": node.output[0], "others": ", ".join(map(str, others))}


def numerics_set(bundle):
    """The data set whose outputs are compared."""
    return "typical" if bundle.data_set() in BEYOND else bundle.data_set()


def numerics(bundle):
    if averages(bundle) and not bundle.alone:
        return None
    expected = bundle.expected(numerics_set(bundle))
    stated = re.search(r"limit ([\d.e+-]+)", bundle.headline.get("message", ""))
    limits, steps = {}, STEPS_ALLOWED * (PLAINLY if bundle.alone else 1)  # of one batch no outputs are recorded
    for name, values in expected.items():
        if not numpy.issubdtype(values.dtype, numpy.floating) or not values.size:
            continue
        width = max(0, values.max()) - min(0, values.min())
        own = float(stated[1]) if stated and bundle.headline.get("tensor") == name else 0
        limits[name] = float(f"{own + steps * width / 255:.4g}")
    words = f"{steps} steps of 8 bits over the output's range" + (" and what its node may add" if stated else "")
    return {"limits": limits, "words": words} if limits else None


# What a finding says of the noise that correct quantization makes: the SQNR, the expected one, what is allowed below or at least.
ROUNDINGS = re.compile(r'tensor "([^"]+)", data set "([^"]+)": SQNR (\S+) dB, where the roundings of this conversion leave (\S+) dB '
                       r"and not less than (\S+) dB")
PREDICTED = re.compile(r'tensor "([^"]+)", data set "([^"]+)": SQNR (\S+) dB, the stated policy predicts (\S+) dB')
NOISE_ALLOWED = 1.0  # dB below what is predicted, far more than correct engines lose


def noise(bundle):
    """The SQNR of an output, with what the roundings of correct quantization leave of it."""
    outputs = [each.name for each in bundle.model.graph.output]
    for finding in bundle.findings:
        for pattern, words in ((ROUNDINGS, "the roundings of the quantized tensors leave"), (PREDICTED, "this scheme of quantization gives")):
            said = pattern.search(finding["message"])
            if not said or said[1] not in outputs or said[2] != numerics_set(bundle):
                continue
            best = float(said[4])
            limit = float(said[5]) if pattern is ROUNDINGS else best - NOISE_ALLOWED
            if float(said[3]) < limit:
                return {"tensor": said[1], "best": f"{best:.1f}", "limit": f"{limit:.1f}", "words": words}
    return None


ROUNDED_TIMES = 3  # the error that rounding the tensors makes; engines that round in other places stay within twice


# Of an output's largest magnitude, what computing in float rounds: some roundings of each type.
FLOAT32_ALLOWED, FLOAT16_ALLOWED = 1e-6, 4e-3


def has_float16(artifact):
    """Whether what isn't INT8 is computed in float16."""
    half = onnx.TensorProto.FLOAT16
    return artifact is not None and (any(tensor.data_type == half for tensor in artifact.graph.initializer) or any(
        attribute.i == half for node in artifact.graph.node if node.op_type == "Cast" for attribute in node.attribute))


def rounded(bundle):
    """The largest error of a channel, with that of the float model whose tensors are rounded to 8 bits over their ranges. Not of
    a converter that takes other ranges by design."""
    policy, names = bundle.json["converter"]["description"]["policy"], rounding.tensors_of(bundle)
    other = (averages(bundle) and not bundle.alone) or policy.get("power_of_two") or policy.get("equalizes")
    if bundle.options.get("method", "minmax") != "minmax" or other or not names:
        return None
    listed = ", ".join(f'"{name}"' for name in sorted(names))
    return {"times": ROUNDED_TIMES, "words": f"{listed} rounded to 8 bits over their ranges",
            "floor": FLOAT16_ALLOWED if has_float16(bundle.artifact) else FLOAT32_ALLOWED,
            "files": {"rounded.onnx": rounding.rounded(bundle, names).SerializeToString()}}


def calibrated(bundle):
    """output → (low, high), zero in it, that the float model gives on the calibration data: codes end there. Nothing where ONNX's
    evaluator can't run it."""
    ranges = {}
    try:
        with time_limit(EVALUATOR_SECONDS):
            evaluator = ReferenceEvaluator(bundle.model)
            for batch in bundle.batches():
                for output, values in zip(bundle.model.graph.output, evaluator.run(None, batch)):
                    low, high = ranges.get(output.name, (0, 0))
                    ranges[output.name] = min(low, numpy.min(values)), max(high, numpy.max(values))
    except Exception:  # of ONNX's evaluator on what it doesn't know, or takes too long for
        return {}
    return ranges


def plainly_wrong(bundle, limits):
    """Whether the recorded outputs are off by much more than the limits, or have another name or shape. A value that ends where
    the calibrated range does is no such error."""
    if bundle.alone:
        return True
    ranges = calibrated(bundle)
    folder = bundle.folder / "outputs" / numerics_set(bundle)
    expected = bundle.expected(numerics_set(bundle))
    for name, actual in read_tensors(folder).items() if folder.is_dir() else ():
        if name not in expected or actual.shape != expected[name].shape:
            return True
        if name not in limits:
            continue
        error = numpy.abs(actual - expected[name])
        if name in ranges:
            error = numpy.minimum(error, numpy.abs(actual - numpy.clip(expected[name], *ranges[name])))
        if not numpy.max(error) < PLAINLY * limits[name]:  # NaN is wrong
            return True
    return False


STATUS = (accepted, crash, named, runs)
NUMBERS = (numerics, noise, rounded)
STRUCTURE = (given_scales, least_scale, scale, weight_scale, finite, axis, constant, *NUMBERS)
# In the order in which they are tried, by facet. A facet that isn't here shows in the numbers or not at all.
CHECKS = {"status": STATUS, "diagnostics": STATUS, "precision": (precision, precision_by_product, precision_of_kind, kept_out, bias_type, *NUMBERS), "bias": (corrected, bias_type, constant, *NUMBERS),
          "weight": (constant, *NUMBERS), "scale": STRUCTURE, "zero_point": NUMBERS, "axis": (axis, blocks, *NUMBERS),
          "names": (names, *NUMBERS), "dtype": (activation_type, *NUMBERS),
          "count": (axis, names, weight_scale, *NUMBERS)}
HELPERS = ("scales", "constants", "tensors")  # of checks/, where what is written calls them and has none of its own


def chosen(text, values):
    """The lines of a template that hold for `values`: "LINE  #? KEY=VALUE" holds only there, "KEY=VALUE|OTHER" for both."""
    lines = []
    for line in text.splitlines():
        line, _, condition = line.partition("  #? ")
        key, _, value = condition.partition("=")
        if not condition or str(values[key]) in value.split("|"):
            lines.append(line)
    return "\n".join(lines)


TYPES_ASKED = {"int8": "int8", "fp32": "float32", "fp16": "float16"}


def wishes(model, precision, int8_operators):
    """{node: type} that is asked for, by what options say of a node, else of its operator, else INT8 where it has an INT8 form."""
    said = {node.name or node.output[0]: precision.get(node.name or node.output[0], precision.get(node.op_type)) or (
        "int8" if node.op_type in int8_operators else None) for node in model.graph.node}
    return {node: TYPES_ASKED[word] for node, word in said.items() if word in TYPES_ASKED}


def symbolic(model):
    """Whether some input has an extent that the model leaves open."""
    return any(not each.HasField("dim_value") for value in model.graph.input for each in value.type.tensor_type.shape.dim)


class Maker:
    """The template beside a converter's adapter: heads, imports, an empty line, and code that defines `convert` and, where no
    head `execute` names a shared way, `execute`.

    #: product NAME, #: package NAME   as its makers call it, as pip does
    #: execute onnxruntime             by the lines of execute_onnxruntime.py.in
    #: optimized VARIANT …             these are executed with the session's optimizations; repro.py takes those that are to be off
    #: codes yes                       inputs and outputs of what `convert` writes are integers
    #: names own                       tensors and nodes of that have other names than the model's, or the adapter's account of them
    #: part layout_litert              the lines of layout_litert.py.in stand in front of the code
    #: given FILE TOOL                 what is quantized in place of the ONNX model, beside the artifact; TOOL made it
    #: quantized FILE                  what `convert` writes; quantized.onnx where it is left out
    #: KEY {"VALUE": "WORD"} OPTION    $KEY is the word for that option's value; OPTION is KEY where it is left out
    LINE  #? OPTION=VALUE|OTHER        only where the option, or the word of a KEY that is no option, is one of these; `given`: the model has pairs of its own; `check`: of the kit;
                                       `variant`: of the converter, "" without one
    #: failed CLASS                    what `convert` raises where the adapter calls it "Failed"
    #: raises CLASS                    what `convert` and `execute` raise, whatever the adapter calls it; the reason is in the product's log
    $wishes                            {node: type} that is asked for; `asking`: "obey" where INT8 is demanded of some node, else "prefer", "nothing"
                                       where the model has pairs of its own; `extents`: "symbolic" where an input has such, else "fixed";
                                       `inputs`: "others" where one isn't float32
    """

    def __init__(self, converter):
        name, _, self.variant = converter.partition(":")
        file = HERE.parent / name / "kit.py.in"
        if not file.is_file():
            raise NoKit(f"{name} has no template: write converters/adapters/{name}/kit.py.in")
        self.heads, code = {"quantized": "quantized.onnx", "codes": "no", "names": "model", "optimized": ""}, []
        for line in file.read_text(encoding="utf-8").splitlines():
            head = re.match(r"#: (\w+) (.*)", line)
            if head:
                self.heads[head[1]] = head[2]
            else:
                code.append(line)
        self.code, self.text = "\n".join(code).strip(), file.read_text(encoding="utf-8")
        self.product, self.quantized = self.heads["product"], self.heads["quantized"]
        self.own_names = self.heads["names"] == "own" or not self.quantized.endswith(".onnx")

    def written(self, options, model, check, int8_operators=()):
        """(imports, code) for these options and this check; NoKit where it knows no word for one of them. `int8_operators`: those
        that the converter is asked to run in INT8 where nothing is said of them."""
        precision = options.get("precision", {})
        excluded = [node.name for node in model.graph.node
                    if precision.get(node.name, precision.get(node.op_type)) == "fp32"]
        operators = {node.op_type for node in model.graph.node}
        values = {"activation": "int8", "weight": "int8", "block_size": 0, "format": "qdq", "method": "minmax", "percentile": 99.99, "per_axis": True,
                  "symmetric": False, **options, "in_float": json.dumps(excluded),
                  "operators_in_float": json.dumps(sorted(key for key, word in precision.items() if word == "fp32" and key in operators)),
                  "check": check, "variant": self.variant, "given": any(node.op_type in PAIR for node in model.graph.node),
                  "wishes": json.dumps(wishes(model, precision, int8_operators)), "extents": "symbolic" if symbolic(model) else "fixed",
                  "inputs": "others" if {each.type.tensor_type.elem_type for each in model.graph.input} - {onnx.TensorProto.FLOAT} else "float32"}
        values["asking"] = "nothing" if values["given"] else "obey" if "int8" in precision.values() else "prefer"
        values["way"] = "weights" if values["activation"] == "none" else "dynamic" if values.get("dynamic") else "static"
        if "$forward" in self.code:
            try:
                values.update(network.values(model))
            except network.NotWritten as reason:
                raise NoKit(f"no PyTorch module is written for it: {reason}") from reason
        known = {}
        for key, words in self.heads.items():
            if words.startswith("{"):
                listed, _, option = words.rpartition("}")
                option, meant = option.strip() or key, json.loads(listed + "}")
                if str(values[option]) not in meant and option == "in_float":
                    raise NoKit(f"the template of {self.product} knows no way to leave a node in float, which the case asks for")
                if str(values[option]) not in meant:
                    raise NoKit(f"the template of {self.product} has no word for {option} {values[option]}")
                known[key] = meant[str(values[option])]
        code = chosen(self.code, {**known, **values})
        values.update(known)
        imports, _, code = Template(code).substitute(values).partition("\n\n")
        return imports, part(f"{self.heads['part']}.py.in") + "\n\n" + code if "part" in self.heads else code


def part(name, **values):
    text = (HERE / name).read_text(encoding="utf-8").rstrip("\n")
    return Template(chosen(text, values)).substitute(values)


def repro(bundle, maker, check, values, title):
    """The text of repro.py."""
    name = check.__name__
    asked = bundle.json["converter"]["description"].get("supports", {}).get("int8_operators", ())
    imports, code = maker.written(bundle.options, bundle.model, name, asked)
    quantized = {"quantized": maker.quantized, "form": Path(maker.quantized).suffix[1:]}
    return assembled(maker, imports, code, part(f"checks/{name}.py.in", **quantized, **values), title)


def assembled(maker, imports, code, check, title):
    """A script of these parts, and of those that they call."""
    if "execute(" in check and "execute" in maker.heads:
        optimized = "yes" if maker.variant in maker.heads["optimized"].split() else "no"
        code += "\n\n" + part(f"execute_{maker.heads['execute']}.py.in", codes=maker.heads["codes"], optimized=optimized)
    called = []
    for name in HELPERS:
        if f"{name}(" in "\n".join([check, *called]) and f"def {name}(" not in code:
            called.insert(0, part(f"checks/{name}.py.in"))
    for word, line in (("re.search(", "import re"), ("ReferenceEvaluator(", "from onnx.reference import ReferenceEvaluator")):
        if re.search(rf"\b{re.escape(word)}", check):
            imports = f"{line}\n{imports}"
    text = part("frame.py.in", title=title.replace("\\", "/").replace('"', "'"), imports=imports, code=code.strip(),
                check="\n\n".join([*called, check])) + "\n"
    if text.count("\n") > LINES_ALLOWED:
        text = re.sub(r"\n\n(?= *(def|class|sys\.exit)\b)", "\n", text)
    if text.count("\n") > LINES_ALLOWED:  # the frame's own imports
        text = text.replace("import glob\nimport os\nimport sys\nimport numpy\nimport onnx\n", "import glob, os, sys\nimport numpy, onnx\n")
    return text


def run(folder, *passes):
    """(exit code, what it printed) of the kit's repro.py, on a copy: nothing that it writes stays. `passes` are off then."""
    with tempfile.TemporaryDirectory() as place:
        return run_in(Path(shutil.copytree(folder, Path(place, "kit"))), *passes)


def run_in(kit, *passes):
    """The same, and what it writes stays."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    try:
        done = subprocess.run([sys.executable, str(kit / "repro.py"), *passes], capture_output=True, text=True, cwd=kit.parent,
                              env=environment, timeout=SECONDS_ALLOWED)
    except subprocess.TimeoutExpired:
        return 2, f"no end within {SECONDS_ALLOWED} s"
    return done.returncode, done.stdout if done.returncode in (0, 1) else done.stdout + done.stderr


def write_files(bundle, folder):
    """Everything but repro.py and ISSUE.md."""
    shutil.copyfile(bundle.folder / "model.onnx", folder / "model.onnx")
    (folder / "model.txt").write_text(onnx.printer.to_text(bundle.model) + "\n", encoding="utf-8")
    for place in ("calibration", "test_data_set_0"):
        shutil.rmtree(folder / place, ignore_errors=True)
        (folder / place).mkdir()
    for index, batch in enumerate(bundle.batches()):
        numpy.savez(folder / "calibration" / f"{index:04}.npz", **batch)
    test = folder / "test_data_set_0"
    chosen = numerics_set(bundle)
    types = {each.name: onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type)
             for each in bundle.model.graph.output}
    for stem in ("input", "output"):
        held = (bundle.given if stem == "input" else bundle.expected)(chosen)
        order = [each.name for each in (*bundle.model.graph.input, *bundle.model.graph.output)]  # the files' numbers are the graph's
        for index, (name, values) in enumerate(sorted(held.items(), key=lambda each: order.index(each[0]))):
            values = values.astype(types[name]) if stem == "output" else values
            onnx.save_tensor(numpy_helper.from_array(values, name), test / f"{stem}_{index}.pb")


FLOAT_ALLOWED = 1e-3  # of an output's range, which a float model is off by; a quarter of a step of 8 bits


def write_given(bundle, maker, folder):
    """The file that is quantized in place of the ONNX model; returns what is wrong with its values before anything is
    quantized, or "". NoKit where it is not executed."""
    name, _, tool = maker.heads["given"].partition(" ")
    file = bundle.folder / "artifact" / name
    if not file.is_file():
        raise NoKit(f"{tool} makes no model of it that {maker.product} could be given")
    shutil.copyfile(file, folder / name)
    expected = bundle.expected(numerics_set(bundle))
    limits = {each: float(f"{FLOAT_ALLOWED * numpy.ptp([0, *values.flat]):.4g}") for each, values in expected.items()
              if numpy.issubdtype(values.dtype, numpy.floating) and values.size}
    imports, code = maker.written(bundle.options, bundle.model, "numerics")
    check = part("checks/numerics.py.in", quantized=name, limits=limits, words="of a float model")
    script = assembled(maker, imports, code + "\n\ndef convert(*_):\n    pass", check, "")
    (folder / "repro.py").write_text(script, encoding="utf-8")
    code, printed = run(folder)
    if code not in (0, 1):
        raise NoKit(f"the float model that {tool} makes of it doesn't run: {said_by(code, printed)}")
    return f"the float model that {tool} makes of it is wrong already: {said_by(code, printed)}" if code else ""


def checks_of(bundle):
    """Those that are tried. Of a node in float whose outputs are wrong, too, numbers come first: they are graver."""
    facet = bundle.headline.get("facet")
    wrong_values = any(finding.get("facet") in ("numerics", "integers") for finding in bundle.findings)
    return tuple(dict.fromkeys([*(NUMBERS if facet == "precision" and wrong_values else ()), *CHECKS.get(facet, NUMBERS)]))


def make(bundle, folder, checks=None):
    """Fills `folder`; returns the name of the check that shows the defect and what repro.py printed. NoKit where none does."""
    maker = Maker(bundle.converter)
    if bundle.headline.get("message", "").startswith("metamorphic relation"):
        raise NoKit("it is about two conversions, and each check looks at one")
    if maker.own_names:
        bundle.artifact = None  # an adapter's account of it, if any; repro.py has none
    write_files(bundle, folder)
    checks = checks or checks_of(bundle)
    wrong_already = write_given(bundle, maker, folder) if "given" in maker.heads else ""
    if wrong_already:  # an error in place of a model is one all the same
        checks = [check for check in checks if check in STATUS]
    tried = []
    shown = first_shown(bundle, maker, folder, checks, tried)
    if not shown and averages(bundle) and numerics in checks:
        bundle.alone = True
        write_files(bundle, folder)
        shown = first_shown(bundle, maker, folder, (numerics, rounded), tried)
    if shown:
        return shown
    if wrong_already:
        raise NoKit(wrong_already)
    raise NoKit("no check shows it without Assay" + (": " + "; ".join(tried) if tried else ""))


# What a check's repro.py does, for whoever reads why there is no kit.
DOES = {"runs": "converts and runs it", "crash": "waits for a signal", "accepted": "waits for an error", "named": "reads the error",
        "given_scales": "compares given scales", "least_scale": "compares a scale with the least one", "scale": "compares a scale with the data's range",
        "weight_scale": "compares a weight's scales with its values", "finite": "asks whether a scale is positive and finite",
        "axis": "counts scales", "blocks": "compares blocks", "names": "compares names", "activation_type": "compares the type of activations",
        "constant": "compares a constant", "precision": "looks for a node in float", "precision_by_product": "asks where a node runs",
        "precision_of_kind": "looks for nodes in float",
        "kept_out": "looks for a node in INT8", "bias_type": "compares the type of biases", "corrected": "compares mean errors",
        "numerics": "compares outputs", "noise": "compares the SQNR of an output", "rounded": "compares outputs with rounded.onnx's"}


def said_by(code, printed):
    """What a repro.py said, without the lines that the product printed among its own: its last where it is its own error."""
    lines = [line.strip() for line in printed.strip().splitlines()]
    if code not in (0, 1):
        return lines[-1] if lines else f"exit code {code}"
    return ", ".join(line for line in lines if re.match(r"(expected|actual): |.* are off by more than |.*the largest error against ", line))


def first_shown(bundle, maker, folder, checks, tried):
    """What `make` returns, of the first of `checks` whose repro.py ends with 1, or None; `tried` gets why the others don't."""
    title = report.title(bundle, maker)
    for check in checks:
        try:
            with time_limit(EVALUATOR_SECONDS):
                values = check(bundle)
        except Exception as failure:  # of ONNX's evaluator on what it doesn't know, or takes too long for
            values, _ = None, tried.append(f"{check.__name__}: {failure}")
        if values is None:
            continue
        if check is numerics and not plainly_wrong(bundle, values["limits"]):
            tried.append(f"no output is off by {PLAINLY} times what a correct INT8 model may be off by")
            continue
        files = values.pop("files", {})
        for name, content in files.items():
            (folder / name).write_bytes(content)
        text = repro(bundle, maker, check, values, title)
        if text.count("\n") > LINES_ALLOWED:
            tried.append(f"repro.py would have {text.count(chr(10))} lines, and {LINES_ALLOWED} are allowed")
            continue
        (folder / "repro.py").write_text(text, encoding="utf-8")
        code, printed = run(folder)
        if code == 1:
            return check.__name__, printed
        for name in files:
            (folder / name).unlink()
        words = f"ends with {said_by(code, printed)}" if code else f"finds nothing wrong ({said_by(code, printed)})"
        tried.append(f"a repro.py that {DOES[check.__name__]} {words}")
    return None


def passes_at_fault(bundle, folder):
    """The fewest passes of the session's optimizer without which repro.py ends with 0, by delta debugging as in
    `assay bisect --over optimizers`; [] where the defect is there without any, None where the converter lists none."""
    names = bundle.json["converter"]["description"].get("supports", {}).get("optimizers", [])
    if not names or "sys.argv[1:]" not in (folder / "repro.py").read_text(encoding="utf-8"):
        return None
    if run(folder, *names)[0] != 0:
        return []
    parts = 2
    while len(names) > 1:
        size = math.ceil(len(names) / parts)
        chunks = [names[begin:begin + size] for begin in range(0, len(names), size)]
        rests = [[name for name in names if name not in chunk] for chunk in chunks]
        fewer = next((some for some in (*chunks, *(rests if parts > 2 else ())) if run(folder, *some)[0] == 0), None)
        if fewer is None and parts >= len(names):
            break
        parts = min(2 * parts, len(names)) if fewer is None else 2 if fewer in chunks else parts - 1
        names = fewer or names
    return names


SMALL = 1024  # bytes of a model.onnx; of a larger one the index says what is in it


def weight(model):
    """{"model_bytes"} and, of a model beyond SMALL, {"model_holds": what takes the most}: data of initializers and constants, the rest
    is nodes and names."""
    size = model.ByteSize()
    if size <= SMALL:
        return {"model_bytes": size}
    held = {tensor.name: tensor for tensor in model.graph.initializer}
    held.update({node.output[0]: node.attribute[0].t for node in model.graph.node if node.op_type == "Constant" and node.attribute[0].HasField("t")})
    values = {name: tensor.ByteSize() for name, tensor in held.items()}
    largest = max(values, key=values.get, default="")
    count = len(model.graph.node)
    words = f"{count} node{'s' * (count != 1)}; {sum(values.values())} bytes of constants"
    if largest:
        words += f", {values[largest]} of them {largest} {[*held[largest].dims]}"
    return {"model_bytes": size, "model_holds": words}


def decibels(expected, actual):
    """SQNR; NaN where an output is none, infinity where nothing is off."""
    expected, error = expected.astype(float), actual.astype(float) - expected
    with numpy.errstate(all="ignore"):
        return float(10 * numpy.log10(numpy.sum(expected**2) / numpy.sum(error**2)))


def compared(bundle, kit):
    """(outputs of the float model, outputs) of each data set that has both: as recorded; where `alone`, as the kit's repro.py
    computes them."""
    if bundle.alone:
        yield bundle.expected(numerics_set(bundle)), computed(bundle, kit)
        return
    for each in bundle.json["data_sets"]:
        folder = bundle.folder / "outputs" / each["name"]
        if each["name"] not in BEYOND and folder.is_dir():
            yield bundle.expected(each["name"]), read_tensors(folder)


def computed(bundle, kit):
    """The outputs of what the repro.py of a kit that compares outputs makes of test_data_set_0."""
    quantized = Maker(bundle.converter).quantized
    with tempfile.TemporaryDirectory() as place:
        copy = Path(shutil.copytree(kit, Path(place, "kit")))
        text = (copy / "repro.py").read_text(encoding="utf-8")
        (copy / "repro.py").write_text(text.replace("sys.exit(1 if wrong() else 0)", (
            f'convert("model.onnx", BATCHES, "{quantized}")\n'
            f'numpy.savez("outputs.npz", **execute("{quantized}", tensors("input")))')), encoding="utf-8")
        run_in(copy)
        return dict(numpy.load(copy / "outputs.npz"))


def measured(bundle, kit):
    """{"left_db", "lost_db"} of the output and data set that lose the most, against the expected output rounded to 8 bits
    over its range; None for both where outputs are no numbers, nothing where none can be compared."""
    worst = None
    for expected, outputs in compared(bundle, kit):
        for name, actual in outputs.items():
            wanted = expected.get(name)  # an output may have another name
            if wanted is None or actual.shape != wanted.shape or not numpy.issubdtype(wanted.dtype, numpy.floating) or not wanted.any():
                continue
            left = decibels(wanted, actual)
            step = (max(0, wanted.max()) - min(0, wanted.min())) / 255
            rounded = decibels(wanted, numpy.round(wanted / step) * step)
            lost = math.inf if math.isnan(left) else rounded - left
            if math.isfinite(rounded) and left < math.inf and (worst is None or lost > worst[0]):
                worst = lost, left
    if worst is None:
        return {}
    if math.isinf(worst[0]):
        return {"lost_db": None, "left_db": None}
    return {"lost_db": round(worst[0], 1), "left_db": round(worst[1], 1)}


def main(bundle_folder, folder):
    bundle = Bundle(bundle_folder)
    history = History(bundle.converter, bundle.case["file"]["family"])
    said = f"{bundle.case['name']}, options {bundle.json['options']['label']}, {bundle.converter} {bundle.version}"
    try:
        if bundle.verdict["verdict"] in ("pass", "unsupported", "unjudged"):
            mended = history.mended(bundle.case["name"], bundle.version) if bundle.verdict["verdict"] == "pass" else ""
            raise NoKit(f"the verdict is {bundle.verdict['verdict']}{mended}")
        if limit(bundle.converter, bundle.case["name"]):
            raise NoKit(limit(bundle.converter, bundle.case["name"]))
        Path(folder).mkdir(parents=True, exist_ok=True)
        check, printed = make(bundle, Path(folder))
        passes = passes_at_fault(bundle, Path(folder))
        if passes == [] and bundle.headline.get("facet") == "integers":  # of the same model, executed plainly, these are right
            raise NoKit(f"the check that shows something ({check}) shows it without the session's optimizations, too")
    except NoKit as reason:
        print(f"no kit of {said}: {reason}", file=sys.stderr)
        return 1
    figures = measured(bundle, Path(folder))
    report.write(bundle, Maker(bundle.converter), history, Path(folder), printed, figures, passes)
    said = {"severity": report.severity(check, printed), "check": check,
            "since": history.since_words(bundle.case["name"], bundle.json["options"]["label"], bundle.version), **figures, **weight(bundle.model)}
    if passes:
        said["passes"] = passes
    print(f"severity: {said['severity']}\nsince: {said['since']}")
    print(f"measured: {json.dumps(said)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
