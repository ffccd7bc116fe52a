#!/usr/bin/env python3
"""Has assay judge the plain artifacts that quantize.py made: check.py ASSAY DIR [--made-by] [--options] [--show]

Every DIR/CONVERTER/CONFIGURATION/MODEL with a q.onnx is judged by `ASSAY check float.onnx --artifact q.onnx` with its
data; with --made-by, as the converter's whose folder it lies in, with --options by the method that it was made with.
Prints, for each converter and configuration, how many are green, amber and red, how many of the float models' nodes were
judged, and what the red ones say first.
--unjudged lists the other nodes with the reason. --write FILE keeps the verdicts as JSON.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def judge(assay, folder, made_by, stated):
    command = [assay, "check", "float.onnx", "--artifact", "q.onnx", "--calibration", "calibration.npz", "--inputs",
               "inputs.npz", "--json", *(["--made-by", made_by] if made_by else []),
               *(["--options", (folder / "options.json").read_text()] if stated else [])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "ASSAY_NO_BUILD": "1"})
    try:
        result = json.loads(done.stdout)["results"][0]
    except (ValueError, KeyError, IndexError):
        result = {"verdict": "none", "gate": "red", "reason": done.stderr.strip()[-400:], "findings": []}
    return {"folder": str(folder), **{key: result.get(key) for key in (
        "verdict", "gate", "facet", "node", "reason", "made_by", "sqnr_db", "layers", "judged")},
        "findings": [finding["message"] for finding in result["findings"]]}


def judged_text(verdicts):
    counted = [each["judged"] for each in verdicts if each["judged"]]
    judged, nodes = (sum(each[key] for each in counted) for key in ("nodes", "of"))
    return f"{judged} of {nodes} nodes judged ({100 * judged / max(nodes, 1):.2f} %)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("assay", type=Path)
    parser.add_argument("artifacts", type=Path)
    parser.add_argument("--made-by", action="store_true", help="name the converter")
    parser.add_argument("--options", action="store_true", help="state the method of options.json")
    parser.add_argument("--only", default="", help="folders whose path has this in it")
    parser.add_argument("--show", action="store_true", help="every verdict that isn't green")
    parser.add_argument("--unjudged", action="store_true", help="every node that wasn't judged, and why")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    folders = sorted(file.parent for file in arguments.artifacts.glob("*/*/*/q.onnx") if arguments.only in str(file))
    if not folders:
        sys.exit(f"no CONVERTER/CONFIGURATION/MODEL/q.onnx below {arguments.artifacts}")
    name = lambda folder: folder.parent.parent.name if arguments.made_by else ""
    with ThreadPoolExecutor(arguments.jobs) as pool:
        verdicts = list(pool.map(lambda folder: judge(arguments.assay.resolve(), folder, name(folder),
                                                      arguments.options), folders))
    for kind in sorted({Path(each["folder"]).parent for each in verdicts}):
        own = [each for each in verdicts if Path(each["folder"]).parent == kind]
        gates = Counter(each["gate"] for each in own)
        makers = Counter(each["made_by"] for each in own).most_common(4)
        print(f"{kind.parent.name}/{kind.name}: {len(own)} judged, " +
              ", ".join(f"{gates[gate]} {gate}" for gate in ("green", "amber", "red")) + ", " + judged_text(own))
        for maker, count in makers:
            print(f"    {count:3} {maker}")
        for each in own:
            if arguments.show and each["gate"] != "green":
                print(f"  {each['gate']} {Path(each['folder']).name}: {each['verdict']} {each['facet']}: " +
                      " | ".join(each["reason"].splitlines()[:2]))
            for node in each["judged"]["unjudged"] if arguments.unjudged and each["judged"] else []:
                print(f"  {Path(each['folder']).name}: \"{node['node']}\" ({node['op']}): {node['reason']}")
    total = Counter(each["gate"] for each in verdicts)
    print(f"{len(verdicts)} judged: {dict(total)}, {judged_text(verdicts)}")
    if arguments.write:
        arguments.write.write_text(json.dumps(verdicts, indent=1))


if __name__ == "__main__":
    main()
