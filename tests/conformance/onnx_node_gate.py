#!/usr/bin/env python3
"""Runs suite onnx-node and checks that no case passes less than it did.

usage: onnx_node_gate.py ASSAY_PROGRAM DATABASE

PASSES holds the number of cases measured to pass, by group; more is no failure, but should be written down here. What
does not pass is in a category (`unsupported`), stands among the suite's expected failures, or is red. Exit status 77
(skipped) where the test data is not installed.
"""
import collections
import json
import subprocess
import sys

PASSES = {"node": 707, "pytorch-converted": 82, "pytorch-operator": 35, "simple": 6}
CASES = {"node": 932, "pytorch-converted": 82, "pytorch-operator": 35, "simple": 23}
# Operators that the reference lacks: red in the suite, and no more than these.
MISSING = 158


def main():
    program, database = sys.argv[1:]
    run = subprocess.run([program, "run", "onnx-node", "--json", "--db", database], capture_output=True, text=True)
    report = json.loads(run.stdout)
    groups = collections.defaultdict(collections.Counter)
    for result in report["results"]:
        group = result["case"].split("group=")[1].split(",")[0]
        if ",case=" not in result["case"]:
            if group in CASES:
                print(f"skipped: {result['reason']}")
                sys.exit(77)
            continue
        groups[group][result["verdict"]] += 1
    for group, verdicts in groups.items():
        print(group, sum(verdicts.values()), dict(verdicts))
    wrong = [f"{group}: {groups[group]['pass']} pass, {wanted} did" for group, wanted in PASSES.items()
             if groups[group]["pass"] < wanted]
    wrong += [f"{group}: {groups[group].total()} cases, expected {count}" for group, count in CASES.items()
              if groups[group].total() != count]
    red = [result for result in report["results"]
           if result["gate"] == "red" and result["case"].split("group=")[1].split(",")[0] in CASES]
    missing = [result for result in red if "the reference has no operator" in result["reason"]]
    wrong += [f"{result['case']}: {result['verdict']}: {result['reason']}" for result in red if result not in missing]
    if len(missing) > MISSING:
        wrong.append(f"{len(missing)} cases need an operator that the reference lacks, {MISSING} did")
    wrong += report["unused_expectations"]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
