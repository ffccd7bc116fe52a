#!/usr/bin/env python3
"""Runs the embedded converter's artifacts in ONNX Runtime and compares every integer.

usage: onnxruntime_agrees.py ASSAY_PROGRAM DATA_FOLDER

DATA_FOLDER holds NAME.onnx, NAME.calibration.npz and NAME.test.npz. Every tensor between QuantizeLinear and
DequantizeLinear is made a graph output in both executors. Where the inputs of a step agree, its codes must agree too,
except on a tie: both neighbours are right where the value before rounding lies within float32's error of a half.
Exit status 77 (skipped) where ONNX Runtime is not installed.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from onnx_files import read_tensors, write_tensors  # noqa: E402
from plain_session import plain_session  # noqa: E402, skips without ONNX Runtime

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime as ort  # noqa: E402

OPTION_SETS = [{}, {"activation": "uint8"}, {"symmetric": True}, {"per_axis": False, "activation": "uint8"}]
# Half a step, give or take what float32 can do to a sum of some hundred products.
TIE = 2e-3


class Worker:
    """The embedded converter over protocol 1."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0

    def ask(self, what, **fields):
        self.number += 1
        self.process.stdin.write(json.dumps({"protocol": 1, "id": self.number, "do": what, **fields}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer["status"] != "ok":
            raise SystemExit(f"{what}: {answer}")
        return answer

    def quit(self):
        self.process.stdin.close()
        self.process.wait(10)


def run_all(model, inputs):
    """ONNX Runtime's value of every real tensor around a QuantizeLinear, by name."""
    shown = onnx.ModelProto.FromString(model.SerializeToString())
    present = {o.name for o in shown.graph.output} | set(inputs)
    constants = {i.name for i in shown.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear":
            name = node.input[0]
        elif node.op_type == "DequantizeLinear" and node.input[0] not in constants:
            name = node.output[0]
        else:
            continue
        if name not in present:
            present.add(name)
            shown.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    session = plain_session(shown)
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


def show_codes(model, values):
    """Makes every activation's dequantized codes an output of `model`."""
    quantized = {n.output[0] for n in model.graph.node if n.op_type == "QuantizeLinear"}
    present = {o.name for o in model.graph.output}
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in quantized and node.output[0] not in present:
            name = node.output[0]
            model.graph.output.append(
                onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, values[name].shape))


def compare(name, model, ours, theirs, before):
    """Steps in order of the graph; `tainted` are tensors that a tie above has changed."""
    scales = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
    tainted, ties, checked = set(), 0, 0
    quantizers = {n.output[0]: n for n in model.graph.node if n.op_type == "QuantizeLinear"}
    for node in model.graph.node:
        dirty = any(i in tainted for i in node.input)
        if node.op_type != "DequantizeLinear" or node.input[0] not in quantizers:
            if dirty:
                tainted.update(node.output)
            continue
        tensor, scale = node.output[0], scales[node.input[1]].item()
        steps = np.rint((ours[tensor].astype(np.float64) - theirs[tensor]) / scale)
        differs = steps != 0
        if dirty:
            tainted.add(tensor)
            continue
        checked += steps.size
        if not differs.any():
            continue
        tainted.add(tensor)
        ties += int(differs.sum())
        value = before[quantizers[node.input[0]].input[0]].astype(np.float64)[differs] / scale
        far = np.abs(np.abs(value - np.floor(value)) - 0.5)
        if np.abs(steps[differs]).max() > 1 or far.max() > TIE:
            raise SystemExit(f"{name}: tensor {tensor!r}: {int(differs.sum())} of {steps.size} codes differ, "
                             f"up to {np.abs(steps).max():g} steps, {far.max():g} from a tie")
    return checked, ties


def main():
    program, data = sys.argv[1], pathlib.Path(sys.argv[2])
    worker = Worker(program)
    models = sorted(data.glob("*.onnx"))
    total = ties = 0
    for path in models:
        calibration = np.load(path.with_suffix(".calibration.npz"))
        test = {k: v[0] for k, v in np.load(path.with_suffix(".test.npz")).items() if not k.startswith("output")}
        for number, option_set in enumerate(OPTION_SETS):
            with tempfile.TemporaryDirectory() as temporary:
                folder = pathlib.Path(temporary)
                for batch in range(len(next(iter(calibration.values())))):
                    write_tensors(folder / "calibration" / f"{batch:04}", "input",
                                  {k: v[batch] for k, v in calibration.items()})
                for made in ("out", "outputs"):
                    (folder / made).mkdir()
                answer = worker.ask("convert", model=str(path), calibration=str(folder / "calibration"),
                                    options=option_set, output=str(folder / "out"))
                artifact = onnx.load(answer["artifact"])
                onnx.checker.check_model(artifact)
                inputs = {i.name: test[i.name] for i in artifact.graph.input}
                theirs = run_all(artifact, inputs)
                show_codes(artifact, theirs)
                onnx.save(artifact, folder / "shown.onnx")
                write_tensors(folder / "inputs", "input", inputs)
                worker.ask("execute", artifact=str(folder / "shown.onnx"), inputs=str(folder / "inputs"),
                           output=str(folder / "outputs"))
                ours = read_tensors(folder / "outputs", "output")
                checked, tied = compare(f"{path.stem} {option_set}", artifact, ours, theirs, {**theirs, **inputs})
                ort.InferenceSession(answer["artifact"], providers=["CPUExecutionProvider"])  # every optimization on
                total, ties = total + checked, ties + tied
    worker.quit()
    if total == 0:
        raise SystemExit("nothing was compared")
    print(f"{len(models)} models, {len(OPTION_SETS)} option sets: {total} codes agree, {ties} ties")


if __name__ == "__main__":
    main()
