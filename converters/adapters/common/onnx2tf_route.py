"""From ONNX to TensorFlow Lite by onnx2tf, and back from what LiteRT executes: onnx2tf moves channels to the end and gives
inputs and outputs names of TensorFlow's."""

import contextlib
import itertools
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

from assay_protocol import Refused, changed, read_tensors, write_tensors  # first: TensorFlow prints
import numpy
import onnxruntime
import onnxsim_program
from captured import Failed, call, captured
from model_request import declared_shape, graph_inputs, open_model, refuse_float, wanted_precision

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TQDM_DISABLE", "1")  # progress bars, which onnx2tf 2.x prints in the middle of what it says

import onnx2tf
from ai_edge_litert.interpreter import Interpreter

# onnx2tf downloads a file of this name unless it lies in the working directory; any pictures do.
SAMPLE = "calibration_image_sample_data_20x128x128x3_float32.npy"
FLOAT_ONLY = ("CumSum", "Erf")  # LiteRT has no kernel on quantized values
FIRST_WITH_CHANNELS, LAST_WITH_CHANNELS = 3, 5  # ranks at which onnx2tf moves axis 1 to the end
POLICY = {
    "weights": "nearest",
    "bias": "nearest",
    "divisor": 127,
    "averaging": "none",
    "fixed_ranges": {  # of TensorFlow Lite's quantization specification: scale 1/256 and 1/128
        "Softmax": [0, 255 / 256], "Sigmoid": [0, 255 / 256], "Tanh": [-1, 127 / 128]},
    "folds_bn": True,
    "arithmetic": "integer",
    "deterministic": True,
}
# TensorFlow Lite's 16x8: symmetric int16 activations over int8 weights, biases of 64 bits.
INT16 = {"activation": ["int16"], "symmetric": [True]}
INT16_POLICY = {"fixed_ranges": {name: [-32767 / 32768, 32767 / 32768] for name in ("Softmax", "Sigmoid", "Tanh")}}  # scale 1/32768
DEQUANTIZED = re.compile(r"_dequantized_output(_\d+)?$")  # ends what onnx2tf 2.x calls an output that its quantizer gave back in float
OUTPUTS = "outputs.json"  # beside the artifact: {graph output: how it lies there}, 0 for an extent that is open
KEPT = "kept.json"  # beside the artifact: the inputs whose channels stay where the model has them
MOST_UNCLEAR = 4  # inputs whose extents don't tell how they lie, of which every combination is tried


def channels_last(array):
    if not FIRST_WITH_CHANNELS <= array.ndim <= LAST_WITH_CHANNELS:
        return array
    return numpy.ascontiguousarray(numpy.moveaxis(array, 1, -1))


def channels_second(array):
    """The other way round."""
    return numpy.ascontiguousarray(numpy.moveaxis(array, -1, 1))


def fits(array, shape):
    """Whether it has these extents, of which 0 is any."""
    return array.ndim == len(shape) and all(want in (0, got) for want, got in zip(shape, array.shape))


def is_open(shape):
    """Whether an output of these extents may lie either way."""
    turned = [*shape[:1], *shape[2:], *shape[1:2]]
    return len(shape) >= FIRST_WITH_CHANNELS and all(0 in pair or pair[0] == pair[1] for pair in zip(shape, turned))


def of_shape(array, shape, channels_are_last):
    """`array` with its last axis back at place 1 where it has `shape` only then, or either way and `channels_are_last`."""
    if array.ndim < FIRST_WITH_CHANNELS or not fits(turned := channels_second(array), shape):
        return array
    return turned if channels_are_last or not fits(array, shape) else array


def cleaned(name):
    """A name as TensorFlow's signatures have it, of which onnx2tf takes the colons out."""
    return re.sub("[^A-Za-z0-9_]", "_", name.replace(":", "__"))


def matched(keys, names):
    """{key of the signature: name of the model}, for its inputs or its outputs."""
    found = {}
    for key in keys:
        fitting = [name for name in names if name == key] or [name for name in names if cleaned(name) == cleaned(key)]
        if len(fitting) != 1:
            raise RuntimeError(f"the model's \"{key}\" is none or several of {', '.join(names)}")
        found[key] = fitting[0]
    return found


def matched_outputs(keys, names):
    """The same for outputs, which TensorFlow numbers in some of its files (output_0, output_1 …) and onnx2tf 2.x ends in a word of
    its own."""
    own = {key: key if key in names else DEQUANTIZED.sub("", key) for key in keys}
    if {cleaned(key) for key in own.values()} <= {cleaned(name) for name in names}:
        found = matched(own.values(), names)
        return {key: found[name] for key, name in own.items()}
    return {key: names[int(key.removeprefix("output_"))] for key in keys}


