#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::embedded {

/// Names in use, so that new tensors and nodes get names of their own.
class Names {
 public:
  explicit Names(const model::Graph& graph);
  /// `stem`, or `stem`_1, `stem`_2 … where it is taken; taken from now on.
  [[nodiscard]] std::string fresh(const std::string& stem);

 private:
  void take(const model::Graph& graph);

  std::set<std::string, std::less<>> taken_;
};

[[nodiscard]] bool is_op(const model::Node& node, std::string_view op);

/// A new initializer called `stem`, or nearly so where that name is taken; its name.
std::string put(model::Graph& graph, const std::string& stem, core::Tensor value);

/// Whether a subgraph of `node` reads `tensor` from outside.
[[nodiscard]] bool captures(const model::Node& node, std::string_view tensor);

/// Calls `change` on a copy of each subgraph of `node`, which takes that subgraph's place where it differs.
template <typename Change>
void change_subgraphs(model::Node& node, const Change& change) {
  for (auto& [name, value] : node.attributes) {
    auto* subgraph = std::get_if<model::GraphPtr>(&value);
    if (subgraph == nullptr || *subgraph == nullptr) continue;
    model::Graph copy = **subgraph;
    change(copy);
    if (copy != **subgraph) *subgraph = std::make_shared<const model::Graph>(std::move(copy));
  }
}

/// Makes every reader of `from` (graph outputs not included) read `to`, those inside subgraphs, too.
void redirect_readers(model::Graph& graph, std::string_view from, const std::string& to);

/// Removes nodes whose outputs nobody reads and initializers that nobody uses.
void remove_dead(model::Graph& graph);

/// The only node that reads `tensor`, where exactly one does, once, and `tensor` is no graph output.
[[nodiscard]] std::optional<std::size_t> only_reader(const model::Graph& graph, const model::Wiring& wiring,
                                                     std::string_view tensor);

/// How often `tensor` stands among `node`'s inputs.
[[nodiscard]] std::size_t reads(const model::Node& node, std::string_view tensor);

}  // namespace assay::embedded
