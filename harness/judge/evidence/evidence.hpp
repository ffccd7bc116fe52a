#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/tensor.hpp"
#include "harness/corpus/case.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// What the converter's executor gave for one data set.
struct Execution {
  std::string data_set;
  core::TensorMap inputs;
  core::TensorMap outputs;
  converters::ExecuteReply reply;
  /// Codes of the artifact's quantized tensors, by their names there, as the engine held them; empty until the judge
  /// has asked for them (Evidence::ask_trace).
  core::TensorMap trace;
};

/// Where data come from. Nothing may be held against data that the user didn't give without a word about it.
enum class DataSource {
  given,      ///< by the user, or kept beside the case
  generated,  ///< made up from the model's shapes
  stands_in,  ///< given for another purpose: inputs that calibrate, or calibration data that are executed
  unknown,    ///< nobody knows them: what a ready artifact was calibrated with
};
[[nodiscard]] std::string_view data_source_name(DataSource source);
[[nodiscard]] std::optional<DataSource> parse_data_source(std::string_view name);

/// What one policy finds wrong and another stated one does not: where nobody knows who made an artifact, it is granted.
struct Grant {
  Facet facet = Facet::scale;
  std::string tensor, node;
  std::string by;  ///< who states it
};

/// The original in another form that computes the same.
struct OriginalForm {
  model::Model model;
  /// How far the values of a tensor may be off because a factor was read from quantized values, relative to the
  /// largest; by name.
  std::map<std::string, double, std::less<>> uncertainty = {};
};

/// What the codes of a weight are.
struct WeightForm {
  core::DType type = core::DType::int8;
  core::DType scale_type = core::DType::float32;
  std::int64_t block = 0;  ///< elements along what is summed that share a scale; 0: no blocks
  bool symmetric = true;
  friend bool operator==(const WeightForm&, const WeightForm&) = default;
};

/// Everything the judge reads. Of the converter's, it runs nothing but what `ask_trace` does.
struct Evidence {
  const corpus::Case* test_case = nullptr;  ///< expectation and names; never null
  converters::Options options;              ///< as asked, after the case's own
  converters::Description converter;
  const model::Model* model = nullptr;  ///< the original
  /// As fed to the judged conversion; null where nobody knows (a ready artifact): activations are not audited then.
  const std::vector<core::TensorMap>* calibration = nullptr;
  DataSource calibration_source = DataSource::unknown;  ///< unknown exactly where `calibration` is null
  DataSource inputs_source = DataSource::unknown;       ///< of the executions'
  converters::ConvertReply conversion;
  /// Where each node's name first stands in conversion.precision, while that is judged (Indexed); null before and
  /// after.
  std::shared_ptr<const std::unordered_map<std::string, std::size_t>> precision_index;
  std::shared_ptr<const model::Model> artifact;  ///< parsed, for kind qdq
  bool ports_written = false;  ///< ... a ready one, with the original's types at its ports (with_float_ports())
  /// The original in the artifact's form (absorbed(), equalized(), distributed(), folded_forward(), renormalized(),
  /// decomposed(), rescaled()), which `model` is then; null where it is the case's.
  std::shared_ptr<const OriginalForm> form;
  /// How far the values of the original's `tensor` may be off because of that form, relative to the largest.
  [[nodiscard]] double uncertainty_of(std::string_view tensor) const {
    if (form == nullptr) return 0;
    const auto found = form->uncertainty.find(tensor);
    return found == form->uncertainty.end() ? 0 : found->second;
  }
  /// Of a ready artifact: what somebody states of the options that it was made with, as JSON; the rest it shows.
  std::optional<std::string> stated_options;
  /// Of nodes of the original, by index: forms that a ready artifact shows where its weights don't all have one and
  /// nobody states any. Empty elsewhere (weight_form() in demands.hpp).
  std::map<std::size_t, WeightForm> weight_forms;
  /// False where ranges come from a table that doesn't say how: they are then held to what any method may give
  /// (options.method is mse, the widest).
  bool method_stated = true;
  /// An output that no limit reaches is red, not amber: our own converter, or whoever asks for it.
  bool require_judged = false;
  /// Entropy's histogram is known to divide the first batch's largest magnitude into 2048 bins that double in width
  /// until every batch fits, and the range to be the middle of one (TensorRT's entropy-2).
  bool first_batch_bins = false;
  /// Why Assay can't read or run what was made, where that is a limit of its own: the verdict is `unsupported`.
  std::optional<core::Error> own_limit;
  std::vector<Grant> granted;           ///< findings of L0 that are notes only
  std::string artifact_error;           ///< why a qdq artifact can't be read: `fail` at stage artifact
  std::filesystem::path output_folder;  ///< given to the conversion; after a refusal or error nothing may lie in it
  std::vector<Execution> executions;
  /// Executes a data set again, for its trace; empty where the converter can give none.
  /// Errors   what the converter did wrong: it failed, gave other outputs than before, or not what it listed.
  std::function<core::Result<core::TensorMap>(const Execution&)> ask_trace;
  /// What the runner found by itself (facets determinism and resources: outputs that change between two executions, a
  /// file left behind by a refusal …). They take part in the verdict like the judge's own.
  std::vector<Finding> recorded;
};

/// How much is found out: no more than whether the verdict is red, and the outputs' SQNR; everything; or that and the
/// local error of every node (metrics `local_margin` and `local_sqnr_db`, where L2 looks into the artifact). The gate
/// is the same.
enum class Depth { gate, full, every_node };

}  // namespace assay::judge
