#!/usr/bin/env python3
"""Exports small networks, quantized by NVIDIA's pytorch-quantization on a CPU, as ONNX: export.py FOLDER

common/export_networks.py says which and how they are judged. Without a folder the script says over protocol 1 that it
converts nothing: pytorch-quantization quantizes PyTorch modules, not ONNX models.
"""

import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

import torch
from absl import logging
from assay_protocol import Refused, serve
from export_networks import export, write
from pytorch_quantization import nn as quantized

LAYERS = SimpleNamespace(
    Conv2d=quantized.QuantConv2d,
    ConvTranspose2d=quantized.QuantConvTranspose2d,
    Linear=quantized.QuantLinear,
    shortcut_quantizer=lambda: quantized.TensorQuantizer(quantized.QuantConv2d.default_quant_desc_input),
)


def quantizers(model):
    return [module for module in model.modules() if isinstance(module, quantized.TensorQuantizer)]


def calibrate(model, batches):
    """The toolkit's max calibration."""
    for quantizer in quantizers(model):
        quantizer.disable_quant()
        quantizer.enable_calib()
    with torch.no_grad():
        for batch in batches:
            model(batch)
    for quantizer in quantizers(model):
        quantizer.load_calib_amax()
        quantizer.disable_calib()
        quantizer.enable_quant()


def write_quantized(model, example, file):
    quantized.TensorQuantizer.use_fb_fake_quant = True
    write(model, example, file)
    quantized.TensorQuantizer.use_fb_fake_quant = False


def write_float(model, example, file):
    for quantizer in quantizers(model):
        quantizer.disable_quant()
    write(model, example, file)


class Toolkit:
    def describe(self):
        return {
            "name": "pytorch_quantization",
            "version": version("pytorch-quantization"),
            "supports": {"operators": [], "execute": False, "artifact": "qdq", "reports": []},
        }

    def convert(self, model, calibration, options, output):
        raise Refused("pytorch-quantization quantizes PyTorch modules, not ONNX models; export.py FOLDER writes some")

    execute = convert


if __name__ == "__main__":
    logging.set_verbosity(logging.ERROR)
    if len(sys.argv) == 2:
        export(Path(sys.argv[1]), LAYERS, calibrate, write_quantized, write_float)
    else:
        serve(Toolkit())
