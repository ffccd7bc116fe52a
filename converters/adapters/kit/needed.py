"""What a reader of a kit has to install for its repro.py."""
import re

# module that a script imports → packages that the product's own doesn't bring
PACKAGES = {
    "ai_edge_litert": ("ai-edge-litert",), "executorch": ("executorch",), "onnxruntime": ("onnxruntime",), "torch": ("torch",),
    # imported behind these, and asked for by no package
    "brevitas": ("onnxoptimizer",), "onnx_neural_compressor": ("prettytable", "scipy"),
    "onnxruntime.quantization.matmul_nbits_quantizer": ("onnx-ir",),
    "onnxruntime.quantization.shape_inference": ("sympy",), "quark": ("torch",)}


def packages(product, script):
    """Names for pip: those of the product's (`#: package` of its template), and of what the script imports besides, onnx and
    NumPy last."""
    imported = re.findall(r"^(?:import|from) ([\w.]+)", script, re.MULTILINE)
    known = [package for module in imported for name in dict.fromkeys((module.partition(".")[0], module)) for package in PACKAGES.get(name, ())]
    return list(dict.fromkeys([*(word for word in product.split() if word != "and"), *known, "onnx", "numpy"]))
