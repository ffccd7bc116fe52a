"""A kit shows the defect without Assay: kits.py ASSAY ROOT INTERPRETER [NAME].

INTERPRETER is that of ONNX Runtime's environment; with NAME of that converter's, and only what checks say of a model that it gets
right is asked for. 77: it isn't there, or Assay doesn't find it.
kits.py ASSAY ROOT: what `assay kits` says where no converter is installed.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CONVERTER = "onnxruntime"
# A scale, numbers, and a conversion that ends with an error; wrong in all releases.
WRONG = {"clip_of_an_output": "expected: scale", "gemm_beta/beta=3.0": "are off by more than", "deconv_group_bias/groups=2": "actual: ValueError"}
MENDED, MENDED_SINCE = "deconv_stride_and_dilation", "mended since 1.18.1"
RIGHT, RIGHT_EVERYWHERE = "gemm_trans_a", "conv/form=bias,size=comparable,groups=1"
LINES_ALLOWED = 60
ASK_THE_PRODUCT = ("precision_by_product",)  # where its template does
OF_THE_ARTIFACT = ("scale", "least_scale", "finite", "axis", "constant", "precision", "kept_out", "bias_type")  # where it is an ONNX model
OF_ONE_BATCH = ("numerics", "rounded")  # asked a second time, as of a converter that averages the ranges of batches


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


def check(condition, *said):
    if not condition:
        print("FAILED:", *said)
        sys.exit(1)


def alone(interpreter, folder):
    """repro.py by that interpreter, with nothing of Assay in its environment."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ASSAY"))}
    return subprocess.run([interpreter, str(folder / "repro.py")], capture_output=True, text=True, env=environment, check=False)


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


def nothing_installed(assay, root):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        made = subprocess.run([assay, "kits", place / "kits", "tensorrt", "mnn@9.9"], capture_output=True, text=True, check=False,
                              env={**os.environ, "ASSAY_VENVS": str(place / "none")})
        check(made.returncode == 0, made.stdout, made.stderr)
        rows = json.loads((place / "kits" / "kits.json").read_text())
        check({row["why"] for row in rows["tensorrt"]} == {"needs an NVIDIA GPU"}, rows["tensorrt"])
        check({row["why"] for row in rows["mnn"]} == {"mnn@9.9 is not installed: assay converters install mnn"}, rows["mnn"])
        known = {row["defect"] for row in rows["mnn"]}
        check("max_pool_below_zero" in known and "deconv_group_bias" not in known, known)
    sys.path.insert(0, str(Path(root, "converters", "adapters", "kit")))
    from kits import suites_of
    suites = dict(suites_of("mnn"))
    check("mnn" in suites["mnn"] and suites.get("methods") == ["mnn:admm", "mnn:ema"], "variants of another suite", suites)
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
        if json.loads((bundle / "bundle.json").read_text())["verdict"]["verdict"] == "pass":
            break
    else:
        check(False, converter, "passes under no option set", made.stdout)
    done = call(interpreter, __file__, "checks", root, bundle, place / "checks")
    check(done.returncode == 0, done.stdout, done.stderr)
    print(done.stdout, end="")
    return 0


def checks(root, bundle_folder, place):
    """By the interpreter of the environment: repro.py of every check, on a bundle of a pass."""
    sys.path.insert(0, str(Path(root, "converters", "adapters", "kit")))
    import kit
    noise = 'tensor "y", data set "typical": SQNR 9.1 dB, where the roundings of this conversion leave 31.2 dB and not less than 27.8 dB'
    findings = {
        "crash": {}, "runs": {}, "noise": {"message": noise}, "numerics": {"facet": "numerics", "tensor": "y"},
        "scale": {"facet": "scale", "tensor": "y"}, "least_scale": {"tensor": "y", "message": "expected scale 1e-06 at least, actual"},
        "finite": {"facet": "scale", "tensor": "y"},
        "weight_scale": {"facet": "scale", "tensor": "w"}, "rounded": {"facet": "numerics", "tensor": "y"},
        "precision_by_product": {"node": "y", "message": "expected int8"}, "axis": {"facet": "axis", "tensor": "w"},
        "constant": {"facet": "bias", "tensor": "b", "message": "expected int32 codes, actual int8"},
        "precision": {"facet": "precision", "node": "y", "op": "Gemm", "message": "expected int8"},
        "bias_type": {"facet": "bias"},
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
        declines(assay, Path(place))
        index(assay, Path(place))
        return right(assay, root, interpreter, Path(place))


if __name__ == "__main__":
    if sys.argv[1] == "checks":
        sys.exit(checks(*sys.argv[2:]))
    sys.exit(main(*sys.argv[1:]) if sys.argv[3:] else nothing_installed(*sys.argv[1:]))
