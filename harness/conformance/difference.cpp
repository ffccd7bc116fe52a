#include "harness/conformance/difference.hpp"

#include <fmt/format.h>

#include <cmath>

#include "harness/core/text.hpp"

namespace assay::conformance {
namespace {

using core::Tensor;
using judge::Facet;

Difference compare_integers(const Tensor& expected, const Tensor& actual) {
  const auto wanted = expected.integers(), got = actual.integers();
  std::size_t differing = 0, first = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != got[i] && differing++ == 0) {
      first = i;
    }
  }
  if (differing == 0) {
    return {};
  }
  return {Facet::integers,
          fmt::format("element {}: expected {}, actual {} ({} of {} differ)", index_text(first, expected.shape()),
                      wanted[first], got[first], differing, wanted.size()),
          first, 0};
}

/// |error| ÷ limit; infinite where no limit can allow the difference.
double margin_of(double expected, double actual, double limit, core::DType type) {
  if (std::isinf(expected)) {
    actual = core::round_to_type(actual, type);
  }
  if (expected == actual || (std::isnan(expected) && std::isnan(actual))) {
    return 0;
  }
  const double margin = std::abs(actual - expected) / limit;
  return std::isfinite(margin) && std::isfinite(expected) ? margin : std::numeric_limits<double>::infinity();
}

Difference compare_reals(const Tensor& expected, const Tensor& actual, std::span<const double> limits) {
  const auto wanted = expected.reals(), got = actual.reals();
  Difference difference;
  std::size_t beyond = 0, first = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double margin = margin_of(wanted[i], got[i], limits[i], expected.type());
    if (margin > difference.margin) {
      difference.margin = margin;
      difference.worst = i;
    }
    if (margin > 1 && beyond++ == 0) {
      first = i;
    }
  }
  if (beyond > 0) {
    difference.facet = std::isnan(wanted[first]) == std::isnan(got[first]) ? Facet::numerics : Facet::nan;
    difference.text =
        fmt::format("element {}: expected {}, actual {}, limit {} ({} of {} beyond)",
                    index_text(first, expected.shape()), core::exact_text64(wanted[first]),
                    core::exact_text64(got[first]), core::exact_text64(limits[first]), beyond, wanted.size());
  }
  return difference;
}

}  // namespace

Difference compare(const Tensor& expected, const Tensor& actual, std::span<const double> limits) {
  if (expected.shape() != actual.shape()) {
    return {Facet::shape,
            fmt::format("expected shape {}, actual {}", core::shape_text(expected.shape()),
                        core::shape_text(actual.shape())),
            0, 0};
  }
  if (expected.type() != actual.type()) {
    return {Facet::dtype,
            fmt::format("expected {}, actual {}", core::dtype_name(expected.type()), core::dtype_name(actual.type())),
            0, 0};
  }
  return expected.is_real() ? compare_reals(expected, actual, limits) : compare_integers(expected, actual);
}

std::string index_text(std::size_t index, const core::Shape& shape) {
  core::Shape place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    place[axis] = static_cast<std::int64_t>(index % extent);
    index /= extent;
  }
  return core::shape_text(place);
}

}  // namespace assay::conformance
