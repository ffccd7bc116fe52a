#!/bin/sh
# score.onnxruntime_optimized: optimized.sh ASSAY. ONNX Runtime 1.21.1 to 1.24.4, of which one is installed by default, gives other
# numbers in every run on processors with amx_int8 (docs/converters/onnxruntime.md): skipped there, with exit code 77.
if grep -qw amx_int8 /proc/cpuinfo; then
  echo "this processor has amx_int8, where ONNX Runtime's optimized Conv is wrong up to 1.24.4"
  exit 77
fi
exec "$1" score onnxruntime_optimized --variant onnxruntime_optimized --artifact-kind qdq
