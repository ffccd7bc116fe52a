"""A converter that behaves, but for one deed at one step of the protocol: misbehaving.py PROGRAM STEP DEED

Behind it is the embedded converter (PROGRAM worker). STEP is describe, convert, execute or quit; convert and execute strike
only for the case whose model names a tensor "victim". DEEDS, at the end, are the table that adapters.py tries."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

DEEP = 10**5


def say(data):
    data = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    while data:
        data = data[os.write(1, data):]


def line(reply):
    return json.dumps(reply) + "\n"


def hang():
    while True:
        time.sleep(1000)


def busy():
    while True:
        pass


def end_by(number):
    signal.signal(number, signal.SIG_DFL) if number not in (signal.SIGKILL, signal.SIGSTOP) else None
    os.kill(os.getpid(), number)
    hang()


def eat_memory():
    eaten = []
    while True:
        eaten.append(bytearray(64 << 20))  # untouched: the limit is one of addresses, and is there at once


def daemon(seconds=30):
    """A process of a session of its own that keeps all that is open."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(seconds)
        os._exit(0)


class Step:
    """One request, what a good converter answers, and the files that both are about."""

    def __init__(self, request, answer):
        self.request, self.answer, self.reply_ = request, answer, None

    @property
    def reply(self):
        if self.reply_ is None:
            self.reply_ = self.answer(self.request)
        return self.reply_

    def good(self):
        return line(self.reply)

    def with_(self, **changed):
        return line({**self.reply, **changed})

    def without(self, key):
        return line({k: v for k, v in self.reply.items() if k != key})

    @property
    def output(self):
        return Path(self.request["output"])

    @property
    def given(self):
        """What the converter was given and has to leave alone."""
        return Path(self.request["model"] if self.request["do"] == "convert" else self.request["artifact"])

    @property
    def given_folder(self):
        return Path(self.request["calibration"] if self.request["do"] == "convert" else self.request["inputs"])

    @property
    def made(self):
        """The file that a good answer is about."""
        reply = self.reply
        return Path(reply["artifact"]) if self.request["do"] == "convert" else sorted(self.output.glob("output_*.pb"))[0]


def then(*acts):
    def deed(step):
        for act in acts:
            act(step)
    return deed


def says(text):
    return lambda step: say(text(step) if callable(text) else text)


def good(step):
    say(step.good())


