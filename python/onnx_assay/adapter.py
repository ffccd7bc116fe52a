"""Puts a converter under test: subclass Adapter, fill in two methods, and let Assay run it.

    # my_converter.py
    from onnx_assay.adapter import Adapter

    class MyConverter(Adapter):
        name, version = "my_converter", "1"

        def convert(self, model, calibration, options, output):
            return quantize(model, calibration)         # an onnx.ModelProto

        def execute(self, artifact, inputs):
            return run(artifact, inputs)                # {output: array}

    $ assay run seeds --converter-cmd "python3 -m onnx_assay.adapter my_converter.py"

`python -m onnx_assay.adapter FILE.py[:CLASS]` answers the messages of protocol 1 (docs/protocol.md) with the Adapter of
that file; where the file has several, CLASS names one. What your code or a library prints goes to standard error, since
standard output belongs to the protocol. `python -m onnx_assay.adapter NAME` is an adapter that Assay brings, for instance
onnxruntime, with the converter of this Python environment, whichever build that is.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

from ._program import shared_folder

sys.path.insert(0, os.fspath(shared_folder() / "converters" / "adapters" / "common"))

from assay_files import Refused, calibration_batches, read_tensors, write_tensors  # noqa: E402

if TYPE_CHECKING:
    import numpy
    import onnx

    Tensors = dict[str, numpy.ndarray[Any, Any]]

__all__ = ["Adapter", "Refused"]


class Adapter:
    """A converter as Assay sees it. A subclass has convert() and execute(), and says who it is.

    Raise Refused("why", node="n7", op="CumSum") for what the converter declines; any other exception is its error. Either
    way `output` is emptied. What convert() makes of a model with an operator that supports["operators"] doesn't list is
    thrown away and refused.
    """

    name = "my_converter"
    version = "1"
    #: What the converter can do; what a case needs beyond it is `unsupported` (docs/protocol.md, supports).
    supports: Mapping[str, Any] = {}
    #: How it chooses its numbers where that isn't the usual way (docs/protocol.md, policy).
    policy: Mapping[str, Any] = {}

    def convert(
        self, model: onnx.ModelProto, calibration: list[Tensors], options: dict[str, Any], output: Path
    ) -> Union[onnx.ModelProto, str, os.PathLike[str], Mapping[str, Any]]:
        """Quantizes `model` with the batches `calibration`, each {input: array}, and the options of docs/protocol.md.

        Returns the quantized model; or the path of an artifact that was written into the folder `output`; or a mapping
        whose "artifact" is one of these, with more that protocol 1 lets a converter report.
        """
        raise NotImplementedError("convert")

    def execute(self, artifact: Path, inputs: Tensors) -> Tensors:
        """Runs the artifact, by its path, on {input: array}; returns {output: array}."""
        raise NotImplementedError("execute")

    def describe(self) -> Mapping[str, Any]:
        """Name, version, supports and policy; where the converter can't work here, also "unavailable", a reason."""
        return {"name": self.name, "version": self.version, "supports": dict(self.supports), "policy": dict(self.policy)}


#: Operators that every list of operators counts in (docs/protocol.md, supports).
_ALWAYS_TAKEN = frozenset({"Constant", "Identity", "QuantizeLinear", "DequantizeLinear"})


def operator_name(node: onnx.NodeProto) -> str:
    """The operator as every list has it: "Conv", or "com.microsoft.QuickGelu" outside ONNX's own domain."""
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else str(node.op_type)


def _refuse_others(graph: onnx.GraphProto, operators: list[str]) -> None:
    """Errors   Refused, naming the first node of `graph` or of a body in it whose operator is none of `operators`."""
    for node in graph.node:
        op = operator_name(node)
        if op not in _ALWAYS_TAKEN and op not in operators:
            name = node.name or next(filter(None, node.output), "")
            raise Refused(f"node \"{name}\" is a {op}, which has no INT8 form here; this converter takes "
                          f"{', '.join(operators) or 'no operator'}", node=name, op=node.op_type)
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                _refuse_others(body, operators)


