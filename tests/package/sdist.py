"""Builds the sdist and holds every file that a build or an installation of the program reads against it: sdist.py ROOT BUILD

What is read is what Ninja knows of BUILD: the program's sources, the headers that the compiler reported, the files that CMake
configured with; and what `cmake --install` copies. Nothing is compiled. Takes `build` and scikit-build-core as builder() says;
exit code 77 without them.
"""
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path


def printed(*command, **more):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    assert done.returncode == 0, f"{command}: {done.stdout[-4000:]}"
    return done.stdout


def builder(root):
    """The interpreter that can build: this one, or that of the environment ROOT/.assay/venvs/wheel; else None."""
    own = Path(root, ".assay", "venvs", "wheel", "bin", "python")
    for python in (sys.executable, *([own] if own.exists() else [])):
        found = subprocess.run([python, "-c", "import build, scikit_build_core"], capture_output=True, check=False)
        if found.returncode == 0:
            return python
    print("no Python with build and scikit-build-core: python3 -m venv .assay/venvs/wheel; "
          ".assay/venvs/wheel/bin/pip install -r tests/package/build_requirements.txt")
    return None


def read_by_build(root, build):
    """The files below `root`, and not below `build`, that the program is made of, relative to `root`."""
    inputs = set(printed("ninja", "-C", build, "-t", "inputs", "assay", "build.ninja").split("\n"))
    reported, headers = set(), printed("ninja", "-C", build, "-t", "deps")
    for block in headers.split("\n\n"):
        output, _, files = block.partition(":")
        if output.strip() in inputs:
            reported.update(re.findall(r"^ {4}(.+)$", files, re.MULTILINE))
    assert reported, "Ninja knows no headers: was the program built there?"
    below = set()
    for name in inputs | reported:
        path = Path(os.path.normpath(os.path.join(build, name)))
        if path.is_file() and path.is_relative_to(root) and not path.is_relative_to(build):
            below.add(str(path.relative_to(root)))
    return below


def installed(build, folder):
    """What an installation copies out of the tree, relative to its root: as share/assay and the Python package mirror it."""
    printed("cmake", "--install", build, "--component", "program", "--prefix", folder)
    share = Path(folder, "share", "assay")
    made = {"sbom.cdx.json"}  # by the installation itself
    return {str(file.relative_to(share)) for file in share.rglob("*") if file.is_file() and file.name not in made}


def main(root, build):
    python = builder(root)
    if python is None:
        return 77
    with tempfile.TemporaryDirectory() as name:
        printed(python, "-m", "build", "--no-isolation", "--sdist", "--outdir", name, root)
        sdist, = Path(name).glob("*.tar.gz")
        with tarfile.open(sdist) as archive:
            held = {member.name.partition("/")[2] for member in archive if member.isfile()}
        sources, copied = read_by_build(root, build), installed(build, Path(name, "installed"))
        lacks = sorted((sources | copied) - held)
        assert not lacks, f"{sdist.name} lacks {', '.join(lacks)}: see sdist.exclude in pyproject.toml"
        print(f"{sdist.name}: {len(held)} files, with {len(sources)} that a build reads and {len(copied)} that are installed")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(os.path.abspath, sys.argv[1:3])))
