"""The program "onnxsim" for converters that start it several times a model: one process loads onnxsim, and forks for each start.

usage: onnxsim_program.py: serves what `provide` put into the working directory, until standard input ends
"""

import contextlib
import os
import select
import subprocess
import sys
from pathlib import Path

ASKED, SAID, DONE = "onnxsim.asked", "onnxsim.said", "onnxsim.done"  # arguments, what it printed, exit status
PROGRAM = f"""#!/bin/sh
printf '%s\\n' "$@" > {ASKED}
read -r status < {DONE}
cat {SAID}
exit "$status"
"""


def provide():
    """Puts the program "onnxsim" into the working directory, and that into the path. The server ends with this process."""
    for name in (ASKED, DONE):
        os.mkfifo(name)
    Path("onnxsim").write_text(PROGRAM)
    Path("onnxsim").chmod(0o755)
    os.environ["PATH"] = f"{Path.cwd()}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)


def simplified(arguments):
    """Exit status of onnxsim, in a process of its own; what it prints is in the file SAID then."""
    process = os.fork()
    if process == 0:
        status = 1
        with open(SAID, "w") as said, contextlib.suppress(Exception):
            os.dup2(said.fileno(), 1)
            sys.argv = ["onnxsim", *arguments]
            try:
                status = onnxsim.main() or 0
            except SystemExit as left:
                status = left.code if isinstance(left.code, int) else int(left.code is not None)
            sys.stdout.flush()
        os._exit(status)
    return abs(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


def serve():
    asked, done = (os.open(name, os.O_RDWR) for name in (ASKED, DONE))  # for both, so that no end waits for the other
    while 0 not in select.select([asked, 0], [], [])[0]:
        arguments = os.read(asked, select.PIPE_BUF).decode().splitlines()
        os.write(done, f"{simplified(arguments)}\n".encode())


if __name__ == "__main__":
    import onnxsim
    serve()
