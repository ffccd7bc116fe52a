"""What suites leave out: exclusions.py ROOT.

A case that several suites leave out for one reason is left out by a suite that these select, so that a new case of its kind
touches one file. The whole corpora that every converter's suite leaves out aren't meant.
"""
import collections
import json
import pathlib
import sys

MOST = 3  # suites that leave out one case
WHOLE = {"real", "onnx_node", "cases/reported/*"}


def main(root):
    by_pattern = collections.defaultdict(list)
    for file in sorted(pathlib.Path(root, "suites").glob("*.json")):
        for pattern in json.loads(file.read_text(encoding="utf-8")).get("exclude", []):
            by_pattern[pattern].append(file.stem)
    wrong = [f"{pattern}: left out by {', '.join(suites)}: let a suite leave it out that these select"
             for pattern, suites in sorted(by_pattern.items()) if pattern not in WHOLE and len(suites) > MOST]
    print("\n".join(wrong) or f"{len(by_pattern)} exclusions")
    return 1 if wrong or not by_pattern else 0


sys.exit(main(sys.argv[1]))
