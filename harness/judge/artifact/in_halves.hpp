#pragma once

#include <map>
#include <memory>
#include <string>

#include "harness/core/dtype.hpp"
#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// Unit roundoff of a float type of 16 bits (2⁻¹¹ for float16, 2⁻⁸ for bfloat16); 0 for every other type.
[[nodiscard]] double half_unit(core::DType type);
/// Half of the least positive number of such a type; what is smaller is rounded to a multiple of twice that.
[[nodiscard]] double half_underflow(double unit);
/// How far a constant may be from `value` that was rounded to such a type, and once more by a scale of it; 0 without
/// one (`unit` 0).
[[nodiscard]] double half_error(double unit, double value);
/// The largest finite number of such a type.
[[nodiscard]] double half_limit(double unit);

/// Of each tensor that a model holds in 16 bits, the unit roundoff of its type; nothing where a subgraph may hold some.
[[nodiscard]] std::map<std::string, double, std::less<>> half_units(const model::Model& model);

/// An artifact that computes in float32 what another one computes in 16 bits.
struct Widened {
  std::shared_ptr<const model::Model> model;
  /// Of each tensor that the artifact holds in 16 bits, or casts to 16 bits, the unit roundoff of that type.
  std::map<std::string, double, std::less<>> units;
};

/// The artifact without its Casts between float types, and with constants of 16 bits as float32. Scales keep their
/// type, which says how they were rounded. The same object where nothing has 16 bits, or a subgraph may.
/// Errors   invalid_model, naming the node, where types don't fit.
[[nodiscard]] core::Result<Widened> widened_halves(std::shared_ptr<const model::Model> artifact);

/// What a widened artifact is fed instead of `inputs`, of which some have 16 bits.
[[nodiscard]] core::TensorMap widened_inputs(core::TensorMap inputs);

}  // namespace assay::judge
