#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "harness/judge/evidence/verdict.hpp"

namespace assay::judge {

/// The findings of one check. The first few are kept in full; of the others the verdict has the number, in the metric
/// "findings_left_out".
class FindingList {
 public:
  [[nodiscard]] bool empty() const { return findings_.empty(); }
  /// With those that are left out.
  [[nodiscard]] std::size_t count() const { return findings_.size() + left_out_; }

  void add(Finding finding) {
    if (findings_.size() < kMost) {
      findings_.push_back(std::move(finding));
    } else {
      ++left_out_;
    }
  }

  [[nodiscard]] std::vector<Finding> take(Judgement& out) {
    if (left_out_ > 0) out.metrics.push_back({"", "", "findings_left_out", static_cast<double>(left_out_)});
    return std::move(findings_);
  }

 private:
  static constexpr std::size_t kMost = 10;
  std::vector<Finding> findings_;
  std::size_t left_out_ = 0;
};

}  // namespace assay::judge
