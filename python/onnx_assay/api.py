"""check, run, audit and reduce: the program's commands of these names, with Python's objects. The program judges."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional, Union

from . import _program
from ._data import Data, Model, data_file, model_file
from ._program import Command
from .results import Reduction, Report, Result, read_nodes, read_reduction, read_report, read_result

Options = Union[str, Mapping[str, Any]]
Names = Union[str, Sequence[str]]


def _several(option: str, values: Optional[Names]) -> list[str]:
    """`option` before each value; one string is one value."""
    one_by_one = [values] if isinstance(values, str) else list(values or ())
    return [word for value in one_by_one for word in (option, value)]


def _converter(name: Optional[str], command: Optional[Command]) -> list[str]:
    return [*_several("--converter", name),
            *_several("--converter-cmd", None if command is None else _program.command_text(command))]


def _data(folder: Path, **data: Optional[Data]) -> list[str]:
    return [word for name, value in data.items() if value is not None
            for word in (f"--{name}", data_file(value, folder, name))]


def _values(**values: Union[int, float, None]) -> list[str]:
    """Options that have a value, by their names here."""
    return [word for name, value in values.items() if value is not None
            for word in ("--" + name.replace("_", "-"), str(value))]


def check(
    float_model: Model,
    *,
    artifact: Optional[Model] = None,
    converter: Optional[str] = None,
    converter_cmd: Optional[Command] = None,
    calibration: Optional[Data] = None,
    inputs: Optional[Data] = None,
    options: Optional[Options] = None,
    made_by: Optional[str] = None,
    fault: Optional[Names] = None,
    timeout: Optional[float] = None,
    judge_timeout: Optional[float] = None,
    judge_memory: Optional[float] = None,
    require_judged: bool = False,
    no_sandbox: bool = False,
) -> Result:
    """Judges one model: a Q/DQ model that is there already (`artifact`), or what a converter makes of `float_model`.

    float_model, artifact   a path, an onnx.ModelProto, or its bytes
    converter               NAME or NAME@VERSION of an installed one; without any of the three: the embedded one
    converter_cmd           a program that speaks protocol 1, as a text or as a list of words
    calibration, inputs     a path (.npz, .npy, a folder); {input: array} whose first axis is the batch index: eight
                            batches of [1,3,32,32] are [8,1,3,32,32]; or a list of batches, each {input: array}
    options                 what it is made with, such as {"method": "entropy"}
    made_by                 NAME[@VERSION] of the converter that made `artifact`
    fault                   of the embedded converter, to see what a defect looks like
    timeout                 seconds for one answer of a converter
    judge_timeout           seconds for judging; without: ten times `timeout`
    judge_memory            GiB of memory for judging; without: four fifths of the machine's
    require_judged          a verdict that could not be judged is red
    no_sandbox              converters run with all rights of yours

    Errors   AssayError, with the program's message. A red verdict is a Result; see Result.raise_if_red.
    """
    files = TemporaryDirectory(prefix="onnx_assay-")
    folder = Path(files.name)
    words = ["check", model_file(float_model, folder, "model"), "--html", os.fspath(folder / "page.html")]
    if artifact is not None:
        words += ["--artifact", model_file(artifact, folder, "artifact")]
    words += _converter(converter, converter_cmd)
    words += _data(folder, calibration=calibration, inputs=inputs)
    words += _program.options_words(options)
    words += _several("--made-by", made_by) + _several("--fault", fault)
    words += _values(timeout=timeout, judge_timeout=judge_timeout, judge_memory=judge_memory)
    words += ["--require-judged"] if require_judged else []
    words += ["--no-sandbox"] if no_sandbox else []
    answer, _ = _program.call(words)
    if len(answer["results"]) != 1:
        raise ValueError(f"check() judges one converter at a time; these are {len(answer['results'])}")
    return read_result(answer["results"][0], nodes=read_nodes(answer), data=answer["data"], _files=files)


def run(
    *selection: str,
    converter: Optional[Names] = None,
    converter_cmd: Optional[Command] = None,
    options: Optional[Options] = None,
    only: Optional[Names] = None,
    operators: Optional[Names] = None,
    fault: Optional[Names] = None,
    db: Union[str, os.PathLike[str], None] = None,
    jobs: Optional[int] = None,
    timeout: Optional[float] = None,
    memory: Optional[float] = None,
    judge_timeout: Optional[float] = None,
    judge_memory: Optional[float] = None,
    require_judged: bool = False,
    no_sandbox: bool = False,
) -> Report:
    """Runs cases through converters. `selection` names suites and patterns on case names; none is suite `default`.

    converter        NAME[@VERSION,…] of installed ones; without: what the suites name
    converter_cmd    a program that speaks protocol 1, as a text or as a list of words
    options          only this option set: its label, or options as a mapping
    only             of all that, only the cases that these patterns match
    operators        of all that, only the cases whose model has no other operators
    db               the results database; without: none is kept, and nothing drifts
    jobs             cases that are converted at a time
    timeout, memory  seconds for one answer of a converter, GiB of its address space
    judge_timeout, judge_memory, require_judged, no_sandbox  as check()'s

    Errors   AssayError, with the program's message: an unknown name, a bad case, an interrupted run.
    """
    with TemporaryDirectory(prefix="onnx_assay-") as folder:
        words = ["run", *selection, *_converter(None, converter_cmd), *_several("--converter", converter)]
        words += _program.options_words(options)
        words += _several("--only", only) + _several("--fault", fault)
        names = [operators] if isinstance(operators, str) else list(operators or ())
        words += ["--operators", ",".join(names)] if names else []
        words += ["--db", os.path.join(folder, "history.db") if db is None else os.fspath(db)]
        words += _values(jobs=jobs, timeout=timeout, memory=memory, judge_timeout=judge_timeout,
                         judge_memory=judge_memory)
        words += ["--require-judged"] if require_judged else []
        words += ["--no-sandbox"] if no_sandbox else []
        return read_report(*_program.call(words))


def audit(
    float_model: Model,
    *,
    artifact: Optional[Model] = None,
    cache: Union[str, os.PathLike[str], None] = None,
    calibration: Optional[Data] = None,
    options: Optional[Options] = None,
    judge_timeout: Optional[float] = None,
    judge_memory: Optional[float] = None,
) -> Result:
    """Compares the parameters of a Q/DQ model or of a calibration table (`cache`) with the data; nothing is executed.

    Arguments and errors are those of check(); `cache` is the path of a table of TensorRT, ONNX Runtime or Assay.
    """
    with TemporaryDirectory(prefix="onnx_assay-") as name:
        folder = Path(name)
        words = ["audit", model_file(float_model, folder, "model")]
        words += [] if artifact is None else ["--artifact", model_file(artifact, folder, "artifact")]
        words += [] if cache is None else ["--cache", os.fspath(cache)]
        words += _data(folder, calibration=calibration) + _program.options_words(options)
        words += _values(judge_timeout=judge_timeout, judge_memory=judge_memory)
        answer, _ = _program.call(words)
        return read_result(answer["results"][0], data=answer["data"])


def reduce(
    float_model: Model,
    output: Union[str, os.PathLike[str]],
    *,
    converter: Optional[str] = None,
    converter_cmd: Optional[Command] = None,
    calibration: Optional[Data] = None,
    inputs: Optional[Data] = None,
    options: Optional[Options] = None,
    fault: Optional[Names] = None,
    jobs: Optional[int] = None,
    timeout: Optional[float] = None,
    no_sandbox: bool = False,
) -> Reduction:
    """Shrinks a model that a converter fails on while its verdict, stage, facet and message stay.

    The small model and its data are written into the folder `output`. Arguments and errors are those of check().
    """
    with TemporaryDirectory(prefix="onnx_assay-") as name:
        folder = Path(name)
        words = ["reduce", model_file(float_model, folder, "model"), "--output", os.fspath(output)]
        words += _converter(converter, converter_cmd)
        words += _data(folder, calibration=calibration, inputs=inputs)
        words += _program.options_words(options) + _several("--fault", fault)
        words += _values(jobs=jobs, timeout=timeout)
        words += ["--no-sandbox"] if no_sandbox else []
        return read_reduction(_program.call(words)[0])
