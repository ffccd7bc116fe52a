"""Installs the build BUILD, and tests the project EXAMPLE and a converter in C++ with it: installed.py BUILD EXAMPLE

The installed program is moved away from where it was put, and ASSAY_HOME is not set, so that only its own data are found.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def converter_in_cpp(prefix, mine, run):
    """The example in C++, built outside as its README says."""
    shutil.copytree(prefix / "share" / "assay" / "converters" / "adapters" / "example_cpp", mine)
    project = re.search(r"^```cmake\n([\s\S]*?)^```$", (mine / "README.md").read_text(encoding="utf-8"), re.M)[1]
    (mine / "CMakeLists.txt").write_text(project, encoding="utf-8")
    run("cmake", "-S", mine, "-B", mine / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", mine / "build")
    said = run(prefix / "bin" / "assay", "run", "concat/form=graph_input,place=before", "--options", "default",
               "--converter-cmd", mine / "build" / "my_converter", code=1)
    assert "passthrough 1.0: 1 case" in said and "1 not-quantized" in said, said


def main(build, example):
    with tempfile.TemporaryDirectory() as folder:
        first, prefix, empty = (Path(folder, name) for name in ("first", "prefix", "empty"))
        empty.mkdir()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}

        def run(*command, code=0, **variables):
            done = subprocess.run([str(word) for word in command], cwd=empty, env={**environment, **variables}, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            assert done.returncode == code, f"{command}: exit code {done.returncode}, not {code}\n{done.stdout}"
            return done.stdout

        for component in ["program", "development"]:
            run("cmake", "--install", build, "--prefix", first, "--component", component)
        shutil.move(first, prefix)
        before = sorted(prefix.rglob("*"))
        assay = prefix / "bin" / "assay"
        said = run(assay, "run", "concat/form=graph_input,place=before", "--options", "default", "--fault",
                   "concat_first_scale", code=1)
        assert f"reproduce: {assay} run " in said, said
        found = {"PATH": f"{assay.parent}:{environment['PATH']}"}
        run(assay, "report", "--junit", "junit.xml", "--html", "page.html", **found)
        assert "reproduce: assay run " in (empty / "junit.xml").read_text(encoding="utf-8"), "the program isn't named as PATH has it"
        assert '"assay":"assay"' in (empty / "page.html").read_text(encoding="utf-8"), "nor in the page"
        said = run(assay, "run", "concat/form=graph_input,place=before", "--converter", "onnxruntime@0.0", "--json", code=77, **found)
        assert "; run assay converters install onnxruntime==0.0" in said, said
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
        assert outcomes["artifact"] == "Passed", outcomes
        assert "expected scale" in shown, shown
        assert outcomes["absent.concat/form=graph_input,place=before"] == "Skipped", outcomes
        assert "right.concat" in run("ctest", "--test-dir", empty / "build", "-N", "-L", "seeds")

        converter_in_cpp(prefix, empty / "mine", run)
        assert sorted(prefix.rglob("*")) == before, "something was written into the installation"
        assert (empty / ".assay" / "history.db").is_file()
    print("installed, moved, run, and used by another project")
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])))
