#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/core/tensor.hpp"

namespace assay::judge {

/// Codes by the name of the tensor that holds them.
using CodeTensors = std::map<std::string, core::TensorPtr, std::less<>>;

/// For each of evidence.executions: what the artifact's quantizers gave, where L1 knows it for certain; else empty.
using CertainCodes = std::vector<CodeTensors>;

}  // namespace assay::judge
