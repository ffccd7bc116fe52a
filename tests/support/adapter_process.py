"""A converter's adapter as a process that speaks protocol 1, driven without Assay."""

import json
import os
import pathlib
import subprocess
import sys


class Adapter:
    """Runs `script` with the interpreter that runs this, from the script's own folder."""

    def __init__(self, script, *arguments, **environment):
        script = pathlib.Path(script).resolve()
        self.process = subprocess.Popen([sys.executable, script, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env={**os.environ, **environment},
                                        cwd=script.parent)
        self.number = 0

    def answer(self, what, **fields):
        """The whole answer, whatever its status."""
        self.number += 1
        self.process.stdin.write(json.dumps({"protocol": 1, "id": self.number, "do": what, **fields}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"{what}: the adapter ended with {self.process.wait(10)}"
        answer = json.loads(line)
        assert answer["id"] == self.number, f"{what}: id {answer['id']} where {self.number} was asked"
        return answer

    def ask(self, what, **fields):
        """The answer, which is "ok"."""
        answer = self.answer(what, **fields)
        assert answer["status"] == "ok", f"{what}: {answer}"
        return answer

    def quit(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
