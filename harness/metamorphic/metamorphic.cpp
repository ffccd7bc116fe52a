#include "harness/metamorphic/metamorphic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <list>
#include <optional>

#include "harness/core/files.hpp"
#include "harness/data/feed_files.hpp"
#include "harness/metamorphic/twins.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/programs/fallen.hpp"
#include "reference/executor.hpp"

namespace assay::metamorphic {
namespace {

namespace fs = std::filesystem;
using converters::Outcome;
using core::TensorMap;
using judge::Facet;
using judge::Finding;
using judge::Stage;

/// Makes the folder `name` below `parent`.
core::Result<fs::path> make_folder(const fs::path& parent, const std::string& name) {
  fs::path folder = parent / name;
  if (core::Status status = core::make_folder(folder); !status) {
    return status.error();
  }
  return folder;
}

}  // namespace

/// One twin, or why there is none, and what lies on disk of it.
struct MadeTwin {
  /// What is fed in place of one data set of the original.
  struct Inputs {
    TensorMap original;
    std::vector<fs::path> folders;
  };

  core::Result<Twin> twin = core::Error{core::ErrorKind::unsupported, "", {}, {}, {}};
  fs::path folder;
  fs::path calibration;  ///< empty until the files are written
  std::list<Inputs> inputs;
  std::list<std::pair<TensorMap, bool>> in_float;  ///< whether the relation holds there, by data set
  int counter = 0;

  [[nodiscard]] core::Result<fs::path> fresh_folder(const std::string& stem) {
    return make_folder(folder, fmt::format("{}_{}", stem, counter++));
  }
  [[nodiscard]] core::Status write(const std::vector<TensorMap>& batches);
  [[nodiscard]] core::Result<const Inputs*> inputs_for(const TensorMap& original);
  [[nodiscard]] bool holds_in_float(const judge::Evidence& evidence);
};

core::Status MadeTwin::write(const std::vector<TensorMap>& batches) {
  if (!calibration.empty()) {
    return core::success();
  }
  const core::Result<fs::path> data = make_folder(folder, "calibration");
  if (!data) {
    return data.error();
  }
  std::size_t number = 0;
  for (const TensorMap& batch : batches) {
    for (const TensorMap& mapped : twin->inputs(batch)) {
      if (core::Status status = data::write_batch(mapped, data::batch_folder(*data, number++), {}); !status) {
        return status;
      }
    }
  }
  if (core::Status status = model::save_model(twin->model, folder / "model.onnx"); !status) {
    return status;
  }
  calibration = *data;
  return core::success();
}

core::Result<const MadeTwin::Inputs*> MadeTwin::inputs_for(const TensorMap& original) {
  const auto known = std::ranges::find(inputs, original, &Inputs::original);
  if (known != inputs.end()) {
    return static_cast<const Inputs*>(&*known);
  }
  Inputs mine{original, {}};
  for (const TensorMap& mapped : twin->inputs(original)) {
    core::Result<fs::path> in = fresh_folder("in");
    if (!in) {
      return in.error();
    }
    if (core::Status status = model::save_tensors(mapped, *in, "input"); !status) {
      return status.error();
    }
    mine.folders.push_back(*std::move(in));
  }
  inputs.push_back(std::move(mine));
  return static_cast<const Inputs*>(&inputs.back());
}

/// Whether the relation holds for the float network itself, exactly: only then does it say something about a converter.
bool MadeTwin::holds_in_float(const judge::Evidence& evidence) {
  const TensorMap& data = evidence.executions.front().inputs;
  const auto known = std::ranges::find(in_float, data, &std::pair<TensorMap, bool>::first);
  if (known != in_float.end()) {
    return known->second;
  }
  const auto holds = [&] {
    const core::Result<TensorMap> outputs = reference::execute(*evidence.model, data);
    if (!outputs) {
      return false;
    }
    const std::vector<TensorMap> fed = twin->inputs(data);
    const std::vector<TensorMap> expected = twin->outputs(*outputs);
    if (expected.size() != fed.size()) {
      return false;  // an output has no batch, or another one
    }
    for (std::size_t index = 0; index < fed.size(); ++index) {
      const core::Result<TensorMap> actual = reference::execute(twin->model, fed[index]);
      if (!actual || *actual != expected[index]) {
        return false;
      }
    }
    return true;
  };
  return in_float.emplace_back(data, holds()).second;
}

namespace {

/// One relation on its way: what differs first is the finding.
class TwinRun {
 public:
  TwinRun(converters::Converter& converter, programs::GivenFiles& given, const judge::Evidence& evidence,
          const Relation& relation, MadeTwin& made)
      : converter_(converter), given_(given), evidence_(evidence), relation_(relation), made_(made) {}

