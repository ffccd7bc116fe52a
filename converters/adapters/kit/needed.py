"""What a reader of a kit has to install for its repro.py."""
import re

# module that a script imports → package, where the product's own doesn't bring it
PACKAGES = {"ai_edge_litert": "ai-edge-litert", "executorch": "executorch", "onnxruntime": "onnxruntime", "torch": "torch",
            "onnxruntime.quantization.matmul_nbits_quantizer": "onnx-ir", "onnxruntime.quantization.shape_inference": "sympy"}


def packages(product, script):
    """Names for pip: those of the product's (`#: package` of its template), and of what the script imports besides, onnx and
    NumPy last."""
    imported = re.findall(r"^(?:import|from) ([\w.]+)", script, re.MULTILINE)
    known = [PACKAGES[name] for module in imported for name in (module.partition(".")[0], module) if name in PACKAGES]
    return list(dict.fromkeys([*(word for word in product.split() if word != "and"), *known, "onnx", "numpy"]))