def opened(model, options, converter):
    """The model of a request; Refused where the request asks for what no route through onnx2tf can do."""
    original = open_model(model, options, converter)
    refuse_float(original, options, f"{converter} can't leave a node in float")
    for node in original.graph.node:
        if node.op_type in FLOAT_ONLY and wanted_precision(node, options) == "int8":
            raise Refused("TensorFlow Lite has no INT8 form of it", node.name, node.op_type)
    if any(FIRST_WITH_CHANNELS <= len(declared_shape(tensor)) <= LAST_WITH_CHANNELS for tensor in graph_inputs(original)):
        changed("calibration data and inputs are fed with their channels last, as onnx2tf's model has them")
    return original


def checked(batches, original):
    """The batches. Errors   ValueError, naming the first that lacks an input or has it in another shape: once its axes are
    those of TensorFlow, nobody else can tell."""
    for number, batch in enumerate(batches):
        for tensor in graph_inputs(original):
            if tensor.name not in batch:
                raise ValueError(f"calibration batch {number:04d} has no \"{tensor.name}\"")
            shape = [axis.dim_value for axis in tensor.type.tensor_type.shape.dim]
            if not fits(batch[tensor.name], shape):
                raise ValueError(f"calibration batch {number:04d}, input \"{tensor.name}\": shape "
                                 f"{list(batch[tensor.name].shape)} where the model declares {shape}")
    return batches


@contextlib.contextmanager
def in_own_names(original):
    """What fails inside calls an input as the model does, not "serving_default_img:0" as TensorFlow."""
    try:
        yield
    except Failed as error:
        names = {cleaned(tensor.name): tensor.name for tensor in graph_inputs(original)}
        raise Failed(re.sub(r"serving_default_(\w+):\d+", lambda found: f'"{names.get(found[1], found[1])}"',
                            str(error))) from error


@contextlib.contextmanager
def _made(model, kind, options):
    """Yields the path of the file model_KIND.tflite that onnx2tf makes of an ONNX file, beside its SavedModel.

    Errors   Failed, with what onnx2tf printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder, "built")
        copy = Path(shutil.copy(model, Path(folder, "model.onnx")))  # onnxsim writes over what it reads
        words = call("onnx2tf", _run, str(copy), built, options)[1]
        file = built / f"model_{kind}.tflite"
        if not file.is_file():
            raise Failed(f"onnx2tf: no {kind} model was written; it printed:\n{words[-3000:]}")
        yield file


def made_integer(model, kind, **options):
    """The bytes of TensorFlow Lite's quantized model of this kind, which has float inputs and outputs."""
    with _made(model, kind, {"output_integer_quantized_tflite": True, **options}) as file:
        return file.read_bytes()


def made_float(model):
    """The bytes of the float32 model, with a signature."""
    with _made(model, "float32", {}) as file:
        if Interpreter(model_path=str(file)).get_signature_list():
            return file.read_bytes()
        # TensorFlow leaves the signature out where it takes a Keras model for one that can't be saved; onnx2tf saved it.
        import tensorflow  # which onnx2tf 2.x doesn't bring
        converter = tensorflow.lite.TFLiteConverter.from_saved_model(str(file.parent))
        converter.target_spec.supported_ops = [tensorflow.lite.OpsSet.TFLITE_BUILTINS, tensorflow.lite.OpsSet.SELECT_TF_OPS]
        return call("TensorFlow Lite", converter.convert)[0]


def _run(model, built, options):
    if not Path(SAMPLE).exists():
        numpy.save(SAMPLE, numpy.random.default_rng(0).random((20, 128, 128, 3), numpy.float32))
        # onnx2tf starts a program "onnxsim" four times a model and goes on without where there is none. The
        # environment's own was written for the folder that the environment was built in.
        onnxsim_program.provide()
    try:
        onnx2tf.convert(input_onnx_file_path=model, output_folder_path=str(built), **options)  # leaves by SystemExit where it fails
    except RuntimeError as error:
        raise (error.__cause__ or error)  # onnx2tf 2.x says "flatbuffer_direct fast path failed." and keeps the cause


def inputs_kept(file, original, batch):
    """The inputs that lie in a file as in the model: onnx2tf 2.x decides it for each (MatMul's stay, Conv's are moved). Where the
    extents don't tell, those with which the file comes nearest to ONNX Runtime's outputs on a batch."""
    details = Interpreter(model_content=file).get_signature_runner().get_input_details()
    names = {name: key for key, name in matched(details, list(batch)).items()}
    moved = [name for name in names if FIRST_WITH_CHANNELS <= batch[name].ndim <= LAST_WITH_CHANNELS]
    declared = {tensor.name: [axis.dim_value for axis in tensor.type.tensor_type.shape.dim] for tensor in graph_inputs(original)}
    turned = {name: [*declared[name][:1], *declared[name][2:], declared[name][1]] for name in moved}
    shapes = {name: [0 if extent < 0 else int(extent) for extent in details[names[name]]["shape_signature"]] for name in moved}
    kept = {name for name in moved if shapes[name] == declared[name] != turned[name]}
    unclear = [name for name in moved if declared[name] == turned[name]][:MOST_UNCLEAR]
    if not unclear:
        return kept
    outputs = [tensor.name for tensor in original.graph.output]
    errors = {}
    for chosen in itertools.product((False, True), repeat=len(unclear)):
        tried = kept | {name for name, stays in zip(unclear, chosen) if stays}
        with contextlib.suppress(Exception), captured():
            session = onnxruntime.InferenceSession(original.SerializeToString(), providers=["CPUExecutionProvider"])
            expected = dict(zip(outputs, session.run(outputs, {each.name: batch[each.name] for each in session.get_inputs()})))
            results = run(file, batch, outputs, tried)
            errors[frozenset(tried)] = sum(
                min(numpy.square(numpy.subtract(array, expected[name], dtype=numpy.float64)).sum()
                    for array in (results[name], channels_second(results[name]) if results[name].ndim >= FIRST_WITH_CHANNELS else results[name])
                    if array.shape == expected[name].shape) for name in outputs)
    return set(min(errors, key=errors.get)) if errors else kept


