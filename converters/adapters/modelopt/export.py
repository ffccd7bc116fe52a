#!/usr/bin/env python3
"""Exports small networks, quantized by NVIDIA ModelOpt's PyTorch side on a CPU, as ONNX: export.py FOLDER

common/export_networks.py says which and how they are judged: those of pytorch_quantization/export.py.
"""

import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import modelopt.torch.quantization as quantization
import torch
from export_networks import export, write
from modelopt.torch.quantization.nn import QuantInputBase, QuantModuleRegistry
from torch import nn

class Shortcut(nn.Identity):
    """Where ModelOpt is to put a quantizer on the shortcut."""


QuantModuleRegistry.register({Shortcut: "Shortcut"})(QuantInputBase)
LAYERS = SimpleNamespace(
    Conv2d=nn.Conv2d, ConvTranspose2d=nn.ConvTranspose2d, Linear=nn.Linear, shortcut_quantizer=Shortcut)


def calibrate(model, batches):
    """ModelOpt's own INT8 configuration with its max calibration."""

    def feed(quantized):
        with torch.no_grad():
            for batch in batches:
                quantized(batch)

    quantization.quantize(model, quantization.INT8_DEFAULT_CFG, feed)


def write_float(model, example, file):
    quantization.disable_quantizer(model, "*")
    write(model, example, file, dynamo=False)


if __name__ == "__main__":
    export(Path(sys.argv[1]), LAYERS, calibrate, lambda *words: write(*words, dynamo=False), write_float)
