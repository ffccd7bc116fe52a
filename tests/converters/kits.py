"""A kit shows the defect without Assay: kits.py ASSAY ROOT INTERPRETER [NAME].

INTERPRETER is that of ONNX Runtime's environment; with NAME of that converter's, and only what checks say of a model that it gets
right is asked for. 77: it isn't there, or Assay doesn't find it.
kits.py ASSAY ROOT: what `assay kits` says where no converter is installed.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from string import Template
from types import SimpleNamespace

CONVERTER = "onnxruntime"
# A scale, numbers, and a conversion that ends with an error; wrong in all releases.
WRONG = {"clip_of_an_output": "expected: scale", "gemm_beta/beta=3.0": "are off by more than", "deconv_group_bias/groups=2": "actual: ValueError"}
MENDED, MENDED_SINCE = "deconv_stride_and_dilation", "mended since 1.18.1"
RIGHT, RIGHT_EVERYWHERE = "gemm_trans_a", "conv/form=bias,size=comparable,groups=1"
# Plain execution runs it; with the session's optimizations an exception ends it.
BY_A_PASS, BY_A_PASS_VERSION, PASS = "resize_beyond_its_input/form=cubic", "1.23.2", "QDQSelectorActionTransformer"
LINES_ALLOWED = 60
SMALL = 1024  # bytes of a model.onnx; the index says what a larger one holds
# Of the makers' own trackers, as their templates name them; the others share one text.
HEADINGS = {"modelopt": ["Describe the bug", "Steps/Code to reproduce bug", "Expected behavior", "Who can help?", "System information"],
            "olive": ["Describe the bug", "To Reproduce", "Expected behavior", "Olive config", "Olive logs", "Other information", "Additional context"],
            "onnxsim": ["Describe the bug", "Model"],
            "esp_ppq": ["Checklist", "How often does this bug occurs?", "Expected behavior", "Actual behavior (suspected bug)",
                        "Error logs or terminal output", "Steps to reproduce the behavior", "Project release version", "System architecture",
                        "Operating system", "Operating system version", "Shell", "Additional context"],
            "brevitas": ["Describe the bug", "Reproducibility", "To Reproduce", "Expected behavior", "Version number of Brevitas", "Additional context"]}
WITHOUT_TEMPLATE = {"ai_edge_quantizer", "aimet", "neural_compressor", "quark", "rknn"}
ASK_THE_PRODUCT = ("precision_by_product", "precision_of_kind")  # where its template does, or its names are its own
OF_THE_ARTIFACT = ("scale", "least_scale", "finite", "axis", "constant", "precision", "kept_out", "bias_type", "names",
                   "activation_type")  # where it is an ONNX model
OF_ONE_BATCH = ("numerics", "rounded")  # asked a second time, as of a converter that averages the ranges of batches


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


def check(condition, *said):
    if not condition:
        print("FAILED:", *said)
        sys.exit(1)


def alone(interpreter, folder, *passes):
    """repro.py by that interpreter, with nothing of Assay in its environment; `passes` are off."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ASSAY"))}
    return subprocess.run([interpreter, str(folder / "repro.py"), *passes], capture_output=True, text=True, env=environment, check=False)


def shows(assay, root, interpreter, place):
    for case, words in WRONG.items():
        folder = place / case.partition("/")[0]
        made = call(assay, "bundle", case, folder, "--for", CONVERTER)
        check(made.returncode == 0, case, made.stdout, made.stderr)
        for name in ("ISSUE.md", "repro.py", "model.onnx", "model.txt", "calibration/0000.npz", "test_data_set_0/input_0.pb",
                     "test_data_set_0/output_0.pb"):
            check((folder / name).is_file(), case, "lacks", name)
        repro, issue = ((folder / name).read_text(encoding="utf-8") for name in ("repro.py", "ISSUE.md"))
        check(repro.count("\n") <= LINES_ALLOWED, case, repro.count("\n"), "lines")
        for text in (repro, issue):
            check("assay" not in text.lower() and root not in text and str(place) not in text, case, text)
        check(issue.startswith("# ONNX Runtime: ") and "## Urgency" in issue and "onnxruntime==" in issue, case, issue)
        done = alone(interpreter, folder)
        check(done.returncode == 1 and words in done.stdout, case, done.returncode, done.stdout, done.stderr)


