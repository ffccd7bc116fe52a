#!/usr/bin/env python3
"""The bill of materials names what the program is made of, and is the same each time: sbom.py TOOLS BUILD"""

import json
import subprocess
import sys


def bill(tools, build):
    done = subprocess.run([sys.executable, f"{tools}/sbom.py", build], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print(done.stderr)
        sys.exit(77)
    assert done.returncode == 0, done.stderr
    return done.stdout


text = bill(*sys.argv[1:])
assert text == bill(*sys.argv[1:]), "it differs from call to call"
whole = json.loads(text)
parts = {part["name"]: part for part in whole["components"]}
for name in ("libonnx-dev", "libprotobuf-dev", "libsqlite3-dev", "libssl-dev", "nlohmann-json3-dev", "libcli11-dev", "libfmt-dev", "uplot"):
    assert name in parts, f"{name} is not in it: {sorted(parts)}"
    assert parts[name]["version"] and parts[name]["licenses"], parts[name]
assert "libgtest-dev" not in parts, "the program isn't made of what its tests are"
refs = [part["bom-ref"] for part in whole["components"]]
assert len(refs) == len(set(refs)) and whole["dependencies"][0]["dependsOn"] == refs
assert (whole["bomFormat"], whole["specVersion"]) == ("CycloneDX", "1.5")
