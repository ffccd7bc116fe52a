#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/corpus/case.hpp"

namespace assay::data {

/// What tells one calibration feed of a case from another.
[[nodiscard]] std::string feed_key(const corpus::FeedSpec& spec);

/// What of `batch` lies in the files: its tensors in the types and shapes that `spec` feeds them in (a shape of another
/// number of elements holds the values from the start, again where they are too few), and its extra tensors, each the
/// batch's first real tensor times 8. Whoever feeds right changes nothing.
[[nodiscard]] core::TensorMap as_fed(const core::TensorMap& batch, const corpus::FeedSpec& spec);

/// The numbers that `batch` has in the files, in the types and shapes that the graph declares: what a type of `spec`
/// cuts off is gone.
[[nodiscard]] core::TensorMap as_cut(const core::TensorMap& batch, const corpus::FeedSpec& spec);

/// Folder of batch `index` below a calibration folder: "0000".
[[nodiscard]] std::filesystem::path batch_folder(const std::filesystem::path& calibration, std::size_t index);

/// Writes one calibration batch as `input_0.pb` …; `order` numbers the files, names left out follow.
[[nodiscard]] core::Status write_batch(const core::TensorMap& batch, const std::filesystem::path& folder,
                                       const std::vector<std::string>& order);

/// What a feed that breaks off leaves behind: the next batch, cut in the middle of its first tensor.
[[nodiscard]] core::Status write_broken_batch(const core::TensorMap& batch, const std::filesystem::path& folder);

}  // namespace assay::data
