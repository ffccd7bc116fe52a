"""Names that TensorRT can write down. It puts a model's names into the engine inspector's JSON and into the lines of a
calibration cache as they are, so that a quote or the end of a line in one leaves neither of them readable; with
8.6.1, no layer was found for a node whose name isn't ASCII."""

import re

UNSAFE = re.compile(r'["\\]|[^\x20-\x7e]')


def _graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _graphs(inner)


class SafeNames:
    """What a model's tensors and nodes are called instead, the same in every conversion; most models keep all names."""

    def __init__(self, names):
        taken = set(names)
        self._new = {}
        for name in sorted(name for name in taken if UNSAFE.search(name)):
            new = UNSAFE.sub("_", name)
            while new in taken:
                new += "_"
            taken.add(new)
            self._new[name] = new
        self._old = {new: old for old, new in self._new.items()}

    @classmethod
    def of(cls, model):
        """Renames what `model` holds."""
        graphs = list(_graphs(model.graph))
        nodes = [node for graph in graphs for node in graph.node]
        values = [value for graph in graphs
                  for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer)]
        names = cls([*(item.name for item in (*nodes, *values)),
                     *(name for node in nodes for name in (*node.input, *node.output))])
        for item in (*nodes, *values) if names._new else ():
            item.name = names.new(item.name)
        for node in nodes if names._new else ():
            node.input[:] = [names.new(name) for name in node.input]
            node.output[:] = [names.new(name) for name in node.output]
        return names

    def new(self, name):
        return self._new.get(name, name)

    def old(self, name):
        return self._old.get(name, name)

    def table(self):
        """{new: old}."""
        return dict(self._old)
