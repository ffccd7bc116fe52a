#include "harness/judge/alignment/original_form.hpp"

#include <string>
#include <utility>

namespace assay::judge {

void replace_constant(model::Graph& graph, const model::Wiring& wiring, model::Node& node, std::size_t input,
                      model::TensorPtr values, std::string_view suffix) {
  std::string& name = node.inputs[input];
  const bool own = wiring.consumers(name).size() <= 1 && graph.initializer(name) != nullptr;
  if (!own) name = model::fresh_name(graph, name + std::string(suffix));
  graph.initializers[name] = std::move(values);
}

}  // namespace assay::judge