def names_the_pass(assay, interpreter, place):
    """What is wrong with the session's optimizations alone: ISSUE.md names the pass, and repro.py turns it off."""
    if BY_A_PASS_VERSION not in interpreter:
        print(f"no onnxruntime {BY_A_PASS_VERSION}: no pass is looked for")
        return
    folder = place / "by_a_pass"
    done = subprocess.run([assay, "bundle", BY_A_PASS, folder, "--for", f"{CONVERTER}:optimized@{BY_A_PASS_VERSION}"], capture_output=True,
                          text=True, check=False, env={**os.environ, "ASSAY_ANY_PROCESSOR": "1"})
    check(done.returncode == 0 and json.loads(re.search(r"^measured: (.*)$", done.stdout, re.MULTILINE)[1])["passes"] == [PASS], done.stdout,
          done.stderr)
    check(f"`python repro.py {PASS}`" in (folder / "ISSUE.md").read_text(encoding="utf-8"), "ISSUE.md names no pass")
    codes = [alone(interpreter, folder, *passes).returncode for passes in ((), (PASS,), ("ConstantFolding",))]
    check(codes == [1, 0, 1], "repro.py, with nothing, the pass and another one off:", codes)


def declines(assay, place):
    folder = place / "mended"
    made = call(assay, "bundle", MENDED, folder, "--for", CONVERTER)
    check(made.returncode == 1 and MENDED_SINCE in made.stderr and not folder.exists(), made.returncode, made.stderr)


def index(assay, place):
    """All kits by one command."""
    made = call(assay, "kits", place / "all", CONVERTER, "--only", "clip_of_an_output", "--only", f"{MENDED}*")
    check(made.returncode == 0, made.stdout, made.stderr)
    rows = {row["defect"]: row for row in json.loads((place / "all" / "kits.json").read_text())[CONVERTER]}
    check(rows["clip_of_an_output"]["severity"] == "silent-wrong" and rows["clip_of_an_output"]["lost_db"] > 30, rows)
    check(MENDED_SINCE in rows[MENDED]["why"], rows)
    folder = place / "all" / CONVERTER
    check((folder / "clip_of_an_output" / "repro.py").is_file() and not (folder / MENDED).exists(), sorted(folder.iterdir()))
    text = (place / "all" / "README.md").read_text()
    check("1 of 2 defects have a kit." in text and f"- {MENDED}: {MENDED_SINCE}" in text, text)
    size = (folder / "clip_of_an_output" / "model.onnx").stat().st_size
    check(rows["clip_of_an_output"]["model_bytes"] == size and ("model_holds" in rows["clip_of_an_output"]) == (size > SMALL), rows, size)
    check(size <= SMALL or f"- clip_of_an_output: {size} bytes, 2 nodes; " in text, text)
    made_at = (folder / "clip_of_an_output").stat().st_mtime_ns
    made = call(assay, "kits", place / "all", CONVERTER, "--only", "clip_of_an_output", "--only", "gemm_beta*", "--resume", "--jobs", "2")
    rows = {row["defect"]: row for row in json.loads((place / "all" / "kits.json").read_text())[CONVERTER]}
    check(made.returncode == 0 and [*rows] == sorted([*rows]) and "severity" in rows["gemm_beta"] and MENDED_SINCE in rows[MENDED]["why"], made.stderr, rows)
    check((folder / "clip_of_an_output").stat().st_mtime_ns == made_at and "gemm_beta" in made.stdout and "clip_of" not in made.stdout, made.stdout)


