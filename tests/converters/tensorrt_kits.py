"""A kit of TensorRT, over stand-ins for it and Polygraphy (fake_tensorrt): tensorrt_kits.py ASSAY ROOT INTERPRETER

All that makes a kit runs as it does on a machine with a GPU: the program, the adapter, the judge, the template. repro.py then ends
with 1 on the stand-in that has the defect, with 0 on the mended one, and with 2 where nothing can be built. Nothing of this
says what a real TensorRT makes of the script. Skipped (77) without numpy, onnx and a C compiler.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from fake_cuda import fake_cuda_runtime  # noqa: E402, skips without a C compiler

FAKES = Path(__file__).resolve().parent / "fake_tensorrt"
LINES_ALLOWED = 60
CONV = """<ir_version: 8, opset_import: ["": 13]> g (float[BATCH,3,4,4] x) => (float[BATCH,2,4,4] y) <float[2,3,1,1] w={1,2,3,4,5,6}> {
    c = Conv(x, w) y = Relu(c) }"""
PAIRS = """<ir_version: 9, opset_import: ["": 19]> g (float[2,3,4,4] x) => (float[2,2,4,4] y) <float[2,3,1,1] w={1,2,3,4,5,6},
    float s={0.02}, int8 z={0}> { q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = Conv(d, w) }"""
ENTROPY, MINMAX = ({"symmetric": True, "method": method} for method in ("entropy", "minmax"))
DEMANDED = {**MINMAX, "precision": {"Conv": "int8"}}
# What is wrong, the model, options, words of repro.py's, and of its output.
KITS = [
    ("refuse", CONV.replace("BATCH", "2"), ENTROPY, ['"prefer"', "IInt8EntropyCalibrator2", '{"refuse_it": "int8", "y": "int8"}'], "PolygraphyException"),
    ("float", CONV.replace("BATCH", "2"), MINMAX, ['"prefer"', "IInt8MinMaxCalibrator"], "{'float_it': 'float'}"),
    ("float", CONV.replace("BATCH", "2"), DEMANDED, ['"obey"', "IInt8MinMaxCalibrator"], "{'float_it': 'float'}"),
    ("wrong", CONV.replace("BATCH", "n"), ENTROPY, ["profile.add(", "IInt8EntropyCalibrator2"], "are off by more than"),
    ("wrong", PAIRS, ENTROPY, ["int8=True"], "are off by more than"),
]


def check(condition, *said):
    if not condition:
        print("FAILED:", *said)
        sys.exit(1)


def environment(place, interpreter):
    """A folder of environments that has one of TensorRT 8.6.1: the interpreter's packages behind the stand-ins."""
    home = place / "venvs" / "tensorrt-8.6.1"
    subprocess.run([interpreter, "-m", "venv", "--without-pip", home], check=True)
    fake_cuda_runtime(place / "cuda")
    known = subprocess.run([interpreter, "-c", "import numpy, onnx; print(*{file.__path__[0].rpartition('/')[0] for file in (numpy, onnx)}, sep='\\n')"],
                           capture_output=True, text=True, check=False)
    if known.returncode:
        print("skipped: no numpy and onnx")
        sys.exit(77)
    packages = next(home.glob("lib/python*/site-packages"))
    (packages / "stand_ins.pth").write_text("\n".join([str(FAKES), str(place / "cuda"), known.stdout.strip()]) + "\n")
    (home / "packages.txt").write_text("nvidia-cuda-runtime-cu12==12.1.105\ntensorrt-bindings==8.6.1\n")
    return home


def alone(python, kit, kind=""):
    """repro.py, with nothing of Assay in its environment."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ASSAY"))}
    return subprocess.run([python, kit / "repro.py"], capture_output=True, text=True, env={**clean, "FAKE_TENSORRT": kind}, check=False)


MAKE = """
import numpy, onnx, sys
kind, text, place = sys.argv[1:]
model = onnx.parser.parse_model(text)
next(node for node in model.graph.node if node.op_type == "Conv").name = f"{kind}_it"
if kind == "wrong" and model.graph.node[-1].op_type == "Relu":  # an output's values are wrong there
    model.graph.node[0].name, model.graph.node[-1].name = "c", f"{kind}_it"
onnx.save(model, f"{place}/model.onnx")
numpy.savez(f"{place}/data.npz", x=numpy.random.default_rng(1).normal(size=(3, 2, 3, 4, 4)).astype(numpy.float32))
"""


def main(assay, root, interpreter):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        home = environment(place, interpreter)
        python, made_with = home / "bin" / "python", {**os.environ, "ASSAY_HOME": root, "ASSAY_VENVS": str(home.parent)}
        for index, (kind, text, options, words, shown) in enumerate(KITS):
            kit = place / f"kit-{index}"
            subprocess.run([interpreter, "-c", MAKE, kind, text, place], check=True)
            made = subprocess.run([assay, "bundle", place / "model.onnx", kit, "--for", "tensorrt@8.6.1", "--calibration", place / "data.npz",
                                   "--options", json.dumps(options)], capture_output=True, text=True, env=made_with, check=False)
            check(made.returncode == 0, kind, options, made.stdout, made.stderr)
            repro, issue = ((kit / name).read_text(encoding="utf-8") for name in ("repro.py", "ISSUE.md"))
            check(repro.count("\n") <= LINES_ALLOWED and all(word in repro for word in words), repro)
            check("Calibrator" not in repro if text is PAIRS else "Calibrator(" in repro, repro)
            for said in (repro, issue):
                check("assay" not in said.lower() and root not in said and folder not in said, said)
            check(issue.startswith("# TensorRT: ") and "**TensorRT Version**: 8.6.1" in issue and "**CUDA Version**: 12.1.105" in issue
                  and "needs tensorrt-cu12<11, polygraphy, onnx and numpy" in issue, issue)
            for state, code in (("", 1), ("mended", 0), ("no_gpu", 2)):
                done = alone(python, kit, state)
                check(done.returncode == code and (state or shown in done.stdout), kind, state, done.returncode, done.stdout, done.stderr)
        print(f"{len(KITS)} kits of a stand-in for TensorRT")
        return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
