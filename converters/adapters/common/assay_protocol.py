"""Protocol 1 of Assay for converters written in Python (docs/protocol.md).

An adapter is an object with three methods, handed to `serve`:

    describe() -> dict                                    name, version, supports, policy
    convert(model, calibration, options, output) -> dict  artifact, and what `reports` lists
    execute(artifact, inputs, output) -> None             writes output_0.pb … into the folder `output`

One whose `supports` says "trace" also takes execute(artifact, inputs, output, trace), writes the codes inside the
artifact as trace_0.pb … into the folder `trace` and returns their tensors' names. One whose `supports` lists "optimizers" takes
disabled_optimizers=[NAME, …] as well.

Call `changed(words)` for whatever you do to the model or the calibration data before the converter sees them: the verdict
says it.

Raise `Refused` where the converter declines a node; any other exception is answered as `error` with its message. An
object that has usable() -> bool as well is asked it after such an answer: where it says no, the program starts anew, so
that what ended a GPU's context, say, is no other case's error.
Whatever is printed goes to standard error: standard output belongs to the protocol. Import this module before the
converter's own, since some print while they are imported.
"""

import json
import logging
import math
import os
import sys
import tempfile
import traceback
from pathlib import Path

import numpy
from assay_files import Refused, calibration_batches, read_tensors, write_tensors  # noqa: F401: adapters take them from here

OUT_OF_MEMORY_STATUS = 137  # what Assay reads as `oom`


def _take_streams():
    """Private copies of descriptors 0 and 1; what a library reads or prints from now on is nobody's and the log's."""
    lines, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout = sys.stderr
    return lines, answers


_LINES, _ANSWERS = _take_streams()


def _plain(value):
    """`value` as JSON can hold it: NaN and infinities become strings, arrays lists."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, numpy.ndarray)):
        return [_plain(item) for item in (value.tolist() if isinstance(value, numpy.ndarray) else value)]
    if isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return os.fspath(value) if isinstance(value, Path) else value


_CHANGES = []  # of the request that is being answered


def changed(words):
    """Tells what the adapter changed before the converter saw it: the verdict says so."""
    if words not in _CHANGES:
        _CHANGES.append(words)


class _Diagnostics(logging.Handler):
    """Collects the warnings of one request, each once, in order."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.messages = []

    def emit(self, record):
        message = record.getMessage()
        if message not in self.messages:
            self.messages.append(message)


def _answer(adapter, request):
    verb = request.get("do")
    if request.get("protocol") != 1:
        raise ValueError(f"protocol: this adapter speaks protocol 1, the request says {request.get('protocol')}")
    if verb == "describe":
        return adapter.describe()
    if verb == "execute":
        paths = [request[key] for key in ("artifact", "inputs", "output", "trace") if key in request]
        disabled = {key: request[key] for key in ("disabled_optimizers",) if request.get(key)}
        names = adapter.execute(*paths, **disabled)
        return {"trace": names} if "trace" in request else {}
    if verb == "convert":
        diagnostics = _Diagnostics()
        logging.getLogger().addHandler(diagnostics)
        try:
            reply = adapter.convert(
                request["model"], request["calibration"], request.get("options", {}), request["output"])
        finally:
            logging.getLogger().removeHandler(diagnostics)
        return {**reply, "diagnostics": diagnostics.messages}
    raise ValueError(f"protocol: \"do\" is {verb!r}; describe, convert, execute and quit are known")


def _respond(adapter, line):
    """The reply to one line, or None after quit."""
    request = {}
    _CHANGES.clear()
    try:
        request = json.loads(line)
        if request.get("do") == "quit":
            return None
        reply = {"status": "ok", **_answer(adapter, request)}
    except MemoryError:
        print("MemoryError: out of memory", file=sys.stderr, flush=True)
        os._exit(OUT_OF_MEMORY_STATUS)
    except Refused as refusal:
        reply = {"status": "refused", "reason": str(refusal), "node": refusal.node, "op": refusal.op}
    except Exception as error:  # the converter's own message, whole
        traceback.print_exc()
        reply = {"status": "error", "reason": f"{type(error).__name__}: {error}"}
    if _CHANGES:
        reply["changed"] = list(_CHANGES)
    return {"id": request.get("id", 0) if isinstance(request, dict) else 0, **reply}


def _start_anew():
    """This program again in this process, with what it has read and answered by handed on."""
    os.dup2(_LINES.fileno(), 0)
    os.dup2(_ANSWERS.fileno(), 1)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def serve(adapter):
    """Answers requests until quit or the end of input."""
    home, usable = os.getcwd(), getattr(adapter, "usable", lambda: True)
    anew = False
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # several libraries drop files where they stand; requests name full paths
        for line in _LINES:
            reply = _respond(adapter, line)
            if reply is None:
                break
            anew = reply["status"] == "error" and not usable()
            rest = memoryview(json.dumps(_plain(reply), allow_nan=False).encode() + b"\n")
            while rest:
                rest = rest[_ANSWERS.write(rest):]
            if anew:
                break
        os.chdir("/")
    if anew:
        os.chdir(home)
        _start_anew()
