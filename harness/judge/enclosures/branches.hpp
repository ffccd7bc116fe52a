#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/judge/enclosures/enclosure.hpp"

namespace assay::judge {

/// Whether `node` is ONNX's If.
[[nodiscard]] bool is_branching(const model::Node& node);

/// Whether the branches of two nodes hold the same operators with the same constants, whatever they read around them.
[[nodiscard]] bool same_branches(const model::Node& one, const model::Node& other);

/// What is known around a branch.
struct BranchScope {
  std::function<const Enclosure*(const std::string& tensor)> find;  ///< null where nothing is known
  std::function<std::int64_t(const std::string& domain)> opset;
};

/// Encloses the outputs of an If whose condition is certain: node by node through the branch that it takes.
/// Errors   unsupported where the condition isn't certain, or a node of the branch has no bound, is quantized or
///          computes in 16 bits.
[[nodiscard]] core::Result<std::vector<Enclosure>> enclose_branch(const model::Node& node, const BranchScope& around,
                                                                  const Arithmetic& arithmetic);

}  // namespace assay::judge
