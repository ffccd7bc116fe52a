"""Brevitas' post-training quantization (`brevitas.graph.quantize`) behind Assay's protocol 1.

After calibration each quantizer's numbers are taken from the network, as its own export handlers take them, and the layer
is a plain one of PyTorch between quantize and dequantize nodes of these numbers: torch.export knows of no QuantTensor.

usage: adapter.py [--variant NAME]: quantizes in the way of that name in ROUTES
"""

import copy
import os
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))
os.environ["BREVITAS_JIT"] = "0"

from assay_protocol import serve  # first: what is imported prints
import torch
from exported import plain_module
from model_request import refuse_float
from qdq_report import FUSED_ACTIVATIONS
from stated_policy import asked_variant, stated_policy, variant_name
from twin_adapter import TwinAdapter, fed_tensors
from written import Pair, Quantizer, with_codes

import brevitas.nn as qnn
from brevitas.fx import brevitas_tracer
from brevitas.graph import quantize as recipe
from brevitas.graph.calibrate import calibration_mode
from brevitas.nn.quant_layer import QuantNonLinearActLayer, QuantWeightBiasInputOutputLayer
from brevitas.quant import (
    Int8ActPerTensorFloat,
    Int8WeightPerChannelFloat,
    Int8WeightPerTensorFloat,
    ShiftedUint8ActPerTensorFloat,
    Uint8ActPerTensorFloat,
)

# What a layer of these is behind one quantizer in front and one behind.
OPERATORS = frozenset({"Add", "AveragePool", "Concat", "Conv", "ConvTranspose", "Flatten", "Gemm", "GlobalAveragePool", "MatMul",
                       "MaxPool", "Relu", "Reshape", "Sigmoid", "Transpose"})


@dataclass(frozen=True)
class Route:
    """Quantizers of activations; calibration_mode takes the mean of the batches' ranges."""

    policy: str  # the variant in policies.json
    activation: str  # the type that is asked for
    symmetric: bool
    signed: type
    unsigned: type  # behind what can't be negative: ReLU, Sigmoid, and what only moves their outputs


# The names and what they mean stand in adapter.json, too.
ROUTES = {
    "": Route("asymmetric", "uint8", False, ShiftedUint8ActPerTensorFloat, ShiftedUint8ActPerTensorFloat),
    "symmetric": Route("symmetric", "int8", True, Int8ActPerTensorFloat, Uint8ActPerTensorFloat),
}


def quantized_network(network, route, per_axis):
    """The maps that brevitas.graph.quantize brings, with the route's quantizers: those of the asymmetric one are
    brevitas_examples', those of the symmetric one the maps' own."""
    weight = Int8WeightPerChannelFloat if per_axis else Int8WeightPerTensorFloat
    layers = {kind: made and (made[0], made[1] | {"weight_quant": weight, "return_quant_tensor": False})
              for kind, made in recipe.COMPUTE_LAYER_MAP.items() if kind in KINDS}
    activations = {kind: (made, {"act_quant": route.unsigned, "return_quant_tensor": True})
                   for kind, made in ((torch.nn.ReLU, qnn.QuantReLU), (torch.nn.Sigmoid, qnn.QuantSigmoid))}
    identities = {name: (qnn.QuantIdentity, {"act_quant": quantizer, "return_quant_tensor": True})
                  for name, quantizer in (("signed", route.signed), ("unsigned", route.unsigned))}
    graph = recipe.preprocess_for_quantize(traced(network), trace_model=False, relu6_to_relu=False)
    return recipe.quantize(graph, compute_layer_map=layers, quant_act_map=activations,
                           quant_identity_map=identities)


class Tracer(brevitas_tracer.Tracer):
    """Brevitas', for which a module of onnx2torch is one operation where its code can't be traced."""

    def call_module(self, m, forward, args, kwargs):
        known = len(self.graph.nodes)
        try:
            return super().call_module(m, forward, args, kwargs)
        except Exception:
            for node in list(self.graph.nodes)[:known - 1:-1]:
                self.graph.erase_node(node)
            return self.create_proxy("call_module", self.path_of_module(m), args, kwargs)


def traced(network):
    for module in network.modules():  # onnx2torch has lists where PyTorch says int or tuple
        if type(module).__module__.startswith("torch.nn"):
            module.__dict__.update({name: tuple(value) for name, value in vars(module).items() if type(value) is list})
    return brevitas_tracer._symbolic_trace(Tracer(), network, None).eval()


