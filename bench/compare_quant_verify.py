"""onnxsim's `quant_verify.verify` beside Assay, on ten conversions of Assay's embedded converter, right and with a fault.

verify() bounds |quantized − float| for every input in a box, here that of the calibration data and of the data set
"typical"; Assay limits each element of that data set's outputs. Of Assay the limit is printed where an error comes nearest to it.

Usage: PYTHON bench/compare_quant_verify.py [--assay ./assay], with the Python of an environment that has onnxsim 0.8.1.
"""

import argparse
import json
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnxsim.quant_verify import verify

CONVERSIONS = [
    ("conv/form=geometry,what=same_3x3", None), ("conv/form=geometry,what=same_3x3", "bias_dropped"),
    ("conv/form=geometry,what=same_3x3", "pad_with_raw_zero"),
    ("concat/form=graph_input,place=before", None), ("concat/form=graph_input,place=before", "concat_first_scale"),
    ("residual/form=alone,op=Add", None),
    ("zero_weight_channel", None), ("zero_weight_channel", "zero_range_scale_zero"),
    ("bias_wraps_around/size=0.5", None), ("bias_wraps_around/size=0.5", "bias_saturated"),
]
SECONDS_ALLOWED = 60


def tensors(folder):
    loaded = [onnx.load_tensor(file) for file in sorted(folder.glob("*.pb"))]
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in loaded}


def bound(folder):
    """(largest certified error, seconds, hazards)"""
    fed = [*map(tensors, (folder / "calibration").rglob("0*")), tensors(folder / "inputs" / "typical")]
    fed = [each for each in fed if each]
    box = {name: (min(float(each[name].min()) for each in fed if name in each), max(float(each[name].max()) for each in fed if name in each))
           for name in fed[-1]}
    signal.alarm(SECONDS_ALLOWED)
    begin = time.perf_counter()
    try:
        report = verify(onnx.load(folder / "model.onnx"), onnx.load(folder / "artifact" / "model.onnx"), box, breakdown=False)
        return report.worst, time.perf_counter() - begin, "; ".join(report.hazards)
    except TimeoutError:
        return float("nan"), SECONDS_ALLOWED, "no end in time"
    finally:
        signal.alarm(0)


def late(*_):
    raise TimeoutError


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default="./assay")
    assay = parser.parse_args().assay
    signal.signal(signal.SIGALRM, late)
    print("| case | fault | largest error | verify: bound | s | Assay: verdict | limit | s |")
    print("| --- | --- | ---: | ---: | ---: | --- | ---: | ---: |")
    for case, fault in CONVERSIONS:
        asked = [case, "--options", "default", *(["--fault", fault] if fault else [])]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "bundle")
            subprocess.run([assay, "bundle", case, folder, *asked[1:]], capture_output=True, check=False)
            begin = time.perf_counter()
            said = json.loads(subprocess.run([assay, "explain", *asked, "--json"], capture_output=True, text=True, check=False).stdout)
            seconds = time.perf_counter() - begin
            expected, actual = (tensors(folder / name / "typical") for name in ("expected", "outputs"))
            error = max(float(np.max(np.abs(actual[name] - expected[name]))) for name in actual)
            worst, took, hazards = bound(folder)
            told = said["L2"]["end_to_end"] or {}
            verdict = said["verdict"] + (f" ({said['facet']})" if said["facet"] else "")
            limit = f"{told['limit']:.3g}" if "limit" in told else "-"
            print(f"| `{case}` | {f'`{fault}`' if fault else 'none'} | {error:.3g} | {worst:.3g} | {took:.1f} | {verdict} | {limit} | {seconds:.1f} |", flush=True)
            if hazards:
                print(f"  {hazards[:300]}")


if __name__ == "__main__":
    main()
