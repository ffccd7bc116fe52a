#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "harness/localize/candidate.hpp"
#include "harness/programs/converter_spec.hpp"
#include "harness/run/made_by.hpp"

namespace assay::localize {

/// A verdict with what the converter told.
struct Judged {
  judge::Judgement judgement;
  std::vector<converters::NodePrecision> precision;
  std::optional<converters::ArtifactKind> artifact_kind;  ///< nothing when nothing was converted
  std::string cache;                                      ///< text of its calibration cache, where it wrote one
  std::string made_by;       ///< of a ready artifact: NAME@VERSION by whose rules it was judged; "" for nobody's
  std::string options_json;  ///< likewise: what was stated, with the method that it was judged by
};

/// Why parts of a model weren't taken, in words, and how often. For several threads.
class Refusals {
 public:
  void add(const std::string& why);
  void forget();
  /// "12 have no artifact of their own; 3 are pass", most frequent first; "" for none.
  [[nodiscard]] std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> counts_;
};

/// One converter under one set of options, asked for verdicts on candidates. For one thread.
class Judge {
 public:
  /// Starts the converter. The share of false alarms is one run's of `planned_verdicts`.
  /// Errors   what it says of itself, and `unavailable` ones.
  [[nodiscard]] static core::Result<std::unique_ptr<Judge>> make(const programs::ConverterSpec& spec,
                                                                 std::string options_json, double timeout_s,
                                                                 std::size_t planned_verdicts = 1);

  /// One that converts nothing and judges the artifact that each candidate brings, under one of `made_by`'s policies.
  /// `options_json` states what the artifact was made with, the rest it shows.
  [[nodiscard]] static core::Result<std::unique_ptr<Judge>> of_artifacts(run::MadeBy made_by, std::string options_json);

  /// The whole verdict, or no more than its gate and headline.
  [[nodiscard]] judge::Judgement judge(const Candidate& candidate, judge::Depth depth) const;
  /// The same with what the converter told, under other options; what they say of nodes that the candidate doesn't
  /// have is left out.
  [[nodiscard]] Judged ask(const Candidate& candidate, judge::Depth depth, const std::string& options_json) const;
  [[nodiscard]] const std::string& options_json() const { return options_json_; }
  /// Artifacts are executed without these of the executor's optimizers from here on.
  void disable_optimizers(std::vector<std::string> names);
  /// Other options from here on.
  void use_options(std::string options_json) { options_json_ = std::move(options_json); }
  [[nodiscard]] const converters::Description& description() const { return description_; }

 private:
  Judge(std::shared_ptr<converters::Converter> converter, converters::Description description, std::string options_json,
        std::size_t planned_verdicts);

  class Asked;
  std::shared_ptr<Asked> converter_;
  converters::Description description_;
  std::string options_json_;
  std::size_t planned_verdicts_;
  run::MadeBy made_by_;
};

/// What a reduction keeps: whether a candidate still shows it. For one thread.
using Criterion = std::function<bool(const Candidate&)>;

/// The nodes and tensors that a verdict names.
[[nodiscard]] std::vector<std::string> suspects_of(const judge::Judgement& judgement);

/// Verdict, stage, facet, operator and the message without numbers and paths.
[[nodiscard]] std::string signature_of(const judge::Judgement& judgement);

/// The verdict's signature is `signature`.
[[nodiscard]] Criterion same_signature(std::shared_ptr<const Judge> judge, std::string signature);

/// The same of a ready artifact's parts: the verdict's signature is that of `whole`, and it finds nothing in a node or
/// tensor that `whole` finds nothing in. What doesn't hold goes to `refusals`.
[[nodiscard]] Criterion same_finding(std::shared_ptr<const Judge> judge, const judge::Judgement& whole,
                                     std::shared_ptr<Refusals> refusals);

/// What `inner` asks, of candidates whose outputs hold something: see holds_values().
[[nodiscard]] Criterion with_values(Criterion inner);

/// `command`, run by a shell with "{}" replaced by the model's file (added at the end, where no "{}" stands), exits
/// with 0. The data lie beside the file, as localize::save() writes them. After `timeout_s` seconds it is killed, and
/// doesn't hold.
[[nodiscard]] Criterion command_succeeds(std::string command, double timeout_s);

}  // namespace assay::localize
