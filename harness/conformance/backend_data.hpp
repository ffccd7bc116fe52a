#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/tensor.hpp"

namespace assay::conformance {

/// One folder of ONNX's backend test data: model.onnx and test_data_set_N/{input,output}_K.pb.
struct BackendCase {
  std::string name;  ///< "test_conv_with_strides_padding"
  std::filesystem::path folder;
};

/// Where Debian's libonnx-testdata lies; it is a build dependency of ours, but a machine may lack it.
[[nodiscard]] std::filesystem::path backend_data_root();
/// The cases of one group ("node", "pytorch-converted", "pytorch-operator", "simple"), by name; empty where the data is
/// not installed.
[[nodiscard]] std::vector<BackendCase> backend_cases(std::string_view group);

enum class BackendOutcome {
  passed,
  failed,
  not_covered,  ///< an operator outside of our table, or data that no Tensor holds (strings, sequences)
  refused,      ///< our operators, but a form of them that the reference answers with "unsupported"
};

struct BackendResult {
  BackendOutcome outcome = BackendOutcome::not_covered;
  std::string detail;               ///< why not, in one line
  std::set<std::string> operators;  ///< types of the model's nodes, subgraphs included
};

/// Runs every data set of the case through the reference.
[[nodiscard]] BackendResult run_backend_case(const BackendCase& backend_case);

/// What differs between the two in one line, or nothing. Types, shapes, integers and booleans must be equal, NaN where
/// NaN is. The expectations were computed and stored in their own type, so that a real value may be off by the
/// rounding errors of that computation: we allow 64 roundings of the value itself and 2 of the largest expected value,
/// which stands for the terms that were added up (float32: about 4e-6 relative and 1e-7 of the scale).
[[nodiscard]] std::string difference(const core::Tensor& expected, const core::Tensor& actual);

}  // namespace assay::conformance