def trackers(root):
    """Each maker's ISSUE.md has the headings of its own tracker, or its template says that there are none."""
    sys.path.insert(0, str(Path(root, "converters", "adapters", "kit")))
    from tracker import Values, headings, plain
    check(plain('File "/tmp/a1/kit/repro.py", see https://onnx.ai/a/b') == 'File "…/repro.py", see https://onnx.ai/a/b', "folders of this machine")
    filled = Values({key: "" for key in ("title", "about", "steps", "result", "expected", "urgency", "scope", "platform", "system", "machine", "gpu", "driver",
                                         "gpu_memory", "gpus", "python", "version", "versions")}, ["onnxruntime-gpu==1.2", "torch==2.14.1"])
    makers = {file.parent.name for file in Path(root, "converters", "adapters").glob("*/kit.py.in")}
    texts = {name: headings(name) for name in makers}
    check({name for name, (head, _) in texts.items() if head.startswith("#: common https://")} == WITHOUT_TEMPLATE, texts)
    for name, (head, text) in texts.items():
        check(re.match(r"#: (headings|common) https://github\.com/", head), name, "doesn't say where its headings come from:", head)
        check("#: " not in text and text.startswith("# ") and Template(text).substitute(filled), name, text)
        needed = ["$title", "$about", "$steps", "$result", "$urgency", "$scope"]
        check(all(word in text for word in needed), name, "leaves out one of", needed)
    for name, own in HEADINGS.items():
        check(re.findall(r"^##+ (.*)$", texts[name][1], re.MULTILINE) == own, name, texts[name][1])
    check(filled["version_of_torch"] == "2.14.1" and filled["version_of_onnxruntime_gpu"] == "1.2"
          and filled["version_of_transformers"] == "not installed", filled.versions)


def named_clauses(root):
    """ONNX's text, documentation and source, as the case and the suites name them; the operator's page where they name no text of ONNX's."""
    sys.path.insert(0, str(Path(root, "converters", "adapters", "kit")))
    from clauses import clauses, holds, is_of, kind_of

    def lines(family, converter, facet, kind):
        file = json.loads(Path(root, "cases", "found", f"{family}.json").read_text(encoding="utf-8"))
        model = SimpleNamespace(opset_import=[SimpleNamespace(domain="", version=13)], graph=SimpleNamespace(node=[SimpleNamespace(op_type=kind, domain="")]))
        return clauses(SimpleNamespace(case={"name": family, "file": file}, converter=converter, version="1.23.2", model=model,
                                       json={"options": {"label": "default"}}, headline={"facet": facet, "op": kind}))

    said = lines("stft_before_a_product", "onnxruntime", "status", "STFT")
    check(said == ["ONNX's text: https://onnx.ai/onnx/operators/onnx__STFT.html",
                   "Where it seems to lie: https://github.com/microsoft/onnxruntime/blob/v1.32.0/onnxruntime/python/tools/symbolic_shape_infer.py"], said)
    said = lines("clip_of_an_output", "onnxruntime", "scale", "Conv")
    check(said[0] == "ONNX's text: https://onnx.ai/onnx/operators/onnx__Conv.html", said)
    check(lines("clip_of_an_output", "onnxruntime", "none", "OfNoModel")[:1] != said[:1], "a facet that no suite names")
    check(is_of("ai_edge_quantizer* !ai_edge_quantizer:int16", "ai_edge_quantizer:dynamic")
          and not is_of("ai_edge_quantizer* !ai_edge_quantizer:int16", "ai_edge_quantizer:int16"), "converters of an entry")
    check(holds("", "1") and holds(">=1.18 <1.21", "1.20.1") and not holds(">=1.18 <1.21", "1.21.0") and holds("1.20.*,1.21.*", "1.21.1")
          and not holds("1.20.*", "1.21.1"), "versions of an entry")
    kinds = {"https://quark.docs.amd.com/": "", "https://docs.nvidia.com/a/index.html#b": "docs", "https://github.com/a/b": "",
             "https://github.com/a/b/issues/1": "", "https://github.com/a/b/blob/main/docs/c.md": "docs", "https://github.com/a/b/blob/v1/c.py": "source"}
    check({url: kind_of(url) for url in kinds} == kinds, {url: kind_of(url) for url in kinds})


