"""PyTorch's PT2E quantization behind Assay's protocol 1: torch.export, prepare_pt2e, calibration, convert_pt2e.

usage: adapter.py [--variant NAME]: quantizes by the quantizer of that name in ROUTES

The artifact is the converted program as a Q/DQ model (written.py). PyTorch executes the program, which lies beside it.
"""

import copy
import logging
import re
import sys
import warnings
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import Refused, calibration_batches, read_tensors, serve, write_tensors
import onnx
import torch
from exported import export, importable, index_of
from model_request import graph_inputs, nodes_in_float, open_model, output_types
from qdq_report import node_precision, tensor_scales
from stated_policy import asked_variant, stated_policy, variant_name
from torch_twin import as_tuple, first_line, input_tensors, make_twin, operators
from written import QUANTIZE, Writer

torch.set_num_threads(1)
warnings.filterwarnings("ignore")
logging.getLogger("torch").setLevel(logging.ERROR)

from executorch.backends.xnnpack.quantizer import xnnpack_quantizer_utils
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torchao.quantization.pt2e import MinMaxObserver, qat_utils
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer, get_default_x86_inductor_quantization_config)

IMPORTER = "the importer onnx2torch, not PT2E"
PROGRAM, NAMES = "program.pt2", "names.pt"
FIRST_OPSET = 13  # of QuantizeLinear with one scale per channel
# HistogramObserver, which both recipes bring, looks for the range with the least squared error.
METHODS = ("minmax", "mse")


def each_once(export_pattern):
    """XNNPACKQuantizer exports the same 12 patterns for every network, 3 s of them."""
    known = {}

    def export_or_copy(pattern, example_inputs, *arguments):
        cells = tuple(cell.cell_contents for cell in pattern.fn.__closure__ or ())
        key = (pattern.fn.__qualname__, cells, tuple(value.shape for value in example_inputs), arguments)
        if key not in known:
            known[key] = export_pattern(pattern, example_inputs, *arguments)
        return copy.deepcopy(known[key])

    return export_or_copy


xnnpack_quantizer_utils._get_aten_graph_module_for_pattern = each_once(
    xnnpack_quantizer_utils._get_aten_graph_module_for_pattern)


def convert(prepared):
    """convert_pt2e. Wherever a BatchNormalization is left, it exports and looks for 48 patterns of quantization-aware
    training, which takes 20 s. All of them take the square root of a variance: in a program without one none is looked
    for."""
    if any(node.target is torch.ops.aten.sqrt.default for node in prepared.graph.nodes):
        return convert_pt2e(prepared)
    names = ("_get_aten_graph_module_for_pattern", "replace_pattern_with_filters")
    kept = {name: getattr(qat_utils, name) for name in names}
    try:
        qat_utils._get_aten_graph_module_for_pattern = lambda *_, **__: None
        qat_utils.replace_pattern_with_filters = lambda *_, **__: []
        return convert_pt2e(prepared)
    finally:
        for name, function in kept.items():
            setattr(qat_utils, name, function)


def observing(config, method):
    """The recipe with min-max observers of activations where they are asked for: a recipe's own search for a range."""
    if method != "minmax":
        return config
    observer = MinMaxObserver.with_args(eps=2**-12)
    return replace(config, input_activation=replace(config.input_activation, observer_or_fake_quant_ctr=observer),
                   output_activation=replace(config.output_activation, observer_or_fake_quant_ctr=observer))


def x86(options, in_float):
    quantizer = X86InductorQuantizer()
    for index in in_float:
        quantizer.set_module_name_qconfig(f"n{index}", None)
    return quantizer.set_global(observing(get_default_x86_inductor_quantization_config(), options.get("method")))


def xnnpack(options, in_float):
    paths = {f"n{index}" for index in in_float}

    def quantized(node):
        stack = (node.meta.get("nn_module_stack") or {}).values()
        return not any(path.partition(".")[0] in paths for path, _ in stack)

    config = get_symmetric_quantization_config(is_per_channel=options.get("per_axis", True))
    return XNNPACKQuantizer().set_global(observing(config, options.get("method"))).set_filter_function(quantized)


@dataclass(frozen=True)
class Route:
    quantizer: object  # (options, indices of the nodes in float) -> Quantizer
    operators: frozenset
    activation: str
    per_axis: object
    outputs_in_float: bool


