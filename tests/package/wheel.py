"""Builds the sdist and the wheel from it, and runs the wheel where nothing else is: wheel.py ROOT BUILD [--keep FOLDER]
[--twice]

The build takes scikit-build-core and `build` from this interpreter's packages, or from the environment
ROOT/.assay/venvs/wheel, into which build_requirements.txt is installed; exit code 77 without them. What the program
needs of glibc and of libstdc++ must not be newer than the tag in docs/install.md says. All is made below the folder
BUILD, where a compiler cache that knows this tree knows it again. Compiled without optimization, which takes a third of the
time and leaves the packaging as it is, except with --keep and with --twice, which build what is published. --twice builds both
once more, which has to give the same bytes; it takes as long again.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from sdist import builder, printed


def newest_needed(file):
    """{"GLIBC": (2, 34), …} of a program or library."""
    needed = {}
    for name, version in re.findall(r"\b(GLIBC|GLIBCXX)_([\d.]+)", printed("readelf", "--version-info", file).split("Version needs")[-1]):
        numbers = tuple(map(int, version.split(".")))
        needed[name] = max(needed.get(name, ()), numbers)
    return needed


QUICK = ("-Ccmake.build-type=Debug", "-Ccmake.define.CMAKE_CXX_FLAGS_DEBUG=-O0 -Wno-error=invalid-pch")


def build_in(folder, python, root, settings=()):
    """sdist and wheel; their times are the commit's."""
    time = subprocess.run(["git", "-C", root, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False).stdout
    folder.mkdir()
    printed(python, "-m", "build", "--no-isolation", "--outdir", folder / "dist", *settings, root,
            env={**os.environ, "TMPDIR": str(folder), "SOURCE_DATE_EPOCH": time.strip() or "1767225600"})
    sdist, = (folder / "dist").glob("*.tar.gz")
    wheel, = (folder / "dist").glob("*-py3-none-*.whl")
    return sdist, wheel


def main(root, build, *words):
    python = builder(root)
    if python is None:
        return 77
    with tempfile.TemporaryDirectory(dir=build) as name:
        folder = Path(name)
        published = not {"--keep", "--twice"}.isdisjoint(words)
        sdist, wheel = build_in(folder / "first", python, root, () if published else QUICK)
        if "--twice" in words:
            again = build_in(folder / "second", python, root)
            for file, other in zip((sdist, wheel), again):
                assert file.read_bytes() == other.read_bytes(), f"{file.name} differs from build to build"
                print(f"{file.name}: sha256 {hashlib.sha256(file.read_bytes()).hexdigest()}, twice")
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        printed(python, "-m", "pip", "install", "--no-index", "--find-links", sdist.parent, "onnx-assay")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "PYTHON"))}
        (folder / "empty").mkdir()
        said = printed(folder / "venv" / "bin" / "assay", "run", "concat/form=graph_input,*", "--quiet",
                       cwd=folder / "empty", env=environment)
        assert said == "6 planned: 6 pass\n", said
        program, = (folder / "venv").glob("lib/python*/site-packages/onnx_assay/bin/assay")
        tag = re.search(r"manylinux_(\d+)_(\d+)", Path(root, "docs", "install.md").read_text(encoding="utf-8"))
        bill = json.loads((program.parent.parent / "share" / "assay" / "sbom.cdx.json").read_text(encoding="utf-8"))
        made_of = {part["name"] for part in bill["components"]}
        assert {"libonnx-dev", "libprotobuf-dev", "nlohmann-json3-dev", "libcli11-dev", "uplot"} <= made_of, made_of
        needed = newest_needed(program)
        assert needed["GLIBC"] <= (int(tag[1]), int(tag[2])) and needed["GLIBCXX"] <= (3, 4, 29), needed
        print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB, {wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        if "--keep" in words:
            shutil.copytree(sdist.parent, words[words.index("--keep") + 1], dirs_exist_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(os.path.abspath, sys.argv[1:3]), *sys.argv[3:]))