def installed_by_readers(root):
    """The packages that ISSUE.md names: the product's, what a script imports besides, and what it needs without importing it."""
    sys.path.insert(0, str(Path(root, "converters", "adapters", "kit")))
    from needed import packages
    check(packages("openvino and nncf", "import nncf\nimport openvino\nfrom pathlib import Path\n") == ["openvino", "nncf", "onnx", "numpy"])
    script = "import onnxruntime\nfrom onnxruntime.quantization.shape_inference import quant_pre_process\n"
    check(packages("onnxruntime", script) == ["onnxruntime", "sympy", "onnx", "numpy"], packages("onnxruntime", script))
    check(packages("brevitas", "import torch\nfrom brevitas import export, nn\n") == ["brevitas", "torch", "onnxoptimizer", "onnx", "numpy"])
    check(packages("esp-ppq", "import onnxruntime\nimport torch\n  import torchvision\n") == ["esp-ppq", "onnxruntime", "torch", "onnx", "numpy"])


def nothing_installed(assay, root):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        made = subprocess.run([assay, "kits", place / "kits", "tensorrt", "mnn@9.9"], capture_output=True, text=True, check=False,
                              env={**os.environ, "ASSAY_VENVS": str(place / "none")})
        check(made.returncode == 0, made.stdout, made.stderr)
        rows = json.loads((place / "kits" / "kits.json").read_text())
        only = subprocess.run([assay, "kits", place / "only", "nncf_onnx@9.9", "--only", "odd_weights_in_four_bits*"], capture_output=True, text=True,
                              check=False, env={**os.environ, "ASSAY_VENVS": str(place / "none")})
        check(only.returncode == 0 and json.loads((place / "only" / "kits.json").read_text())["nncf_onnx"] == [
            {"defect": "odd_weights_in_four_bits", "why": "nncf_onnx@9.9 is not installed: assay converters install nncf_onnx"}], only.stdout, only.stderr)
        check({row["why"] for row in rows["tensorrt"]} == {"needs an NVIDIA GPU"}, rows["tensorrt"])
        check({row["why"] for row in rows["mnn"]} == {"mnn@9.9 is not installed: assay converters install mnn"}, rows["mnn"])
        known = {row["defect"] for row in rows["mnn"]}
        check("max_pool_below_zero" in known and "deconv_group_bias" not in known, known)
    sys.path.insert(0, str(Path(root, "converters", "adapters", "kit")))
    from kits import GREEN, beside_suites, in_stated_order, suites_of
    check("xpass" in GREEN and "xfail" not in GREEN, "a stated failure that this release passes is no defect of it", GREEN)
    suites = dict(suites_of("mnn"))
    check("mnn" in suites["mnn"] and suites.get("methods") == ["mnn:admm", "mnn:ema"], "variants of another suite", suites)
    check(dict(suites_of("onnxruntime"))["onnxruntime"] == ["onnxruntime", "onnxruntime:optimized"], "a variant that its own suite judges")
    check(dict(beside_suites("modelopt", ["float8_scale_of_int8*"])) == {"float8_scale_of_int8": ["modelopt:fp8"]}, "a variant of no suite")
    red = [("olive:reduce_range@1", "conv_of_asked_type", "default"), ("olive:act_precision@1", "conv_of_asked_type", "default")]
    check(in_stated_order("conv_of_asked_type", red) == red[::-1], "the variant that the case is about")
    check(in_stated_order("conv_of_asked_type", [*red, ("olive@1", "conv_of_asked_type", "default")])[0] == red[0], "plain among them")
    from history import is_argued
    case = "gemm_matmul/form=attention"
    check(all(is_argued(name, "onnx2tf", case) for name in ("litert", "litert@1.29.24", "litert:int16@1.29.24")), "a page by a converter with its version")
    trackers(root)
    named_clauses(root)
    installed_by_readers(root)
    return 0