class _Files:
    """An Adapter in front of assay_protocol.serve, which speaks of files."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def describe(self) -> Mapping[str, Any]:
        return self._adapter.describe()

    def convert(self, model: str, calibration: str, options: dict[str, Any], output: str) -> dict[str, Any]:
        try:
            return self._convert(model, calibration, options, output)
        except Exception:  # protocol 1: whoever made nothing leaves no file
            shutil.rmtree(output)
            os.mkdir(output)
            raise

    def _convert(self, model: str, calibration: str, options: dict[str, Any], output: str) -> dict[str, Any]:
        import onnx

        made = self._adapter.convert(onnx.load(model), calibration_batches(calibration), options, Path(output))
        operators = self._adapter.describe().get("supports", {}).get("operators")
        if operators is not None and operators is not True:  # what convert() itself says of the model goes first
            _refuse_others(onnx.load(model).graph, operators or [])
        reply = dict(made) if isinstance(made, Mapping) else {"artifact": made}
        artifact = reply.get("artifact")
        if isinstance(artifact, onnx.ModelProto):
            onnx.save(artifact, os.path.join(output, "model.onnx"))
            artifact = os.path.join(output, "model.onnx")
        if not isinstance(artifact, (str, os.PathLike)):
            raise TypeError(f"convert() returned {type(artifact).__name__}, not an onnx.ModelProto, a path, or a mapping "
                            "with \"artifact\"")
        return {**reply, "artifact": os.fspath(artifact)}

    def execute(self, artifact: str, inputs: str, output: str) -> None:
        write_tensors(self._adapter.execute(Path(artifact), read_tensors(inputs)), output)


def load(spec: str) -> Adapter:
    """The Adapter of FILE.py or FILE.py:CLASS.

    Errors   ValueError, where there is no such file or class, or where it isn't said which.
    """
    file, _, wanted = spec.partition(":")
    path = Path(file).resolve()
    found = importlib.util.spec_from_file_location(path.stem, path) if path.is_file() else None
    if found is None or found.loader is None:
        raise ValueError(f"\"{file}\" is no Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[path.stem] = module
    sys.path.insert(0, os.fspath(path.parent))  # as for a program that is started by its file
    found.loader.exec_module(module)
    classes = {name: each for name, each in vars(module).items()
               if inspect.isclass(each) and issubclass(each, Adapter) and each.__module__ == module.__name__}
    bases = {base for each in classes.values() for base in each.__mro__[1:]}
    names = [wanted] if wanted else [name for name, each in classes.items() if each not in bases]
    if len(names) != 1 or names[0] not in classes:
        raise ValueError(f"\"{file}\" has {', '.join(classes) or 'no class'} over onnx_assay.adapter.Adapter"
                         + (f", not {wanted}" if wanted else "; FILE.py:CLASS names one" if classes else ""))
    return classes[names[0]]()


def brought(name: str) -> list[str]:
    """The command of the adapter NAME that Assay brings, with this interpreter; empty where it brings none."""
    folder = shared_folder() / "converters" / "adapters" / name
    if not (folder / "adapter.json").is_file():
        return []
    words = json.loads((folder / "adapter.json").read_text(encoding="utf-8"))["command"]
    return [sys.executable if word == "{python}" else os.fspath(folder / word) if (folder / word).is_file() else word
            for word in words]


def main(arguments: Optional[list[str]] = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    if len(words) != 1 or words[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 0 if words in (["-h"], ["--help"]) else 2
    if command := brought(words[0]):
        os.execvp(command[0], command)
    import assay_protocol  # takes standard output for the protocol, so it comes before the converter's own imports

    from onnx_assay import adapter  # not this module: it is called __main__, and its Adapter isn't what a file subclasses

    try:
        served = adapter.load(words[0])
    except ValueError as error:
        print(f"onnx_assay.adapter: {error}", file=sys.stderr)
        return 2
    assay_protocol.serve(adapter._Files(served))
    return 0


if __name__ == "__main__":
    sys.exit(main())
