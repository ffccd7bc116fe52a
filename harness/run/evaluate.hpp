#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converters/calibration_table.hpp"
#include "converters/converter.hpp"
#include "harness/core/files.hpp"
#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/corpus/case.hpp"
#include "harness/data/user_data.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "harness/judge/judge.hpp"
#include "harness/metamorphic/metamorphic.hpp"
#include "harness/programs/given_files.hpp"
#include "harness/run/made_by.hpp"
#include "harness/run/trial.hpp"

namespace assay::run {

/// One verdict with what the converter said.
struct Evaluation {
  judge::Judgement judgement;
  converters::ConvertReply conversion;                    ///< of the judged step
  std::optional<converters::ArtifactKind> artifact_kind;  ///< nothing when nothing was converted
  std::string artifact_hash;                              ///< SHA-256 of its file; empty where there is none
  std::size_t artifact_bytes = 0;
  std::string judged_as;  ///< as in results::ResultRow
  double seconds = 0;
  std::string detail;  ///< what a report draws of it; empty where nobody asked
};

/// What is kept of a verdict beyond numbers, so that a report can draw it.
struct DetailKept {
  /// Makes it: of a trial and of where its verdict's numbers come from. Empty: nothing is kept.
  std::function<std::string(const Trial& trial, const judge::Explained& explained)> make;
  bool of_all = false;  ///< not only of verdicts that are red or `unjudged`
};

/// The content of what was converted, as the results keep it. A folder has none.
void note_artifact(const std::filesystem::path& artifact, Evaluation& out);

/// One case on disk, ready to be converted under several option sets by several converters: its model file,
/// calibration folders and reference results are made once and shared; files that a converter has written into are made
/// again. Not for use from two threads.
class CaseBench {
 public:
  /// A data set as the converter's executor reads it.
  struct DataSet {
    std::string name;
    std::map<std::string, core::QuantParams> scales;  ///< it was made from
    core::TensorMap inputs;
    std::filesystem::path folder;
  };

  /// Writes the model below a temporary folder.
  /// Reference results are shared with `sibling`, another bench of the same case, where there is one; files never are.
  [[nodiscard]] static core::Result<std::unique_ptr<CaseBench>> create(
      const corpus::Case& test_case, std::optional<data::UserData> data = std::nullopt,
      const CaseBench* sibling = nullptr);

  /// How much evaluate() and evaluate_artifact() find out.
  void set_depth(judge::Depth depth) { depth_ = depth; }
  /// What evaluate() and evaluate_artifact() keep for reports.
  void keep_detail(DetailKept kept) { detail_ = std::move(kept); }
  /// Whether an output that no limit reaches is red instead of amber.
  void require_judged(bool required) { require_judged_ = required; }

  /// Runs the case's steps through `converter` and judges the last one. `options_json` is the suite's option set; the
  /// case's own options win. Never fails: what goes wrong is the verdict. `converted` is called before it is judged,
  /// which seldom asks the converter for more.
  [[nodiscard]] Evaluation evaluate(converters::Converter& converter, const converters::Description& description,
                                    const std::string& options_json, std::size_t planned_verdicts,
                                    const std::function<void()>& converted = {});

  /// The same without the verdict and without the relations that the case asks for, see relate(). Where the conversion
  /// is that of `like` bit for bit, nothing is executed.
  [[nodiscard]] Trial attempt(converters::Converter& converter, const converters::Description& description,
                              const std::string& options_json, const Trial* like = nullptr);
  /// Adds what the case's metamorphic relations show, which takes further conversions; once, however often it is asked.
  /// Where the converter answered otherwise than it should, there is nothing to relate.
  void relate(converters::Converter& converter, Trial& trial);
  /// Judges what attempt(), attempt_artifact() and relate() gave. A red verdict that comes of a file system without
  /// room is `harness-error`, whoever asks.
  [[nodiscard]] judge::Judgement judge(Trial trial, std::size_t planned_verdicts,
                                       judge::Depth depth = judge::Depth::full);
  /// The same with where the numbers come from.
  [[nodiscard]] judge::Explained explain(Trial trial, std::size_t planned_verdicts);
  /// Removes what the converter wrote for `trial`.
  static void discard(const Trial& trial);

  /// Every feed of the case's steps, and of whatever else was converted so far.
  [[nodiscard]] core::Result<data::Feeds> feeds();
  /// All data sets of the case as `trial`'s artifact gets them, those too that it was not executed on.
  [[nodiscard]] core::Result<std::vector<DataSet>> data_sets(const Trial& trial);

  /// A ready artifact executed, with no conversion; `executor` runs it. `options_json` is what somebody states of the
  /// options that it was made with; the rest it shows. `made_by`: see settle_maker(); without candidates no policy is
  /// taken.
  [[nodiscard]] Trial attempt_artifact(converters::Converter& executor, const converters::Description& description,
                                       const std::filesystem::path& artifact, const std::string& options_json,
                                       const MadeBy& made_by = {});
  /// The same, judged against the model.
  [[nodiscard]] Evaluation evaluate_artifact(converters::Converter& executor,
                                             const converters::Description& description,
                                             const std::filesystem::path& artifact, const std::string& options_json,
                                             std::size_t planned_verdicts, const MadeBy& made_by = {});