def right(assay, root, interpreter, place, converter=CONVERTER, case=RIGHT):
    """Each check on what the converter gets right, by the first option set of its suite that it takes."""
    bundle = place / "right"
    sets = json.loads(Path(root, "suites", f"{converter}.json").read_text(encoding="utf-8"))["option_sets"]
    for options in sets:
        shutil.rmtree(bundle, ignore_errors=True)
        made = call(assay, "bundle", case, bundle, "--converter", converter, "--options", json.dumps(options["options"]))
        if not bundle.is_dir():
            print(made.stderr)
            return 77
        verdict = json.loads((bundle / "bundle.json").read_text())["verdict"]["verdict"]
        if verdict == "pass":
            break
    else:
        if verdict == "unsupported" and "needs" in json.loads(Path(root, "converters", "adapters", converter, "adapter.json").read_text()):
            print(made.stdout)
            return 77
        check(False, converter, "passes under no option set", made.stdout)
    done = call(interpreter, __file__, "checks", root, bundle, place / "checks")
    check(done.returncode == 0, done.stdout, done.stderr)
    print(done.stdout, end="")
    return 0


def fewest_passes(kit, place):
    """Those that delta debugging finds, of a repro.py that ends with 0 where all of some passes are off."""
    Path(place, "passes").mkdir(parents=True)
    Path(place, "passes", "repro.py").write_text("sys.argv[1:]")
    names, kept = [f"pass {index}" for index in range(37)], kit.run
    bundle = SimpleNamespace(json={"converter": {"description": {"supports": {"optimizers": names}}}})
    for guilty in (["pass 0"], ["pass 36"], ["pass 3", "pass 30"], ["pass 11", "pass 12", "pass 13"], names):
        kit.run = lambda folder, *off, guilty=guilty: (0 if {*guilty} <= {*off} else 1, "")
        check(kit.passes_at_fault(bundle, Path(place, "passes")) == guilty, guilty)
    kit.run = lambda folder, *off: (1, "")
    check(kit.passes_at_fault(bundle, Path(place, "passes")) == [], "wrong without any pass")
    Path(place, "passes", "repro.py").write_text("")
    check(kit.passes_at_fault(bundle, Path(place, "passes")) is None, "a repro.py that turns nothing off")
    kit.run = kept


HEAD = '<ir_version: 8, opset_import: ["": 13]> g (float[2,3] x) => (float[2,3] y)'
GIVEN = HEAD + " <float s={0.008}, int8 z={-17}> { q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }"
IN_FRONT = HEAD + """ <float s={0.008}, float t={0.02}, int8 z={-17}> { a = QuantizeLinear(x, t, z) b = DequantizeLinear(a, t, z)
    q = QuantizeLinear(b, s, z) y = DequantizeLinear(q, s, z) }"""
WEIGHT = HEAD.replace("[2,3] y", "[2,2] y") + " <float[3,2] w={1,2,3,4,5,6}> { y = MatMul(x, w) }"
IN_CODES = HEAD.replace("[2,3] y", "[2,2] y") + """ <float[2] s={0.05,0.05}, int8[2] z={0,0}, int8[3,2] c={20,40,60,80,100,LAST}>
    { d = DequantizeLinear<axis=1>(c, s, z) y = MatMul(x, d) }"""
TURNED = HEAD.replace("[2,3] y", "[2,2] y") + """ <float s={0.05}, int8 z={0}, int8[2,3] c={20,40,60,80,100,120}>
    { q = QuantizeLinear(x, s, z) r = DequantizeLinear(q, s, z) d = DequantizeLinear(c, s, z) v = Transpose(d) y = MatMul(r, v) }"""


