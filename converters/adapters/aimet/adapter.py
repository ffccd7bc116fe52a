"""AIMET's post-training quantization of ONNX models (`QuantizationSimModel`, exported as Q/DQ) behind Assay's protocol 1."""

import json
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import onnx
from assay_protocol import calibration_batches, serve
from qdq_adapter import QdqAdapter
from qdq_report import PAIR, tensor_scales
from stated_policy import stated_policy

from aimet_onnx import QuantizationSimModel
from aimet_onnx.batch_norm_fold import fold_all_batch_norms_to_weight
from aimet_onnx.common.quantsim_config import quantsim_config
from aimet_onnx.utils import duplicate_shared_initializers

OPERATORS = {schema.name for schema in onnx.defs.get_all_schemas()}  # it simulates every operator on codes
TYPES = {"int8": "signed", "uint8": "unsigned"}
RULES = Path(quantsim_config.__file__).with_name("default_config_per_channel.json")


def write_rules(options, folder):
    """AIMET's default rules, changed by what the options say of symmetry and of scales for each channel."""
    rules = json.loads(RULES.read_text())
    rules["defaults"]["strict_symmetric"] = "True"
    rules["defaults"]["ops"]["is_symmetric"] = str(options.get("symmetric", False))
    for rule in rules["op_type"].values():
        if "per_channel_quantization" in rule:
            rule["per_channel_quantization"] = str(options.get("per_axis", True))
    file = Path(folder, "rules.json")
    file.write_text(json.dumps(rules))
    return str(file)


def given_type(model):
    """The type of the activations' codes that the model itself has, which its export would change; None without any."""
    if not any(node.op_type in PAIR for node in model.graph.node):
        return None
    weights = {tensor.name for tensor in model.graph.initializer}
    found = {entry["type"] for entry in tensor_scales(model, str) if entry["name"] not in weights}
    return "uint8" if found - {"int32"} == {"uint8"} else "int8"


def keep_in_float(sim, model, in_float):
    """Takes away the quantizers that none but these nodes read or write, and those of their weights."""
    touched = {}
    for node in model.graph.node:
        for name in (*node.input, *node.output):
            touched.setdefault(name, []).append(node.name in in_float)
    for name, quantizer in sim.qc_quantize_op_dict.items():
        if touched.get(name) and all(touched[name]):
            quantizer.enabled = False


def center(quantizer):
    """Gives zero the code 0: its strictly symmetric codes are -127 to 127, and its export writes zero_point -1 for them."""
    encodings = quantizer.get_encodings()
    if not encodings or not quantizer.use_symmetric_encodings or quantizer.is_encoding_frozen():
        return  # frozen: the model's own
    quantizer.use_strict_symmetric = False
    for encoding in encodings:
        encoding.offset, encoding.min, encoding.max = -128, -128 * encoding.delta, 127 * encoding.delta
    quantizer.load_encodings(encodings)


def calibrate(sim, batches):
    sim.compute_encodings(batches)
    quantizers = {id(quantizer): quantizer for quantizer in sim.qc_quantize_op_dict.values()}  # several tensors may share
    for quantizer in quantizers.values():
        center(quantizer)


def with_biases_in_products(model):
    """The artifact where a MatMul and the Add of a constant behind it are the one operator that they are to AIMET, which
    puts no pair between them."""
    fused = onnx.ModelProto.FromString(model.SerializeToString())
    nodes = fused.graph.node
    readers = Counter(name for node in nodes for name in node.input)
    maker = {node.output[0]: node for node in nodes}
    fixed = {tensor.name for tensor in fused.graph.initializer}
    for add in [node for node in nodes if node.op_type == "Add"]:
        constant = [name in fixed or name in maker and maker[name].input[0] in fixed for name in add.input]
        if any(constant) and not all(constant):
            product = maker.get(add.input[constant.index(False)])
            if product is not None and product.op_type == "MatMul" and readers[product.output[0]] == 1:
                product.output[0] = add.output[0]
                nodes.remove(add)
    return fused


class Aimet(QdqAdapter):
    converter, operators = "AIMET", OPERATORS

    def describe(self):
        return {
            "name": "aimet",
            "version": version("aimet-onnx"),
            "supports": self.supports(activation=list(TYPES), symmetric=True, per_axis=True, method=["minmax"]),
            "policy": stated_policy("aimet"),
        }

    def renaming(self, model, artifact):
        known = {name for node in model.graph.node for name in (*node.input, *node.output)}

        def original_name(name):
            for suffix in ("_updated", "_qdq"):
                name = name if name in known else name.removesuffix(suffix)
            return name

        return original_name

    def as_computed(self, quantized):
        return with_biases_in_products(quantized)

    def quantize(self, job):
        prepared = onnx.ModelProto.FromString(job.model.SerializeToString())
        duplicate_shared_initializers(prepared.graph)
        given = given_type(prepared)
        if given is None:
            fold_all_batch_norms_to_weight(prepared)
        batches = calibration_batches(job.calibration)
        simulate = QuantizationSimModel.from_onnx_qdq if given is not None else QuantizationSimModel
        sim = simulate(
            prepared, param_type="int8", activation_type="int8", quant_scheme="min_max",
            config_file=write_rules(job.options, job.file.parent), dummy_input=batches[0],
            session_options_kwargs={"intra_op_num_threads": 1})
        keep_in_float(sim, job.model, job.in_float)
        calibrate(sim, batches)
        onnx.save(sim.to_onnx_qdq(
            export_int32_bias=True, prequantize_constants=True,
            force_activation_as=TYPES[given or job.options.get("activation", "int8")]), job.written)


if __name__ == "__main__":
    serve(Aimet())
