#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "harness/core/dtype.hpp"

namespace assay::core {

using Shape = std::vector<std::int64_t>;

/// Product of the extents; 1 for a scalar, and the largest number there is for what lies beyond.
[[nodiscard]] std::int64_t element_count(std::span<const std::int64_t> shape);

/// "[1,64,8,8]".
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

/// A dense row-major tensor. Real types (is_real) hold doubles whatever the declared type, so that the reference
/// computes in float64 under a float32 label; integer types and boolean hold int64. Strings are not supported.
class Tensor {
 public:
  Tensor() = default;
  /// Takes `values` as they are; their count must be element_count(shape) and the type real (integer).
  Tensor(DType type, Shape shape, std::vector<double> values);
  Tensor(DType type, Shape shape, std::vector<std::int64_t> values);
  [[nodiscard]] static Tensor zeros(DType type, Shape shape);
  [[nodiscard]] static Tensor scalar(DType type, double value);

  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t rank() const { return static_cast<std::int64_t>(shape_.size()); }
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] bool is_real() const { return core::is_real(type_); }

  /// The values; only for the matching kind of type.
  [[nodiscard]] std::span<const double> reals() const { return *std::get_if<std::vector<double>>(&data_); }
  [[nodiscard]] std::span<double> reals() { return *std::get_if<std::vector<double>>(&data_); }
  [[nodiscard]] std::span<const std::int64_t> integers() const {
    return *std::get_if<std::vector<std::int64_t>>(&data_);
  }
  [[nodiscard]] std::span<std::int64_t> integers() { return *std::get_if<std::vector<std::int64_t>>(&data_); }

  /// Element `index` in row-major order as a double, whatever the type.
  [[nodiscard]] double as_real(std::int64_t index) const;
  /// All values as doubles / as int64 (reals are truncated).
  [[nodiscard]] std::vector<double> to_reals() const;
  [[nodiscard]] std::vector<std::int64_t> to_integers() const;

  /// The same values under another shape of equal size, or another label of the same kind (real or integer).
  [[nodiscard]] Tensor reshaped(Shape shape) const&;
  [[nodiscard]] Tensor reshaped(Shape shape) &&;
  [[nodiscard]] Tensor relabeled(DType type) &&;

  friend bool operator==(const Tensor&, const Tensor&) = default;

 private:
  DType type_ = DType::undefined;
  Shape shape_;
  std::variant<std::vector<double>, std::vector<std::int64_t>> data_;
};

/// Tensors bound by name: inputs, outputs, one calibration batch.
using TensorMap = std::map<std::string, Tensor>;
using TensorPtr = std::shared_ptr<const Tensor>;

/// Rounds every real value to what its type can hold (float64 stays), ties to even.
[[nodiscard]] double round_to_type(double value, DType type);
[[nodiscard]] Tensor rounded_to_type(Tensor tensor);

}  // namespace assay::core
