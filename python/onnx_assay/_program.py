"""Finds and runs the program `assay`; what it complains of becomes an exception."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union

PACKAGE = Path(__file__).resolve().parent
BUNDLED = PACKAGE / "bin" / "assay"  # in the wheel

#: Exit codes that come without a whole answer (docs/ci.md): wrong usage, Assay's own failure, nothing or not all done.
_FAILED = (2, 3, 5)

Command = Union[str, Sequence[Union[str, "os.PathLike[str]"]]]


class AssayError(RuntimeError):
    """The program gave no verdict: wrong usage, a file that can't be read, or a failure of its own.

    The text is the program's message. `code` is its exit code (docs/ci.md), `command` what was run.
    """

    def __init__(self, message: str, code: int, command: Sequence[str]) -> None:
        super().__init__(message)
        self.code = code
        self.command = tuple(command)


def program() -> Path:
    """The program: ASSAY_PROGRAM where it is set, else the one inside this package, else `assay` of PATH.

    Errors   FileNotFoundError, where there is none.
    """
    if given := os.environ.get("ASSAY_PROGRAM"):
        found = shutil.which(given)
        if found is None:
            raise FileNotFoundError(f"ASSAY_PROGRAM names \"{given}\", and there is no such program")
        return Path(found).absolute()  # "./assay" without its "./" would be looked for in PATH
    if BUNDLED.is_file():
        return BUNDLED
    if found := shutil.which("assay"):
        return Path(found)
    raise FileNotFoundError("the program assay isn't there: this package has none inside, it isn't in PATH, and "
                            "ASSAY_PROGRAM, which may name it, isn't set")


def shared_folder() -> Path:
    """The folder with cases, suites, converters and docs: inside this package, the source tree around it, or installed beside
    the program."""
    inside, around = PACKAGE / "share" / "assay", PACKAGE.parents[1]
    if inside.is_dir():
        return inside
    return around if (around / "cases").is_dir() else program().resolve().parents[1] / "share" / "assay"


def environment() -> dict[str, str]:
    """What the program runs with: commands that it shows begin with `assay` where this package brings it."""
    variables = dict(os.environ)
    if program() == BUNDLED:
        variables.setdefault("ASSAY_COMMAND", "assay")
    return variables


def command_text(command: Command) -> str:
    """A converter's command as one text: a string as it is, a sequence of words quoted."""
    return command if isinstance(command, str) else shlex.join(os.fspath(word) for word in command)


def call(words: Sequence[str]) -> tuple[dict[str, Any], int]:
    """What `assay WORDS --json` prints, and its exit code.

    Errors   AssayError, with what the program wrote to standard error.
    """
    command = [os.fspath(program()), *words, "--json"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment(), check=False)
    said = done.stderr.decode("utf-8", "replace").strip()
    try:
        answer = json.loads(done.stdout.decode("utf-8", "replace"))
    except json.JSONDecodeError:
        answer = None
    if done.returncode in _FAILED or not isinstance(answer, dict):
        message = said.removeprefix("assay: ") or f"assay ended with exit code {done.returncode} and said nothing"
        raise AssayError(message, done.returncode, command)
    return answer, done.returncode


def options_words(options: Union[str, Mapping[str, Any], None]) -> list[str]:
    """--options as the program takes it: a label or JSON text as it is, a mapping as JSON."""
    if options is None:
        return []
    return ["--options", options if isinstance(options, str) else json.dumps(dict(options))]
