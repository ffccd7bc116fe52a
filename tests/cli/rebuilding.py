#!/usr/bin/env python3
"""./assay says in one line that it rebuilds, and says nothing where there is nothing to do; what only asks the program
about itself builds nothing where there is one. rebuilding.py ROOT"""

import os
import pathlib
import subprocess
import sys
import tempfile

ALWAYS = ["ninja: Entering directory `build'", "[0/2] Re-checking globbed directories...", "[1/9] looking up the commit",
          "[2/9] checking includes against links"]


def said(root, lines, code=0, word="run"):
    """What ./assay prints where ninja prints `lines`."""
    with tempfile.TemporaryDirectory() as folder:
        tools = {"ninja": "cat " + folder + f"/lines; exit {code}", "dpkg-query": "echo install ok installed",
                 "assay": "echo ran"}
        pathlib.Path(folder, "lines").write_text("\n".join(lines) + "\n", encoding="utf-8")
        pathlib.Path(folder, "build.ninja").touch()
        for name, body in tools.items():
            pathlib.Path(folder, name).write_text("#!/bin/sh\n" + body + "\n", encoding="utf-8")
            pathlib.Path(folder, name).chmod(0o755)
        environment = {**os.environ, "ASSAY_BUILD": folder, "PATH": folder + ":" + os.environ["PATH"]}
        environment.pop("ASSAY_NO_BUILD", None)
        done = subprocess.run([pathlib.Path(root, "assay"), word], env=environment, capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout, done.stderr


assert said(sys.argv[1], ALWAYS) == (0, "ran\n", "")
work = ["[2/9] Building CXX object a.o", "[3/9] Linking CXX executable assay"]
assert said(sys.argv[1], ALWAYS + work) == (0, "ran\n", "assay: rebuilding\n")
code, out, error = said(sys.argv[1], ALWAYS + ["[2/9] Building CXX object a.o", "FAILED: a.o"], 1)
assert (code, out) == (3, "") and error.startswith("assay: rebuilding\n") and "FAILED: a.o" in error, error
for word in ("--help", "--version", "list", "doctor"):
    assert said(sys.argv[1], ALWAYS + work, word=word) == (0, "ran\n", ""), word