def written_by_hand(kit, place):
    """What checks say of an artifact that nobody converted: (check, its values, model, artifact, whether it is wrong)."""
    import onnx
    held, kinds = {"tensor": "w", "scale": "s", "limit": "0.03", "shape": (1, -1)}, {"op": "Gemm", "kinds": ["Gemm", "MatMul"]}
    counted = {"tensor": "w", "scale": "s", "words": "two scales", "count": 2, "axis": 1}
    for check_name, values, model, artifact, is_wrong in (
            ("given_scales", {"tensor": "x"}, GIVEN, GIVEN, False), ("given_scales", {"tensor": "x"}, GIVEN, IN_FRONT, True),
            ("precision_of_kind", kinds, WEIGHT, TURNED, False), ("precision_of_kind", kinds, WEIGHT, IN_CODES.replace("LAST", "120"), True),
            ("constant", held, WEIGHT, IN_CODES.replace("LAST", "120"), False), ("constant", held, WEIGHT, IN_CODES.replace("LAST", "10"), True),
            ("axis", {**counted, "one": "wrong"}, WEIGHT, IN_CODES.replace("LAST", "120"), False),
            ("axis", {**counted, "one": "right", "axis": 0}, WEIGHT, IN_CODES.replace("LAST", "120"), True)):
        onnx.save(onnx.parser.parse_model(model), Path(place, "model.onnx"))
        code = "\n\n".join(kit.part(f"checks/{name}.py.in", quantized="quantized.onnx", form="onnx", **values) for name in ("constants", check_name))
        script = Path(place, "by_hand.py")
        script.write_text(f"import numpy, onnx, sys\nBATCHES = []\nconvert = lambda *_: onnx.save(onnx.parser.parse_model({artifact!r}), 'quantized.onnx')\n"
                          f"{code}\n\nsys.exit(1 if wrong() else 0)\n", encoding="utf-8")
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=place, check=False)
        check(done.returncode == int(is_wrong), check_name, artifact, done.stdout, done.stderr)


