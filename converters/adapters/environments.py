"""An environment of a converter, and pip in it."""

import re
import subprocess
import sys
from pathlib import Path

PARTIAL = ".partial-"  # begins the name of an environment that isn't complete
SITE_PACKAGES = Path("lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")


class Failed(Exception):
    """What can't be installed, and why."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def read_pins(file):
    """The requirements that a file lists, a line each."""
    return [line.strip() for line in file.read_text().splitlines() if line.strip() and not line.startswith("#")]


def package_name(requirement):
    """The name in a requirement, in the one spelling that compares."""
    return re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", requirement)[0]).lower()


def pip_install(environment, *words):
    """Runs pip there, whose messages go to standard error; Failed has its last error."""
    pip = [environment / "bin" / "python", "-m", "pip"]
    command = [*pip, "install", "--disable-pip-version-check", "--no-input", *words]
    say("$ pip " + " ".join(command[3:]))
    errors = []
    with subprocess.Popen(command, stdout=sys.stderr, stderr=subprocess.PIPE, text=True) as done:
        for line in done.stderr:
            say(line.rstrip())
            if line.startswith("ERROR: "):
                errors.append(line.removeprefix("ERROR: ").strip())
    if done.returncode != 0:
        raise Failed("pip: " + (errors[-1] if errors else f"exit status {done.returncode}, its messages are above"))


def freeze(environment, parts=()):
    """Writes down what is installed, parts beside pip's packages too; an environment without this file isn't complete."""
    command = [environment / "bin" / "python", "-m", "pip", "freeze"]
    packages = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    (environment / "packages.txt").write_text(packages + "".join(f"{part}\n" for part in parts))
