#!/usr/bin/env python3
"""Writes the test data of the newest released `onnx` package: onnx_node_data.py [--root DIR]

The package pinned in onnx_requirements.txt is installed into DIR/venvs/onnx-VERSION and asked for its node tests and
its light models (whole networks), which then lie in ONNX's own layout, model.onnx and test_data_set_0, in
DIR/onnx-data/onnx-VERSION/{node,light}/CASE. DIR is the project's .assay folder. What is there already is left as it
is; an interrupted run leaves nothing under the final names. Tests that need the data skip themselves without it.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "onnx_requirements.txt"


def pinned_version():
    lines = REQUIREMENTS.read_text().splitlines()
    return next(line.split()[0].removeprefix("onnx==") for line in lines if line.startswith("onnx=="))


def build_once(folder, build):
    """Has `build` fill a folder under another name and renames it: what has its name is complete."""
    if folder.is_dir():
        return
    partial = folder.with_name(".partial-" + folder.name)
    shutil.rmtree(partial, ignore_errors=True)
    build(partial)
    partial.rename(folder)


def install(environment):
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin/python", "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
                    "-r", REQUIREMENTS], check=True, stdout=sys.stderr)
    frozen = subprocess.run([environment / "bin/python", "-m", "pip", "freeze"], capture_output=True, check=True)
    (environment / "packages.txt").write_bytes(frozen.stdout)


def write_case(folder, model_bytes, inputs, outputs):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model_bytes)
    for stem, protos in (("input", inputs), ("output", outputs)):
        for number, proto in enumerate(protos):
            (data / f"{stem}_{number}.pb").write_bytes(proto)


def encoded(value, info):
    """One input or output as the protobuf message that its declared type asks for."""
    from onnx import TensorProto, numpy_helper

    if isinstance(value, TensorProto):
        return value.SerializeToString()
    encode = {"map_type": numpy_helper.from_dict, "sequence_type": numpy_helper.from_list,
              "optional_type": numpy_helper.from_optional, "tensor_type": numpy_helper.from_array}
    return encode[info.type.WhichOneof("value")](value, info.name).SerializeToString()


def write_node_cases(folder):
    from onnx.backend.test.loader import load_node_model_tests

    for case in load_node_model_tests():
        graph = case.model.graph
        (inputs, outputs), = case.data_sets
        write_case(folder / case.name, case.model.SerializeToString(),
                   [encoded(*pair) for pair in zip(inputs, graph.input)],
                   [encoded(*pair) for pair in zip(outputs, graph.output)])


def write_light_models(folder):
    """The package's own runner feeds them 0, 1/n, 2/n, … and compares with the stored output."""
    import numpy as np
    import onnx
    from onnx.backend.test.loader import DATA_DIR
    from onnx.backend.test.runner import Runner

    for file in sorted((Path(DATA_DIR) / "light").glob("*.onnx")):
        model = onnx.load(file)
        constants = {tensor.name for tensor in model.graph.initializer}
        inputs = [info for info in model.graph.input if info.name not in constants]
        feeds = [onnx.numpy_helper.from_array(np.asarray(Runner.generate_dummy_data(info)), info.name)
                 for info in inputs]
        write_case(folder / file.stem, file.read_bytes(), [feed.SerializeToString() for feed in feeds],
                   [file.with_name(file.stem + "_output_0.pb").read_bytes()])


def write_data(folder):
    write_node_cases(folder / "node")
    write_light_models(folder / "light")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=HERE.parent.parent / ".assay", metavar="DIR")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)  # the part that runs inside the environment
    arguments = parser.parse_args()
    if arguments.write:
        write_data(arguments.write)
        return
    name = f"onnx-{pinned_version()}"
    environment = arguments.root.resolve() / "venvs" / name
    data = arguments.root.resolve() / "onnx-data" / name
    environment.parent.mkdir(parents=True, exist_ok=True)
    data.parent.mkdir(parents=True, exist_ok=True)
    if not (environment / "packages.txt").is_file():
        shutil.rmtree(environment, ignore_errors=True)
    build_once(environment, install)
    build_once(data, lambda partial: subprocess.run(
        [environment / "bin/python", "-W", "ignore", __file__, "--write", partial], check=True))
    print(data)


if __name__ == "__main__":
    main()
