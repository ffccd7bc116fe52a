#include "harness/model/same_content.hpp"

#include <algorithm>

namespace assay::model {

bool same_content(const Model& a, const Model& b) {
  const auto same_values = [](const auto& x, const auto& y) { return x.first == y.first && *x.second == *y.second; };
  return a.opsets == b.opsets && a.graph.nodes == b.graph.nodes && a.graph.inputs == b.graph.inputs &&
         a.graph.outputs == b.graph.outputs &&
         std::ranges::equal(a.graph.initializers, b.graph.initializers, same_values);
}

}  // namespace assay::model
