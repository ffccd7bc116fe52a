#include "harness/new_cases/new_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>

#include "harness/programs/subject.hpp"
#include "harness/run/evaluate.hpp"
#include "harness/run/made_by.hpp"

namespace assay::new_cases {
namespace {

using judge::Facet;
using judge::Gate;
using judge::Verdict;

/// A ready artifact that the reference has run, beside the bench that it was run on.
struct RunArtifact {
  std::unique_ptr<run::CaseBench> bench;
  run::Trial trial;
};

core::Result<RunArtifact> run_artifact(const corpus::Case& test_case, const Accusation& accusation) {
  const core::Result<programs::Subject> subject = programs::artifact_subject();
  if (!subject) return subject.error();
  core::Result<std::unique_ptr<run::CaseBench>> bench = run::CaseBench::create(test_case);
  if (!bench) return bench.error();
  core::Result<run::MadeBy> made_by = run::made_by(accusation.made_by);
  if (!made_by) return made_by.error();
  run::Trial trial = (*bench)->attempt_artifact(*subject->executor, subject->description, accusation.wrong_artifact,
                                                accusation.options.options_json, *made_by);
  return RunArtifact{*std::move(bench), std::move(trial)};
}

/// The verdict on a ready artifact, and whose rules it was judged by.
core::Result<std::pair<run::ExplainedVerdict, std::string>> explain_artifact(const corpus::Case& test_case,
                                                                             const Accusation& accusation) {
  core::Result<RunArtifact> made = run_artifact(test_case, accusation);
  if (!made) return made.error();
  run::ExplainedVerdict out;
  out.case_name = test_case.name;
  out.options = accusation.options.label;
  out.converter = accusation.wrong_artifact.filename().string();
  out.version = "stored";
  out.artifact_kind = made->trial.artifact_kind;
  const std::string judged_as = made->trial.judged_as;
  judge::Explained explained = made->bench->explain(std::move(made->trial), 1);
  out.judgement = std::move(explained.judgement);
  out.explanation = std::move(explained.explanation);
  return std::pair(std::move(out), judged_as);
}

/// Verdicts that speak of the case or of us, and not of the converter.
bool accuses(const judge::Judgement& judgement) {
  const bool our_own = judgement.verdict == Verdict::harness_error || judgement.verdict == Verdict::invalid_case ||
                       judgement.verdict == Verdict::mistrusted || judgement.verdict == Verdict::not_run;
  return judgement.gate == Gate::red && !our_own;
}

}  // namespace

std::string Proof::missing() const {
  const std::string red = accuses(with.judgement) ? "" : "it is not red with the defect";
  const std::string green = without.judgement.gate == Gate::green ? "" : "it is not green without the defect";
  return red + (red.empty() || green.empty() ? "" : ", and ") + green;
}

namespace {
constexpr std::array kShown{"activation", "weight", "symmetric", "per_axis"};
}  // namespace

std::string beyond_shown(const std::string& options_json) {
  auto options = nlohmann::ordered_json::parse(options_json);
  for (const char* key : kShown) options.erase(key);
  return options.dump();
}

core::Result<std::string> shown_options(const corpus::Case& test_case, const Accusation& accusation) {
  core::Result<RunArtifact> made = run_artifact(test_case, accusation);
  if (!made) return made.error();
  if (made->trial.settled) {
    return core::Error{core::ErrorKind::usage, made->trial.settled->reason, {}, {}, {}}.within(
        accusation.wrong_artifact.string());
  }
  const auto shown = nlohmann::ordered_json::parse(converters::options_to_json(made->trial.evidence.options));
  auto stated = nlohmann::ordered_json::parse(accusation.options.options_json);
  for (const char* key : kShown) {
    if (!stated.contains(key)) stated[key] = shown[key];
  }
  return stated.dump();
}

std::filesystem::path kept_artifact(const corpus::Case& test_case) {
  std::filesystem::path file = test_case.file;
  file.replace_extension(".wrong.onnx");
  std::error_code code;
  return !test_case.file.empty() && std::filesystem::is_regular_file(file, code) ? file : std::filesystem::path();
}

core::Status check_kept_artifact(const corpus::Case& test_case) {
  Accusation accusation;
  accusation.wrong_artifact = kept_artifact(test_case);
  accusation.made_by = test_case.made_by;
  accusation.options = {"", test_case.options_json};
  const auto explained = explain_artifact(test_case, accusation);
  if (!explained) return explained.error().within(accusation.wrong_artifact.string());
  const judge::Judgement& judgement = explained->first.judgement;
  if (accuses(judgement)) return core::success();
  return core::Error{
      core::ErrorKind::invalid_case,
      fmt::format("{} is kept as wrong, and its verdict is {}{}", accusation.wrong_artifact.string(),
                  judge::verdict_name(judgement.verdict), judgement.reason.empty() ? "" : ": " + judgement.reason),
      {},
      {},
      {}};
}

core::Result<Proof> prove(const corpus::Case& test_case, const Accusation& accusation) {
  const run::RunItem item{test_case, {accusation.options}, std::nullopt};
  Proof proof;
  if (accusation.with) {
    core::Result<run::ExplainedVerdict> with =
        run::explain(item, accusation.options, *accusation.with, accusation.timeout_s);
    if (!with) return with.error().within("with the defect");
    proof.with = *std::move(with);
  } else {
    auto with = explain_artifact(test_case, accusation);
    if (!with) return with.error().within("with the defect");
    std::tie(proof.with, proof.judged_as) = *std::move(with);
  }
  core::Result<run::ExplainedVerdict> without =
      run::explain(item, accusation.options, accusation.without, accusation.timeout_s);
  if (!without) return without.error().within("without the defect");
  proof.without = *std::move(without);
  return proof;
}

nlohmann::ordered_json expected_facet(const Proof& proof, const model::Model& model) {
  const auto& findings = proof.with.judgement.findings;
  if (findings.empty() || findings.front().amber) return nullptr;
  const judge::Finding& headline = findings.front();
  const bool in_model =
      std::ranges::any_of(model.graph.nodes, [&](const model::Node& node) { return node.name == headline.node; });
  if (headline.facet == Facet::precision && in_model) return {{"precision", {{headline.node, "int8"}}}};
  const auto right =
      std::ranges::find(proof.without.explanation.tensors, headline.tensor, &judge::TensorParameters::tensor);
  const bool about_axes = headline.facet == Facet::axis || headline.facet == Facet::count ||
                          headline.facet == Facet::scale || headline.facet == Facet::weight;
  const bool named = right != proof.without.explanation.tensors.end() && right->declared.size() == 1;
  if (about_axes && named && right->declared.front().axis) {
    const core::QuantParams& params = right->declared.front();
    return {{"scales", {{headline.tensor, {{"axis", *params.axis}, {"count", params.scale.size()}}}}}};
  }
  return nullptr;
}

}  // namespace assay::new_cases
