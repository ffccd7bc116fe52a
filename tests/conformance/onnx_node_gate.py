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

PASSES = {"node": 857, "pytorch-converted": 82, "pytorch-operator": 35, "simple": 7, "newest": 1787, "light": 9}
CASES = {"node": 932, "pytorch-converted": 82, "pytorch-operator": 35, "simple": 23, "newest": 1884, "light": 9}
# Written by tests/reference/onnx_node_data.py; counted where they are there.
OPTIONAL = {"newest", "light"}


def main():
    program, database = sys.argv[1:]
    run = subprocess.run([program, "run", "onnx-node", "--json", "--db", database], capture_output=True, text=True)
    report = json.loads(run.stdout)
    groups = collections.defaultdict(collections.Counter)
    absent = set()
    for result in report["results"]:
        group = result["case"].split("group=")[1].split(",")[0]
        if ",case=" in result["case"]:
            groups[group][result["verdict"]] += 1
            continue
        absent.add(group)
        print(f"{group} is not there: {result['reason']}")
        if group not in OPTIONAL:
            print("skipped")
            sys.exit(77)
    for group, verdicts in groups.items():
        print(group, sum(verdicts.values()), dict(verdicts))
    wrong = []
    for group in CASES.keys() - absent:
        if groups[group].total() != CASES[group]:
            wrong.append(f"{group}: {groups[group].total()} cases, expected {CASES[group]}")
        if groups[group]["pass"] < PASSES[group]:
            wrong.append(f"{group}: {groups[group]['pass']} pass, {PASSES[group]} did")
    wrong += [f"{result['case']}: {result['verdict']}: {result['reason']}" for result in report["results"]
              if result["gate"] == "red"]
    wrong += report["unused_expectations"]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
