#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/embedded/state.hpp"

namespace assay::embedded {

/// One step of a conversion.
struct Pass {
  enum class Origin { standard, wrapped, inserted };
  std::string_view stage;
  std::function<Status(State&)> run;
  Origin origin = Origin::standard;
};
using Passes = std::vector<Pass>;

/// load → feed → float → simplify → plan → calibrate → assign → encode → emit → report → write.
[[nodiscard]] Passes standard_passes();

/// Runs the passes until one fails; its error gets the stage's name in front.
[[nodiscard]] Status run_passes(const Passes& passes, State& state);

/// Options, domains and types that the converter takes; brings the model to an opset that has per-axis Q/DQ.
/// Errors   unsupported, naming node, operator and reason.
[[nodiscard]] Status check_and_upgrade(State& state);

/// Every batch holds every input, by name, with the declared type and fixed extents, finite.
/// Errors   invalid_data, naming input and batch.
[[nodiscard]] Status check_feed(State& state);

/// Runs the original in float on the first batch: a broken model shows here, before any quantization.
[[nodiscard]] Status run_in_float(State& state);

/// Constant folding, BatchNormalization folding, removal of Identity and Dropout, HardSwish patterns.
[[nodiscard]] Status simplify(State& state);

/// Form of every node, tensors that need parameters, tensors that share them.
/// Errors   unsupported, naming the node that has no INT8 form where one is demanded.
[[nodiscard]] Status make_plan(State& state);
/// Plan::quantized, shares and covers, from the nodes' forms and operands.
void mark_tensors(State& state);

/// Ranges of every real tensor over all batches, or those of the cache.
/// Errors   invalid_data naming tensor and batch; a stale cache with what differs.
[[nodiscard]] Status calibrate(State& state);

/// Parameters of every quantized tensor, weight and bias (docs/oracle.md, L0).
[[nodiscard]] Status assign(State& state);
/// Biases again in units of s_x * s_w, after either of them changed.
void assign_bias_scales(State& state);

/// Codes of weights, biases and constant operands.
[[nodiscard]] Status encode(State& state);

/// The Q/DQ model and the list of its tensors.
[[nodiscard]] Status emit(State& state);

/// The precision of every original node, as the engine will run it, and the cache.
/// Errors   unsupported, where INT8 was demanded and the engine has no integer form of the node.
[[nodiscard]] Status report(State& state);

inline constexpr std::string_view kArtifactFile = "model.onnx";
inline constexpr std::string_view kCacheFile = "calibration.cache";
/// The Q/DQ model that the engine runs, beside an artifact of another format.
inline constexpr std::string_view kEngineFile = "engine.onnx";
/// model.onnx, scales.json, precision.json and the cache (symmetric: in TensorRT's form too), into State::output unless
/// that is empty. The last pass: a conversion that ends early leaves nothing behind.
[[nodiscard]] Status write_files(State& state);

}  // namespace assay::embedded
