#include "harness/judge/evidence/verdict.hpp"

#include <algorithm>
#include <array>

namespace assay::judge {
namespace {

/// Everything about a verdict, declared once.
struct VerdictRow {
  Verdict verdict;
  std::string_view name;
  Gate gate;
};
constexpr std::array kVerdicts{
    VerdictRow{Verdict::pass, "pass", Gate::green},
    VerdictRow{Verdict::fail, "fail", Gate::red},
    VerdictRow{Verdict::crash, "crash", Gate::red},
    VerdictRow{Verdict::timeout, "timeout", Gate::red},
    VerdictRow{Verdict::oom, "oom", Gate::red},
    VerdictRow{Verdict::not_quantized, "not-quantized", Gate::red},
    VerdictRow{Verdict::refused, "refused", Gate::red},
    VerdictRow{Verdict::unsupported, "unsupported", Gate::neutral},
    VerdictRow{Verdict::xfail, "xfail", Gate::green},
    VerdictRow{Verdict::xfail_changed, "xfail-changed", Gate::red},
    VerdictRow{Verdict::xpass, "xpass", Gate::red},
    VerdictRow{Verdict::unjudged, "unjudged", Gate::amber},
    VerdictRow{Verdict::mistrusted, "mistrusted", Gate::red},
    VerdictRow{Verdict::skipped, "skipped", Gate::neutral},
    VerdictRow{Verdict::not_run, "not-run", Gate::red},
    VerdictRow{Verdict::invalid_case, "invalid-case", Gate::red},
    VerdictRow{Verdict::harness_error, "harness-error", Gate::red},
};
constexpr auto kVerdictList = [] {
  std::array<Verdict, kVerdicts.size()> list{};
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = kVerdicts[i].verdict;
  return list;
}();
static_assert(std::ranges::is_sorted(kVerdictList), "the table stands in the enum's order");

constexpr std::array<std::string_view, 4> kGates{"green", "amber", "red", "neutral"};
constexpr std::array<std::string_view, 7> kStages{"load",     "float",   "calibrate", "convert",
                                                  "artifact", "execute", "judge"};
constexpr std::array<std::string_view, 17> kFacets{
    "status", "names", "count",    "shape",    "dtype", "precision",   "scale",       "zero_point", "axis",
    "weight", "bias",  "integers", "numerics", "nan",   "determinism", "diagnostics", "resources"};

template <typename Enum, typename Table>
const auto& row(const Table& table, Enum value) {
  return table[static_cast<std::size_t>(value)];
}

template <typename Enum, typename Names>
std::optional<Enum> find(const Names& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view verdict_name(Verdict verdict) { return row(kVerdicts, verdict).name; }
std::string_view gate_name(Gate gate) { return row(kGates, gate); }
std::string_view stage_name(Stage stage) { return row(kStages, stage); }
std::string_view facet_name(Facet facet) { return row(kFacets, facet); }

std::optional<Verdict> parse_verdict(std::string_view name) {
  const auto found = std::ranges::find(kVerdicts, name, &VerdictRow::name);
  if (found == kVerdicts.end()) return std::nullopt;
  return found->verdict;
}

std::optional<Stage> parse_stage(std::string_view name) { return find<Stage>(kStages, name); }
std::optional<Facet> parse_facet(std::string_view name) { return find<Facet>(kFacets, name); }

std::span<const Verdict> all_verdicts() { return kVerdictList; }

Gate default_gate(Verdict verdict) { return row(kVerdicts, verdict).gate; }

std::size_t Coverage::judged_nodes() const {
  return static_cast<std::size_t>(std::ranges::count_if(nodes, [](const Node& node) { return !node.layer.empty(); }));
}

double Coverage::least_output() const {
  double least = 1;
  for (const auto& [output, share] : outputs) least = std::min(least, share);
  return least;
}

void Coverage::reach(const std::string& output, double share) {
  double& known = outputs[output];
  known = std::max(known, share);
}

void Coverage::miss(const std::string& output, const std::string& reason) { reasons.try_emplace(output, reason); }

Judgement own_fault(const core::Error& error) {
  const auto verdict_of = [](core::ErrorKind kind) {
    if (kind == core::ErrorKind::unsupported) return Verdict::unsupported;
    return kind == core::ErrorKind::invalid_case ? Verdict::invalid_case : Verdict::harness_error;
  };
  Judgement judgement;
  judgement.verdict = verdict_of(error.kind);
  judgement.gate = default_gate(judgement.verdict);
  judgement.node = error.node;
  judgement.op = error.op;
  judgement.reason = error.message;
  return judgement;
}

}  // namespace assay::judge