def checks(root, bundle_folder, place):
    """By the interpreter of the environment: repro.py of every check, on a bundle of a pass."""
    sys.path.insert(0, str(Path(root, "converters", "adapters", "kit")))
    import kit
    fewest_passes(kit, place)
    written_by_hand(kit, place)
    import onnx
    bundle = SimpleNamespace(model=onnx.parser.parse_model(WEIGHT), parameters={name: {"expected": {"axis": None}, "obtained": []} for name in "xwy"})
    for stated, rounds in (("", "wxy"), ("x", "wxy"), ("xw", "wx")):
        bundle.parameters.update({name: {**bundle.parameters[name], "obtained": [{}]} for name in stated})
        check(sorted(kit.rounding.tensors_of(bundle)) == list(rounds), "where these scales are stated:", stated, kit.rounding.tensors_of(bundle))
    in_float = {"facet": "precision"}
    first = [kit.checks_of(SimpleNamespace(headline=in_float, findings=[in_float, *others]))[0].__name__
             for others in ([], [in_float], [in_float, {"facet": "numerics"}])]
    check(first == ["precision", "precision", "numerics"], "a node in float, and wrong values besides:", first)
    noise = 'tensor "y", data set "typical": SQNR 9.1 dB, where the roundings of this conversion leave 31.2 dB and not less than 27.8 dB'
    findings = {
        "crash": {}, "runs": {}, "noise": {"message": noise}, "numerics": {"facet": "numerics", "tensor": "y"},
        "scale": {"facet": "scale", "tensor": "y"}, "least_scale": {"tensor": "y", "message": "expected scale 1e-06 at least, actual"},
        "finite": {"facet": "scale", "tensor": "y"},
        "weight_scale": {"facet": "scale", "tensor": "w"}, "rounded": {"facet": "numerics", "tensor": "y"},
        "precision_by_product": {"node": "y", "message": "expected int8"}, "axis": {"facet": "axis", "tensor": "w"},
        "constant": {"facet": "bias", "tensor": "b", "message": "expected int32 codes, actual int8"},
        "precision": {"facet": "precision", "node": "y", "op": "Gemm", "message": "expected int8"},
        "precision_of_kind": {"facet": "precision", "node": "y", "op": "Conv", "message": "expected int8"},
        "bias_type": {"facet": "bias"}, "names": {"message": 'outputs of the artifact: expected "y" (1), actual "z" (1)'},
        "activation_type": {"message": 'activation "x": expected codes of type int8, actual uint8'},
    }
    stated = {"crash": {"step": "execute"}, "runs": {"kind": "Fail"}}
    bundle = kit.Bundle(bundle_folder)
    own, ours = kit.Maker(bundle.converter), bundle.converter == CONVERTER
    if own.own_names:
        bundle.artifact = None
    makers = {}  # and the options of the first set of their suites
    for file in sorted(Path(root, "converters", "adapters").glob("*/kit.py.in") if ours else ()):
        suite = json.loads(Path(root, "suites", f"{file.parent.name}.json").read_text(encoding="utf-8"))
        makers[file.parent.name] = suite["option_sets"][0]["options"]
    for per_channel in bundle.parameters["w"]["obtained"][:1] if ours else ():
        findings["axis"]["message"] = f"expected {len(per_channel['scale'])} scales along axis {per_channel['axis']}, actual"
    shown = [(name, False) for name in findings if ours or name not in OF_THE_ARTIFACT]
    for name, of_one_batch in shown + [(name, True) for name in OF_ONE_BATCH]:
        bundle.alone, finding = of_one_batch, findings[name]
        bundle.headline = {"message": "", "tensor": "", "data_set": "typical", **finding}
        bundle.findings = [bundle.headline]
        function = getattr(kit, name)
        values = stated[name] if name in stated else function(bundle)
        if values is None and (name in ASK_THE_PRODUCT or not ours):
            continue
        check(values is not None, name, "doesn't apply")
        folder = Path(place, f"{name}_of_one_batch" if of_one_batch else name)
        folder.mkdir(parents=True)
        kit.write_files(bundle, folder)
        if "given" in own.heads:
            kit.write_given(bundle, own, folder)
        for file, content in values.pop("files", {}).items():
            (folder / file).write_bytes(content)
        (folder / "repro.py").write_text(kit.repro(bundle, own, function, values, "nothing is wrong"))
        code, printed = kit.run(folder)
        check(code == 0, name, code, printed)
        for maker, options in makers.items():
            if name in (*OF_THE_ARTIFACT, "weight_scale") and not kit.Maker(maker).quantized.endswith(".onnx"):
                continue
            asked, bundle.options = bundle.options, {**bundle.options, **options}
            text = kit.repro(bundle, kit.Maker(maker), function, values, "nothing is wrong")
            bundle.options = asked
            compile(text, f"{maker}: {name}", "exec")
            check(text.count("\n") <= LINES_ALLOWED, maker, name, text.count("\n"), "lines")
    print(f"{bundle.converter}; {len(makers)} makers; {len(shown) + len(OF_ONE_BATCH)} checks say nothing of what is right")


def main(assay, root, interpreter, name=CONVERTER):
    if not Path(interpreter).is_file() or call(interpreter, "-c", "import onnx").returncode:
        print(f"no environment of {name}")
        return 77
    with tempfile.TemporaryDirectory() as place:
        if name != CONVERTER:
            return right(assay, root, interpreter, Path(place), name, RIGHT_EVERYWHERE)
        shows(assay, root, interpreter, Path(place))
        names_the_pass(assay, interpreter, Path(place))
        declines(assay, Path(place))
        index(assay, Path(place))
        return right(assay, root, interpreter, Path(place))


if __name__ == "__main__":
    if sys.argv[1] == "checks":
        sys.exit(checks(*sys.argv[2:]))
    sys.exit(main(*sys.argv[1:]) if sys.argv[3:] else nothing_installed(*sys.argv[1:]))