  /// Nothing where the relation holds, or where the converter has fallen().
  core::Result<std::optional<Finding>> run();
  /// The verdict of a converter that crashed, hung or ran out of memory: it says nothing about the relation.
  [[nodiscard]] const std::optional<judge::Judgement>& fallen() const { return fallen_; }

 private:
  [[nodiscard]] Finding finding(Stage stage, Facet facet, std::string what, std::string node = {},
                                std::string op = {}) const {
    Finding finding;
    finding.stage = stage;
    finding.facet = facet;
    finding.node = std::move(node);
    finding.op = std::move(op);
    finding.layer = "L3";
    finding.message =
        fmt::format("metamorphic relation \"{}\": {}\n  {}", relation_.name, relation_.broken, std::move(what));
    return finding;
  }
  [[nodiscard]] bool has_fallen(Outcome outcome, Stage stage, const std::string& reason) {
    fallen_ = programs::fallen(outcome, stage,
                               fmt::format("metamorphic relation \"{}\": the model's twin ended with {}: {}",
                                           relation_.name, converters::outcome_name(outcome), reason));
    return fallen_.has_value();
  }
  [[nodiscard]] std::optional<Finding> compare(const TensorMap& expected, const TensorMap& actual,
                                               const std::string& data_set) const;
  [[nodiscard]] std::optional<Finding> compare_conversions(const converters::ConvertReply& second) const;
  core::Result<converters::ConvertReply> convert();

