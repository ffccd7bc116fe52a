#!/usr/bin/env python3
"""Quantizes the models of models.py by one released converter, as its users call it: quantize.py CONVERTER MODELS DIR

Run it with the interpreter of the converter's environment (`assay converters install CONVERTER`). For each
configuration and model it writes DIR/CONVERTER/CONFIGURATION/MODEL with float.onnx, q.onnx, calibration.npz, inputs.npz
and options.json (by which method ranges were found), or error.txt where the converter fails. --only MODEL,… and --configurations NAME,… choose some.
"""

import argparse
import contextlib
import importlib
import io
import json
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

import numpy
import onnx


def batches(folder):
    arrays = dict(numpy.load(folder / "calibration.npz"))
    count = len(next(iter(arrays.values())))
    return [{name: array[i] for name, array in arrays.items()} for i in range(count)]


def reader_of(base):
    """ONNX Runtime's way to be fed, which several converters took over."""

    class Reader(base):
        def __init__(self, fed):
            self.fed = fed
            self.rewind()

        def __len__(self):
            return len(self.fed)

        def get_next(self):
            return next(self.rest, None)

        def get_first(self):
            return self.fed[0]

        def rewind(self):
            self.rest = iter(self.fed)

    return Reader


def onnxruntime(configuration, float_file, q_file, fed):
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    how = {
        "default": {},
        "prepared": {},
        "per_channel_uint8": {"per_channel": True, "activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8},
        "prepared_per_channel": {"per_channel": True},
        "prepared_uint8_weights": {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QUInt8},
        "prepared_symmetric": {"per_channel": True, "extra_options": {"ActivationSymmetric": True, "WeightSymmetric": True}},
        "prepared_entropy": {"per_channel": True, "calibrate_method": CalibrationMethod.Entropy},
        "percentile": {"calibrate_method": CalibrationMethod.Percentile},
    }[configuration]
    source = float_file
    if configuration.startswith("prepared"):
        source = q_file.with_name("prepared.onnx")
        quant_pre_process(str(float_file), str(source))
    quantize_static(str(source), str(q_file), reader_of(CalibrationDataReader)(fed), **how)


def nncf_onnx(configuration, float_file, q_file, fed):
    import nncf

    how = {
        "default": {},
        "mixed": {"preset": nncf.QuantizationPreset.MIXED},
        "transformer": {"model_type": nncf.ModelType.TRANSFORMER},
        "accurate_bias": {"preset": nncf.QuantizationPreset.MIXED, "fast_bias_correction": False},
    }[configuration]
    onnx.save(nncf.quantize(onnx.load(float_file), nncf.Dataset(fed), **how), q_file)


def neural_compressor(configuration, float_file, q_file, fed):
    from onnx_neural_compressor import data_reader
    from onnx_neural_compressor.quantization import CalibrationMethod, QuantFormat, QuantType, config, quantize

    how = {
        "default": {"quant_format": QuantFormat.QDQ},
        "per_channel": {"quant_format": QuantFormat.QDQ, "per_channel": True},
        "symmetric": {"quant_format": QuantFormat.QDQ, "per_channel": True, "activation_type": QuantType.QInt8,
                      "weight_type": QuantType.QInt8,
                      "extra_options": {"ActivationSymmetric": True, "WeightSymmetric": True}},
        "entropy": {"quant_format": QuantFormat.QDQ, "per_channel": True, "calibrate_method": CalibrationMethod.Entropy},
    }[configuration]
    quantize(str(float_file), str(q_file), config.StaticQuantConfig(
        calibration_data_reader=reader_of(data_reader.CalibrationDataReader)(fed), calibration_sampling_size=len(fed),
        execution_provider="CPUExecutionProvider", **how))


def modelopt(configuration, float_file, q_file, fed):
    from modelopt.onnx.quantization import quantize
    from onnxruntime.quantization import CalibrationDataReader

    how = {
        "default": {},
        "minmax": {"calibration_method": "max", "high_precision_dtype": "fp32"},
        "entropy_fp32": {"calibration_method": "entropy", "high_precision_dtype": "fp32"},
        "dla": {"calibration_method": "max", "high_precision_dtype": "fp32", "target_dla": True},
    }[configuration]
    quantize(str(float_file), calibration_data_reader=reader_of(CalibrationDataReader)(fed), calibration_eps=["cpu"],
             output_path=str(q_file), log_level="WARNING", **how)


def esp_ppq(configuration, float_file, q_file, fed):
    import torch
    from esp_ppq.api import export_ppq_graph, quantize_onnx_model
    from esp_ppq.api.setting import QuantizationSettingFactory
    from esp_ppq.core import TargetPlatform

    setting = QuantizationSettingFactory.default_setting()
    if configuration == "minmax":
        setting.quantize_activation_setting.calib_algorithm = "minmax"
    elif configuration == "kl":
        setting.quantize_activation_setting.calib_algorithm = "kl"
    elif configuration == "minmax_everywhere":
        setting.quantize_activation_setting.calib_algorithm = "minmax"
        setting.dispatcher = "allin"
    tensors = [{name: torch.from_numpy(array.copy()) for name, array in batch.items()} for batch in fed]
    graph = quantize_onnx_model(str(float_file), calib_dataloader=tensors, calib_steps=len(tensors), input_shape=None,
                                inputs=tensors[0], platform=TargetPlatform.ONNXRUNTIME, setting=setting, device="cpu")
    export_ppq_graph(graph, platform=TargetPlatform.ONNXRUNTIME, graph_save_to=str(q_file))


def quark(configuration, float_file, q_file, fed):
    from onnxruntime.quantization import CalibrationDataReader
    from quark.onnx import ModelQuantizer
    from quark.onnx.quantization.config.config import QConfig
    from quark.onnx.quantization.config.spec import CalibMethod, Int8Spec, QLayerConfig, QuantGranularity, UInt8Spec

    weight = Int8Spec(symmetric=True, calibration_method=CalibMethod.MinMax, quant_granularity=QuantGranularity.Tensor)
    per_channel = Int8Spec(symmetric=True, calibration_method=CalibMethod.MinMax,
                           quant_granularity=QuantGranularity.Channel)
    config = {
        "default": lambda: QConfig.get_default_config("A8W8"),
        "minmax": lambda: QConfig(QLayerConfig(
            activation=UInt8Spec(symmetric=False, calibration_method=CalibMethod.MinMax), weight=weight)),
        "percentile": lambda: QConfig(QLayerConfig(
            activation=UInt8Spec(symmetric=False, calibration_method=CalibMethod.Percentile), weight=per_channel)),
        "xint8": lambda: QConfig.get_default_config("XINT8"),
    }[configuration]()
    ModelQuantizer(config).quantize_model(str(float_file), str(q_file), reader_of(CalibrationDataReader)(fed))


def aimet(configuration, float_file, q_file, fed):
    from aimet_onnx import QuantizationSimModel
    from aimet_onnx.batch_norm_fold import fold_all_batch_norms_to_weight

    model = onnx.load(float_file)
    if configuration != "unfolded":
        fold_all_batch_norms_to_weight(model)
    how = {"quant_scheme": "tf_enhanced"} if configuration == "tf_enhanced" else {}
    sim = QuantizationSimModel(model, param_type="int8", activation_type="int8", **how)
    sim.compute_encodings(fed)
    onnx.save(sim.to_onnx_qdq(), q_file)


# How each configuration finds ranges, where that isn't the minimum and maximum of what is seen.
METHODS = {
    (onnxruntime, "prepared_entropy"): {"method": "entropy"},
    (onnxruntime, "percentile"): {"method": "percentile", "percentile": 99.999},
    (neural_compressor, "entropy"): {"method": "entropy"},
    (modelopt, "default"): {"method": "entropy"},
    (modelopt, "entropy_fp32"): {"method": "entropy"},
    (esp_ppq, "default"): {"method": "percentile", "percentile": 99.99},
    (esp_ppq, "kl"): {"method": "entropy"},
    (quark, "percentile"): {"method": "percentile", "percentile": 99.999},
    (quark, "xint8"): {"method": "mse"},
    (aimet, "tf_enhanced"): {"method": "mse"},
}

CONFIGURATIONS = {
    onnxruntime: ["default", "prepared", "per_channel_uint8", "prepared_per_channel", "prepared_uint8_weights",
                  "prepared_symmetric", "prepared_entropy", "percentile"],
    nncf_onnx: ["default", "mixed", "transformer", "accurate_bias"],
    neural_compressor: ["default", "per_channel", "symmetric", "entropy"],
    modelopt: ["default", "minmax", "entropy_fp32", "dla"],
    esp_ppq: ["default", "minmax", "kl", "minmax_everywhere"],
    quark: ["default", "minmax", "percentile", "xint8"],
    aimet: ["default", "tf_enhanced", "unfolded"],
}


def quantize_one(quantize, configuration, source, folder):
    folder.mkdir(parents=True, exist_ok=True)
    stated = METHODS.get((quantize, configuration), {"method": "minmax"})
    (folder / "options.json").write_text(json.dumps(stated))
    for name in ("float.onnx", "calibration.npz", "inputs.npz"):
        shutil.copyfile(source / name, folder / name)
    with tempfile.TemporaryDirectory() as work:
        float_file, q_file = Path(work, "float.onnx"), Path(work, "q.onnx")
        shutil.copyfile(source / "float.onnx", float_file)
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                quantize(configuration, float_file, q_file, batches(source))
            if not q_file.is_file():
                raise RuntimeError("it returned without an exception and wrote no model")
        except Exception:
            (folder / "error.txt").write_text(said.getvalue()[-4000:] + traceback.format_exc())
            return False
        onnx.save(onnx.load(q_file), folder / "q.onnx")  # some put weights into a file beside it
    (folder / "error.txt").unlink(missing_ok=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = {quantize.__name__: quantize for quantize in CONFIGURATIONS}
    parser.add_argument("converter", choices=known)
    parser.add_argument("models", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--only", default="", metavar="MODEL,…")
    parser.add_argument("--configurations", default="", metavar="NAME,…")
    arguments = parser.parse_args()
    quantize = known[arguments.converter]
    for configuration in filter(None, arguments.configurations.split(",")) if arguments.configurations else \
            CONFIGURATIONS[quantize]:
        good = failed = 0
        for source in sorted(path for path in arguments.models.iterdir() if path.is_dir()):
            if arguments.only and source.name not in arguments.only.split(","):
                continue
            done = quantize_one(quantize, configuration, source,
                                arguments.output / arguments.converter / configuration / source.name)
            good, failed = good + done, failed + (not done)
        print(f"{arguments.converter} {configuration}: {good} written, {failed} failed", flush=True)


if __name__ == "__main__":
    main()