def half(step):
    text = step.good()
    say(text[:len(text) // 2])


def endless(channel, block):
    while True:
        os.write(channel, block)


def first_tensor(**changed):
    def text(step):
        first, *rest = step.reply["tensors"]
        return step.with_(tensors=[{**first, **changed}, *rest])
    return says(text)


def instead(make):
    """The file that a good answer is about, replaced by what `make` makes at its path."""
    def deed(step):
        path = step.made
        path.unlink()
        make(path)
        good(step)
    return deed


def sparse(size):
    def make(path):
        with open(path, "wb") as file:
            file.truncate(size)
    return make


def bind(path):
    os.chdir(path.parent)
    socket.socket(socket.AF_UNIX).bind(path.name)


def changed_output(change):
    """The outputs' protobuf bytes, changed."""
    def deed(step):
        path = step.made
        path.write_bytes(change(path.read_bytes()))
        good(step)
    return deed


def given(act):
    """An act on what was given, behind which the answer is good."""
    def deed(step):
        step.reply  # it reads what is given
        act(step)
        good(step)
    return deed


def replaced(path, by):
    path.unlink()
    path.symlink_to(by)


ANSWERS = {  # of each request that is answered
    "silent": lambda step: hang(),
    "busy": lambda step: busy(),
    "drips": lambda step: [(say("x"), time.sleep(0.2)) for _ in range(10**6)],
    "slow but in time": then(lambda step: time.sleep(0.5), good),
    "byte by byte": lambda step: [say(byte) for byte in map(chr, step.good().encode())],
    "exit 0": lambda step: os._exit(0),
    "exit 3": lambda step: os._exit(3),
    "exit 137": lambda step: os._exit(137),
    "segmentation fault": lambda step: end_by(signal.SIGSEGV),
    "abort": lambda step: end_by(signal.SIGABRT),
    "kill": lambda step: end_by(signal.SIGKILL),
    "stop": lambda step: end_by(signal.SIGSTOP),
    "ignores SIGTERM": then(lambda step: signal.signal(signal.SIGTERM, signal.SIG_IGN), lambda step: hang()),
    "memory": lambda step: eat_memory(),
    "half a line, silent": then(half, lambda step: hang()),
    "half a line, exit": then(half, lambda step: os._exit(0)),
    "no newline, exit": then(lambda step: say(step.good().rstrip("\n")), lambda step: os._exit(0)),
    "empty line": says("\n"),
    "words": says("Converting …\n"),
    "bytes": says(bytes(range(256)).replace(b"\n", b"") + b"\n"),
    "NUL": says("\0\n"),
    "NUL in front": says(lambda step: "\0" + step.good()),
    "NUL in a key": says(lambda step: step.with_(**{"a\0b": 1})),
    "no UTF-8": says(lambda step: step.good().encode().replace(b'"status"', b'"\xff": 1, "status"')),
    "half a surrogate": says(lambda step: step.good().replace('"status"', '"x": "\\ud800", "status"')),
    "UTF-16": says(lambda step: step.good().encode("utf-16")),
    "byte order mark": says(lambda step: "\ufeff" + step.good()),
    "deep list": says("[" * DEEP + "]" * DEEP + "\n"),
    "deep object": says('{"x":' * DEEP + "1" + "}" * DEEP + "\n"),
    "deep and unclosed": says("[" * DEEP + "\n"),
    "deep in a key": says(lambda step: step.good().replace('"status"', '"x": ' + "[" * DEEP + "]" * DEEP + ', "status"')),
    "20 MiB line": says("x" * (20 << 20) + "\n"),
    "20 MiB key": says(lambda step: step.with_(x="x" * (20 << 20))),
    "endless line": lambda step: endless(1, b"x" * (1 << 20)),
    "endless lines": lambda step: endless(1, b"\n" * (1 << 16)),
    "a list": says("[1, 2]\n"),
    "a number": says("1\n"),
    "a text": says('"ok"\n'),
    "null": says("null\n"),
    "two on a line": says(lambda step: step.good().rstrip("\n") * 2 + "\n"),
    "something behind": says(lambda step: step.good().rstrip("\n") + " x\n"),
    "unclosed": says(lambda step: step.good().rstrip("}\n") + "\n"),
    "single quotes": says(lambda step: step.good().replace('"', "'")),
    "blanks around": says(lambda step: "  " + step.good().rstrip("\n") + " \r\n"),
    "doubled keys": says(lambda step: step.good().replace('"status"', '"status": "error", "status"')),
    "unknown keys": says(lambda step: step.with_(mood="cheerful", **{"": None})),
    "another id": says(lambda step: step.with_(id=step.request["id"] + 1)),
    "an earlier id": says(lambda step: step.with_(id=0)),
    "id as text": says(lambda step: step.with_(id=str(step.request["id"]))),
    "id with a fraction": says(lambda step: step.with_(id=step.request["id"] + 0.5)),
    "id of 2^80": says(lambda step: step.with_(id=2**80)),
    "id null": says(lambda step: step.with_(id=None)),
    "no id": says(lambda step: step.without("id")),
    "no status": says(lambda step: step.without("status")),
    "unknown status": says(lambda step: step.with_(status="partly")),
    "status of ours": says(lambda step: step.with_(status="crash")),
    "status 1": says(lambda step: step.with_(status=1)),
    "status of 1 MiB": says(lambda step: step.with_(status="x" * (1 << 20))),
    "twice": lambda step: say(step.good() * 2),
    "a line before": then(lambda step: say('{"progress": 1}\n'), good),
    "a line after": then(good, lambda step: time.sleep(0.1), lambda step: say('{"progress": 1}\n')),
    "closes output": then(lambda step: os.close(1), lambda step: hang()),
    "closes input": then(good, lambda step: os.close(0), lambda step: hang()),
    "stderr of 64 MiB": then(lambda step: [os.write(2, b"e" * (1 << 20)) for _ in range(64)], good),
    "stderr of bytes": then(lambda step: os.write(2, bytes(range(256)) * 16), good),
    "stderr without end": lambda step: endless(2, b"e" * (1 << 16)),
    "a daemon": then(lambda step: daemon(), good),
    "a daemon, exit": then(lambda step: daemon(), lambda step: os._exit(0)),
    "50 processes": then(lambda step: [os.fork() or hang() for _ in range(50)], good),
    "answers and exits with 3": then(good, lambda step: os._exit(3)),
    "answers and is killed": then(good, lambda step: end_by(signal.SIGKILL)),
}

DESCRIPTIONS = {
    "no name": says(lambda step: step.without("name")),
    "empty name": says(lambda step: step.with_(name="")),
    "name is a number": says(lambda step: step.with_(name=1)),
    "no version": says(lambda step: step.without("version")),
    "supports is a text": says(lambda step: step.with_(supports="all")),
    "operators of numbers": says(lambda step: step.with_(supports={"operators": [1]})),
    "unknown artifact kind": says(lambda step: step.with_(supports={"artifact": "magic"})),
    "policy is a list": says(lambda step: step.with_(policy=[1])),
    "unknown word of a policy": says(lambda step: step.with_(policy={"bias": "magic"})),
    "divisor is not a number": says(lambda step: step.with_(policy={"divisor": "NaN"})),
    "status refused": says(lambda step: step.with_(status="refused", reason="no licence")),
    "status error": says(lambda step: step.with_(status="error", reason="no licence")),
}

FILES = {  # in the place of the file that an answer is about
    "missing": instead(lambda path: None),
    "empty": instead(lambda path: path.write_bytes(b"")),
    "garbage": instead(lambda path: path.write_bytes(b"\xff" * 1000)),
    "cut": changed_output(lambda data: data[:len(data) // 2]),
    "bytes behind": changed_output(lambda data: data + b"\xff\xff"),
    "2^33 bytes": instead(sparse(2**33)),
    "2^40 bytes": instead(sparse(2**40)),
    "a folder": instead(lambda path: path.mkdir()),
    "a FIFO": instead(os.mkfifo),
    "a socket": instead(bind),
    "a link to nothing": instead(lambda path: path.symlink_to("nothing")),
    "a link to itself": instead(lambda path: path.symlink_to(path.name)),
    "a link outside": instead(lambda path: path.symlink_to("/etc/passwd")),
    "a link to /dev/zero": instead(lambda path: path.symlink_to("/dev/zero")),
    "10,000 more files": then(lambda step: [Path(step.output, f"more_{i}").touch() for i in range(10**4)], good),
    "500 folders in each other": then(lambda step: deep_folders(step.output), good),
    "names of bytes": then(lambda step: open(os.fsencode(step.output) + b"/\x1b[2J\xff\n", "wb").close(), good),
}

CONVERSIONS = {
    "no artifact": says(lambda step: step.without("artifact")),
    "artifact null": says(lambda step: step.with_(artifact=None)),
    "artifact is a number": says(lambda step: step.with_(artifact=7)),
    "artifact is a list": says(lambda step: step.with_(artifact=["m.onnx"])),
    "artifact is empty": says(lambda step: step.with_(artifact="")),
    "artifact is the folder": says(lambda step: step.with_(artifact=step.request["output"])),
    "artifact elsewhere": says(lambda step: step.with_(artifact="/etc/passwd")),
    "artifact above": says(lambda step: step.with_(artifact=step.request["output"] + "/../../../../etc/passwd")),
    "artifact is the model": says(lambda step: step.with_(artifact=step.request["model"])),
    "artifact with NUL": says(lambda step: step.with_(artifact=step.reply["artifact"] + "\0x")),
    "artifact of 1 MiB": says(lambda step: step.with_(artifact="/x" * (1 << 19))),
    "no tensors": says(lambda step: step.without("tensors")),
    "tensors is an object": says(lambda step: step.with_(tensors={"x": 1})),
    "tensors of numbers": says(lambda step: step.with_(tensors=[1, 2])),
    "tensors twice": says(lambda step: step.with_(tensors=step.reply["tensors"] * 2)),
    "tensor without a name": first_tensor(name=None),
    "a name of NUL": first_tensor(name="\0"),
    "scale is a text": first_tensor(scale="big"),
    "scale 0": first_tensor(scale=[0]),
    "scale -1": first_tensor(scale=[-1]),
    "scale is not a number": first_tensor(scale=["NaN"]),
    "scale is infinite": first_tensor(scale=["Infinity"]),
    "10^6 scales": first_tensor(scale=[0.5] * 10**6, zero_point=[0] * 10**6, axis=0),
    "scales without zero points": first_tensor(scale=[0.5] * 7, zero_point=[0] * 3, axis=0),
    "zero point is a text": first_tensor(zero_point=["x"]),
    "zero point 2^63": first_tensor(zero_point=[2**63]),
    "axis 2^62": first_tensor(axis=2**62),
    "axis is a text": first_tensor(axis="x"),
    "unknown type": first_tensor(type="int3"),
    "precision of numbers": says(lambda step: step.with_(precision=[1])),
    "unknown precision": says(lambda step: step.with_(precision=[{"node": "victim", "op": "Conv", "got": "int3"}])),
    "cache elsewhere": says(lambda step: step.with_(cache="/etc/passwd")),
    "cache is a number": says(lambda step: step.with_(cache=3)),
    "diagnostics is a text": says(lambda step: step.with_(diagnostics="x")),
    "refused without a reason": says(lambda step: line({"id": step.request["id"], "status": "refused"})),
    "refused with an artifact": says(lambda step: step.with_(status="refused", reason="r", node="n", op="Conv")),
    "an error of 10 MiB": says(lambda step: line({"id": step.request["id"], "status": "error", "reason": "x" * (10 << 20)})),
}

EXECUTIONS = {
    "an output twice": lambda step: (shutil.copy(step.made, step.output / "output_9.pb"), good(step)),
    "an output without a name": changed_output(lambda data: data.replace(b"\x42\x01y", b"\x42\x00")),
    "an output of another name": changed_output(lambda data: data.replace(b"\x42\x01y", b"\x42\x01q")),
    "an output of another type": changed_output(lambda data: data.replace(b"\x10\x01", b"\x10\x07", 1)),
    "an output of another shape": changed_output(lambda data: data.replace(b"\x08\x03", b"\x08\x05", 1)),
    "an output of shape 2^56": changed_output(lambda data: b"\x08\xff\xff\xff\xff\xff\xff\xff\x7f" + data),
    "a trace that nobody asked for": says(lambda step: step.with_(trace=["x"])),
    "refused": says(lambda step: line({"id": step.request["id"], "status": "refused", "reason": "no"})),
    "error": says(lambda step: line({"id": step.request["id"], "status": "error", "reason": "no"})),
}

GIVEN = {  # what is done to the files that were given
    "model overwritten": given(lambda step: step.given.write_bytes(b"x")),
    "model longer": given(lambda step: step.given.open("ab").write(b"x")),
    "model deleted": given(lambda step: step.given.unlink()),
    "model is a link": given(lambda step: replaced(step.given, "/etc/passwd")),
    "model is a FIFO": given(lambda step: (step.given.unlink(), os.mkfifo(step.given))),
    "model is a folder": given(lambda step: (step.given.unlink(), step.given.mkdir())),
    "data overwritten": given(lambda step: next(step.given_folder.rglob("*.pb")).write_bytes(b"x")),
    "data deleted": given(lambda step: next(step.given_folder.rglob("*.pb")).unlink()),
    "data are links": given(lambda step: [replaced(path, "/dev/zero") for path in list(step.given_folder.rglob("*.pb"))]),
    "more data": given(lambda step: (step.given_folder / "input_9.pb").write_bytes(b"x")),
    "data's folder deleted": given(lambda step: shutil.rmtree(step.given_folder)),
    "data's folder is a link": given(lambda step: (shutil.rmtree(step.given_folder), step.given_folder.symlink_to("/"))),
    "output's folder deleted": given(lambda step: shutil.rmtree(step.output)),
    "output's folder is a link": given(lambda step: (shutil.rmtree(step.output), step.output.symlink_to("/"))),
    "output's folder is a file": given(lambda step: (shutil.rmtree(step.output), step.output.write_bytes(b""))),
}

QUITS = {
    "silent": lambda step: hang(),
    "ignores SIGTERM": ANSWERS["ignores SIGTERM"],
    "exit 3": lambda step: os._exit(3),
    "segmentation fault": lambda step: end_by(signal.SIGSEGV),
    "a line": lambda step: (say("bye\n"), os._exit(0)),
    "endless line": lambda step: endless(1, b"x" * (1 << 20)),
    "stderr without end": lambda step: endless(2, b"e" * (1 << 16)),
    "a daemon": lambda step: (daemon(), os._exit(0)),
}


def deep_folders(path):
    os.chdir(path)
    for _ in range(500):
        os.mkdir("d")
        os.chdir("d")
    os.chdir("/")


DEEDS = {
    "describe": {**ANSWERS, **DESCRIPTIONS},
    "convert": {**ANSWERS, **CONVERSIONS, **FILES, **GIVEN},
    "execute": {**ANSWERS, **EXECUTIONS, **FILES, **GIVEN},
    "quit": QUITS,
}


def main():
    program, step, deed = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    act = DEEDS[step][deed]

    def answer(request):
        # Started anew each time: hundreds of these wait at once.
        done = subprocess.run([program, "worker"], input=line(request), stdout=subprocess.PIPE, text=True, check=True)
        reply = json.loads(done.stdout)
        return {**reply, "name": f"{step}: {deed}"} if request["do"] == "describe" else reply

    while text := os.read(0, 1 << 20):
        request = json.loads(text)
        do = request["do"]
        strikes = do == step
        if do in ("convert", "execute"):
            named = Path(request["model" if do == "convert" else "artifact"]).read_bytes()
            strikes = strikes and b"victim" in named
        if strikes:
            act(Step(request, answer))
        elif do != "quit":
            say(line(answer(request)))
        if do == "quit":
            return


if __name__ == "__main__":
    main()
