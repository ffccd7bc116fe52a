#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/judge/evidence/style_name.hpp"

namespace assay::judge {

/// The one enum of verdicts (docs/glossary.md).
enum class Verdict {
  pass,
  fail,
  crash,
  timeout,
  oom,
  not_quantized,
  refused,
  unsupported,
  xfail,
  xfail_changed,
  xpass,
  unjudged,
  mistrusted,
  skipped,
  not_run,
  invalid_case,
  harness_error,
};
enum class Gate { green, amber, red, neutral };

enum class Stage { load, float_run, calibrate, convert, artifact, execute, judge };

/// In order from structure to numbers: the first that differs is the headline.
enum class Facet {
  status,
  names,
  count,
  shape,
  dtype,
  precision,
  scale,
  zero_point,
  axis,
  weight,
  bias,
  integers,
  numerics,
  nan,
  determinism,
  diagnostics,
  resources,
};

[[nodiscard]] std::string_view verdict_name(Verdict verdict);
[[nodiscard]] std::string_view gate_name(Gate gate);
[[nodiscard]] std::string_view stage_name(Stage stage);
[[nodiscard]] std::string_view facet_name(Facet facet);
[[nodiscard]] std::optional<Verdict> parse_verdict(std::string_view name);
[[nodiscard]] std::optional<Stage> parse_stage(std::string_view name);
[[nodiscard]] std::optional<Facet> parse_facet(std::string_view name);
[[nodiscard]] std::span<const Verdict> all_verdicts();
/// The verdict's usual gate; not-quantized is red unless INT8 was only allowed (the judge says so).
[[nodiscard]] Gate default_gate(Verdict verdict);

/// One facet outside its limit.
struct Finding {
  Stage stage = Stage::judge;
  Facet facet = Facet::status;
  std::string node, op, tensor, data_set;
  std::string layer;       ///< "L0", "L1", "L2", or empty
  std::string message;     ///< several lines allowed: what, where, both values
  double margin = 0;       ///< |e| ÷ limit where it is numeric
  bool amber = false;      ///< recorded and shown, but only allowed, not required: never red by itself
  double portion = 1;      ///< of the values that it is about, those that are wrong
  bool placement = false;  ///< a policy places its quantizers otherwise: in front of, behind, or not behind this node
  bool predicted = false;  ///< found against the predicted noise, not against a bound (prediction.hpp)
  /// The tensor whose scale is wrong, where this value is right for the right one; "" elsewhere.
  std::string follows = {};
};

/// Recorded for a tensor, pass or fail; gates nothing.
struct Metric {
  std::string tensor, data_set, name;  ///< name: "sqnr_db", "cosine", "margin_log2", "max_error", "steps" …
  double value = 0;
};

/// How far limits against the float original reach, of those that gate and exclude something.
struct Coverage {
  /// One node of the original, those of subgraphs included.
  struct Node {
    std::string node, op;
    std::string layer;   ///< that judged it ("L2"), or empty
    std::string reason;  ///< why none did
  };
  std::vector<Node> nodes;
  std::map<std::string, double> outputs;       ///< share of each output's elements, 0 to 1
  std::map<std::string, std::string> reasons;  ///< by output, why nothing or not everything is reached
  /// Nodes of the original, by index in its graph, around which limits exclude what is wrong on the values before and
  /// behind them.
  std::set<std::size_t> locally;
  bool applies = false;  ///< false where nothing was converted: a refusal has no outputs

  [[nodiscard]] std::size_t judged_nodes() const;
  /// The least share over all outputs; 1 where there is none.
  [[nodiscard]] double least_output() const;
  /// A limit reaches `share` of an output's elements.
  void reach(const std::string& output, double share);
  /// The first reason counts.
  void miss(const std::string& output, const std::string& reason);
};

/// A verdict with everything that goes into the results.
struct Judgement {
  Verdict verdict = Verdict::harness_error;
  Gate gate = Gate::red;
  Stage stage = Stage::judge;
  std::optional<Facet> facet;
  std::string node, op, reason;
  std::optional<double> margin;  ///< largest |e| ÷ limit over outputs
  /// Smallest over outputs: over all data sets that the user gave; of generated ones on `typical` (any where there is
  /// none).
  std::optional<double> sqnr_db;
  std::vector<std::string> layers;
  std::vector<Finding> findings;
  std::vector<Metric> metrics;
  std::optional<StyleName> style;  ///< that explains the integers, where L1 applied
  Coverage coverage;
};

/// The verdict where Assay itself can't go on, which is never the converter's red: `unsupported` for a limit of ours
/// (ErrorKind::unsupported: an operator that the reference doesn't have, more nodes or elements than it takes),
/// `invalid-case` for a case that can't be used, else `harness-error`.
[[nodiscard]] Judgement own_fault(const core::Error& error);

}  // namespace assay::judge
