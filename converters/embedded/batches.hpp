#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "harness/core/tensor.hpp"

namespace assay::embedded {

/// Calibration batches. Copies share them until one of them is edited.
class Batches {
 public:
  Batches() : batches_(std::make_shared<std::vector<core::TensorMap>>()) {}
  Batches(std::vector<core::TensorMap> batches)  // NOLINT(google-explicit-constructor): it is that vector
      : batches_(std::make_shared<std::vector<core::TensorMap>>(std::move(batches))) {}

  [[nodiscard]] bool empty() const { return batches_->empty(); }
  [[nodiscard]] std::size_t size() const { return batches_->size(); }
  [[nodiscard]] const core::TensorMap& operator[](std::size_t index) const { return (*batches_)[index]; }
  [[nodiscard]] const core::TensorMap& front() const { return batches_->front(); }
  [[nodiscard]] const core::TensorMap& back() const { return batches_->back(); }
  [[nodiscard]] const std::vector<core::TensorMap>& all() const { return *batches_; }
  [[nodiscard]] auto begin() const { return all().begin(); }
  [[nodiscard]] auto end() const { return all().end(); }

  /// Whether both share their batches.
  friend bool operator==(const Batches&, const Batches&) = default;

  /// The batches, for this copy alone.
  [[nodiscard]] std::vector<core::TensorMap>& edit() {
    if (batches_.use_count() > 1) batches_ = std::make_shared<std::vector<core::TensorMap>>(*batches_);
    return *batches_;
  }

 private:
  std::shared_ptr<std::vector<core::TensorMap>> batches_;
};

}  // namespace assay::embedded
