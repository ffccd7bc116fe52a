#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::embedded {

/// One row of the fault table (docs/score.md).
struct FaultInfo {
  std::string_view name;
  std::string_view url;    ///< the public report it follows
  std::string_view stage;  ///< "load", "float", "simplify", "plan", "calibrate", "assign", "emit", "cache", "engine"
  std::string_view title;  ///< what it does
};
[[nodiscard]] std::span<const FaultInfo> fault_table();
/// False where a fault changes conversions only: the same artifact then gives the same outputs.
[[nodiscard]] bool changes_execution(std::string_view fault);

/// Correct ways in which real engines differ; false alarms are measured over them.
struct VariantInfo {
  std::string_view name;  ///< "round_half_away", "multiplier_31", "reciprocal_scale", "float_multiply", …
  std::string_view title;
  std::string_view options_json = "{}";  ///< what the variant asks of the converter
};
[[nodiscard]] std::span<const VariantInfo> variant_table();

/// What conversions of the same files have in common, whatever their faults (shared_work.hpp).
class SharedWork;
[[nodiscard]] std::shared_ptr<SharedWork> make_shared_work();

/// The full INT8 converter with its integer engine. `faults` and `variant` are names of the tables above. Converters
/// that are given the same `shared` do their common work once.
/// Errors   usage, for an unknown name, listing the nearest.
[[nodiscard]] core::Result<std::unique_ptr<converters::Converter>> make_embedded(
    const std::vector<std::string>& faults = {}, const std::string& variant = "",
    std::shared_ptr<SharedWork> shared = nullptr);

/// What one conversion in memory takes and gives; the Converter above wraps it in files.
struct Conversion {
  converters::ConvertReply reply;  ///< paths empty
  model::Model artifact;           ///< Q/DQ ONNX
  std::string cache_json;
};

/// Converts without files. A refusal or error is in the reply; only an unknown fault is an Error.
[[nodiscard]] core::Result<Conversion> convert_in_memory(const model::Model& original,
                                                         const std::vector<core::TensorMap>& batches,
                                                         const converters::Options& options,
                                                         const std::vector<std::string>& faults = {});

/// Runs an artifact (any Q/DQ model that the engine understands) in integers.
/// `trace`, when given, receives the codes of every quantized intermediate tensor by its QuantizeLinear output name.
[[nodiscard]] core::Result<core::TensorMap> run_artifact(const model::Model& artifact, const core::TensorMap& inputs,
                                                         const std::string& variant = "",
                                                         core::TensorMap* trace = nullptr);

}  // namespace assay::embedded
