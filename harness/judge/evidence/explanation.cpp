#include "harness/judge/evidence/explanation.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "harness/core/text.hpp"

namespace assay::judge {

double ParameterDerivation::margin() const {
  if (limit > 0) return distance / limit;
  return distance > 0 ? std::numeric_limits<double>::infinity() : 0;
}

bool Explanation::nears(std::string_view what, double margin) const {
  const auto same = std::ranges::find(parameters, what, &ParameterDerivation::what);
  return same == parameters.end() || margin > same->margin();
}

void Explanation::note(ParameterDerivation parameter) {
  const auto same = std::ranges::find(parameters, parameter.what, &ParameterDerivation::what);
  if (same == parameters.end()) {
    parameters.push_back(std::move(parameter));
  } else if (parameter.margin() > same->margin()) {
    *same = std::move(parameter);
  }
}

std::string index_text(std::int64_t flat, const core::Shape& shape) {
  std::vector<std::string> parts(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    parts[axis] = std::to_string(flat % shape[axis]);
    flat /= shape[axis];
  }
  return "[" + core::join(parts, ",") + "]";
}

}  // namespace assay::judge
