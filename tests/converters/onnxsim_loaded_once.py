#!/usr/bin/env python3
"""The program "onnxsim" that stands in for one that starts slowly prints, fails and ends as that would.

onnxsim_loaded_once.py COMMON: converters/adapters/common. A module of the test's own is taken for onnxsim.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMMON = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(COMMON))
import onnxsim_program

MODULE = """
import os, sys
print("loaded", file=open("loaded.txt", "a"))
def main():
    print(" ".join(sys.argv), os.getpid())
    if "exit" in sys.argv: sys.exit(3)
    if "raise" in sys.argv: raise ValueError("no model")
    if "kill" in sys.argv: os.kill(os.getpid(), 9)
"""


class Started(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        self.addCleanup(os.environ.__setitem__, "PATH", os.environ["PATH"])
        os.chdir(folder.name)
        Path("onnxsim.py").write_text(MODULE)
        os.environ["PYTHONPATH"] = folder.name
        self.server = onnxsim_program.provide()
        self.addCleanup(self.server.wait, 60)
        self.addCleanup(self.server.stdin.close)

    def run_it(self, *words):
        done = subprocess.run(["onnxsim", *words], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout.split()

    def test_every_start_is_a_process_and_loads_nothing(self):
        answers = [self.run_it("in file.onnx", "out.onnx") for _ in range(3)]
        self.assertEqual([(code, words[:-1]) for code, words in answers], [(0, ["onnxsim", "in", "file.onnx", "out.onnx"])] * 3)
        self.assertEqual(len({words[-1] for _, words in answers}), 3)
        self.assertEqual(Path("loaded.txt").read_text(), "loaded\n")

    def test_its_exit_status_comes_back(self):
        self.assertEqual(self.run_it("exit")[0], 3)
        self.assertEqual(self.run_it("raise")[0], 1)
        self.assertNotEqual(self.run_it("kill")[0], 0)
        self.assertEqual(self.run_it("a")[0], 0)

    def test_the_server_ends_with_whom_it_serves(self):
        self.server.stdin.close()
        self.assertEqual(self.server.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