KINDS = {torch.nn.AvgPool2d, torch.nn.Linear, *(getattr(torch.nn, f"{name}{rank}d") for name in ("Conv", "ConvTranspose")
                                               for rank in (1, 2, 3))}


class Layer(torch.nn.Module):
    """A layer of PyTorch whose constants are codes, and its output's quantizer where it has one."""

    def __init__(self, quantized):
        super().__init__()
        kind = next(each for each in type(quantized).__mro__ if each in KINDS)
        self.plain = kind.__new__(kind)
        self.plain.__dict__.update(quantized.__dict__)
        self.plain.__dict__.update(_modules={}, _buffers={}, _parameters=dict(quantized._parameters))
        self.constants = {}
        weight = quantized.quant_weight()
        self.keep("weight", weight, torch.int8, self.axis(weight.scale))
        if quantized.bias is not None and quantized.bias_quant.is_quant_enabled:
            self.keep("bias", quantized.quant_bias(), torch.int32, 0)
        self.behind = pair_of(quantized.output_quant)

    @staticmethod
    def axis(scale):
        """Along which several scales lie."""
        return next((axis for axis, extent in enumerate(scale.shape) if extent > 1), 0)

    def keep(self, name, tensor, kind, axis):
        quantizer = Quantizer(tensor.scale, tensor.zero_point, kind, axis)
        self.register_buffer(f"{name}_codes", tensor.int(float_datatype=False).to(kind))
        self.constants[name] = quantizer

    def forward(self, data):
        given = {name: quantizer.values(getattr(self, f"{name}_codes")) for name, quantizer in self.constants.items()}
        result = torch.func.functional_call(self.plain, given, (data,))
        return result if self.behind is None else self.behind(result)


def pair_of(proxy, activation=None):
    """The quantizer of an activation, None where it is switched off."""
    if not proxy.is_quant_enabled:
        return activation
    return Pair(Quantizer(proxy.scale(), proxy.zero_point(), torch.int8 if proxy.is_signed else torch.uint8), activation)


def plain_layer(module):
    if isinstance(module, QuantWeightBiasInputOutputLayer):
        return Layer(module)
    kept = module.act_quant.fused_activation_quant_proxy
    activation = None if kept is None or isinstance(kept.activation_impl, torch.nn.Identity) else kept.activation_impl
    return pair_of(module.act_quant, activation) or torch.nn.Identity()


def as_program(network, exported):
    """The network without QuantTensors, exported."""
    made = {}  # by the module that it stands for, which several names may share
    for name, module in list(network.named_modules(remove_duplicate=False)):
        if isinstance(module, (QuantWeightBiasInputOutputLayer, QuantNonLinearActLayer)):
            if module not in made:
                made[module] = plain_layer(module)
            network.set_submodule(name, made[module])
    return with_codes(torch.export.export(network.eval(), exported.traced_with,
                                          dynamic_shapes=exported.dynamic_shapes).module())


class Brevitas(TwinAdapter):
    converter, operators, fuses = "Brevitas", OPERATORS, (*FUSED_ACTIVATIONS, "Sigmoid")
    moves_codes = True

    def __init__(self, variant):
        self.variant, self.route = variant, ROUTES[variant]

    def describe(self):
        return {
            "name": variant_name("brevitas", self.variant),
            "version": version("brevitas"),
            "supports": self.supports(activation=[self.route.activation], weight=["int8"], symmetric=[self.route.symmetric],
                                      per_axis=True, method=["minmax"]),
            "policy": stated_policy("brevitas", self.route.policy),
        }

    def quantized(self, exported, network, batches, options, in_float):
        refuse_float(network, options, "brevitas.graph.quantize has no list of layers to leave alone")
        quantized = quantized_network(plain_module(copy.deepcopy(exported.twin)), self.route, options.get("per_axis", True))
        with torch.no_grad():
            with calibration_mode(quantized):
                for batch in batches:
                    quantized(*fed_tensors(network, batch))
            for module in quantized.modules():  # the numbers are the last forward's
                if hasattr(module, "cache_inference_quant_bias"):
                    module.cache_inference_quant_bias = True
            quantized.eval()(*fed_tensors(network, batches[0]))
            return as_program(quantized, exported)


if __name__ == "__main__":
    serve(Brevitas(asked_variant(ROUTES)))
