#!/usr/bin/env python3
"""A software bill of materials of the program: sbom.py BUILD_FOLDER [--output FILE]

CycloneDX 1.5, JSON. It lists what the program is made of, from what the build really read: the Debian packages of every
header that Ninja noted for the program's sources and of every library that it is linked to, with their versions and
licences, and what lies in the source tree itself. The same build gives the same bytes. Exit code 77 where Ninja or
dpkg can't be asked.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "assay"


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        print(f"sbom: there is no {command[0]} here, which knows what the program is made of", file=sys.stderr)
        sys.exit(77)
    return done.stdout


def headers(build):
    """The headers outside of the build and the source tree that the program's sources include."""
    files, of_program = set(), False
    for line in output_of("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line.startswith("    ") and of_program:
            files.add(line.strip())
        elif line and not line.startswith(" "):
            of_program = not line.startswith("tests/")
    return {str(Path(file).resolve()) for file in files if file.startswith("/usr/")}


def libraries(build):
    """The libraries that the program's last command links, and those that these load."""
    command = output_of("ninja", "-C", str(build), "-t", "commands", PROGRAM).splitlines()[-1]
    linked = {str(Path(word).resolve()) for word in re.findall(r"(/\S+\.(?:a|so[.0-9]*))(?:\s|$)", command)}
    program = next((path for path in (build / PROGRAM, build / "bin" / PROGRAM) if path.is_file()), None)
    if program is not None:
        linked |= {str(Path(path).resolve()) for path in re.findall(r"=> (/\S+)", output_of("ldd", str(program)))}
    return {path for path in linked if path.startswith(("/usr/", "/lib"))}


def packages(files):
    """The Debian packages that these files belong to: {name: version}."""
    spelt = sorted({path for file in files for path in (file, file.removeprefix("/usr"))})  # dpkg knows one of both
    owners = set()
    for first in range(0, len(spelt), 500):
        for line in output_of("dpkg", "-S", *spelt[first:first + 500]).splitlines():
            owners.update(name.strip() for name in line.rpartition(": /")[0].split(",") if name.strip())
    found = output_of("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}\n", *sorted(owners)) if owners else ""
    return [line.split() for line in found.splitlines()]


def licences(package):
    """The names of the licences in Debian's copyright file, as far as it is in the machine-readable form."""
    file = Path("/usr/share/doc", package, "copyright")
    if not file.is_file():
        return []
    return sorted(set(re.findall(r"^License:\s*(\S.*?)\s*$", file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)))


def component(name, version, purl, names):
    entry = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if names:
        entry["licenses"] = [{"license": {"name": each}} for each in names]
    return entry


def embedded():
    """What lies in the source tree and is others': the charting library of the HTML report."""
    folder = ROOT / "harness" / "report" / "html" / "page" / "uplot"
    text = "".join(file.read_text(encoding="utf-8")[:2000] for file in sorted(folder.glob("*.js")))
    version = re.search(r"v(\d+\.\d+\.\d+)", text)[1]
    return component("uplot", version, f"pkg:npm/uplot@{version}", ["MIT"])


def bill(build):
    version = re.search(r"project\(assay VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    found = packages(headers(build) | libraries(build))
    if not found:
        print("sbom: no Debian package owns what the program is made of", file=sys.stderr)
        sys.exit(77)
    components = [component(name, its_version,
                            f"pkg:deb/debian/{name}@{quote(its_version, safe='~')}?arch={architecture}", licences(name))
                  for name, its_version, architecture in found]
    components.append(embedded())
    components.sort(key=lambda entry: entry["bom-ref"])
    own = f"pkg:generic/assay@{version}"
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "application", "bom-ref": own, "name": "assay", "version": version, "purl": own,
                                       "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": components,
            "dependencies": [{"ref": own, "dependsOn": [entry["bom-ref"] for entry in components]}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help="build folder that holds the program")
    parser.add_argument("--output", type=Path, help="file to write (left out: standard output)")
    arguments = parser.parse_args()
    text = json.dumps(bill(arguments.build), indent=1) + "\n"
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        arguments.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
