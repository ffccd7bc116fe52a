// CaseBench: the data sets of a case, and what a converter makes of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "harness/model/onnx_io.hpp"
#include "harness/programs/fallen.hpp"
#include "harness/run/evaluate.hpp"

namespace assay::run {
namespace fs = std::filesystem;
using converters::Outcome;

namespace {

/// Equal in type, shape and every value, NaN being equal to itself.
bool same_values(const core::Tensor& a, const core::Tensor& b) {
  if (a == b) {
    return true;
  }
  return a.is_real() && a.type() == b.type() && a.shape() == b.shape() &&
         std::ranges::equal(a.reals(), b.reals(),
                            [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

using Scales = std::map<std::string, core::QuantParams>;

/// Of the tensors that a data set is made from.
Scales scales_of(const judge::Evidence& evidence, const corpus::Case& test_case,
                 const std::vector<std::string>& names) {
  std::set<std::string> behind;
  for (const std::string& name : names) {
    for (std::string& tensor : corpus::tensors_behind(test_case, name)) behind.insert(std::move(tensor));
  }
  if (evidence.model == nullptr || behind.empty()) return {};
  Scales scales = judge::audited_input_params(evidence);
  for (const converters::TensorScale& tensor : evidence.conversion.tensors) {
    if (behind.contains(tensor.name)) scales[tensor.name] = tensor.params;
  }
  const bool inputs_alone = std::ranges::all_of(
      behind, [&](const std::string& name) { return evidence.model->graph.find_input(name) != nullptr; });
  if (!inputs_alone) scales.merge(judge::artifact_params(evidence));
  return scales;
}

/// Those of them that data set `name` is made from.
Scales scales_for(const corpus::Case& test_case, const std::string& name, const Scales& scales) {
  Scales own;
  for (const std::string& tensor : corpus::tensors_behind(test_case, name)) {
    const auto found = scales.find(tensor);
    if (found != scales.end()) own.insert(*found);
  }
  return own;
}

}  // namespace

void CaseBench::execute(converters::Converter& converter, Trial& trial) {
  judge::Evidence& evidence = trial.evidence;
  if (evidence.conversion.outcome != Outcome::ok) {
    return;
  }
  trial.artifact_kind = evidence.converter.supports.artifact;
  if (trial.artifact_kind == converters::ArtifactKind::qdq) {
    read_artifact(evidence);
    if (evidence.ports_written) {  // what is executed is what is judged
      core::Result<fs::path> folder = fresh_folder("artifact");
      core::Status saved = folder ? model::save_model(*evidence.artifact, *folder / "artifact.onnx") : folder.error();
      if (!saved) {
        trial.settled = own_fault(saved.error());
        return;
      }
      evidence.conversion.artifact = *folder / "artifact.onnx";
    }
  }
  // What can't be read can be run all the same, unless it is we who'd run it.
  if (evidence.artifact_error.empty() && evidence.converter.supports.execute) {
    execute_data_sets(converter, trial);
  }
}

void CaseBench::relate(converters::Converter& converter, Trial& trial) {
  judge::Evidence& evidence = trial.evidence;
  if (std::exchange(trial.related, true) || trial.settled || case_.metamorphic.empty()) {
    return;
  }
  const bool ran = std::ranges::all_of(evidence.executions,
                                       [](const judge::Execution& each) { return each.reply.outcome == Outcome::ok; });
  if (evidence.calibration == nullptr || evidence.executions.empty() || !ran) {
    return;
  }
  core::Result<metamorphic::RelationReport> relations = twins_.check(converter, given_, evidence, case_.metamorphic);
  if (!relations) {
    trial.settled = own_fault(relations.error().within(case_.name));
    return;
  }
  if (relations->fallen) {
    trial.settled = relations->fallen;
    return;
  }
  evidence.recorded.insert(evidence.recorded.end(), relations->findings.begin(), relations->findings.end());
  trial.relations = *std::move(relations);
}

std::vector<std::string> CaseBench::data_set_names() const {
  if (!data_) {
    return corpus::data_set_names(case_);
  }
  if (!data_->names.empty()) {
    return data_->names;
  }
  std::vector<std::string> names;
  for (std::size_t index = 0; index < data_->inputs.size(); ++index) {
    names.push_back(index == 0 ? "typical" : fmt::format("inputs_{}", index));
  }
  return names;
}

core::Result<const CaseBench::DataSet*> CaseBench::data_set(std::size_t index, const std::string& name,
                                                            const std::map<std::string, core::QuantParams>& scales) {
  DataSet set{name, scales_for(case_, name, scales), {}, {}};
  const auto made = std::ranges::find_if(
      data_sets_, [&](const DataSet& other) { return other.name == set.name && other.scales == set.scales; });
  if (made != data_sets_.end()) {
    return &*made;
  }
  core::Result<core::TensorMap> inputs = data_ ? data_->inputs[index] : corpus::data_set(case_, set.name, set.scales);
  if (!inputs) {
    return inputs.error().within("data set " + set.name);
  }
  set.inputs = *std::move(inputs);
  core::Result<fs::path> folder = fresh_folder("in");
  if (!folder) {
    return folder.error();
  }
  if (core::Status status = model::save_tensors(set.inputs, *folder, "input"); !status) {
    return status.error();
  }
  set.folder = *std::move(folder);
  data_sets_.push_back(std::move(set));
  return &data_sets_.back();
}

core::Result<std::vector<CaseBench::DataSet>> CaseBench::data_sets(const Trial& trial) {
  const std::vector<std::string> names = data_set_names();
  const Scales scales = scales_of(trial.evidence, case_, names);
  std::vector<DataSet> sets;
  for (std::size_t index = 0; index < names.size(); ++index) {
    core::Result<const DataSet*> set = data_set(index, names[index], scales);
    if (!set) {
      return set.error();
    }
    sets.push_back(**set);
  }
  return sets;
}

/// How often `typical` is to be drawn, so that outputs of few values have more of them: where nothing but these shows
/// what was done.
std::size_t draws_needed(const judge::Evidence& evidence) {
  constexpr std::int64_t kFewValues = 64, kEnough = 256;
  constexpr std::size_t kMostDraws = 8;
  const auto typical = std::ranges::find(evidence.executions, "typical", &judge::Execution::data_set);
  if (evidence.artifact != nullptr || typical == evidence.executions.end()) return 1;
  std::int64_t fewest = kFewValues;
  for (const auto& [name, output] : typical->outputs) {
    if (output.is_real() && output.size() > 0) fewest = std::min(fewest, output.size());
  }
  if (fewest == kFewValues) return 1;
  return std::min(kMostDraws, static_cast<std::size_t>((kEnough + fewest - 1) / fewest));
}

void CaseBench::execute_data_sets(converters::Converter& converter, Trial& trial) {
  judge::Evidence& evidence = trial.evidence;
  std::vector<std::string> names = data_set_names();
  const Scales scales = scales_of(evidence, case_, names);
  for (std::size_t index = 0; index < names.size(); ++index) {
    const core::Result<const DataSet*> set = data_set(index, names[index], scales);
    core::Result<judge::Execution> execution =
        set ? execute(converter, evidence.conversion.artifact, (*set)->name, (*set)->folder, false) : set.error();
    if (!execution) {
      trial.settled = own_fault(execution.error().within(case_.name));
      return;
    }
    execution->inputs = (*set)->inputs;
    const bool usable = execution->reply.outcome == Outcome::ok;
    evidence.executions.push_back(*std::move(execution));
    if (!usable) {
      break;  // the first failure is the verdict; a hanging executor need not hang once per data set
    }
    if (index + 1 == names.size() && !data_ && !corpus::is_further_draw(names.back())) {
      for (std::size_t draw = 2; draw <= draws_needed(evidence); ++draw) names.push_back(corpus::further_draw(draw));
    }
  }
  if (evidence.converter.supports.trace) {
    evidence.ask_trace = [this, &converter, artifact = evidence.conversion.artifact,
                          deterministic = evidence.converter.policy.deterministic](const judge::Execution& execution) {
      return trace(converter, artifact, execution, deterministic);
    };
  }
}

core::Result<judge::Execution> CaseBench::execute(converters::Converter& converter, const fs::path& artifact,
                                                  const std::string& data_set, const fs::path& inputs,
                                                  bool with_trace) {
  const bool in_memory = converter.hands_over();
  core::Result<fs::path> output = in_memory ? fs::path() : fresh_folder("outputs");
  core::Result<fs::path> trace = with_trace ? fresh_folder("trace") : fs::path();
  if (!output || !trace) {
    return output ? trace.error() : output.error();
  }
  judge::Execution execution;
  execution.data_set = data_set;
  execution.reply = given_.execute(converter, {artifact, inputs, *output, *trace});
  if (execution.reply.outcome != Outcome::ok) {
    return execution;
  }
  // What can't be read is the converter's fault, since protocol 1 fixes the files' form; what is beyond our own limits
  // is not.
  const auto read = [&execution](const fs::path& folder, std::string_view stem, core::TensorMap& tensors) {
    core::Result<core::TensorMap> loaded = model::take_tensors(folder, stem);
    if (loaded) {
      tensors = *std::move(loaded);
      return core::success();
    }
    if (loaded.error().kind == core::ErrorKind::unsupported) {
      return core::Status(loaded.error().within("Assay can't read what was executed"));
    }
    execution.reply.outcome = Outcome::crash;
    execution.reply.reason = "protocol: " + loaded.error().message;
    return core::success();
  };
  if (in_memory) {
    execution.outputs = std::move(execution.reply.outputs);
  } else if (core::Status status = read(*output, "output", execution.outputs); !status) {
    return status.error();
  }
  if (!with_trace) {
    return execution;
  }
  if (core::Status status = read(*trace, "trace", execution.trace); !status) {
    return status.error();
  }
  for (const std::string& name : execution.reply.trace) {
    if (!execution.trace.contains(name)) {
      execution.reply.outcome = Outcome::crash;
      execution.reply.reason =
          fmt::format("protocol: the answer lists \"{}\" in its trace, but no file holds it", name);
    }
  }
  return execution;
}

core::Result<core::TensorMap> CaseBench::trace(converters::Converter& converter, const fs::path& artifact,
                                               const judge::Execution& execution, bool deterministic) {
  const auto wrong = [&execution](std::string_view what) {
    return core::Error{core::ErrorKind::invalid_data,
                       fmt::format("data set \"{}\", executed again for its trace: {}", execution.data_set, what),
                       {},
                       {},
                       {}};
  };
  core::Result<fs::path> inputs = fresh_folder("in");
  if (!inputs || !model::save_tensors(execution.inputs, *inputs, "input")) {
    return core::TensorMap();  // our own trouble with files: no trace, and no finding against the converter
  }
  core::Result<judge::Execution> again = execute(converter, artifact, execution.data_set, *inputs, true);
  if (!again) {
    return core::TensorMap();
  }
  if (!fallen_) {
    fallen_ = programs::fallen(
        again->reply.outcome, judge::Stage::execute,
        fmt::format("data set \"{}\", executed again for its trace: {}", execution.data_set, again->reply.reason));
  }
  if (again->reply.outcome != Outcome::ok) {
    return wrong(fmt::format("{}: {}", converters::outcome_name(again->reply.outcome), again->reply.reason));
  }
  for (const auto& [name, tensor] : execution.outputs) {
    const auto found = again->outputs.find(name);
    if (found != again->outputs.end() && same_values(found->second, tensor)) {
      continue;
    }
    if (!deterministic) {
      return core::TensorMap();  // of another execution: it says nothing about this one
    }
    return wrong(fmt::format("output \"{}\" differs from the first execution's", name));
  }
  return std::move(again->trace);
}

}  // namespace assay::run
