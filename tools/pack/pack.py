#!/usr/bin/env python3
"""Makes a pack of what a plan names: pack.py PLAN.json

The plan comes from `assay pack`, which says what is packed (harness/cli/commands/pack.cpp); docs/pack.md tells what a pack is.
The packed folder is put together beside the target with hard links, each converter is asked there who it is, and the
whole is compressed and cut into parts.
"""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "converters" / "adapters"))
sys.dont_write_bytecode = True  # what is linked into a pack stays as it is

from install import describe
from layers import Failed, say
from libraries import is_elf, loader_of, system_libraries
from parts import write_parts
from unpacker import make_unpacker

# Of the standard library: what serves development and windows alone.
NOT_OF_STANDARD_LIBRARY = {"test", "idlelib", "tkinter", "turtledemo", "ensurepip", "site-packages", "dist-packages"}
NOT_OF_MODULES = re.compile(r"(_tkinter|_test\w+|_ctypes_test|xxlimited\w*|xxsubtype)\.")
# Of an environment: it is complete and nobody installs anything there. Names of folders directly in site-packages.
NOT_OF_ENVIRONMENT = {"pip", "wheel"}
NEVER = {"__pycache__", "tests"}
NEVER_SUFFIXES = (".a", ".pyc", ".pyo")
# From this size on a file is compared to the others: two environments may have the same libraries.
LARGE_BYTES = 1 << 20
# The archive begins with what changes least: a pack made again after a fix then shares its first parts.
ORDER = ["pythons", "venvs", "lib"]

FACTS_OF_INTERPRETER = """
import json, sys, sysconfig
print(json.dumps({
    "version": ".".join(map(str, sys.version_info[:3])), "prefix": sys.base_prefix,
    "program": sys._base_executable, "library": sysconfig.get_config_var("INSTSONAME"),
    "library_folder": sysconfig.get_config_var("LIBDIR"), "shared": bool(sysconfig.get_config_var("Py_ENABLE_SHARED")),
    "folders": [sysconfig.get_path(key, vars={"base": sys.base_prefix, "platbase": sys.base_exec_prefix,
                                              "installed_base": sys.base_prefix,
                                              "installed_platbase": sys.base_exec_prefix})
                for key in ("stdlib", "platstdlib")]}))
"""


class Stage:
    """The packed folder while it is put together."""

    def __init__(self, root):
        self.root = root
        self.sources = set()  # real paths of all files that are in it
        self.programs = []  # those of them that the loader loads, where they lie now
        self.large = {}  # size and mode of the large ones: where each of unlike contents is in the pack
        self.bytes = 0

    def add(self, source, path):
        """Adds one file under a path of the pack; links are followed. The archive holds one inode once."""
        source, target = Path(os.path.realpath(source)), self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        twin = self.twin(source, target)
        try:
            os.link(twin or source, target)
        except OSError:  # on another file system, or not ours to link
            shutil.copy2(source, target)
        self.sources.add(str(source))
        self.bytes += 0 if twin else source.stat().st_size
        if (source.stat().st_mode & 0o100 or ".so" in source.name) and is_elf(source):
            self.programs.append(source)

    def twin(self, source, target):
        """A large file of the pack with the contents of this one: what two environments have is packed once."""
        state = source.stat()
        if state.st_size < LARGE_BYTES:
            return None
        unlike = self.large.setdefault((state.st_size, state.st_mode & 0o100), [])
        earlier = next((other for other in unlike if filecmp.cmp(source, other, shallow=False)), None)
        if earlier is None:
            unlike.append(target)
        return earlier

    def add_folder(self, source, path, leave_out=frozenset()):
        """Adds what lies below a folder. leave_out: names of files and folders directly in it."""
        source = Path(source)
        for folder, folders, files in os.walk(source):
            here = Path(folder)
            outer = leave_out if here == source else frozenset()
            linked = [name for name in folders if (here / name).is_symlink()]
            folders[:] = sorted(name for name in folders if name not in NEVER | outer and name not in linked)
            for name in sorted(files):
                if name not in outer and not name.endswith(NEVER_SUFFIXES) and (here / name).exists():
                    self.add_entry(here / name, path / here.relative_to(source) / name, source)
            for name in sorted(linked):
                if name not in outer:
                    self.add_entry(here / name, path / here.relative_to(source) / name, source)

    def add_entry(self, entry, path, below):
        """Adds a file, or a link: as a link where it stays below the folder that is packed, else what it leads to."""
        target = Path(os.path.realpath(entry))
        if not entry.is_symlink():
            self.add(entry, path)
        elif target.is_relative_to(below) and not os.path.isabs(os.readlink(entry)):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).symlink_to(os.readlink(entry))
        elif target.is_dir():
            self.add_folder(target, path)
        elif target.exists():
            self.add(target, path)

    def write(self, path, text, executable=False):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755 if executable else 0o644)
        self.bytes += len(text.encode())


