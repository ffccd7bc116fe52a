#include "reference/facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay::reference {
namespace {

/// Longer lists are data, not shapes.
constexpr std::int64_t kMostElements = 1024;

/// Sums and products of such numbers do not overflow.
bool is_moderate(std::int64_t value) { return value >= -kElementLimit && value <= kElementLimit; }

}  // namespace

Dimension known(std::int64_t value) { return {.value = value, .symbol = {}}; }

Dims dims_of(std::span<const std::int64_t> shape) {
  Dims dims;
  dims.reserve(shape.size());
  for (const std::int64_t extent : shape) dims.push_back(known(extent));
  return dims;
}

std::optional<core::Shape> sizes(const Dims& dims) {
  core::Shape shape;
  shape.reserve(dims.size());
  for (const Dimension& dim : dims) {
    if (!dim.value) return std::nullopt;
    shape.push_back(*dim.value);
  }
  return shape;
}

Dims unknown_dims(std::size_t rank) { return Dims(rank); }

std::string dim_text(const Dimension& dim) {
  if (dim.value) return std::to_string(*dim.value);
  return dim.symbol.empty() ? "?" : dim.symbol;
}

std::string dims_text(const Dims& dims) {
  std::string text;
  for (const Dimension& dim : dims) text += (text.empty() ? "" : ",") + dim_text(dim);
  return "[" + text + "]";
}

bool may_equal(const Dimension& a, const Dimension& b) { return !a.value || !b.value || *a.value == *b.value; }

bool may_equal(const Dims& a, const Dims& b) {
  return std::ranges::equal(a, b, [](const Dimension& x, const Dimension& y) { return may_equal(x, y); });
}

bool surely_equal(const Dimension& a, const Dimension& b) {
  return a.value || b.value ? a.value == b.value : !a.symbol.empty() && a.symbol == b.symbol;
}

Dimension sharper(const Dimension& a, const Dimension& b) { return a.value || (!b.value && !a.symbol.empty()) ? a : b; }

Dimension common(const Dimension& a, const Dimension& b) { return surely_equal(a, b) ? a : Dimension(); }

Dimension product(std::span<const Dimension> dims) {
  Dimension result = known(1);
  for (const Dimension& dim : dims) {
    if (dim.value == 0) return dim;
    if (dim.value == 1) continue;
    if (result.value == 1) {
      result = dim;
    } else if (result.value && dim.value && is_moderate(*dim.value) && is_moderate(*result.value)) {
      *result.value *= *dim.value;
    } else {
      result = Dimension();
    }
  }
  return result;
}

Dimension sum(std::span<const Dimension> dims) {
  Dimension result = known(0);
  for (const Dimension& dim : dims) {
    if (dim.value == 0) continue;
    if (result.value == 0) {
      result = dim;
    } else if (result.value && dim.value && is_moderate(*dim.value) && is_moderate(*result.value)) {
      *result.value += *dim.value;
    } else {
      return {};
    }
  }
  return result;
}

std::optional<Dims> TensorFacts::integers() const {
  if (elements || value == nullptr) return elements;
  if (!core::is_integer(value->type()) || value->rank() > 1 || value->size() > kMostElements) return std::nullopt;
  return dims_of(value->integers());
}

std::optional<std::int64_t> TensorFacts::rank() const {
  return shape ? std::optional(static_cast<std::int64_t>(shape->size())) : std::nullopt;
}

Dimension TensorFacts::size() const { return shape ? product(*shape) : Dimension(); }

TensorFacts facts_of(const core::Tensor& tensor) { return facts_of(core::TensorPtr(core::TensorPtr(), &tensor)); }

TensorFacts facts_of(const core::TensorPtr& tensor) {
  return {.type = tensor->type(), .shape = dims_of(tensor->shape()), .value = tensor, .elements = {}};
}

TensorFacts facts_of(const model::ValueInfo& declared) {
  TensorFacts facts{.type = declared.type, .shape = declared.shape, .value = {}, .elements = {}};
  if (facts.shape) {
    for (Dimension& dim : *facts.shape) {
      // Some exporters write -1 for an open extent; what no tensor can have says as little.
      if (dim.value && (*dim.value < 0 || *dim.value > kElementLimit)) dim.value.reset();
    }
  }
  return facts;
}

std::string facts_text(const TensorFacts& facts) {
  const std::string type(facts.type == core::DType::undefined ? "?" : core::dtype_name(facts.type));
  return facts.shape ? type + dims_text(*facts.shape) : type + " of unknown rank";
}

TensorFacts common(const TensorFacts& a, const TensorFacts& b) {
  TensorFacts facts;
  if (a.type == b.type) facts.type = a.type;
  if (a.shape && b.shape && a.shape->size() == b.shape->size()) {
    facts.shape.emplace();
    for (std::size_t i = 0; i < a.shape->size(); ++i) facts.shape->push_back(common((*a.shape)[i], (*b.shape)[i]));
  }
  return facts;
}

}  // namespace assay::reference
