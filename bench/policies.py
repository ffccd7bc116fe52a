#!/usr/bin/env python3
"""Compares tolerances in use with the judge's layers, on the same faults and the same correct variants.

Runs assay_policies (bench/policies.cpp) over suite `default`, writes what it counted to docs/policies.json, the table
into docs/oracle.md between its markers, and the plot of catch rate against false alarms to docs/policies.svg.

    cmake --build build/release --target assay_policies
    python3 bench/policies.py --program build/release/bench/assay_policies    # needs matplotlib (python3-matplotlib)

--data FILE makes table and plot again from counts that were written before.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- policies: begin, made by bench/policies.py -->", "<!-- policies: end -->"


def measure(program: Path, options: str, kinds: list[str]) -> dict:
    command = [str(program.resolve())] + [word for kind in kinds for word in ("--kind", kind)]
    if options:
        command += ["--options", options]
    environment = {**os.environ, "ASSAY_HOME": str(HOME)}
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def percent(part: int, whole: int) -> str:
    """A share in percent; only what is all or nothing reads 100 or 0."""
    if part in (0, whole):
        return f"{100 * part // whole}"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f}"


def table(data: dict) -> str:
    lines = [f"Measured on suite `{data['suite']}`, {data['cases']} cases, option sets "
             f"{', '.join(f'`{label}`' for label in data['option_sets'])}: {data['judgements']} judgements."]
    for kind, counts in data["kinds"].items():
        faults, pairs, correct = counts["faults"], counts["fault_pairs"], counts["variant_pairs"]
        lines += ["", f"Artifact `{kind}`: {faults} faults, {pairs} pairs of a fault and a case that it concerns; "
                  f"{counts['variants']} correct variants, {correct} pairs.", "",
                  "| policy | faults caught, % | fault × case caught, % | false alarms, % (95 % bound) |",
                  "| --- | ---: | ---: | ---: |"]
        for policy in counts["policies"]:
            bound = 100 * policy["false_alarm_rate_95"]
            lines.append(f"| {policy['name']} | {percent(policy['caught_faults'], faults)} | "
                         f"{percent(policy['caught_pairs'], pairs)} | {percent(policy['false_alarms'], correct)} "
                         f"({bound:.2g}) |")
    return "\n".join(lines)


def plot(data: dict, file: Path) -> None:
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as pyplot
    # The same bytes from the same counts; text stays text.
    matplotlib.rcParams.update({"svg.hashsalt": "assay", "svg.fonttype": "none"})
    kinds = data["kinds"]
    figure, axes = pyplot.subplots(1, len(kinds), figsize=(6.5 * len(kinds), 5.5), sharey=True, squeeze=False)
    for axis, (kind, counts) in zip(axes[0], kinds.items()):
        for number, policy in enumerate(counts["policies"], 1):
            x = 100 * policy["false_alarms"] / counts["variant_pairs"]
            y = 100 * policy["caught_pairs"] / counts["fault_pairs"]
            own = policy["group"] == "assay"
            axis.plot(x, y, "s" if own else "o", color="tab:green" if own else "tab:red",
                      label=f"{number}  {policy['name']}")
            axis.annotate(str(number), (x, y), textcoords="offset points", fontsize=8,
                          xytext=(5, 4) if number % 2 else (-13, 4))
        axis.set_title(f"artifact {kind}")
        axis.set_xlabel("false alarms, % of variant × case")
        axis.set_xscale("symlog", linthresh=0.1)
        axis.set_xlim(-0.02, 300)
        axis.set_ylim(-2, 102)
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("caught, % of fault × case")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="center right", fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0, 1 - 3.3 / figure.get_figwidth(), 1))
    figure.savefig(file, format="svg", metadata={"Date": None})


def write_table(text: str, document: Path) -> None:
    content = document.read_text()
    before, rest = content.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    document.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--program", type=Path, help="the built assay_policies")
    source.add_argument("--data", type=Path, help="counts of an earlier run")
    parser.add_argument("--options", default="", help="only this option set of the suite (default: all)")
    parser.add_argument("--kind", action="append", default=[], help="artifact kind; may be repeated (qdq, opaque)")
    arguments = parser.parse_args()
    if arguments.data:
        data = json.loads(arguments.data.read_text())
    else:
        data = measure(arguments.program, arguments.options, arguments.kind)
        (HOME / "docs/policies.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    write_table(table(data), HOME / "docs/oracle.md")
    plot(data, HOME / "docs/policies.svg")


if __name__ == "__main__":
    main()