def write_artifact(file, original, batches, output, kept=()):
    """The path of the artifact below `output`; `kept` are the inputs that `inputs_kept` says."""
    artifact = Path(output, "model.tflite")
    artifact.write_bytes(file)
    artifact.with_name(KEPT).write_text(json.dumps(sorted(kept)))
    shapes = {tensor.name: [axis.dim_value for axis in tensor.type.tensor_type.shape.dim]
              for tensor in original.graph.output}
    last = channels_last_outputs(file, original, batches[0], [name for name, shape in shapes.items() if is_open(shape)], kept)
    artifact.with_name(OUTPUTS).write_text(json.dumps(
        {name: {"shape": shape, "channels_are_last": name in last} for name, shape in shapes.items()}))
    return artifact


def channels_last_outputs(file, original, batch, names, kept=()):
    """Of these outputs, whose extents don't tell, those that come nearer to ONNX Runtime's on a batch with their last axis at
    place 1; none where one of both doesn't run."""
    if not names:
        return set()
    try:
        with captured():
            session = onnxruntime.InferenceSession(original.SerializeToString(), providers=["CPUExecutionProvider"])
            expected = dict(zip(names, session.run(names, {each.name: batch[each.name] for each in session.get_inputs()})))
            results = run(file, batch, [tensor.name for tensor in original.graph.output], kept)
    except Exception:  # whatever a model or a batch is refused for is said elsewhere
        return set()

    def error(name, array):
        return numpy.square(numpy.subtract(array, expected[name], dtype=numpy.float64)).sum()

    return {name for name in names if results[name].shape == expected[name].shape == channels_second(results[name]).shape
            and error(name, channels_second(results[name])) < error(name, results[name])}


def fed(runner, tensors, kept=()):
    """{key of the signature: array}, in the layout of the file's inputs, of which those that are `kept` lie as in the model."""
    details = runner.get_input_details()
    arrays = {}
    for key, name in matched(details, tensors).items():
        turned = channels_last(tensors[name])
        as_it_is = list(tensors[name].shape) == list(details[key]["shape"]) != list(turned.shape)
        arrays[key] = tensors[name] if as_it_is or name in kept else turned
    return arrays


def quantized(array, detail):
    """Real values as an input of the file takes them: its integers, where it has a scale."""
    scale, zero_point = detail["quantization"]
    if not scale or not numpy.issubdtype(array.dtype, numpy.floating):
        return array.astype(detail["dtype"])
    limits = numpy.iinfo(detail["dtype"])
    steps = numpy.rint(array / numpy.float32(scale)) + zero_point
    return numpy.clip(steps, limits.min, limits.max).astype(detail["dtype"])


def real(array, detail):
    """What an output of the file is as real values."""
    scale, zero_point = detail["quantization"]
    if not scale or not numpy.issubdtype(array.dtype, numpy.integer):
        return array
    return ((array.astype(numpy.int64) - zero_point) * numpy.float64(scale)).astype(numpy.float32)


def run(file, tensors, names, kept=()):
    """{graph output: real values} as the file gives them, by LiteRT with its default delegates; `names` are the outputs', `kept`
    the inputs that lie as in the model."""
    runner = Interpreter(model_content=file, num_threads=1).get_signature_runner()
    details = runner.get_input_details()
    results = runner(**{key: quantized(array, details[key]) for key, array in fed(runner, tensors, kept).items()})
    details = runner.get_output_details()
    return {name: real(results[key], details[key]) for key, name in matched_outputs(results, names).items()}


def execute(artifact, inputs, output):
    """Executes an artifact that `write_artifact` wrote."""
    outputs, kept = (json.loads(Path(artifact).with_name(name).read_text()) for name in (OUTPUTS, KEPT))
    results = run(Path(artifact).read_bytes(), read_tensors(inputs), list(outputs), kept)
    write_tensors({name: of_shape(array, **outputs[name]) for name, array in results.items()}, output)
