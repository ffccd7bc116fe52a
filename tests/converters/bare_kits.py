"""Kits show their defects in an environment that holds what their readers have: bare_kits.py FOLDER [NAME …].

FOLDER is one that `assay kits` made. For each maker a new environment gets the newest releases of the packages that the kit's
ISSUE.md names, and nothing of the adapter's; each repro.py has to end with 1 there. Exit code 1 where one ends otherwise, 77 where
packages can't be had.

bare_kits.py --of ASSAY NAME CASE …: of kits that are made of these cases first; 77 as well where the converter isn't installed.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "converters" / "adapters" / "kit"))

from needed import packages  # noqa: E402

ADAPTERS = Path(__file__).resolve().parents[2] / "converters" / "adapters"
SECONDS_ALLOWED = 600  # of one repro.py
SHOWN = 5  # last lines of what one prints
SKIPPED = 77


def call(*words, **how):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ASSAY"))}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, env=environment, **how)


def environment(place, names):
    """Its interpreter, or None where pip gets no packages."""
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    done = call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *names)
    if done.returncode:
        print(done.stderr.strip()[-400:])
        return None
    return python


def ends_otherwise(python, kit):
    """What a repro.py printed that doesn't end with 1, on a copy: nothing that it writes stays."""
    with tempfile.TemporaryDirectory() as place:
        copy = shutil.copytree(kit, Path(place, "kit"))
        try:
            done = call(python, copy / "repro.py", timeout=SECONDS_ALLOWED)
        except subprocess.TimeoutExpired:
            return f"no end within {SECONDS_ALLOWED} s"
    said = "\n    ".join((done.stdout + done.stderr).strip().splitlines()[-SHOWN:])
    return "" if done.returncode == 1 else f"ends with {done.returncode}\n    {said}"


def of_maker(folder, maker):
    """Exit code of all kits of one maker."""
    kits = sorted(file.parent for file in Path(folder, maker).glob("*/repro.py"))
    if not kits:
        print(f"{maker}: no kit in {folder}")
        return 1
    product = re.search(r"^#: package (.*)$", (ADAPTERS / maker / "kit.py.in").read_text(encoding="utf-8"), re.MULTILINE)[1]
    names = list(dict.fromkeys(name for kit in kits for name in packages(product, (kit / "repro.py").read_text(encoding="utf-8"))))
    with tempfile.TemporaryDirectory() as place:
        python = environment(Path(place), names)
        if python is None:
            print(f"{maker}: {', '.join(names)} can't be installed")
            return SKIPPED
        listed = dict(re.findall(r"^(\S+)==(\S+)$", call(python, "-m", "pip", "freeze").stdout, re.MULTILINE))
        have = {name.lower().replace("_", "-"): version for name, version in listed.items()}
        failed = {kit.name: said for kit in kits if (said := ends_otherwise(python, kit))}
    print(f"{maker}: {len(kits) - len(failed)} of {len(kits)} kits show their defect with "
          + ", ".join(f"{name} {have.get(re.split('[<>=!~]', name.lower())[0], '?')}" for name in names))
    for name, said in failed.items():
        print(f"  {name}: {said}")
    return 1 if failed else 0


def of_cases(assay, maker, cases):
    listed = json.loads(subprocess.run([assay, "converters", "list", "--json"], capture_output=True, text=True, check=True).stdout)
    if not next(each["installed"] for each in listed["converters"] if each["name"] == maker):
        print(f"{maker} is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as place:
        made = subprocess.run([assay, "kits", place, maker, *(word for case in cases for word in ("--only", case))], capture_output=True,
                              text=True, check=False)
        if made.returncode:
            print(made.stdout, made.stderr)
            return 1
        without = [row for row in json.loads(Path(place, "kits.json").read_text(encoding="utf-8"))[maker] if "severity" not in row]
        for row in without:
            print(f"{maker}: no kit of {row['defect']}: {row['why']}")
        return 1 if without else of_maker(place, maker)


def main(*words):
    if words[0] == "--of":
        return of_cases(words[1], words[2], words[3:])
    makers = words[1:] or sorted(path.name for path in Path(words[0]).iterdir() if any(path.glob("*/repro.py")))
    codes = [of_maker(words[0], maker) for maker in makers]
    return 1 if 1 in codes else max(codes, default=1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
