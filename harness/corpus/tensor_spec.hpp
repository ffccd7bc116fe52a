#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/rng.hpp"
#include "harness/core/tensor.hpp"

namespace assay::corpus {

/// A tensor described instead of stored (docs/cases.md, "described tensors").
struct TensorSpec {
  core::DType type = core::DType::float32;
  core::Shape shape;
  std::string kind = "normal";
  std::optional<double> low, high;      ///< "range"
  std::optional<double> mean, std_dev;  ///< of `normal`; the default deviation is 1/sqrt(fan-in)
  double value = 0;                     ///< of `constant`; amplitude of `alternating`, factor of `one_hot_identity`
  double start = 0, step = 1;           ///< of `arange`
  std::vector<double> values;           ///< of `values`
  std::int64_t axis = 0;                ///< of `spread` and `zero_channels`
  std::optional<double> ratio;          ///< largest channel magnitude ÷ smallest
  std::vector<std::int64_t> zero_channels;
  std::optional<double> outlier;         ///< put at `outlier_at` at the very end
  std::vector<std::int64_t> outlier_at;  ///< multi-index
  std::optional<std::uint64_t> seed;     ///< instead of the case's
};

/// Every kind of data a description can name.
[[nodiscard]] const std::vector<std::string>& tensor_kinds();

/// Makes the described tensor: real values are float32-representable, integers within their type. Depends on the
/// specification, `seed` and `name` only.
[[nodiscard]] core::Tensor generate(const TensorSpec& spec, std::uint64_t seed, std::string_view name);

/// Factors of `count` channels: geometrically spaced from 1 down to 1/ratio, in an order drawn from `rng`.
[[nodiscard]] std::vector<double> channel_factors(std::int64_t count, double ratio, core::Rng& rng);

/// Index along `axis` of element `index` of a row-major tensor.
[[nodiscard]] std::int64_t index_along(const core::Shape& shape, std::int64_t axis, std::int64_t index);

/// `value` as an element of `type`: rounded to float32 (real types) or to the nearest integer inside the type.
[[nodiscard]] double as_element(double value, core::DType type);
/// A tensor of `values` that are elements of `type`.
[[nodiscard]] core::Tensor make_tensor(core::DType type, core::Shape shape, std::vector<double> values);

}  // namespace assay::corpus
