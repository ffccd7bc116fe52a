#include "harness/new_cases/new_case.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/programs/subject.hpp"
#include "harness/run/evaluate.hpp"

namespace assay::new_cases {
namespace {

using judge::Facet;
using judge::Gate;
using judge::Verdict;

/// The verdict on a ready artifact, which the reference runs.
core::Result<run::ExplainedVerdict> explain_artifact(const corpus::Case& test_case, const Accusation& accusation) {
  const core::Result<programs::Subject> subject = programs::artifact_subject();
  if (!subject) return subject.error();
  const core::Result<std::unique_ptr<run::CaseBench>> bench = run::CaseBench::create(test_case);
  if (!bench) return bench.error();
  run::ExplainedVerdict out;
  out.case_name = test_case.name;
  out.options = accusation.options.label;
  out.converter = accusation.wrong_artifact.filename().string();
  out.version = "stored";
  const core::Result<converters::Options> options = converters::options_from_json(accusation.options.options_json);
  if (!options) return options.error();
  // The case says under which options this artifact is wrong: all of them hold.
  run::Trial trial = (*bench)->attempt_artifact(*subject->executor, subject->description, accusation.wrong_artifact,
                                                converters::options_to_json(*options));
  out.artifact_kind = trial.artifact_kind;
  judge::Explained explained = (*bench)->explain(std::move(trial), 1);
  out.judgement = std::move(explained.judgement);
  out.explanation = std::move(explained.explanation);
  return out;
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

core::Result<Proof> prove(const corpus::Case& test_case, const Accusation& accusation) {
  const run::RunItem item{test_case, {accusation.options}, std::nullopt};
  core::Result<run::ExplainedVerdict> with =
      accusation.with ? run::explain(item, accusation.options, *accusation.with, accusation.timeout_s)
                      : explain_artifact(test_case, accusation);
  if (!with) return with.error().within("with the defect");
  core::Result<run::ExplainedVerdict> without =
      run::explain(item, accusation.options, accusation.without, accusation.timeout_s);
  if (!without) return without.error().within("without the defect");
  return Proof{*std::move(with), *std::move(without)};
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
