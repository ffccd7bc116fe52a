"""onnx2tf's integer quantization behind Assay's protocol 1, executed by LiteRT.

usage: adapter.py [--variant int16]: the file with int16 activations, which onnx2tf writes in the same call
"""

import importlib.metadata
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))

from assay_protocol import calibration_batches, serve
import onnx2tf_route
import numpy
from model_request import graph_inputs
from stated_policy import asked_variant, variant_name

KINDS = {"": "integer_quant", "int16": "integer_quant_with_int16_act"}  # {variant: which of onnx2tf's files}


class LiteRt:
    def __init__(self, variant):
        self.variant = variant

    def describe(self):
        return {
            "name": variant_name("litert", self.variant),
            "version": importlib.metadata.version("onnx2tf"),
            "supports": {
                "activation": ["int8"], "weight": ["int8"],
                "symmetric": [False],
                "per_axis": True,
                "method": ["minmax"],
                "execute": True,
                "artifact": "opaque",
            } | (onnx2tf_route.INT16 if self.variant == "int16" else {}),
            "policy": onnx2tf_route.POLICY | (onnx2tf_route.INT16_POLICY if self.variant == "int16" else {}),
        }

    def convert(self, model, calibration, options, output):
        original = onnx2tf_route.opened(model, options, "onnx2tf")
        with tempfile.TemporaryDirectory() as folder:
            batches = onnx2tf_route.checked(calibration_batches(calibration), original)
            kept = self._kept(model, original, batches[0])
            data = self._calibration(original, batches, Path(folder), kept)
            file = onnx2tf_route.made_integer(
                model, KINDS[self.variant], custom_input_op_name_np_data_path=data,
                quant_type="per-channel" if options.get("per_axis", True) else "per-tensor")
        return {"artifact": onnx2tf_route.write_artifact(file, original, batches, output, kept)}

    def execute(self, artifact, inputs, output):
        onnx2tf_route.execute(artifact, inputs, output)

    @staticmethod
    def _kept(model, original, batch):
        """The inputs that onnx2tf leaves as the model has them: 1.x none, 2.x as the file says that it makes in float."""
        if importlib.metadata.version("onnx2tf").startswith("1.") or not any(array.ndim >= 3 for array in batch.values()):
            return set()
        return onnx2tf_route.inputs_kept(onnx2tf_route.made_float(model), original, batch)

    @staticmethod
    def _calibration(original, batches, folder, kept):
        """One file for each input with all batches along axis 0, as [[name, file, mean, std]]."""
        data = []
        for index, tensor in enumerate(graph_inputs(original)):
            arrays = [batch[tensor.name] if tensor.name in kept else onnx2tf_route.channels_last(batch[tensor.name])
                      for batch in batches]
            numpy.save(folder / f"{index}.npy", numpy.concatenate(arrays) if arrays[0].ndim else numpy.stack(arrays))
            data.append([tensor.name, str(folder / f"{index}.npy"), 0.0, 1.0])
        return data


if __name__ == "__main__":
    serve(LiteRt(asked_variant(KINDS)))