def template(name, **words):
    text = (HERE / name).read_text()
    for key, word in words.items():
        text = text.replace(f"@{key}@", word)
    return text


def facts_of(python):
    """What the interpreter behind an environment says of itself."""
    done = subprocess.run([python, "-I", "-c", FACTS_OF_INTERPRETER], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{python} doesn't run: {done.stderr.strip()}")
    return json.loads(done.stdout)


def add_interpreter(stage, facts):
    """Adds an interpreter with its standard library; returns its name below pythons/."""
    name = facts["version"]
    home = Path("pythons", name)
    if (stage.root / home).exists():
        return name
    prefix = Path(facts["prefix"])
    for folder in dict.fromkeys(facts["folders"]):
        to, modules = home / Path(folder).relative_to(prefix), Path(folder, "lib-dynload")
        names = {entry for entry in os.listdir(folder) if entry.startswith("config-")}
        stage.add_folder(folder, to, NOT_OF_STANDARD_LIBRARY | names | {modules.name})
        if modules.is_dir():
            tests = {entry for entry in os.listdir(modules) if NOT_OF_MODULES.match(entry)}
            stage.add_folder(modules, to / modules.name, tests)
    if facts["shared"]:
        stage.add(Path(facts["library_folder"], facts["library"]), home / "lib" / facts["library"])
    stage.add(facts["program"], home / "bin" / "python")
    return name


def needs_python(file):
    """True for a script of the environment's own interpreter, which carries that one's absolute path."""
    with open(file, "rb") as stream:
        return b"python" in stream.readline(256) and not is_elf(file)


def add_environment(stage, folder):
    """Adds a converter's environment or a layer: packages.txt, its packages, and a python that starts ours."""
    settings = dict(re.split(r"\s*=\s*", line, maxsplit=1)
                    for line in (folder / "pyvenv.cfg").read_text().splitlines() if "=" in line)
    if settings.get("include-system-site-packages") == "true":
        raise Failed(f"{folder.name} uses the system's own packages and can't be packed")
    facts = facts_of(folder / "bin" / "python")
    interpreter = add_interpreter(stage, facts)
    home = Path("venvs", folder.name)
    minor = ".".join(facts["version"].split(".")[:2])
    packages = Path("lib", f"python{minor}", "site-packages")
    for link in sorted((folder / packages).glob("*.pth")):
        for line in link.read_text().splitlines():
            if line.startswith("/"):
                raise Failed(f"{folder.name}: {link.name} refers to {line}, which isn't packed")
    pip = {entry for entry in os.listdir(folder / packages)
           if re.split(r"-\d", entry)[0].lower() in NOT_OF_ENVIRONMENT}
    stage.add_folder(folder / packages, home / packages, pip)
    for entry in sorted(folder.iterdir()):
        if entry.name in ("packages.txt", "layers.txt"):
            stage.add(entry, home / entry.name)
        elif entry.name not in ("lib", "lib64", "bin", "include", "pyvenv.cfg"):
            # What an installation put beside: a converter's libraries, say.
            stage.add_folder(entry, home / entry.name) if entry.is_dir() else stage.add(entry, home / entry.name)
    for entry in sorted((folder / "bin").iterdir()):
        if entry.is_file() and not entry.name.startswith(("python", "activate", "Activate")):
            if not needs_python(entry):
                stage.add(entry, home / "bin" / entry.name)
    stage.write(home / "bin" / "python", template("python.sh", PYTHON=interpreter), executable=True)
    for name in ("python3", f"python{minor}"):
        (stage.root / home / "bin" / name).symlink_to("python")
    stage.write(home / "python.txt", interpreter + "\n")


def add_program(stage, plan):
    """Adds Assay itself with what it reads at run time."""
    home = Path(plan["home"])
    stage.add(plan["program"], Path("bin", "assay"))
    for name in ("cases", "suites", "converters/adapters"):
        if (home / name).is_dir():
            stage.add_folder(home / name, Path("home") / name)
    # The converters' pages have the words of a kit for their makers.
    pages = [Path("docs", "converters", f"{converter['name']}.md") for converter in plan["converters"]]
    for page in (Path("docs", "glossary.md"), *dict.fromkeys(pages)):
        if (home / page).is_file():
            stage.add(home / page, Path("home") / page)
    for model in plan["models"]:
        stage.add(Path(plan["models_folder"], model), Path("home", ".assay", "models", model))


def add_libraries(stage, program):
    """Adds the loader, and what the packed programs and libraries take from the system."""
    loader = loader_of(program)
    if loader is None:
        raise Failed(f"{program} isn't linked dynamically; there is nothing to carry it with")
    beside = set(stage.sources)
    libraries, missing = system_libraries(stage.programs, beside)
    for name, file in sorted(libraries.items()):
        stage.add(file, Path("lib", name))
    if not (stage.root / "lib" / loader.name).exists():
        stage.add(loader, Path("lib", loader.name))
    # Here a library that stands beside the one that asks for it comes first, there the packed lib/ does.
    for file in sorted(beside):
        if os.path.basename(file) in libraries:
            say(f"the system's {os.path.basename(file)} will be loaded there in front of {file}")
    if missing:
        say("linked to but not on this machine, and so not packed: " + ", ".join(missing))
    return loader.name


def check(stage, plan):
    """Asks each packed converter who it is; it must say what the installed one says."""
    words = [plan["run"][0]] if plan["run"] else []
    done = subprocess.run([stage.root / "assay", "list", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"the packed program doesn't run: {done.stderr.strip()}")
    here, there = (Path(home, "converters", "adapters") for home in (plan["home"], stage.root / "home"))
    for converter in plan["converters"]:
        name = f"{converter['name']}-{converter['version']}"
        adapter = json.loads((here / converter["name"] / "adapter.json").read_text())
        installed = Path(plan["environments_folder"], name, "bin", "python")
        try:
            expected = describe(adapter, installed, here)
        except Failed as reason:
            say(f"{name} doesn't run on this machine, so that nobody has seen its pack run: {reason}")
            continue
        actual = describe(adapter, stage.root / "venvs" / name / "bin" / "python", there,
                          {"PYTHONDONTWRITEBYTECODE": "1"})
        if actual != expected:
            raise Failed(f"{name} describes itself as {expected}, but packed as {actual}")


def make(plan, stage):
    add_program(stage, plan)
    for name in plan["environments"]:
        say(f"packing {name} …")
        add_environment(stage, Path(plan["environments_folder"], name))
    loader = add_libraries(stage, plan["program"])
    stage.write(Path("assay"), template("assay.sh", LOADER=loader), executable=True)
    for name in plan["environments"]:
        python = stage.root / "venvs" / name / "bin" / "python"
        text = python.read_text().replace("@LOADER@", loader)
        python.write_text(text)
    stage.write(Path("run.words"), "".join(word + "\n" for word in plan["run"]))
    stage.write(Path("plan.json"), json.dumps({key: plan[key] for key in ("converters", "environments", "run")}) + "\n")
    check(stage, plan)
    for left in (stage.root / "venvs").glob("*/pyvenv.cfg"):
        left.unlink()  # names this folder; the first start elsewhere writes another
    (stage.root / "where.txt").unlink(missing_ok=True)


def main():
    plan = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(plan["folder"])
    begin = time.monotonic()
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        (scratch / "stage").mkdir()
        stage = Stage(scratch / "stage")
        make(plan, stage)
        unpacker = make_unpacker(scratch, plan["part_bytes"])
        say(f"compressing {stage.bytes / 1e6:.0f} MB with {'zstd' if unpacker else 'xz'} …")
        parts = write_parts(stage.root, scratch / "parts", ORDER, plan["part_bytes"], plan["level"], HERE / "run.sh",
                            stage.bytes, unpacker)
        if folder.is_dir():
            folder.rmdir()
        (scratch / "parts").rename(folder)
    except (Failed, OSError) as failure:
        say(f"pack: {failure}")
        return 3
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    total = sum(size for _, size in parts)
    print(f"{folder}: {len(parts)} parts, {total / 1e6:.1f} MB of {stage.bytes / 1e6:.1f} MB, "
          f"in {time.monotonic() - begin:.0f} s")
    print(f"there: sh {parts[0][0]}/run.sh FOLDER [-- OPTIONS OF assay run]; back here: ./assay import-results "
          "FOLDER/results.db.gz")
    return 0


if __name__ == "__main__":
    sys.exit(main())
