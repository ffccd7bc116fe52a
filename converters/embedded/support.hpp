#pragma once

#include <span>
#include <string>
#include <string_view>

#include "converters/embedded/state.hpp"

namespace assay::embedded {

/// How an operator treats the codes of its operands.
enum class Handling {
  multiplies,  ///< products with a constant weight and an int32 bias
  computes,    ///< its result has parameters of its own
  moves,       ///< its result consists of its first operand's values and carries that one's parameters
};

/// One operator with an INT8 form.
struct Support {
  std::string_view op;  ///< model::operator_name
  Handling handling = Handling::computes;
  std::size_t operands = 1;       ///< the first so many inputs are data; the rest are parameters. 0: all
  bool takes_activation = false;  ///< a Relu or Clip behind it runs in the same step
};

/// The one table of operators with an INT8 form, sorted by name.
[[nodiscard]] std::span<const Support> support_table();
[[nodiscard]] const Support* find_support(const model::Node& node);
/// By model::operator_name: "multiplies", "computes", "moves", or "" for one without an INT8 form.
[[nodiscard]] std::string_view int8_form(std::string_view op);

/// Fills operands, weight, bias and axis of `plan` for `node`, where this very node has an INT8 form; the answer is the
/// reason why it has none, or "".
[[nodiscard]] std::string fit_node(const State& state, const model::Node& node, NodePlan& plan);

/// Handling of this very node: Resize and Pad move or compute, depending on their attributes.
[[nodiscard]] Handling handling_of(const State& state, const model::Node& node, const Support& support);

}  // namespace assay::embedded
