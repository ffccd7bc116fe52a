#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/judge/evidence/ranges.hpp"
#include "harness/judge/quantization/grounds.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

class IntegerMemo;  // integer_memo.hpp

/// Results of the float reference, shared by content: the same model on the same data runs once. Holds at most
/// `kBudgetBytes` of tensors, oldest use out first; what was handed out stays alive with its holder.
class ReferenceCache {
 public:
  static constexpr std::size_t kBudgetBytes = std::size_t{48} << 20U;

  /// Every tensor of one run by name.
  [[nodiscard]] core::Result<std::shared_ptr<const core::TensorMap>> run(const model::Model& model,
                                                                         const std::string& model_key,
                                                                         const core::TensorMap& inputs);
  /// Ranges of every real tensor over `batches`. Errors   what the reference says, with the batch's number.
  [[nodiscard]] core::Result<std::shared_ptr<const CalibrationRanges>> ranges(
      const model::Model& model, const std::string& model_key, const std::vector<core::TensorMap>& batches,
      KeptOfRanges kept);

  /// LayerContext::given() of the model, kept for the newest one.

  /// What follows from those results for conversions that tell the same.
  [[nodiscard]] GroundsCache& grounds();
  /// The execution style that explained the newest conversion.
  [[nodiscard]] IntegerMemo& integers();

  /// How often the reference really ran; for tests.
  [[nodiscard]] std::size_t executions() const { return executions_; }

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  struct Entry {
    Key key;
    std::shared_ptr<const core::TensorMap> tensors;
    std::shared_ptr<const CalibrationRanges> ranges;
    std::size_t bytes = 0;
  };
  const Entry* find(const Key& key);
  void keep(Entry entry);

  std::list<Entry> entries_;  ///< newest use first
  std::map<Key, std::list<Entry>::iterator> index_;
  std::size_t bytes_ = 0;
  std::size_t executions_ = 0;
  /// Kept whatever they weigh: several policies in turn are held against the same.
  static constexpr std::size_t kNewestRanges = 2;
  std::list<std::pair<Key, std::shared_ptr<const CalibrationRanges>>> newest_ranges_;
  std::shared_ptr<GroundsCache> grounds_;
  std::shared_ptr<IntegerMemo> integers_;
};

/// The key that stands for a model's content: the case's hash where it has one, else a hash of the model's bytes.
[[nodiscard]] std::string model_key(const model::Model& model, const std::string& content_hash);

}  // namespace assay::judge
