"""The small networks that exports of PyTorch quantizers are judged by, over each toolkit's own layers.

`layers` has Conv2d, ConvTranspose2d and Linear, and makes a `shortcut_quantizer`. Each model comes as NAME.float.onnx,
NAME.qdq.onnx and NAME.npz, the batches it was calibrated with, so that

    assay check NAME.float.onnx --artifact NAME.qdq.onnx --calibration NAME.npz

judges the toolkit's export. BatchNormalization is left as it is in both, since the exporter folds it in one of them only.
"""

import numpy
import torch
from torch import nn

SEED = 1
BATCHES = 8
OPSET = 13
DECADES = 1.7  # between the magnitudes of a weight's output channels


class Residual(nn.Module):
    """A stem, a block whose shortcut is nn.Sequential(Conv, BatchNormalization), and a classifier."""

    def __init__(self, layers, kernel, quantize_shortcut):
        super().__init__()
        same = kernel // 2
        self.stem = nn.Sequential(layers.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.conv1 = layers.Conv2d(8, 12, kernel, stride=2, padding=same, bias=False)
        self.bn1 = nn.BatchNorm2d(12)
        self.conv2 = layers.Conv2d(12, 12, kernel, padding=same, bias=False)
        self.bn2 = nn.BatchNorm2d(12)
        self.downsample = nn.Sequential(
            layers.Conv2d(8, 12, 1, stride=2, bias=False), nn.BatchNorm2d(12))
        self.shortcut = layers.shortcut_quantizer() if quantize_shortcut else nn.Identity()
        self.classifier = layers.Linear(12, 5)

    def forward(self, x):
        x = self.stem(x)
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        y = torch.relu(y + self.shortcut(self.downsample(x)))
        return self.classifier(y.mean((2, 3)))


class EncoderDecoder(nn.Module):
    """Two Convs, a pool, a ConvTranspose back, a Concat with what was before, and a ConvTranspose as output layer."""

    def __init__(self, layers):
        super().__init__()
        self.encode1 = layers.Conv2d(3, 16, 3, padding=1)
        self.encode2 = layers.Conv2d(16, 24, 3, padding=1)
        self.decode = layers.ConvTranspose2d(24, 16, 2, stride=2)
        self.output = layers.ConvTranspose2d(32, 10, 2, stride=2)

    def forward(self, x):
        before = torch.relu(self.encode1(x))
        y = torch.relu(self.encode2(torch.max_pool2d(before, 2)))
        y = torch.relu(self.decode(y))
        return self.output(torch.cat([y, before], 1))


MODELS = {
    "residual_3x3": lambda layers: Residual(layers, 3, False),
    "residual_3x3_shortcut": lambda layers: Residual(layers, 3, True),
    "residual_1x1": lambda layers: Residual(layers, 1, False),
    "residual_1x1_shortcut": lambda layers: Residual(layers, 1, True),
    "encoder_decoder": EncoderDecoder,
}


def fill(model):
    """Weights whose output channels are of unlike magnitude, BatchNormalizations that do something."""
    for module in model.modules():
        if not isinstance(module, nn.BatchNorm2d) and hasattr(module, "weight"):
            axis = 1 if getattr(module, "transposed", False) else 0
            shape = [1] * module.weight.ndim
            shape[axis] = -1
            factors = 10 ** (-DECADES * torch.rand(module.weight.shape[axis]))
            module.weight.data *= factors.reshape(shape)
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.3)
            nn.init.normal_(module.running_mean, 0, 0.1)
            nn.init.uniform_(module.running_var, 0.05, 0.2)


def write(model, example, file, **words):
    torch.onnx.export(model, example, str(file), opset_version=OPSET, input_names=["x"], output_names=["y"],
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=True, **words)


def export(folder, layers, calibrate, write_quantized, write_float):
    """Writes every network: `calibrate(model, batches)`, then both of its files by `write_…(model, example, file)`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in MODELS.items():
        torch.manual_seed(SEED)
        model = make(layers).eval()
        fill(model)
        batches = [torch.randn(2, 3, 12, 10) * (0.5 + torch.rand(1)) for _ in range(BATCHES)]
        calibrate(model, batches)
        write_quantized(model, batches[0], folder / f"{name}.qdq.onnx")
        write_float(model, batches[0], folder / f"{name}.float.onnx")
        numpy.savez(folder / f"{name}.npz", x=torch.stack(batches).numpy())
