#include "harness/report/sarif.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/core/text.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "harness/report/repeat.hpp"
#include "harness/report/verdict.hpp"
#include "harness/run/exit_code.hpp"
#include "results/cause.hpp"

namespace assay::report {
namespace {

using judge::Gate;
using nlohmann::ordered_json;
using results::ResultRow;

constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kFacetSentences{{
    {"status",
     "The converter did not end as it should: a crash, a refusal, or a success where a refusal was expected."},
    {"names", "The artifact's inputs or outputs have other names than the model's."},
    {"count", "There are more or fewer outputs, or scales of a tensor, than there must be."},
    {"shape", "An output has another shape than the model gives it."},
    {"dtype", "An output or a quantized tensor has another element type than it must have."},
    {"precision", "A node was computed in another precision than was asked for."},
    {"scale", "A scale is not the one that the calibration data and the stated policy give."},
    {"zero_point", "A zero point is not the one that the calibration data and the stated policy give."},
    {"axis", "Scales lie along another axis than the operator's output channels."},
    {"weight", "Quantized weights are not the float weights divided by their scale and rounded."},
    {"bias", "A quantized bias is not the effective float bias in steps of input scale times weight scale."},
    {"integers", "Exact integer arithmetic with the declared parameters gives other values."},
    {"numerics", "Outputs are further from the float model than correct quantization can bring them."},
    {"nan", "An output is not a number, or infinite, where the float model's is finite."},
    {"determinism", "Two conversions or executions that must agree do not."},
    {"diagnostics", "A message that the case requires is missing."},
    {"resources", "The converter left files, processes or memory behind, or wrote where it may not."},
}};

std::string rule_of(const ResultRow& row) {
  return row.facet.empty() ? row.stage + "/" + row.verdict : row.stage + "/" + row.facet;
}

ordered_json rule_json(const std::string& id, const ResultRow& row) {
  std::string sentence = facet_sentence(row.facet);
  if (sentence.empty()) sentence = fmt::format("The verdict is {} at stage {}.", row.verdict, row.stage);
  return {{"id", id}, {"shortDescription", {{"text", sentence}}}};
}

/// Percent-encoded, except what a relative URI may hold.
std::string uri_text(const std::string& path) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/=,@+";
  std::string uri;
  for (const char c : path) {
    uri += kPlain.find(c) != std::string_view::npos
               ? std::string(1, c)
               : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return uri;
}

ordered_json location_json(const ResultRow& row, const corpus::CasePlaces& places) {
  ordered_json location;
  if (const std::optional<corpus::CasePlace> place = places.of(row.key.case_name)) {
    // Of an installed Assay's cases: they lie outside of what was checked out.
    const bool outside = place->file.starts_with("/");
    ordered_json file{{"uri", (outside ? "file://" : "") + uri_text(place->file)}};
    if (!outside) file["uriBaseId"] = "%SRCROOT%";
    location["physicalLocation"] = {{"artifactLocation", std::move(file)}, {"region", {{"startLine", place->line}}}};
  }
  location["logicalLocations"] = ordered_json::array({{{"fullyQualifiedName", row.key.case_name}, {"kind", "case"}}});
  if (!row.node.empty()) {
    location["logicalLocations"].push_back(
        {{"fullyQualifiedName", row.key.case_name + "/" + row.node}, {"name", row.node}, {"kind", "node"}});
  }
  return location;
}

/// "error", "warning", "note"; empty for what is no result.
std::string level_of(const ResultRow& row) {
  const std::optional<Gate> gate = run::gate_of(row);
  if (!gate || *gate == Gate::red) return "error";
  if (*gate == Gate::amber) return "warning";
  return row.verdict == judge::verdict_name(judge::Verdict::xfail) ? "note" : "";
}

ordered_json result_of(const ResultRow& row, std::size_t rule, const RunWords& words,
                       const corpus::CasePlaces& places) {
  ordered_json result;
  result["ruleId"] = rule_of(row);
  result["ruleIndex"] = rule;
  result["level"] = level_of(row);
  result["message"]["text"] = failure_text(row, repeat_command(row, words));
  result["locations"] = ordered_json::array({location_json(row, places)});
  const results::JobKey& key = row.key;
  result["partialFingerprints"]["assayVerdict/v1"] =
      core::sha256_hex(core::join(std::array{key.case_name, key.options, key.converter, results::cause_of(row)}, "\n"));
  if (row.expectation) {
    const results::ExpectationRow& expected = *row.expectation;
    const std::string until = expected.until.empty() ? "" : "; until " + expected.until;
    if (row.verdict == judge::verdict_name(judge::Verdict::xfail)) {
      result["suppressions"] = ordered_json::array(
          {{{"kind", "external"}, {"justification", fmt::format("{} ({}){}", expected.reason, expected.url, until)}}});
    }
  }
  ordered_json properties{{"options", key.options},
                          {"converter", key.converter},
                          {"version", key.version},
                          {"verdict", row.verdict},
                          {"gate", row.gate}};
  if (!row.layers.empty()) properties["layers"] = row.layers;
  const ordered_json measured = result_json(row);
  for (const char* name : {"margin", "sqnr_db"}) {
    if (!measured[name].is_null()) properties[name] = measured[name];
  }
  result["properties"] = std::move(properties);
  return result;
}

}  // namespace

std::string facet_sentence(const std::string& facet) {
  const auto* found = std::ranges::find(kFacetSentences, facet, &std::pair<std::string_view, std::string_view>::first);
  return found == kFacetSentences.end() ? std::string() : std::string(found->second);
}

std::string sarif_json(const results::RunInfo& run, const std::vector<ResultRow>& rows,
                       const corpus::CasePlaces& places) {
  const RunWords words = run_words(run.command);
  std::map<std::string, std::size_t> rule_index;
  ordered_json rules = ordered_json::array(), found = ordered_json::array();
  bool own_fault = false;
  for (const ResultRow& row : rows) {
    own_fault = own_fault || row.verdict == judge::verdict_name(judge::Verdict::harness_error);
    if (level_of(row).empty()) continue;
    const auto [rule, added] = rule_index.emplace(rule_of(row), rules.size());
    if (added) rules.push_back(rule_json(rule->first, row));
    found.push_back(result_of(row, rule->second, words, places));
  }
  ordered_json invocation{{"executionSuccessful", !own_fault}, {"commandLine", "assay " + run.command}};
  if (!run.started_at.empty()) invocation["startTimeUtc"] = run.started_at;
  if (!run.finished_at.empty()) invocation["endTimeUtc"] = run.finished_at;
  ordered_json json;
  json["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  json["version"] = "2.1.0";
  json["runs"] = ordered_json::array(
      {{{"tool", {{"driver", {{"name", "Assay"}, {"version", run.assay_version}, {"rules", std::move(rules)}}}}},
        {"automationDetails", {{"id", "assay/" + run.suite + "/"}, {"guid", run.id}}},
        {"invocations", ordered_json::array({std::move(invocation)})},
        {"columnKind", "utf16CodeUnits"},
        {"results", std::move(found)}}});
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace assay::report
