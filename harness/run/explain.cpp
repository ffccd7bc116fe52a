#include "harness/run/explain.hpp"

#include <memory>

#include "harness/conformance/conform.hpp"
#include "harness/programs/subject.hpp"
#include "harness/run/evaluate.hpp"

namespace assay::run {

core::Result<ExplainedVerdict> explain(const RunItem& item, const corpus::OptionSet& options,
                                       const programs::ConverterSpec& converter, double timeout_s) {
  if (!converter.unavailable.empty()) {
    return core::Error{core::ErrorKind::usage, converter.unavailable, {}, {}, {}};
  }
  if (item.test_case.stored_case.has_value() != converter.is_reference()) {
    return core::Error{core::ErrorKind::usage, "stored cases are the reference's, all others are not", {}, {}, {}};
  }
  if (converter.is_reference()) {
    if (!item.test_case.unavailable.empty()) {
      return core::Error{core::ErrorKind::unsupported, item.test_case.unavailable, {}, {}, {}};
    }
    ExplainedVerdict out{item.test_case.name, options.label, converter.name, {}, {}, {}, {}};
    out.version = conformance::kReferenceVersion;
    judge::Explained explained = conformance::conform(*item.test_case.stored_case);
    out.judgement = std::move(explained.judgement);
    out.explanation = std::move(explained.explanation);
    return out;
  }
  const std::unique_ptr<protocol::Client> client =
      programs::start_client(converter, {.timeout_s = timeout_s, .memory_bytes = 0});
  const core::Result<converters::Description> description = client->describe();
  if (!description) {
    return description.error();
  }
  const core::Result<std::unique_ptr<CaseBench>> bench = CaseBench::create(item.test_case, item.data);
  if (!bench) {
    return bench.error().within(item.test_case.name);
  }
  Trial trial = (*bench)->attempt(*client, *description, options.options_json);
  (*bench)->relate(*client, trial);
  ExplainedVerdict out;
  out.case_name = item.test_case.name;
  out.options = options.label;
  out.converter = description->name;
  out.version = description->version;
  out.artifact_kind = trial.artifact_kind;
  out.judged_as = trial.judged_as;
  judge::Explained explained = (*bench)->explain(std::move(trial), 1);
  out.judgement = std::move(explained.judgement);
  out.explanation = std::move(explained.explanation);
  return out;
}

core::Result<ExplainedVerdict> explain_artifact(const RunItem& item, const std::filesystem::path& artifact,
                                                const MadeBy& made_by) {
  const core::Result<programs::Subject> subject = programs::artifact_subject();
  if (!subject) return subject.error();
  const core::Result<std::unique_ptr<CaseBench>> bench = CaseBench::create(item.test_case, item.data);
  if (!bench) return bench.error().within(item.test_case.name);
  const corpus::OptionSet& options = item.option_sets.front();
  Trial trial =
      (*bench)->attempt_artifact(*subject->executor, subject->description, artifact, options.options_json, made_by);
  ExplainedVerdict out;
  out.case_name = item.test_case.name;
  out.options = options.label;
  out.converter = subject->description.name;
  out.version = subject->description.version;
  out.artifact_kind = trial.artifact_kind;
  out.judged_as = trial.judged_as;
  judge::Explained explained = (*bench)->explain(std::move(trial), 1);
  out.judgement = std::move(explained.judgement);
  out.explanation = std::move(explained.explanation);
  return out;
}

core::Result<ExplainedVerdict> explain_first_red(const RunItem& item, const programs::ConverterSpec& converter,
                                                 double timeout_s) {
  std::optional<ExplainedVerdict> first;
  for (const corpus::OptionSet& options : item.option_sets) {
    core::Result<ExplainedVerdict> verdict = explain(item, options, converter, timeout_s);
    if (!verdict || verdict->judgement.gate == judge::Gate::red) return verdict;
    if (!first) first = *std::move(verdict);
  }
  if (!first) {
    return core::Error{core::ErrorKind::usage, "\"" + item.test_case.name + "\" has no option set", {}, {}, {}};
  }
  return *std::move(first);
}

}  // namespace assay::run
