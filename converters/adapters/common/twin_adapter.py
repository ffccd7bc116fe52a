"""What adapters have in common whose converters quantize PyTorch networks: the network is the PyTorch twin of the case's
model, the artifact (written.py) is the quantized program as a Q/DQ model, and PyTorch executes the program beside it."""

import json
import logging
import re
import warnings
from pathlib import Path

import onnx
import torch
from assay_protocol import Refused, calibration_batches, changed, read_tensors, write_tensors
from exported import export, importable, index_of
from model_request import graph_inputs, nodes_in_float, open_model, output_types
from qdq_report import FUSED_ACTIVATIONS, node_precision, tensor_scales
from torch_twin import as_tuple, first_line, input_tensors, make_twin, operators
from written import QUANTIZE, Writer

torch.set_num_threads(1)
warnings.filterwarnings("ignore")
logging.getLogger("torch").setLevel(logging.ERROR)

PROGRAM, NAMES = "program.pt2", "names.json"
FIRST_OPSET = 13  # of QuantizeLinear with one scale per channel


class TwinAdapter:
    """An adapter gives what is listed first, `describe` and `quantized`."""

    converter = ""  # as messages call it
    operators = frozenset()  # those with an INT8 form
    outputs_in_float = False  # it puts pairs only where the next operator reads them
    fuses = FUSED_ACTIVATIONS  # into the operator before: no pair stands between
    moves_codes = False  # it puts no pair behind what only moves codes
    _kept = (None, None)

    @property
    def importer(self):
        return f"the importer onnx2torch, not {self.converter}"

    def quantized(self, exported, network, batches, options, in_float):
        """The quantized program, a graph module that torch.export made: of the twin, which `exported` has as a module and
        as a program. in_float: indices of the nodes that the options keep out."""
        raise NotImplementedError

    def supports(self, **stated):
        """What all of them declare, and what is stated."""
        return {"models": ["float"], "operators": operators(), "int8_operators": sorted(self.operators), "execute": True,
                "artifact": "qdq", "reports": ["tensors", "precision"], "trace": True, **stated}

    def convert(self, model, calibration, options, output):
        original = open_model(model, options, self.converter)
        in_float = nodes_in_float(original, options, self.operators, self.converter)
        batches = calibration_batches(calibration)
        network = of_opset(original, self.converter)
        changed("the network is a PyTorch one that onnx2torch made of the model")
        excluded = {node.name for node in in_float}
        exported = self._exported(network, batches)
        converted = self.quantized(exported, network, batches, options,
                                   [index for index, node in enumerate(network.graph.node) if node.name in excluded])
        writer = Writer(network, exported, converted)
        artifact = Path(output, "model.onnx")
        written = writer.write()
        onnx.save(written, artifact)
        torch.export.save(torch.export.export(converted, exported.traced_with, dynamic_shapes=exported.dynamic_shapes),
                          Path(output, PROGRAM))
        names = {"inputs": [tensor.name for tensor in graph_inputs(network)],
                 "outputs": {name: kind.name for name, kind in output_types(network).items()}, "traced": writer.traced}
        Path(output, NAMES).write_text(json.dumps(names), encoding="utf-8")

        def original_name(name):
            return writer.origins.get(name, name)

        return {
            "artifact": artifact,
            "tensors": tensor_scales(written, original_name),
            "precision": node_precision(original, written, original_name, self.operators, excluded, self.outputs_in_float,
                                        self.fuses, self.moves_codes),
        }

    def execute(self, artifact, inputs, output, trace=None):
        program, names = self._load(Path(artifact).parent)
        fed = read_tensors(inputs)
        missing = [name for name in names["inputs"] if name not in fed]
        if missing:
            raise Refused(f"there is no input \"{missing[0]}\"")
        run = Codes(program)
        with torch.no_grad():
            results = as_tuple(run.run(*(torch.from_numpy(fed[name].copy()) for name in names["inputs"])))
        write_tensors({name: tensor.numpy().astype(kind) for (name, kind), tensor in
                       zip(names["outputs"].items(), results)}, output)
        if trace is None:
            return []
        seen = {name: codes[tuple(slice(*ends) for ends in inside)] for (name, inside), codes in
                zip(names["traced"], run.codes)}
        write_tensors(seen, trace, "trace")
        return list(seen)

    def _exported(self, network, batches):
        """The twin of the model as torch.export has it."""
        named = importable(network)
        exported = None

        def build(module, inputs):
            nonlocal exported
            exported = export(module, network, inputs)
            return exported.program

        try:
            make_twin(named, batches, self.importer, build)
        except Refused as refusal:
            index = index_of(refusal.node)
            node = network.graph.node[index] if index is not None else None
            raise Refused(str(refusal), node.name if node else "", node.op_type if node else "") from refusal
        return exported

    def _load(self, folder):
        if self._kept[0] != folder:
            self._kept = (folder, (torch.export.load(folder / PROGRAM).module(),
                                   json.loads((folder / NAMES).read_text(encoding="utf-8"))))
        return self._kept[1]


class Codes(torch.fx.Interpreter):
    """Executes a program node by node and keeps what its quantizers give."""

    def __init__(self, program):
        super().__init__(program)
        self.codes = []

    def run_node(self, node):
        result = super().run_node(node)
        if node.op == "call_function" and node.target in QUANTIZE:
            self.codes.append(result.numpy())
        return result


def fed_tensors(model, batch):
    """A calibration batch as PyTorch's tensors, in the graph's order; Refused, which names the input, where one is missing."""
    for tensor in graph_inputs(model):
        if tensor.name not in batch:
            raise Refused(f"a calibration batch has no input \"{tensor.name}\"")
    return input_tensors(model, batch)


def with_names_of_inputs(model, error):
    """What an exported program's guard says. It calls the inputs input_1, input_2 …, as the twin does."""
    names = [tensor.name for tensor in graph_inputs(model)]
    return re.sub(r"\binput_(\d+)\b", lambda match: names[int(match[1]) - 1], str(error))


def of_opset(model, converter):
    """The model at an opset that has what is written, with every node named."""
    opset = next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), FIRST_OPSET)
    if opset >= FIRST_OPSET:
        return model
    try:
        converted = onnx.version_converter.convert_version(model, FIRST_OPSET)
    except Exception as error:
        raise Refused(f"the importer, not {converter}: opset {opset}: {first_line(error)}") from error
    changed(f"the model of opset {opset} was converted to {FIRST_OPSET}")
    for index, node in enumerate(converted.graph.node):
        node.name = node.name or f"of_opset_{index}"
    return converted
