"""Installs the build BUILD and tests the project EXAMPLE with it: installed.py BUILD EXAMPLE

The installed program is moved away from where it was put, and ASSAY_HOME is not set, so that only its own data are found.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def main(build, example):
    with tempfile.TemporaryDirectory() as folder:
        first, prefix, empty = (Path(folder, name) for name in ("first", "prefix", "empty"))
        empty.mkdir()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}

        def run(*command, code=0):
            done = subprocess.run([str(word) for word in command], cwd=empty, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            assert done.returncode == code, f"{command}: exit code {done.returncode}, not {code}\n{done.stdout}"
            return done.stdout

        run("cmake", "--install", build, "--prefix", first, "--component", "program")
        shutil.move(first, prefix)
        before = sorted(prefix.rglob("*"))
        assay = prefix / "bin" / "assay"
        said = run(assay, "run", "concat/form=graph_input,place=before", "--options", "default", "--fault",
                   "concat_first_scale", code=1)
        assert f"reproduce: {assay} run " in said, said
        assert str(prefix / "share" / "assay") in run(assay, "doctor"), "doctor names another home"
        assert "xfail" in run(assay, "explain", "xfail")
        venv = empty / ".assay" / "venvs" / "onnxruntime-9.9"
        venv.mkdir(parents=True)
        (venv / "packages.txt").write_text("onnxruntime==9.9\n", encoding="utf-8")
        assert re.search(r"^onnxruntime +9\.9 ", run(assay, "converters", "list"), re.M), "environments are looked for elsewhere"

        run("cmake", "-S", example, "-B", empty / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
        shown = run("ctest", "--test-dir", empty / "build", "--output-on-failure", "-j2", code=8)
        outcomes = {name: outcome for name, outcome in re.findall(r"Test +#\d+: (\S+) [ .]*(?:\*\*\*)?(\w+)", shown)}
        right = {name: outcome for name, outcome in outcomes.items() if name.startswith("right.")}
        assert len(right) == 2 and set(right.values()) == {"Passed"}, outcomes
        assert outcomes["wrong.concat/form=graph_input,place=before"] == "Failed", outcomes
        assert "expected scale" in shown, shown
        assert outcomes["absent.concat/form=graph_input,place=before"] == "Skipped", outcomes
        assert "right.concat" in run("ctest", "--test-dir", empty / "build", "-N", "-L", "seeds")

        assert sorted(prefix.rglob("*")) == before, "something was written into the installation"
        assert (empty / ".assay" / "history.db").is_file()
    print("installed, moved, run, and used by another project")
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])))
