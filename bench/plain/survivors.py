#!/usr/bin/env python3
"""Random defects in plain artifacts, and which of those that pass the converter's own habits allow:
survivors.py ASSAY DIR/CONVERTER/CONFIGURATION [--made-by NAME[:SETTINGS]] [-- more words for `assay score`]

Runs `assay score --artifacts CONVERTER --folder …` and looks at each defect that passed with nothing but ONNX. A pair
that was taken away, from one reader or from all, is *allowed* where the plain artifacts of that very configuration
leave out such pairs too: some real input of the reader's operator isn't quantized, and some output of the maker's
operator isn't, where the other has a quantized one. No rule of the converter tells then which of the two a node should
be. Everything else that passed is missed. What is allowed is printed with these counts.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import onnx
from habits import wires as graph_wires

QUANTIZERS = ("QuantizeLinear", "DequantizeLinear")


class Wires:
    def __init__(self, file):
        graph = onnx.load(file).graph
        self.nodes = list(graph.node)
        self.constants = {each.name for each in graph.initializer}
        self.outputs = {each.name for each in graph.output}
        self.producer, self.readers = graph_wires(graph)

    def real_inputs(self, node):
        """(name, whether it is dequantized) of each data input that isn't a constant."""
        for name in node.input:
            source = self.producer.get(name)
            quantized = source is not None and source.op_type == "DequantizeLinear"
            if quantized and source.input[0] in self.constants:
                continue
            if name and name not in self.constants:
                yield name, quantized

    def ends_at(self, name):
        """Whether the tensor is a graph's output, itself or behind its quantizers."""
        behind = [output for each in self.readers[name] if each.op_type in QUANTIZERS for output in each.output]
        return name in self.outputs or any(self.ends_at(each) for each in behind)

    def place(self, node, name):
        """What an output is counted as: those of the graph have rules of their own."""
        return node.op_type + (" at the graph's end" if self.ends_at(name) else "")

    def reads(self, quantizer):
        """The operators behind a QuantizeLinear, through its DequantizeLinear."""
        return [reader for dequantizer in self.readers[quantizer.output[0]] for output in dequantizer.output
                for reader in self.readers[output]]


def habits(folder):
    """For each operator how many of its inputs, and of its outputs, are (True) and aren't (False) quantized."""
    inputs, outputs = defaultdict(Counter), defaultdict(Counter)
    for file in sorted(folder.glob("*/q.onnx")):
        try:
            wires = Wires(file)
        except Exception:  # a file that isn't ONNX: assay lists it as left out
            continue
        for node in wires.nodes:
            if node.op_type in QUANTIZERS:
                continue
            for _, quantized in wires.real_inputs(node):
                inputs[node.op_type][quantized] += 1
            for output in node.output:
                quantized = any(each.op_type == "QuantizeLinear" for each in wires.readers[output])
                outputs[wires.place(node, output)][quantized] += 1
    return inputs, outputs


def allowed(entry, inputs, outputs):
    """Why the converter's habits allow the defect; "" where they don't."""
    wires = Wires(Path(entry["case"]) / "q.onnx")
    node = next((each for each in wires.nodes if each.name == entry["node"]), None)
    if node is None:
        return ""
    if entry["group"] == "pair_removed" and node.op_type == "QuantizeLinear":
        readers, maker = wires.reads(node), wires.producer.get(node.input[0])
    elif entry["group"] == "operand_of_another" and "instead of" in entry["defect"]:
        plain = entry["defect"].split('reads "')[1].split('"')[0]
        dequantized = entry["defect"].split('instead of "')[1].split('"')[0]
        dequantizer = wires.producer.get(dequantized)
        if dequantizer is None or dequantizer.op_type != "DequantizeLinear":
            return ""
        quantizer = wires.producer.get(dequantizer.input[0])
        if quantizer is None or quantizer.op_type != "QuantizeLinear" or quantizer.input[0] != plain:
            return ""
        readers, maker = [node], None
    else:
        return ""
    said = []
    for reader in readers:
        if not inputs[reader.op_type][False]:
            return ""
        said.append(f"{inputs[reader.op_type][False]} of {sum(inputs[reader.op_type].values())} inputs of {reader.op_type}")
    if maker is not None:
        place = wires.place(maker, node.input[0])
        if not outputs[place][False]:
            return ""
        said.append(f"{outputs[place][False]} of {sum(outputs[place].values())} outputs of {place}")
    return "not quantized: " + ", ".join(dict.fromkeys(said)) if said else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("assay", type=Path)
    parser.add_argument("folder", type=Path, help="DIR/CONVERTER/CONFIGURATION")
    parser.add_argument("--made-by", default="", help="NAME[@VERSION][:SETTINGS]")
    parser.add_argument("words", nargs="*", help="more words for `assay score`, behind --")
    arguments = parser.parse_args()
    converter = arguments.folder.parent.name
    command = [arguments.assay.resolve(), "score", "--artifacts", converter, "--folder", arguments.folder, "--json",
               *(["--made-by", arguments.made_by] if arguments.made_by else []), *arguments.words]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        sys.exit(done.stderr)
    report = json.loads(done.stdout)
    total = report["total"]
    if not total["visible"]:
        sys.exit(f"{converter}/{arguments.folder.name}: no defect shows; are its artifacts judged? (assay score's report: {report['total']})")
    inputs, outputs = habits(arguments.folder)
    granted, missed = [], []
    for entry in report["listed"]:
        why = allowed(entry, inputs, outputs) if entry["fate"] == "passed" else ""
        (granted if why else missed).append((entry, why))
    counted = total["visible"] - len(granted)
    print(f"{converter}/{arguments.folder.name}: {total['visible']} visible, {total['red']} red, {len(granted)} allowed "
          f"({100 * len(granted) / total['visible']:.2f} %), {len(missed)} missed: {total['red']} of {counted} "
          f"({100 * total['red'] / counted:.2f} %); {len(report['false_alarms'])} plain artifacts are red")
    for name, found in (("allowed", granted), ("missed", missed)):
        for entry, why in found:
            print(f"  {name}: {Path(entry['case']).name}, {entry['group']}: \"{entry['node']}\" ({entry['op']}): "
                  f"{entry['defect']}{'; ' + why if why else ''}{'' if entry['fate'] == 'passed' else ', ' + entry['fate']}")


if __name__ == "__main__":
    main()
