#!/usr/bin/env python3
"""Counts where a converter puts quantizers in the plain artifacts that quantize.py made: habits.py DIR/CONVERTER/CONFIGURATION

For each operator of the float models: how many of its real inputs read quantized values, how many of its outputs are
quantized, and how many of its weights, over all artifacts that ONNX can read. A word of a policy (`quantizes`,
`reads_quantized`, `writes_quantized`, `keeps_quantized`, `reads_evenly`, `reads_float`; docs/protocol.md) may be stated
only where this shows no exception. --exceptions OPERATOR lists the nodes of the smaller kind. Nodes are matched by name.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import onnx


def wires(graph):
    """The node that makes each tensor, and those that read it."""
    producer = {output: node for node in graph.node for output in node.output}
    readers = defaultdict(list)
    for node in graph.node:
        for name in node.input:
            readers[name].append(node)
    return producer, readers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--exceptions", metavar="OPERATOR", help="the nodes that are of the smaller kind")
    arguments = parser.parse_args()
    counts = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for file in sorted(arguments.folder.glob("*/q.onnx")):
        plain, made = onnx.load(file.parent / "float.onnx").graph, onnx.load(file).graph
        constants = {each.name for each in plain.initializer}
        producer, readers = wires(made)
        nodes = {node.name: node for node in made.node}
        outputs = {each.name for each in made.output}
        for node in plain.node:
            other = nodes.get(node.name)
            if other is None or other.op_type != node.op_type:
                counts[node.op_type]["gone"][True].append(f"{file.parent.name}/{node.name}")
                continue
            kinds = {"input": [], "weight": []}
            for i, name in enumerate(node.input):
                if not name or i >= len(other.input):
                    continue
                source = producer.get(other.input[i])
                kinds["weight" if name in constants else "input"].append(
                    source is not None and source.op_type == "DequantizeLinear")
            places = [("input", f"{i}", on) for i, on in enumerate(kinds["input"])]
            places += [("weight", f"{i}", on) for i, on in enumerate(kinds["weight"][:1])]
            for output in other.output:
                after = readers[output]
                graph_output = output in outputs or not after
                places.append(("graph output" if graph_output else "output", output,
                               any(each.op_type == "QuantizeLinear" for each in after)))
            inputs = kinds["input"]
            if any(inputs):
                places.append(("inputs of a node that reads any", "", all(inputs)))
                places += [("output of a node that reads any", output, on)
                           for kind, output, on in places if kind in ("output", "graph output")]
            for kind, where, on in places:
                counts[node.op_type][kind][on].append(f"{file.parent.name}/{node.name} {where}")
    for op, kinds in sorted(counts.items()):
        shares = ", ".join(f"{kind} {len(found[True])}/{len(found[True]) + len(found[False])}"
                           for kind, found in sorted(kinds.items()))
        print(f"{op}: {shares}")
        if op == arguments.exceptions:
            for kind, found in sorted(kinds.items()):
                smaller = min((True, False), key=lambda on: len(found[on]))
                for each in found[smaller]:
                    print(f"    {kind}: {each} is {'' if smaller else 'not '}quantized")


if __name__ == "__main__":
    main()
