#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.hpp"

namespace assay::conformance {

/// How many of ONNX's node tests that use an operator pass.
struct NodeTests {
  std::size_t passed = 0, all = 0;
};

/// What one operator is covered by: a row of docs/operators.md.
struct OperatorRow {
  std::string name;  ///< model::operator_name
  std::int64_t first_opset = 0, last_opset = 0;
  bool takes_reals = false;
  std::vector<std::string> code_types;  ///< integers of at most 16 bits that it takes or makes
  std::string int8_form;                ///< of a converter: "multiplies", "computes", "moves" or ""
  NodeTests stored;                     ///< of Debian's libonnx-testdata
};

struct OperatorTable {
  std::vector<OperatorRow> rows;  ///< sorted by domain and name
  NodeTests stored;               ///< the group as a whole; none: not there
};

/// What a converter does with the codes of the operator of this model::operator_name: "multiplies", "computes", "moves"
/// or "".
using Int8Form = std::function<std::string_view(std::string_view op)>;

/// Every operator of the reference. Runs the stored cases of family onnx_node (group node).
/// Errors   those of reading the family.
[[nodiscard]] core::Result<OperatorTable> operator_table(const Int8Form& int8_form);

}  // namespace assay::conformance
