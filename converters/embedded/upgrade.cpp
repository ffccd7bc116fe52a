#include "converters/embedded/upgrade.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string_view>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/state.hpp"

namespace assay::embedded {
namespace {

using model::Model;
using model::Node;

/// What an adapter may do: change its node, add initializers and put nodes before or after it.
struct Rewrite {
  Model& model;
  Names& names;
  Node& node;
  std::vector<Node> before;
  std::vector<Node> after;

  std::string constant(const std::string& suffix, Tensor value) {
    auto name = names.fresh(node.outputs.front() + suffix);
    model.graph.initializers[name] = std::make_shared<const Tensor>(std::move(value));
    return name;
  }
  std::string constant(const std::string& suffix, std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return constant(suffix, Tensor(DType::int64, {count}, std::move(values)));
  }
};

/// Moves an integer-list attribute into input `index`.
void ints_to_input(Rewrite& rewrite, const std::string& attribute, std::size_t index) {
  auto& node = rewrite.node;
  if (!node.has(attribute)) return;
  node.inputs.resize(std::max(node.inputs.size(), index + 1));
  node.inputs[index] = rewrite.constant("_" + attribute, node.ints_or(attribute));
  node.attributes.erase(attribute);
}

Status upgrade_axes(Rewrite& rewrite, std::int64_t) {
  ints_to_input(rewrite, "axes", 1);
  return core::success();
}

Status upgrade_split(Rewrite& rewrite, std::int64_t) {
  ints_to_input(rewrite, "split", 1);
  return core::success();
}

Status upgrade_slice(Rewrite& rewrite, std::int64_t from) {
  if (from >= 10) return core::success();
  ints_to_input(rewrite, "starts", 1);
  ints_to_input(rewrite, "ends", 2);
  ints_to_input(rewrite, "axes", 3);
  return core::success();
}

Status upgrade_clip(Rewrite& rewrite, std::int64_t from) {
  if (from >= 11) return core::success();
  auto& node = rewrite.node;
  constexpr double kLargest = std::numeric_limits<float>::max();
  const double low = node.float_or("min", -kLargest);
  const double high = node.float_or("max", kLargest);
  node.inputs.resize(3);
  node.inputs[1] = rewrite.constant("_min", Tensor::scalar(DType::float32, low));
  node.inputs[2] = rewrite.constant("_max", Tensor::scalar(DType::float32, high));
  node.attributes.clear();
  return core::success();
}

Status upgrade_pad(Rewrite& rewrite, std::int64_t from) {
  if (from >= 11) return core::success();
  const double value = rewrite.node.float_or("value", 0);
  ints_to_input(rewrite, "pads", 1);
  rewrite.node.inputs.resize(3);
  rewrite.node.inputs[2] = rewrite.constant("_value", Tensor::scalar(DType::float32, value));
  rewrite.node.attributes.erase("value");
  return core::success();
}

Status upgrade_dropout(Rewrite& rewrite, std::int64_t) {
  rewrite.node.attributes.erase("ratio");  // inference only: the ratio has no effect
  return core::success();
}

/// Before opset 13 Softmax flattened the input to two dimensions at `axis` (default 1).
Status upgrade_softmax(Rewrite& rewrite, std::int64_t) {
  auto& node = rewrite.node;
  const std::string input = node.inputs.at(0);
  const std::string output = node.outputs.at(0);
  const auto shape = rewrite.names.fresh(output + "_shape");
  const auto flat = rewrite.names.fresh(output + "_flat");
  const auto soft = rewrite.names.fresh(output + "_soft");
  rewrite.before.push_back({shape, "Shape", "", {input}, {shape}, {}});
  rewrite.before.push_back({flat, "Flatten", "", {input}, {flat}, {{"axis", node.int_or("axis", 1)}}});
  rewrite.after.push_back({rewrite.names.fresh(output + "_unflatten"), "Reshape", "", {soft, shape}, {output}, {}});
  node.inputs[0] = flat;
  node.outputs[0] = soft;
  node.attributes["axis"] = std::int64_t{-1};
  return core::success();
}

Status upgrade_resize(Rewrite& rewrite, std::int64_t from) {
  if (from >= 11) return core::success();
  auto& node = rewrite.node;
  node.inputs.resize(3);
  node.inputs[2] = node.inputs[1];
  if (node.has("scales")) {  // Upsample-7
    const auto scales = node.floats_or("scales");
    const auto count = static_cast<std::int64_t>(scales.size());
    node.inputs[2] = rewrite.constant("_scales", Tensor(DType::float32, {count}, scales));
    node.attributes.erase("scales");
  }
  node.inputs[1].clear();
  node.op_type = "Resize";
  node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  node.attributes["nearest_mode"] = std::string("floor");
  return core::success();
}

Status upgrade_batch_normalization(Rewrite& rewrite, std::int64_t) {
  if (rewrite.node.int_or("spatial", 1) != 1) return refusal(rewrite.node, "spatial=0 has no equal in opset 13");
  rewrite.node.attributes.erase("spatial");
  return core::success();
}

Status upgrade_topk(Rewrite& rewrite, std::int64_t from) {
  if (from >= 10) return core::success();
  auto& node = rewrite.node;
  node.inputs.resize(2);
  node.inputs[1] = rewrite.constant("_k", std::vector<std::int64_t>{node.int_or("k", 1)});
  node.attributes.erase("k");
  return core::success();
}

Status refuse_old(Rewrite& rewrite, std::int64_t from) {
  return refusal(rewrite.node,
                 fmt::format("its opset {} form has no equal in newer opsets; export the model anew", from));
}

/// A Split into equal parts says how many from opset 18 on.
Status upgrade_equal_split(Rewrite& rewrite, std::int64_t) {
  auto& node = rewrite.node;
  if (node.input(1).empty()) node.attributes["num_outputs"] = static_cast<std::int64_t>(node.outputs.size());
  return core::success();
}

/// Operators whose form changed after opset 7, with the opset that changed it; in the order of these.
struct Adapter {
  std::string_view op;
  std::int64_t since;
  Status (*apply)(Rewrite&, std::int64_t from);
};
constexpr auto kAdapters = std::to_array<Adapter>({
    {"Squeeze", 13, &upgrade_axes},
    {"Unsqueeze", 13, &upgrade_axes},
    {"ReduceSum", 13, &upgrade_axes},
    {"Split", 13, &upgrade_split},
    {"Slice", 13, &upgrade_slice},
    {"Clip", 13, &upgrade_clip},
    {"Pad", 13, &upgrade_pad},
    {"Dropout", 13, &upgrade_dropout},
    {"Softmax", 13, &upgrade_softmax},
    {"LogSoftmax", 13, &upgrade_softmax},
    {"Hardmax", 13, &upgrade_softmax},
    {"Upsample", 13, &upgrade_resize},
    {"Resize", 13, &upgrade_resize},
    {"BatchNormalization", 13, &upgrade_batch_normalization},
    {"TopK", 13, &upgrade_topk},
    {"Scatter", 13, &refuse_old},
    {"Loop", 13, &refuse_old},
    {"Scan", 13, &refuse_old},
    {"ReduceL1", 18, &upgrade_axes},
    {"ReduceL2", 18, &upgrade_axes},
    {"ReduceLogSum", 18, &upgrade_axes},
    {"ReduceLogSumExp", 18, &upgrade_axes},
    {"ReduceMax", 18, &upgrade_axes},
    {"ReduceMean", 18, &upgrade_axes},
    {"ReduceMin", 18, &upgrade_axes},
    {"ReduceProd", 18, &upgrade_axes},
    {"ReduceSumSquare", 18, &upgrade_axes},
    {"Split", 18, &upgrade_equal_split},
    {"Loop", 21, &refuse_old},
    {"Scan", 21, &refuse_old},
});

/// The nodes of the graph or of a subgraph, and what their subgraphs hold. Added constants lie in the graph.
Status upgrade_nodes(Model& model, Names& names, std::vector<Node>& old, std::int64_t target) {
  const auto from = model.opset();
  std::vector<Node> nodes;
  for (auto& node : old) {
    Status inside = core::success();
    change_subgraphs(node, [&](model::Graph& subgraph) {
      if (inside) inside = upgrade_nodes(model, names, subgraph.nodes, target);
    });
    if (!inside) return inside;
    Rewrite rewrite{model, names, node, {}, {}};
    const std::string op = node.domain.empty() ? node.op_type : "";  // an Upsample becomes a Resize
    for (const auto& adapter : kAdapters) {
      if (op != adapter.op || from >= adapter.since || adapter.since > target) continue;
      if (auto done = adapter.apply(rewrite, from); !done) return done;
    }
    for (auto& added : rewrite.before) nodes.push_back(std::move(added));
    nodes.push_back(std::move(node));
    for (auto& added : rewrite.after) nodes.push_back(std::move(added));
  }
  old = std::move(nodes);
  return core::success();
}

}  // namespace

Status upgrade_opset(Model& model, std::int64_t target) {
  const auto from = model.opset();
  if (from >= target) return core::success();
  Names names(model.graph);
  if (auto done = upgrade_nodes(model, names, model.graph.nodes, target); !done) return done;
  model.opsets[""] = target;
  // The first IR versions that know opset 13, opset 21, and each from 23 on.
  model.ir_version =
      std::max<std::int64_t>(model.ir_version, target < kBlockOpset ? 7 : 10 + std::max<std::int64_t>(target - 22, 0));
  return core::success();
}

}  // namespace assay::embedded
