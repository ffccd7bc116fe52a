#include "harness/judge/artifact/decompressed.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/rewriter.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

/// Scales or zero points of codes: one, one for each index of an axis, or one for each line along an axis.
struct Layout {
  std::optional<std::int64_t> axis;
  std::int64_t block = 0;
  core::Shape shape;  ///< as DequantizeLinear has it
};

/// How `parameters`, broadcast to `codes`, lie; nothing where DequantizeLinear can't have them so.
std::optional<Layout> layout_of(const core::Shape& codes, const Tensor& parameters) {
  if (parameters.size() == 1) return Layout{};
  if (parameters.shape().size() > codes.size()) return std::nullopt;
  core::Shape aligned(codes.size() - parameters.shape().size(), 1);
  aligned.insert(aligned.end(), parameters.shape().begin(), parameters.shape().end());
  std::vector<std::int64_t> own, shared;  // axes with several parameters, and with one for several codes
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (aligned[i] != 1 && aligned[i] != codes[i]) return std::nullopt;
    if (aligned[i] != 1) own.push_back(static_cast<std::int64_t>(i));
    if (aligned[i] != codes[i]) shared.push_back(static_cast<std::int64_t>(i));
  }
  if (own.size() == 1) return Layout{own.front(), 0, {codes[static_cast<std::size_t>(own.front())]}};
  if (shared.size() != 1) return std::nullopt;
  return Layout{shared.front(), codes[static_cast<std::size_t>(shared.front())], aligned};
}

class Reader : private Rewriter {
 public:
  explicit Reader(const model::Model& artifact) : Rewriter(artifact) {}

  std::optional<model::Model> write() {
    bool any = false;
    result_.graph.nodes.clear();
    for (const Node& node : graph_.nodes) {
      auto made = node.op_type == "Mul" ? dequantized(node) : std::nullopt;
      any = any || made;
      result_.graph.nodes.push_back(made ? *std::move(made) : node);
    }
    if (!any) return std::nullopt;
    drop_unread();  // the Cast and the Sub
    return std::move(result_);
  }

 private:
  [[nodiscard]] const Node* maker(std::string_view tensor, std::string_view op) const {
    const auto index = wiring_.producer(std::string(tensor));
    return index && graph_.nodes[*index].op_type == op ? &graph_.nodes[*index] : nullptr;
  }

  /// A constant, also behind a Cast.
  [[nodiscard]] TensorPtr constant(std::string_view tensor) const {
    const Node* cast = maker(tensor, "Cast");
    return find_constant(constants_, cast != nullptr ? cast->input(0) : tensor);
  }

  std::optional<Node> dequantized(const Node& product) {
    for (const std::size_t side : {0U, 1U}) {
      const TensorPtr scale = constant(product.input(1 - side));
      if (scale == nullptr || !scale->is_real()) continue;
      const Node* shift = maker(product.input(side), "Sub");
      const Node* cast = maker(shift != nullptr ? shift->input(0) : product.input(side), "Cast");
      const TensorPtr codes = cast != nullptr ? find_constant(constants_, cast->input(0)) : nullptr;
      if (codes == nullptr || !core::is_code_type(codes->type())) continue;
      const TensorPtr zero_point = shift != nullptr ? constant(shift->input(1)) : nullptr;
      if (shift != nullptr && zero_point == nullptr) continue;
      if (auto made = dequantized(product, std::string(cast->input(0)), *codes, *scale, zero_point.get())) return made;
    }
    return std::nullopt;
  }

  std::optional<Node> dequantized(const Node& product, const std::string& name, const Tensor& codes,
                                  const Tensor& scale, const Tensor* zero_point) {
    const auto layout = layout_of(codes.shape(), scale);
    if (!layout) return std::nullopt;
    Node made;
    made.name = product.name;
    made.op_type = "DequantizeLinear";
    made.outputs = product.outputs;
    made.inputs = {name, store(name + "_scale", Tensor(scale.type(), layout->shape, scale.to_reals()))};
    if (zero_point != nullptr) {
      auto whole = whole_numbers(*zero_point, codes.type());
      if (!whole) return std::nullopt;
      if (whole->size() == 1) whole->assign(static_cast<std::size_t>(scale.size()), whole->front());
      if (static_cast<std::int64_t>(whole->size()) != scale.size()) return std::nullopt;
      made.inputs.push_back(store(name + "_zero_point", Tensor(codes.type(), layout->shape, *std::move(whole))));
    }
    if (layout->axis) made.attributes["axis"] = *layout->axis;
    if (layout->block != 0) {
      made.attributes["block_size"] = layout->block;
      made.domain = "com.microsoft";  // there the reference takes blocks whatever the opset
      result_.opsets.try_emplace("com.microsoft", 1);
    }
    return made;
  }

  /// `values` as codes of `type`; nothing where one of them is none.
  static std::optional<std::vector<std::int64_t>> whole_numbers(const Tensor& values, core::DType type) {
    const core::IntegerLimits limits = core::integer_limits(type);
    std::vector<std::int64_t> all;
    for (const double value : values.to_reals()) {
      if (value != std::nearbyint(value) || value < static_cast<double>(limits.low) ||
          value > static_cast<double>(limits.high))
        return std::nullopt;
      all.push_back(static_cast<std::int64_t>(value));
    }
    return all;
  }
};

}  // namespace

bool casts_constant_codes(const model::Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const auto found = graph.initializers.find(std::string(node.input(0)));
    return node.op_type == "Cast" && found != graph.initializers.end() && core::is_code_type(found->second->type()) &&
           !found->second->is_real();
  });
}

std::shared_ptr<const model::Model> with_decompressed_constants(std::shared_ptr<const model::Model> artifact) {
  if (!casts_constant_codes(artifact->graph)) return artifact;
  auto read = Reader(*artifact).write();
  return read ? std::make_shared<const model::Model>(*std::move(read)) : artifact;
}

}  // namespace assay::judge