# The names and what they mean stand in adapter.json, too.
ROUTES = {
    "": Route(x86, frozenset({"Conv", "Gemm", "MatMul"}), "uint8", [True], True),
    "xnnpack": Route(xnnpack, frozenset({"Add", "Concat", "Conv", "ConvTranspose", "Gemm", "MatMul", "Mul"}), "int8", True,
                     False),
}


class Pt2e:
    def __init__(self, variant):
        self.variant, self.route = variant, ROUTES[variant]
        self._kept = (None, None)

    def describe(self):
        return {
            "name": variant_name("pt2e", self.variant),
            "version": version("torchao"),
            "supports": {
                "activation": [self.route.activation],
                "weight": ["int8"],
                "symmetric": [False],
                "per_axis": self.route.per_axis,
                "method": list(METHODS),
                "models": ["float"],
                "operators": operators(),  # of the importer
                "int8_operators": sorted(self.route.operators),
                "execute": True,
                "artifact": "qdq",
                "reports": ["tensors", "precision"],
                "trace": True,
            },
            "policy": stated_policy("pt2e", self.variant or "x86"),
        }

    def convert(self, model, calibration, options, output):
        original = open_model(model, options, "PT2E")
        in_float = nodes_in_float(original, options, self.route.operators, "PT2E")
        batches = calibration_batches(calibration)
        network = of_opset(original)
        excluded = {node.name for node in in_float}
        exported = self._exported(network, batches)
        prepared = prepare_pt2e(copy.deepcopy(exported.program), self.route.quantizer(
            options, [index for index, node in enumerate(network.graph.node) if node.name in excluded]))
        for batch in batches:
            calibrate(prepared, network, batch)
        converted = convert(prepared)
        writer = Writer(network, exported, converted)
        artifact = Path(output, "model.onnx")
        written = writer.write()
        onnx.save(written, artifact)
        torch.export.save(torch.export.export(converted, exported.traced_with, dynamic_shapes=exported.dynamic_shapes),
                          Path(output, PROGRAM))
        torch.save({"inputs": [tensor.name for tensor in graph_inputs(network)], "outputs": output_types(network),
                    "traced": writer.traced}, Path(output, NAMES))

        def original_name(name):
            return writer.origins.get(name, name)

        return {
            "artifact": artifact,
            "tensors": tensor_scales(written, original_name),
            "precision": node_precision(original, written, original_name, self.route.operators, excluded,
                                        self.route.outputs_in_float),
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

    @staticmethod
    def _exported(network, batches):
        """The twin of the model as torch.export has it."""
        named = importable(network)
        exported = None

        def build(module, inputs):
            nonlocal exported
            exported = export(module, network, inputs)
            return exported.program

        try:
            make_twin(named, batches, IMPORTER, build)
        except Refused as refusal:
            index = index_of(refusal.node)
            node = network.graph.node[index] if index is not None else None
            raise Refused(str(refusal), node.name if node else "", node.op_type if node else "") from refusal
        return exported

    def _load(self, folder):
        if self._kept[0] != folder:
            self._kept = (folder, (torch.export.load(folder / PROGRAM).module(),
                                   torch.load(folder / NAMES, weights_only=False)))
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


def calibrate(prepared, model, batch):
    """Lets the observers see a batch. The guards of an exported program call its inputs input_1, input_2 …, as the twin
    does."""
    names = [tensor.name for tensor in graph_inputs(model)]
    for name in names:
        if name not in batch:
            raise Refused(f"a calibration batch has no input \"{name}\"")
    try:
        prepared(*input_tensors(model, batch))
    except AssertionError as error:
        said = re.sub(r"\binput_(\d+)\b", lambda match: names[int(match[1]) - 1], str(error))
        raise RuntimeError(said) from error


def of_opset(model):
    """The model at an opset that has what is written, with every node named."""
    opset = next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), FIRST_OPSET)
    if opset >= FIRST_OPSET:
        return model
    try:
        converted = onnx.version_converter.convert_version(model, FIRST_OPSET)
    except Exception as error:
        raise Refused(f"the importer, not PT2E: opset {opset}: {first_line(error)}") from error
    for index, node in enumerate(converted.graph.node):
        node.name = node.name or f"of_opset_{index}"
    return converted


if __name__ == "__main__":
    serve(Pt2e(asked_variant(ROUTES)))