  converters::Converter& converter_;
  programs::GivenFiles& given_;
  const judge::Evidence& evidence_;
  const Relation& relation_;
  MadeTwin& made_;
  std::optional<judge::Judgement> fallen_;
};

bool same_value(double left, double right) { return left == right || (std::isnan(left) && std::isnan(right)); }

std::optional<Finding> TwinRun::compare(const TensorMap& expected, const TensorMap& actual,
                                        const std::string& data_set) const {
  for (const auto& [name, want] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end()) {
      return finding(Stage::execute, Facet::names, fmt::format("the twin has no output \"{}\"", name));
    }
    const core::Tensor& got = found->second;
    if (got.shape() != want.shape()) {
      return finding(Stage::execute, Facet::shape,
                     fmt::format("output \"{}\": the twin gives {}, expected {}", name, core::shape_text(got.shape()),
                                 core::shape_text(want.shape())));
    }
    std::int64_t differing = 0;
    std::optional<std::int64_t> first;
    for (std::int64_t index = 0; index < want.size(); ++index) {
      if (!same_value(want.as_real(index), got.as_real(index))) {
        ++differing;
        first = first.value_or(index);
      }
    }
    if (first) {
      Finding found_difference = finding(
          Stage::judge, Facet::numerics,
          fmt::format("output \"{}\", data set {}: {} of {} elements differ, first element {}: {} expected, "
                      "the twin gives {}",
                      name, data_set, differing, want.size(), *first, want.as_real(*first), got.as_real(*first)));
      found_difference.tensor = name;
      found_difference.data_set = data_set;
      return found_difference;
    }
  }
  return std::nullopt;
}

std::optional<Finding> TwinRun::compare_conversions(const converters::ConvertReply& second) const {
  const auto differs = [&](std::string what) { return finding(Stage::convert, Facet::determinism, std::move(what)); };
  const std::vector<converters::TensorScale>& before = evidence_.conversion.tensors;
  if (before.size() != second.tensors.size()) {
    return differs(fmt::format("{} tensors are listed, then {}", before.size(), second.tensors.size()));
  }
  for (std::size_t index = 0; index < before.size(); ++index) {
    if (before[index].name != second.tensors[index].name || !(before[index].params == second.tensors[index].params)) {
      Finding found = differs(fmt::format("parameters of tensor \"{}\" differ", before[index].name));
      found.tensor = before[index].name;
      return found;
    }
  }
  if (evidence_.artifact == nullptr) {
    return std::nullopt;
  }
  const core::Result<model::Model> artifact = model::load_model(second.artifact);
  if (!artifact) {
    return differs("the second artifact can't be read: " + artifact.error().message);
  }
  if (model::serialize_model(*artifact) != model::serialize_model(*evidence_.artifact)) {
    return differs("the two artifacts are not the same model");
  }
  return std::nullopt;
}

core::Result<converters::ConvertReply> TwinRun::convert() {
  if (core::Status status = made_.write(*evidence_.calibration); !status) {
    return status.error();
  }
  const core::Result<fs::path> output = made_.fresh_folder("out");
  if (!output) {
    return output.error();
  }
  converters::Options options = evidence_.options;
  options.precision.clear();
  for (const auto& [what, precision] : evidence_.options.precision) {
    const auto renamed = made_.twin->renamed_nodes.find(what);
    options.precision.emplace(renamed == made_.twin->renamed_nodes.end() ? what : renamed->second, precision);
  }
  return given_.convert(converter_, {made_.folder / "model.onnx", made_.calibration, options, *output});
}

core::Result<std::optional<Finding>> TwinRun::run() {
  core::Result<converters::ConvertReply> conversion = convert();
  if (!conversion) {
    return conversion.error();
  }
  if (has_fallen(conversion->outcome, Stage::convert, conversion->reason)) {
    return std::optional<Finding>();
  }
  if (conversion->outcome != Outcome::ok) {
    return std::optional(finding(Stage::convert, Facet::status,
                                 fmt::format("the model converts, its twin does not ({}): {}",
                                             converters::outcome_name(conversion->outcome), conversion->reason),
                                 conversion->node, conversion->op));
  }
  if (relation_.name == "twice") {
    if (std::optional<Finding> found = compare_conversions(*conversion)) {
      return found;
    }
  }
  for (const judge::Execution& execution : evidence_.executions) {
    const core::Result<const MadeTwin::Inputs*> inputs = made_.inputs_for(execution.inputs);
    if (!inputs) {
      return inputs.error();
    }
    const std::vector<TensorMap> expected = made_.twin->outputs(execution.outputs);
    for (std::size_t index = 0; index < expected.size(); ++index) {
      const core::Result<fs::path> out = made_.fresh_folder("outputs");
      if (!out) {
        return out.error();
      }
      const converters::ExecuteReply reply =
          given_.execute(converter_, {conversion->artifact, (*inputs)->folders[index], *out});
      if (has_fallen(reply.outcome, Stage::execute, reply.reason)) {
        return std::optional<Finding>();
      }
      if (reply.outcome != Outcome::ok) {
        return std::optional(finding(Stage::execute, Facet::status,
                                     fmt::format("the model runs, its twin does not ({}): {}",
                                                 converters::outcome_name(reply.outcome), reply.reason),
                                     reply.node, reply.op));
      }
      const core::Result<TensorMap> outputs = model::take_tensors(*out, "output");
      if (!outputs && outputs.error().kind == core::ErrorKind::unsupported) {  // a limit of our own
        return outputs.error().within(fmt::format("metamorphic relation \"{}\"", relation_.name));
      }
      if (!outputs) {  // protocol 1 fixes the files' form
        (void)has_fallen(Outcome::crash, Stage::execute, "protocol: " + outputs.error().message);
        return std::optional<Finding>();
      }
      if (std::optional<Finding> found = compare(expected[index], *outputs, execution.data_set)) {
        return found;
      }
    }
  }
  return std::optional<Finding>();
}

/// Why the relation can't be asked under these options and this policy, or nothing.
std::string outside_policy(const judge::Evidence& evidence, const Relation& relation) {
  const converters::Policy& policy = evidence.converter.policy;
  if (relation.name == "twice") {
    return policy.deterministic ? "" : "the converter states that it is not deterministic";
  }
  if (!evidence.options.cache.empty()) {
    return "a calibration cache is reused";
  }
  if (relation.reorders && evidence.options.method != converters::Method::minmax) {
    return "ranges of this method may depend on how the data are grouped";
  }
  if (relation.reorders &&
      (policy.arithmetic != converters::EngineArithmetic::integer || policy.averaging != converters::Averaging::none)) {
    return "exact only for integer arithmetic and plain extremes, which the converter does not state";
  }
  if (relation.name == "batch" && evidence.options.dynamic) return "the images of a batch share the range that it has";
  if (relation.name == "scale" && (policy.has_floor() || !policy.fixed_ranges.empty())) {
    return "the converter's scales do not all follow the data (floor or fixed ranges)";
  }
  if (relation.name == "gemm" && !evidence.options.precision.empty()) {
    return "precision is asked by operator or node";
  }
  return "";
}

}  // namespace

