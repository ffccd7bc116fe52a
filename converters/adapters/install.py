#!/usr/bin/env python3
"""Installs a released converter into a virtual environment of its own: install.py NAME[==VERSION] --root DIR [--unlocked]

The environment is DIR/NAME-VERSION. The default version and the packages beside it are pinned in the adapter's
requirements.txt; another version takes the newest packages that fit it, or those that adapter.json lists as
`companions` for versions before a given one. What was installed is written down in packages.txt. An environment that
is there already is left as it is. Progress goes to standard error, one JSON object to standard output.

Every package is taken by the checksums in locks/ (locks.py), where this version has a lock; where it has none, that is said.

A version with packages of its own lists them in requirements-VERSION.txt beside it. What several converters bring and
what is large stands in layers (layers.py), which adapter.json names; what pip can't install, in fetched-VERSION.json (fetched.py).
"""

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

from environments import PARTIAL, Failed, freeze, read_pins, say
from fetched import add_fetched, names, read_fetched, run_with_its_python
from layers import add_layers, install_layer
from locks import pip_install_locked

ADAPTERS = Path(__file__).resolve().parent
DESCRIBE = b'{"protocol":1,"id":1,"do":"describe"}\n{"protocol":1,"id":2,"do":"quit"}\n'
START_TIMEOUT_S = 300  # some converters compile at their first import


def load_adapter(name):
    """The adapter's adapter.json."""
    file = ADAPTERS / name / "adapter.json"
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name) or not file.is_file():
        known = ", ".join(sorted(path.parent.name for path in ADAPTERS.glob("*/adapter.json")))
        raise Failed(f"there is no adapter \"{name}\"; there are: {known}")
    return json.loads(file.read_text())


def pinned_requirements(adapter):
    return read_pins(ADAPTERS / adapter["name"] / adapter["requirements"])


def default_version(adapter):
    prefix = adapter["package"] + "=="
    return next(line.removeprefix(prefix) for line in pinned_requirements(adapter) if line.startswith(prefix))


def numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)]


def requirements(adapter, version):
    """What pip is asked for."""
    pinned = pinned_requirements(adapter)
    if version == default_version(adapter):
        return pinned
    own = ADAPTERS / adapter["name"] / f"requirements-{version}.txt"
    if own.is_file():
        return read_pins(own)
    package = f"{adapter['package']}=={version}"
    for companions in adapter.get("companions", []):
        if numbers(version) < numbers(companions["before"]):
            return [package, *companions["requirements"]]
    names = [re.split(r"[=<>~!\s]", line)[0] for line in pinned]
    return [package, *(name for name in names if name != adapter["package"])]


def describe(adapter, python, adapters=ADAPTERS, environment=None):
    """Asks the installed converter who it is: the proof that it works. environment: added to ours."""
    folder = adapters / adapter["name"]
    command = [word.replace("{python}", str(python)) for word in adapter["command"]]
    try:
        done = subprocess.run(command, cwd=folder, input=DESCRIBE, capture_output=True, timeout=START_TIMEOUT_S,
                              env={**os.environ, **(environment or {})})
    except subprocess.TimeoutExpired as late:
        raise Failed(f"the installed converter doesn't describe itself within {START_TIMEOUT_S} s") from late
    answer = done.stdout.splitlines()
    described = json.loads(answer[0]) if answer else {}
    if described.get("status") != "ok":
        raise Failed("the installed converter doesn't describe itself; it says:\n" + done.stderr.decode()[-2000:])
    return described


def make_home(adapter, folder):
    """What the converter makes in its home at its first start, such as libraries that it compiles: in a sandbox its home
    begins with a copy of this one. In the place that it has for good, since compiled files name it."""
    home, partial = folder / "home", folder / f"{PARTIAL}home"
    if home.is_dir():
        return
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    places = {name: str(partial / place) for name, place in
              {"HOME": "", "XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share",
               "XDG_STATE_HOME": ".local/state"}.items()}
    describe(adapter, folder / "bin" / "python", environment=places)
    partial.rename(home)


def install(adapter, version, root, unlocked=False):
    """Builds the environment under another name and renames it: what has its name is complete."""
    folder = root / f"{adapter['name']}-{version}"
    python = folder / "bin" / "python"
    if (folder / "packages.txt").is_file():
        say(f"{folder.name} is there already")
        make_home(adapter, folder)
        return folder, True
    fetched = read_fetched(ADAPTERS / adapter["name"], version)
    shutil.rmtree(folder, ignore_errors=True)
    partial = root / f"{PARTIAL}{folder.name}"
    layers = [install_layer(layer, root, unlocked) for layer in adapter.get("layers", [])]
    say(f"installing {folder.name} …")
    venv.create(partial, with_pip=True, symlinks=True)
    if layers:
        add_layers(partial, layers)
    pip_install_locked(partial, folder.name, *requirements(adapter, version), unlocked=unlocked)
    add_fetched(partial, fetched)
    described = describe(adapter, partial / "bin" / "python")
    if described["version"] != version:
        raise Failed(f"{folder.name} describes itself as version {described['version']}")
    freeze(partial, names(fetched))
    partial.rename(folder)
    assert python.exists()
    make_home(adapter, folder)
    return folder, False


def remove_partial(root):
    """What an installation that failed or was killed has left."""
    for folder in root.glob(f"{PARTIAL}*"):
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("converter", metavar="NAME[==VERSION]")
    parser.add_argument("--root", required=True, type=Path, metavar="DIR", help="folder of the environments")
    parser.add_argument("--unlocked", action="store_true", help="take what the package index has now, by no checksums of ours")
    arguments = parser.parse_args()
    begin = time.monotonic()
    name, _, version = arguments.converter.replace("@", "==").partition("==")
    try:
        adapter = load_adapter(name)
        version = version or default_version(adapter)
        run_with_its_python(read_fetched(ADAPTERS / name, version))
        root = arguments.root.resolve()
        root.mkdir(parents=True, exist_ok=True)
        with open(root / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one installation at a time
            remove_partial(root)
            try:
                folder, cached = install(adapter, version, root, arguments.unlocked)
            finally:
                remove_partial(root)
    except Failed as failure:
        say(f"install: {failure}")
        return 1
    print(json.dumps({
        "name": name,
        "version": version,
        "folder": str(folder),
        "cached": cached,
        "packages": (folder / "packages.txt").read_text().split(),
        "seconds": round(time.monotonic() - begin, 1),
    }))
    return 0


if __name__ == "__main__":
    sys.exit(main())
