"""Sessions of ONNX Runtime that compute what the model says. Without ONNX Runtime, importing this ends the program with
exit status 77 (skipped)."""
import sys

try:
    import onnxruntime as ort
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def plain_session(model, threads=0):
    """A session that changes nothing about `model`; 0 threads: as many as there are cores."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