Twins::Twins(fs::path folder) : folder_(std::move(folder)) {}
Twins::~Twins() = default;

MadeTwin& Twins::made(const Relation& relation, const judge::Evidence& evidence) {
  std::unique_ptr<MadeTwin>& slot = made_[{relation.name, evidence.calibration}];
  if (slot == nullptr) {
    slot = std::make_unique<MadeTwin>();
    slot->twin = relation.make(*evidence.model, *evidence.calibration);
    slot->folder = folder_ / fmt::format("{}_{}", relation.name, made_.size());
  }
  return *slot;
}

void Twins::forget() {
  made_.clear();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

core::Result<RelationReport> Twins::check(converters::Converter& converter, programs::GivenFiles& given,
                                          const judge::Evidence& evidence, const std::vector<std::string>& names) {
  RelationReport report;
  for (const std::string& name : names) {
    const Relation* relation = find_relation(name);
    if (relation == nullptr) {
      return core::Error{
          core::ErrorKind::invalid_case, fmt::format("there is no metamorphic relation \"{}\"", name), {}, {}, {}};
    }
    if (const std::string reason = outside_policy(evidence, *relation); !reason.empty()) {
      report.not_applicable.push_back(fmt::format("{}: {}", name, reason));
      continue;
    }
    MadeTwin& twin = made(*relation, evidence);
    if (!twin.twin) {
      report.not_applicable.push_back(fmt::format("{}: {}", name, twin.twin.error().message));
      continue;
    }
    if (relation->conditional && !twin.holds_in_float(evidence)) {
      report.not_applicable.push_back(fmt::format("{}: the float network itself does not have it", name));
      continue;
    }
    if (core::Status status = core::make_folder(twin.folder); !status) {
      return status.error();
    }
    TwinRun twin_run(converter, given, evidence, *relation, twin);
    core::Result<std::optional<Finding>> finding = twin_run.run();
    if (!finding) {
      return finding.error();
    }
    if (twin_run.fallen()) {
      report.fallen = twin_run.fallen();
      return report;
    }
    if (finding->has_value()) {
      report.findings.push_back(**std::move(finding));
      report.broken.push_back(name);
    } else {
      report.held.push_back(name);
    }
  }
  return report;
}

}  // namespace assay::metamorphic
