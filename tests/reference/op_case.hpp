#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "reference/op.hpp"

namespace assay::reference {

using Ints = std::vector<std::int64_t>;
using Reals = std::vector<double>;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

/// A tensor of float32 (of `type`) with these values; the shape is a list of their number where it is left out.
[[nodiscard]] Tensor reals(std::vector<double> values);
[[nodiscard]] Tensor reals(Shape shape, std::vector<double> values);
[[nodiscard]] Tensor codes(DType type, Shape shape, std::vector<std::int64_t> values);
[[nodiscard]] Tensor scalar(double value);
[[nodiscard]] Tensor scalar(DType type, std::int64_t value);
/// first, first + step, … for a shape of float32.
[[nodiscard]] Tensor counting(Shape shape, double first = 0.0, double step = 1.0);

using Attributes = std::map<std::string, model::Attribute>;

/// Runs one operator on inputs in order (null where left out) and gives all its outputs, of which the node
/// names the first `outputs`.
[[nodiscard]] Result<std::vector<Tensor>> run_op(const std::string& op_type, const std::vector<const Tensor*>& inputs,
                                                 const Attributes& attributes = {}, std::int64_t opset = 17,
                                                 std::size_t outputs = 1);
/// ... for operators whose inputs are all there; the first output. Fails the test on an error.
[[nodiscard]] Tensor first_output(const std::string& op_type, const std::vector<Tensor>& inputs,
                                  const Attributes& attributes = {}, std::int64_t opset = 17);
/// The message of an operator that must fail; "" (and a failed test) when it doesn't.
[[nodiscard]] std::string error_of(const std::string& op_type, const std::vector<Tensor>& inputs,
                                   const Attributes& attributes = {}, std::int64_t opset = 17);

}  // namespace assay::reference
