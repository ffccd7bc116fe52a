#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "harness/corpus/pattern.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/evidence/precision.hpp"
#include "harness/judge/evidence/supports.hpp"
#include "harness/judge/facets/diagnosis.hpp"
#include "harness/judge/facets/facets.hpp"
#include "harness/judge/facets/pattern_words.hpp"

namespace assay::judge {
namespace {

using converters::Outcome;

Judgement settled(Verdict verdict, Stage stage, Facet facet, std::string node, std::string op, std::string message) {
  Judgement out;
  out.verdict = verdict;
  out.gate = default_gate(verdict);
  out.stage = stage;
  out.facet = facet;
  out.node = node;
  out.op = op;
  out.reason = message;
  Finding finding;
  finding.stage = stage;
  finding.facet = facet;
  finding.node = std::move(node);
  finding.op = std::move(op);
  finding.message = std::move(message);
  out.findings.push_back(std::move(finding));
  return out;
}

Judgement passed() {
  Judgement out;
  out.verdict = Verdict::pass;
  out.gate = Gate::green;
  out.stage = Stage::judge;
  return out;
}

std::optional<Verdict> death(Outcome outcome) {
  if (outcome == Outcome::crash) return Verdict::crash;
  if (outcome == Outcome::timeout) return Verdict::timeout;
  if (outcome == Outcome::oom) return Verdict::oom;
  return std::nullopt;
}

/// In front of the reason, which may say it itself.
template <typename Reply>
std::string where(const Reply& reply) {
  const std::string &node = reply.node, &op = reply.op;
  if ((node.empty() && op.empty()) || reply.reason.starts_with(fmt::format("node \"{}\"", node))) return "";
  if (node.empty()) return fmt::format("operator {}: ", op);
  return op.empty() ? fmt::format("node \"{}\": ", node) : fmt::format("node \"{}\" ({}): ", node, op);
}

/// What the reply's diagnosis leaves out; nothing is asked of it where no model is known.
template <typename Reply>
std::vector<std::string> reply_faults(const Evidence& evidence, const Reply& reply) {
  if (evidence.model == nullptr) return {};
  GivenBeside given{evidence.options.cache, {}};
  if (evidence.test_case != nullptr && !evidence.test_case->steps.empty()) {
    given.extra = evidence.test_case->steps.back().feed.extra;
  }
  return diagnosis_faults(evidence.model->graph, reply.node, reply.op, reply.reason, given);
}

/// Adds the facet `diagnostics` to a verdict about a refusal or error whose words don't help.
template <typename Reply>
Judgement with_diagnosis(Judgement out, const Evidence& evidence, const Reply& reply) {
  const std::vector<std::string> faults = reply_faults(evidence, reply);
  if (faults.empty()) return out;
  Finding finding = out.findings.front();
  finding.facet = Facet::diagnostics;
  finding.message = fmt::format("the {} doesn't say what the user needs: {}", converters::outcome_name(reply.outcome),
                                fmt::join(faults, "; "));
  out.findings.push_back(std::move(finding));
  return out;
}

/// What an expected refusal leaves out or says wrongly; empty when it is as expected.
std::vector<std::string> refusal_faults(const Evidence& evidence) {
  const converters::ConvertReply& reply = evidence.conversion;
  const corpus::Expectation& expect = evidence.test_case->expect;
  std::vector<std::string> faults = reply_faults(evidence, reply);
  // An `error` has no fields for node and operator (docs/protocol.md): it names them in words.
  const bool in_words = reply.outcome == Outcome::error;
  const bool node_in_words = in_words && reply.node.empty();
  const bool op_in_words = in_words && reply.op.empty();
  if (expect.refused_node && *expect.refused_node != reply.node &&
      !(node_in_words && mentions(reply.reason, *expect.refused_node))) {
    faults.push_back(fmt::format("expected node \"{}\", actual \"{}\"", *expect.refused_node, reply.node));
  }
  if (expect.refused_op && *expect.refused_op != reply.op &&
      !(op_in_words && reply.reason.find(*expect.refused_op) != std::string::npos)) {
    faults.push_back(fmt::format("expected operator {}, actual \"{}\"", *expect.refused_op, reply.op));
  }
  if (expect.refused_reason && !matches(*expect.refused_reason, reply.reason).value_or(false)) {
    faults.push_back("the reason doesn't match: it has to name " + pattern_words(*expect.refused_reason));
  }
  return faults;
}

/// A node whose operator the converter doesn't list, where the reply names that operator: the converter declines more
/// than the case asks about, which `supports` says.
const model::Node* undeclared_node(const Evidence& evidence) {
  const converters::ConvertReply& reply = evidence.conversion;
  const auto& nodes = evidence.model->graph.nodes;
  const auto named = std::ranges::find_if(nodes, [&](const model::Node& node) {
    const bool said = reply.op.empty() ? has_word(reply.reason, node.op_type) : reply.op == node.op_type;
    return said && lies_outside(evidence.converter.supports, node);
  });
  return named == nodes.end() ? nullptr : &*named;
}

/// A file that a refusal left in its output folder: somebody may take it for a result.
std::string leftover(const Evidence& evidence) {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(evidence.output_folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names.empty() ? "" : names.front();
}

Judgement settle_refusal(const Evidence& evidence) {
  const converters::ConvertReply& reply = evidence.conversion;
  const std::string said = fmt::format("{}{}", where(reply), reply.reason.empty() ? "(no reason)" : reply.reason);
  if (reply.outcome == Outcome::ok) {
    const corpus::Expectation& expect = evidence.test_case->expect;
    return settled(Verdict::fail, Stage::convert, Facet::status, expect.refused_node.value_or(""),
                   expect.refused_op.value_or(""),
                   fmt::format("expected a refusal{}{}, but the conversion succeeded",
                               expect.refused_node ? fmt::format(" of node \"{}\"", *expect.refused_node) : "",
                               expect.refused_op ? fmt::format(" ({})", *expect.refused_op) : ""));
  }
  const std::vector<std::string> faults = refusal_faults(evidence);
  if (const model::Node* node = faults.empty() ? nullptr : undeclared_node(evidence)) {
    Judgement out;
    out.verdict = Verdict::unsupported;
    out.gate = default_gate(out.verdict);
    out.reason = fmt::format("operator {} (node \"{}\")", node->op_type, node->name);
    return out;
  }
  if (!faults.empty()) {
    // A program's own dying message is an error, not a refusal; both lack what the user needs.
    const Verdict verdict = reply.outcome == Outcome::refused ? Verdict::refused : Verdict::fail;
    return settled(verdict, Stage::convert, Facet::diagnostics, reply.node, reply.op,
                   fmt::format("{} as expected, but {}\n  it said: {}", converters::outcome_name(reply.outcome),
                               fmt::join(faults, "; "), said));
  }
  if (const std::string left = leftover(evidence); !left.empty()) {
    return settled(Verdict::fail, Stage::convert, Facet::status, reply.node, reply.op,
                   fmt::format("refused as expected, but left \"{}\" behind in the output folder", left));
  }
  std::vector<Finding> missing = check_diagnostics(evidence);
  if (!missing.empty()) {
    Judgement out =
        settled(Verdict::fail, Stage::convert, Facet::diagnostics, reply.node, reply.op, missing.front().message);
    out.findings = std::move(missing);
    return out;
  }
  Judgement out = passed();
  out.node = reply.node;
  out.op = reply.op;
  out.reason = fmt::format("refused as expected: {}", said);
  return out;
}

std::optional<Judgement> settle_executions(const Evidence& evidence) {
  for (const Execution& execution : evidence.executions) {
    const converters::ExecuteReply& reply = execution.reply;
    if (reply.outcome == Outcome::ok) continue;
    if (reply.outcome == Outcome::refused && evidence.converter.executed_elsewhere) {
      Judgement out;
      out.verdict = Verdict::unsupported;
      out.gate = default_gate(out.verdict);
      out.reason = fmt::format("{}{}", where(reply), reply.reason);
      return out;
    }
    const Verdict verdict = death(reply.outcome).value_or(Verdict::fail);
    Judgement out = settled(verdict, Stage::execute, Facet::status, reply.node, reply.op,
                            fmt::format("data set \"{}\": execution ended with {}: {}{}", execution.data_set,
                                        converters::outcome_name(reply.outcome), where(reply), reply.reason));
    out.findings.front().data_set = execution.data_set;
    return death(reply.outcome) ? out : with_diagnosis(std::move(out), evidence, reply);
  }
  return std::nullopt;
}

/// Is there anything that a table of tensors could list? A model of operators without INT8 form has nothing.
bool quantizes_something(const Evidence& evidence) {
  if (evidence.artifact != nullptr) {
    return std::ranges::any_of(evidence.artifact->graph.nodes,
                               [](const model::Node& node) { return node.op_type == "QuantizeLinear"; });
  }
  const auto& precision = evidence.conversion.precision;
  if (!precision.empty()) return std::ranges::any_of(precision, ran_in_int8);
  const auto& forms = evidence.converter.supports.int8_operators;
  return std::ranges::any_of(evidence.model->graph.nodes, [&](const model::Node& node) {
    const bool has_form = !forms || std::ranges::find(*forms, model::operator_name(node)) != forms->end();
    return has_form && !only_moves(node);  // what only moves values is quantized where its neighbours are
  });
}

}  // namespace

std::optional<bool> matches(const std::string& pattern, const std::string& text) {
  const core::Result<corpus::Pattern> parsed = corpus::Pattern::parse(pattern, corpus::Pattern::Letters::any_case);
  return parsed ? std::optional(parsed->found_in(text)) : std::nullopt;
}

std::optional<Judgement> settle_status(const Evidence& evidence) {
  const converters::ConvertReply& reply = evidence.conversion;
  const corpus::Expectation& expect = evidence.test_case->expect;
  std::vector<std::string> patterns = expect.diagnostics;
  if (expect.refused_reason) patterns.push_back(*expect.refused_reason);
  for (const std::string& pattern : patterns) {
    if (matches(pattern, "")) continue;
    return settled(Verdict::invalid_case, Stage::judge, Facet::status, "", "",
                   fmt::format("expect: \"{}\" isn't a regular expression", pattern));
  }
  if (const auto verdict = death(reply.outcome)) {
    return settled(
        *verdict, Stage::convert, Facet::status, reply.node, reply.op,
        fmt::format("the conversion ended with {}: {}", converters::outcome_name(reply.outcome), reply.reason));
  }
  const bool may_refuse = expect.status == "either" && reply.outcome != Outcome::ok;
  if (expect.status == "refused" || may_refuse) return settle_refusal(evidence);
  if (reply.outcome == Outcome::refused) {
    const bool complete = !reply.node.empty() && !reply.op.empty() && !reply.reason.empty();
    return with_diagnosis(settled(Verdict::refused, Stage::convert, Facet::status, reply.node, reply.op,
                                  fmt::format("expected a conversion, but it was refused{}\n  {}{}",
                                              complete ? "" : " without naming node, operator and reason", where(reply),
                                              reply.reason.empty() ? "(no reason)" : reply.reason)),
                          evidence, reply);
  }
  if (reply.outcome == Outcome::error) {
    return with_diagnosis(settled(Verdict::fail, Stage::convert, Facet::status, reply.node, reply.op,
                                  fmt::format("expected a conversion, but it ended with an error\n  {}{}", where(reply),
                                              reply.reason.empty() ? "(no message)" : reply.reason)),
                          evidence, reply);
  }
  if (evidence.own_limit) {
    Judgement limit = own_fault(*evidence.own_limit);
    limit.stage = Stage::artifact;
    return limit;
  }
  if (evidence.converter.supports.artifact == converters::ArtifactKind::qdq && evidence.artifact == nullptr) {
    return settled(Verdict::fail, Stage::artifact, Facet::status, "", "",
                   fmt::format("the converter reported success, but its Q/DQ artifact can't be read: {}",
                               evidence.artifact_error.empty() ? "no file" : evidence.artifact_error));
  }
  return settle_executions(evidence);
}

std::vector<Finding> check_diagnostics(const Evidence& evidence) {
  const converters::ConvertReply& reply = evidence.conversion;
  std::vector<Finding> findings;
  const auto add = [&](std::string message) {
    Finding finding;
    finding.stage = Stage::convert;
    finding.facet = Facet::diagnostics;
    finding.message = std::move(message);
    findings.push_back(std::move(finding));
  };
  for (const std::string& pattern : evidence.test_case->expect.diagnostics) {
    const auto found = [&](const std::string& line) { return matches(pattern, line).value_or(false); };
    if (found(reply.reason) || std::ranges::any_of(reply.diagnostics, found)) continue;
    add(fmt::format("expected a diagnostic that matches /{}/, none of {} lines does", pattern,
                    reply.diagnostics.size()));
  }
  if (reply.outcome != Outcome::ok) return findings;
  const converters::Supports& supports = evidence.converter.supports;
  if (supports.says("tensors") && reply.tensors.empty() && quantizes_something(evidence)) {
    add("supports.reports lists \"tensors\", but the reply has none");
  }
  // A model of quantizers alone has no node that computes.
  const bool computes = std::ranges::any_of(evidence.model->graph.nodes, [](const model::Node& node) {
    return node.op_type != "QuantizeLinear" && node.op_type != "DequantizeLinear";
  });
  if (supports.says("precision") && reply.precision.empty() && computes) {
    add("supports.reports lists \"precision\", but the reply has none");
  }
  return findings;
}

}  // namespace assay::judge
