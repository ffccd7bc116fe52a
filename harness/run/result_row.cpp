#include "harness/run/result_row.hpp"

#include <map>

#include "harness/core/text.hpp"
#include "harness/judge/evidence/verdict_margin.hpp"
#include "results/signature.hpp"

namespace assay::run {
namespace {

using judge::Verdict;
using results::JobKey;
using results::ResultRow;

std::vector<results::AttemptRow> attempt_rows(const std::vector<protocol::Attempt>& attempts) {
  std::vector<results::AttemptRow> rows;
  rows.reserve(attempts.size());
  for (const protocol::Attempt& attempt : attempts) {
    rows.push_back({attempt.request, attempt.number, std::string(converters::outcome_name(attempt.outcome)),
                    attempt.reason, attempt.seconds});
  }
  return rows;
}

results::ExpectationRow expectation_row(const corpus::ExpectedFailure& entry) {
  return {entry.case_pattern, entry.options, entry.converter, entry.versions, entry.stage,
          entry.facet,        entry.reason,  entry.url,       entry.until,    entry.margin};
}

void add_coverage(const judge::Coverage& coverage, ResultRow& row) {
  if (!coverage.applies) return;
  row.judged_outputs = coverage.least_output();
  std::map<std::string, results::CoverageRow> by_op;
  for (const judge::Coverage::Node& node : coverage.nodes) {
    results::CoverageRow& sum = by_op.try_emplace(node.op, results::CoverageRow{node.op}).first->second;
    ++sum.nodes;
    if (node.layer.empty()) {
      row.unjudged.push_back({node.node, node.op, node.reason});
    } else {
      ++sum.judged;
    }
  }
  for (const auto& [op, sum] : by_op) row.coverage.push_back(sum);
}

}  // namespace

ResultRow result_row(const JobKey& key, const corpus::Case& test_case, const Evaluation& evaluation,
                     const std::vector<protocol::Attempt>& attempts, const corpus::ExpectedFailure* expected) {
  const judge::Judgement& judgement = evaluation.judgement;
  ResultRow row;
  row.key = key;
  row.family = test_case.family;
  row.case_hash = test_case.content_hash;
  row.verdict = judge::verdict_name(judgement.verdict);
  row.gate = judge::gate_name(judgement.gate);
  row.stage = judge::stage_name(judgement.stage);
  row.facet = judgement.facet ? std::string(judge::facet_name(*judgement.facet)) : "";
  row.node = judgement.node;
  row.op = judgement.op;
  row.reason = judgement.reason;
  row.signature = judgement.verdict == Verdict::pass
                      ? ""
                      : results::signature(row.verdict, row.stage, row.facet, row.op, row.reason);
  row.style = core::word_of(judgement.style);
  row.layers = core::join(judgement.layers, ",");
  row.artifact_kind = core::word_of(evaluation.artifact_kind);
  row.artifact_hash = evaluation.artifact_hash;
  row.artifact_bytes = evaluation.artifact_bytes;
  row.judged_as = evaluation.judged_as;
  row.margin = judge::verdict_margin(judgement);
  row.sqnr_db = judgement.sqnr_db;
  row.seconds = evaluation.seconds;
  row.detail = evaluation.detail;
  row.attempts = attempt_rows(attempts);
  if (expected != nullptr) row.expectation = expectation_row(*expected);
  add_coverage(judgement.coverage, row);
  row.started_at = results::utc_now();
  for (const judge::Finding& finding : judgement.findings) {
    row.findings.push_back(finding_row(finding));
  }
  for (const judge::Metric& metric : judgement.metrics) {
    row.metrics.push_back({metric.tensor, metric.data_set, metric.name, metric.value});
  }
  for (const converters::TensorScale& tensor : evaluation.conversion.tensors) {
    row.parameters.push_back({tensor.name, tensor.params});
  }
  for (const converters::NodePrecision& precision : evaluation.conversion.precision) {
    row.precision.push_back({precision.node, precision.op, precision.got});
  }
  return row;
}

results::FindingRow finding_row(const judge::Finding& finding) {
  return {std::string(judge::stage_name(finding.stage)),
          std::string(judge::facet_name(finding.facet)),
          finding.node,
          finding.op,
          finding.tensor,
          finding.data_set,
          finding.layer,
          finding.message,
          finding.margin,
          finding.amber};
}

}  // namespace assay::run