  /// L0 alone, of the Q/DQ model `artifact` or, where that is empty, of `table`; nothing is executed.
  [[nodiscard]] Evaluation audit(const converters::Description& description, const std::filesystem::path& artifact,
                                 const converters::CalibrationTable& table, const std::string& options_json,
                                 std::size_t planned_verdicts);

 private:
  CaseBench(const corpus::Case& test_case, core::TemporaryFolder folder, std::optional<data::UserData> data);
  [[nodiscard]] core::Result<const data::Feed*> feed(const corpus::FeedSpec& spec);
  [[nodiscard]] core::Result<data::Feed> make_feed(const corpus::FeedSpec& spec);
  /// Writes everything anew that converters are given, where one of them has written into it.
  [[nodiscard]] core::Status heal();
  /// The data sets that an artifact is to be executed on, in order.
  [[nodiscard]] std::vector<std::string> data_set_names() const;
  /// The one at `index`, called `name`, made and written once for all that have the same scales.
  [[nodiscard]] core::Result<const DataSet*> data_set(std::size_t index, const std::string& name,
                                                      const std::map<std::string, core::QuantParams>& scales);
  [[nodiscard]] core::Result<std::filesystem::path> fresh_folder(const std::string& stem);
  /// The path of the cache that `step` gives the converter, "" for none; `previous` is that of the step before.
  /// Errors   unsupported where the previous one has no entry of a tensor that is to be forgotten, or no such word in
  /// its header.
  [[nodiscard]] core::Result<std::string> given_cache(converters::Converter& converter,
                                                      const converters::Options& options, const corpus::Step& step,
                                                      const std::filesystem::path& previous);
  /// The previous one less what the step forgets, with the header that it asks for.
  [[nodiscard]] core::Result<std::string> changed_cache(const corpus::FeedSpec& feed,
                                                        const std::filesystem::path& previous);
  /// One of the same network and other data.
  [[nodiscard]] core::Result<std::string> stale_cache(converters::Converter& converter,
                                                      const converters::Options& options, const corpus::Step& step);
  /// One of another network: this one with other names of all tensors and nodes, on data 8 times as large.
  [[nodiscard]] core::Result<std::string> foreign_cache(converters::Converter& converter,
                                                        const converters::Options& options, const corpus::Step& step);
  /// What converting `model` with the batches below `calibration` leaves, "" for none; what fell is in fallen_.
  [[nodiscard]] core::Result<std::string> cache_of(converters::Converter& converter, const converters::Options& options,
                                                   const std::filesystem::path& model,
                                                   const std::filesystem::path& calibration,
                                                   std::string_view made_from);
  /// The evidence that every judgement of a ready artifact begins with.
  [[nodiscard]] core::Result<judge::Evidence> ready_evidence(const converters::Description& description,
                                                             const converters::Options& base,
                                                             const std::string& options_json) const;
  void note_halves(std::vector<converters::TensorScale>& tensors) const;
  /// A converter that fell while the judge asked for a trace has that verdict, whatever was found meanwhile.
  void note_fall(judge::Judgement& judgement);
  [[nodiscard]] judge::Judgement judge_kept(Trial& trial, std::size_t planned_verdicts, judge::Depth depth);
  /// Judges a trial that was converted and executed, and keeps its detail.
  void judge_into(Evaluation& out, Trial trial, std::size_t planned_verdicts);
  /// A red verdict that comes of a file system without room is our own trouble, not the converter's.
  void blame_room(judge::Judgement& judgement) const;
  static void read_artifact(judge::Evidence& evidence);
  void execute(converters::Converter& converter, Trial& trial);
  void execute_data_sets(converters::Converter& converter, Trial& trial);
  [[nodiscard]] core::Result<judge::Execution> execute(converters::Converter& converter,
                                                       const std::filesystem::path& artifact,
                                                       const std::string& data_set, const std::filesystem::path& inputs,
                                                       bool with_trace);
  [[nodiscard]] core::Result<core::TensorMap> trace(converters::Converter& converter,
                                                    const std::filesystem::path& artifact,
                                                    const judge::Execution& execution, bool deterministic);

  const corpus::Case& case_;
  core::TemporaryFolder folder_;
  std::optional<data::UserData> data_;
  std::filesystem::path model_file_;
  std::map<std::string, double, std::less<>> half_units_;  ///< unit roundoffs of the model's tensors of 16 bits
  std::map<std::string, std::unique_ptr<data::Feed>> feeds_;
  std::list<DataSet> data_sets_;
  std::shared_ptr<judge::ReferenceCache> references_;
  metamorphic::Twins twins_;
  programs::GivenFiles given_;
  /// How the converter fell in a request whose answer only counts later: see programs::fallen(). Of the newest attempt.
  std::optional<judge::Judgement> fallen_;
  judge::Depth depth_ = judge::Depth::full;
  bool require_judged_ = false;
  DetailKept detail_;
  int counter_ = 0;
};

}  // namespace assay::run
