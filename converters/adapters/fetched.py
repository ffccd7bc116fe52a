"""Parts of a converter that pip can't install: what an adapter's fetched-VERSION.json lists for that version.

    "python"  "3.11": the only CPython that the version's packages are made for, looked for in the path and among pyenv's
    "maven"   archives by their coordinates, fetched by Maven's own client from where it is configured to look; of each,
              `files` (path in the archive: sha256) go into the folder `into` of the environment's packages
    "alias"   packages under another name: {"tensorrt": "tensorrt_bindings"}
    "like"    nothing of its own: another adapter's of a version, ["tensorrt", "10.6.0"]

Shared libraries that the parts link to and that are nowhere are stood in for, as in layers.py, in the folder of the
parts: each environment has its own.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from environments import SITE_PACKAGES, Failed, say
from layers import stand_in_for_missing_libraries

BLOCK = 1 << 20
ALIAS = "import sys\n\nimport {0}\n\nsys.modules[__name__] = {0}\n"


def read_fetched(folder, version):
    """The adapter's parts of a version; empty where it has none."""
    file = folder / f"fetched-{version}.json"
    parts = json.loads(file.read_text()) if file.is_file() else {}
    if "like" in parts:
        other, its_version = parts["like"]
        return read_fetched(folder.parent / other, its_version)
    return parts


def find_python(wanted):
    """A program that is CPython `wanted`; None where there is none. What pyenv puts into the path only starts versions that
    are chosen, so that a program there may be none."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [Path(folder, f"python{wanted}") for folder in os.get_exec_path()]
    candidates += sorted(pyenv.glob(f"versions/{wanted}.*/bin/python{wanted}"))
    for candidate in filter(Path.is_file, candidates):
        command = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        with contextlib.suppress(OSError):
            if subprocess.run(command, capture_output=True, check=False, text=True).stdout.strip() == wanted:
                return candidate
    return None


def run_with_its_python(parts):
    """Starts this program again with the CPython that the parts need, where it isn't that one."""
    wanted = parts.get("python", "")
    if wanted in ("", f"{sys.version_info.major}.{sys.version_info.minor}"):
        return
    python = find_python(wanted)
    if python is None:
        raise Failed(f"its packages are for CPython {wanted} only, and there is no \"python{wanted}\" here")
    os.execv(python, [python, *sys.argv])


def _fetch(artifact, folder):
    """The archive that Maven coordinates name, copied into a folder."""
    if shutil.which("mvn") is None:
        raise Failed(f"{artifact} comes from a Maven repository: install Maven's client, \"mvn\" (Debian's package maven)")
    command = ["mvn", "-B", "-q", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
    say("$ " + " ".join(command))
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    archives = list(folder.glob("*.jar"))
    if done.returncode != 0 or len(archives) != 1:
        raise Failed(f"Maven doesn't fetch {artifact}; it says:\n{done.stdout[-2000:]}")
    return archives[0]


def _extract(archive, member, target, expected):
    """Writes one file of an archive; Failed where it isn't the expected one."""
    digest = hashlib.sha256()
    try:
        with archive.open(member) as source, open(target, "wb") as file:
            while block := source.read(BLOCK):
                digest.update(block)
                file.write(block)
    except KeyError as missing:
        raise Failed(f"{archive.filename} has no {member}") from missing
    if digest.hexdigest() != expected:
        raise Failed(f"{member}: expected sha256 {expected}, actual {digest.hexdigest()}")


def add_fetched(environment, parts):
    """Puts the parts into an environment, and their coordinates into a list that it keeps."""
    packages = environment / SITE_PACKAGES
    for source in parts.get("maven", []):
        target = packages / source["into"]
        target.mkdir(exist_ok=True)
        scratch = environment / "fetched"
        scratch.mkdir()
        with zipfile.ZipFile(_fetch(source["artifact"], scratch)) as archive:
            for member, digest in source["files"].items():
                say(f"unpacking {Path(member).name} …")
                _extract(archive, member, target / Path(member).name, digest)
        shutil.rmtree(scratch)
        stand_in_for_missing_libraries(target)
    for name, package in parts.get("alias", {}).items():
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text(ALIAS.format(package))


def names(parts):
    """What packages.txt says of them."""
    return [source["artifact"] for source in parts.get("maven", [])]
