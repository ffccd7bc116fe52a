"""NNCF's post-training quantization of PyTorch networks (`nncf.quantize` of a torch.nn.Module) behind Assay's protocol 1.

usage: adapter.py [--variant NAME]: as the route of that name in ROUTES

nncf.strip puts PyTorch's FakeQuantize in the place of NNCF's quantizers. torch.export takes none of them, since they look
at a buffer while they run: each is a quantize and a dequantize of the same numbers then.
"""

import copy
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))
os.environ["NNCF_CI"] = "1"  # no usage data is sent

from assay_protocol import serve  # first: NNCF prints
import nncf
import torch
from nncf.torch.function_hook.wrapper import get_hook_storage
from nncf.torch.quantization import extensions, reference
from exported import plain_module
from nncf_parameters import keep_pattern_graphs, parameters
from stated_policy import asked_variant, stated_policy, variant_name
from torch.ao.quantization.fake_quantize import FakeQuantize
from twin_adapter import TwinAdapter, fed_tensors
from written import Pair, Quantizer, with_codes

# Operators whose inputs are quantized, and those that only pass codes on (nncf.torch.quantization.default_quantization).
OPERATORS = frozenset({
    "Add", "AveragePool", "BatchNormalization", "Concat", "Conv", "ConvTranspose", "DepthToSpace", "Div", "Dropout", "Expand",
    "Flatten", "Gather", "Gemm", "GlobalAveragePool", "LayerNormalization", "MatMul", "Max", "MaxPool", "Min", "Mul", "Pad",
    "ReduceMean", "Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"})

# NNCF's own functions for where neither its C++ extension nor torch.compile works: each would compile for 40 s in every
# sandbox, before the first quantizer is executed, and computes the same.
extensions.QuantizedFunctionsCPU._loaded_namespace = reference.ReferenceQuantizedFunctions
reference.torch_forward._compiled_func = reference.torch_forward._func


def pair(fake):
    """What a FakeQuantize computes, in two steps."""
    kind = torch.int8 if fake.quant_min < 0 else torch.uint8
    return Pair(Quantizer(fake.scale, fake.zero_point, kind, fake.ch_axis, (fake.quant_min, fake.quant_max)))


def in_two_steps(network):
    """Puts a pair in the place of each FakeQuantize.

    Errors   RuntimeError, where nncf.strip has left a quantizer of NNCF's own, which neither PyTorch nor ONNX knows.
    """
    hooks = get_hook_storage(network)
    for name, module in list(hooks.named_hooks(remove_duplicate=False)):
        if not isinstance(module, FakeQuantize):
            raise RuntimeError(f"nncf.strip leaves a {type(module).__name__} where it puts FakeQuantize: {name}")
        hooks.set_submodule(name, pair(module))
    return network


# Of activations; the names and what they mean stand in adapter.json, too. PERFORMANCE has uint8 codes where a range has no
# negative end and int8 elsewhere: nobody can ask for one.
ROUTES = {
    "": {"activation": ["uint8"], "symmetric": [False]},
    "performance": {"activation": ["int8"], "symmetric": [True]},
}


class NncfTorch(TwinAdapter):
    converter, operators, outputs_in_float = "NNCF", OPERATORS, True

    def __init__(self, variant):
        self.variant, self.takes = variant, ROUTES[variant]

    def describe(self):
        return {
            "name": variant_name("nncf_torch", self.variant),
            "version": nncf.__version__,
            "supports": self.supports(weight=["int8"], per_axis=True, method=["minmax"], **self.takes),
            "policy": stated_policy("nncf_torch", self.variant or "mixed"),
        }

    def quantized(self, exported, network, batches, options, in_float):
        fed = [tuple(fed_tensors(network, batch)) for batch in batches]
        scope = nncf.IgnoredScope(patterns=[f"n{index}/.*" for index in in_float]) if in_float else None
        module = nncf.quantize(plain_module(copy.deepcopy(exported.twin)), nncf.Dataset(fed), ignored_scope=scope,
                               **parameters("", options | {"symmetric": self.takes["symmetric"][0]}, quantize_outputs=False))
        module = nncf.strip(module, do_copy=False, example_input=fed[0])
        program = torch.export.export(in_two_steps(module), exported.traced_with,
                                      dynamic_shapes=exported.dynamic_shapes).module()
        return with_codes(program)


if __name__ == "__main__":
    keep_pattern_graphs()
    serve(NncfTorch(asked_variant(ROUTES)))
