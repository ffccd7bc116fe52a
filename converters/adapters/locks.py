#!/usr/bin/env python3
"""What an environment is installed from, by checksum: locks/ENVIRONMENT.txt pins every package of it, and locks/sha256.txt
has the checksums of each package's files. pip takes nothing else then (--require-hashes, --no-deps).

locks.py ENVIRONMENT…: writes down what these environments, folders that install.py made, hold now; checksums come from
the package index that pip is configured for. Of a package's files those count that CPython 3.10 to 3.14 on Linux can
install, or its source archive where there is no other.
"""

import ensurepip
import html.parser
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

from environments import SITE_PACKAGES, Failed, package_name, pip_install, read_pins, say

LOCKS = Path(__file__).resolve().parent / "locks"
CHECKSUMS = "sha256.txt"  # "NAME==VERSION SHA256 …", sorted: what several environments have stands there once
SUITS = re.compile(r"-(?:py2\.py3|py3|cp3(?:1[0-4]|[2-9]))-(?:none|abi3|cp31[0-4])-"
                   r"(?:any|(?:many)?linux[0-9a-z_.]*_(?:x86_64|aarch64)(?:\.[0-9a-z_.]*)?)\.whl$")


def read_checksums(folder=LOCKS):
    """{"NAME==VERSION": [SHA256, …]}"""
    lines = read_pins(folder / CHECKSUMS) if (folder / CHECKSUMS).is_file() else []
    return {pin: sums for pin, *sums in map(str.split, lines)}


def locked(environment, folder=LOCKS):
    """Requirements with their checksums, a line each, as pip reads them; None where this environment has no lock.

    Errors   Failed, for a pin without checksums: the lock isn't whole.
    """
    file = folder / f"{environment}.txt"
    if not file.is_file():
        return None
    checksums = read_checksums(folder)
    lines = []
    for pin in read_pins(file):
        if pin not in checksums:
            raise Failed(f"{file.name} pins {pin}, which {CHECKSUMS} has no checksum of")
        lines.append(" ".join([pin, *(f"--hash=sha256:{each}" for each in checksums[pin])]))
    return lines


def pip_install_locked(environment, title, *words, unlocked=False):
    """Runs pip for the environment that will be called `title`: by its lock, or by `words` where it has none, which is said.

    Errors   Failed, with pip's last error.
    """
    lines = None if unlocked else locked(title)
    if lines is None:
        say(f"{title}: " + ("--unlocked" if unlocked else "no lock is kept for this version") +
            ": pip takes what the package index has now, by no checksums of ours")
        pip_install(environment, *words)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()
        try:
            pip_install(environment, "--require-hashes", "--no-deps", "-r", file.name)
        except Failed as failure:
            raise Failed(f"{failure}\nThe lock locks/{title}.txt holds for CPython 3.10 to 3.14 on Linux. A checksum that "
                         "differs means that the index has another file than the one that was tried; --unlocked takes it "
                         "all the same") from failure


def index_url():
    """The package index that pip is configured for."""
    said = subprocess.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"],
                          capture_output=True, text=True, check=False).stdout.strip()
    if os.environ.get("PIP_INDEX_URL") or said:
        return os.environ.get("PIP_INDEX_URL") or said
    from pip._internal.models.index import PyPI
    return PyPI.simple_url


class _Links(html.parser.HTMLParser):
    """The files of a package's page: name and SHA-256."""

    def __init__(self):
        super().__init__()
        self.files = {}

    def handle_starttag(self, tag, attrs):
        target = urllib.parse.urlparse(dict(attrs).get("href") or "")
        if tag == "a" and target.fragment.startswith("sha256="):
            self.files[urllib.parse.unquote(target.path.rsplit("/", 1)[1])] = target.fragment.removeprefix("sha256=")


def _files(name):
    with urllib.request.urlopen(f"{index_url().rstrip('/')}/{name}/", timeout=120) as page:
        links = _Links()
        links.feed(page.read().decode())
        return links.files


def checksums_of(pin):
    """Of the files of NAME==VERSION. Errors   Failed, where the index has none that suits."""
    name, version = pin.split("==")
    spelt = re.sub(r"[-_.]+", "[-_.]+", re.escape(package_name(name)).replace(r"\-", "-"))
    own = re.compile(rf"{spelt}-{re.escape(version)}(?P<rest>-.*\.whl|\.tar\.gz|\.zip)$", re.IGNORECASE)
    files = {file: checksum for file, checksum in _files(package_name(name)).items() if own.match(file)}
    chosen = {checksum for file, checksum in files.items() if SUITS.search(file)} or {
        checksum for file, checksum in files.items() if not file.endswith(".whl")}
    if not chosen:
        raise Failed(f"the index has no file of {pin} for CPython on Linux; it has: {', '.join(files) or 'none'}")
    return sorted(chosen)


def installed(environment):
    """The pins of what an environment's own folder holds, without its layers' and what Python itself put there."""
    python = environment / "bin" / "python"
    listed = subprocess.run([python, "-m", "pip", "list", "--format=freeze", "--path", environment / SITE_PACKAGES],
                            capture_output=True, check=True, text=True).stdout.split()
    bundled = {f"{project[0]}=={project[1]}" for project in ensurepip._PROJECTS}
    pins = {f"{package_name(pin)}=={pin.partition('==')[2]}" for pin in listed}
    return sorted(pin for pin in pins - bundled if not pin.startswith("pip=="))


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    checksums = read_checksums()
    for environment in map(Path, sys.argv[1:]):
        pins = installed(environment)
        for pin in pins:
            if pin not in checksums:
                checksums[pin] = checksums_of(pin)
        (LOCKS / f"{environment.resolve().name}.txt").write_text("".join(f"{pin}\n" for pin in pins))
        (LOCKS / CHECKSUMS).write_text("".join(f"{' '.join([pin, *sums])}\n" for pin, sums in sorted(checksums.items())))
        say(f"{environment.resolve().name}: {len(pins)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
