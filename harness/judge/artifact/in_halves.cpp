#include "harness/judge/artifact/in_halves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "reference/infer.hpp"
#include "reference/quantized_form.hpp"

namespace assay::judge {
namespace {

using core::DType;
using core::Tensor;
using core::TensorPtr;
using model::Node;

constexpr double kFloat16 = 0x1p-11, kBfloat16 = 0x1p-8;

class HalfWriter {
 public:
  HalfWriter(const model::Model& artifact, std::map<std::string, model::ValueInfo> types)
      : model_(std::make_shared<model::Model>(artifact)), types_(std::move(types)) {
    const model::Graph& graph = artifact.graph;
    for (const model::ValueInfo& output : graph.outputs) outputs_.insert(output.name);
    for (const Node& node : graph.nodes) {
      const reference::QuantizedForm* form = reference::quantized_form(node);
      const bool blocks = form != nullptr && form->unpack != nullptr;
      if (!blocks && node.op_type != "QuantizeLinear" && node.op_type != "DequantizeLinear") continue;
      scales_.insert(std::string(node.input(blocks ? form->operand(0) + 1 : 1)));
    }
  }

  Widened write() {
    model::Graph& graph = model_->graph;
    const std::vector<Node> nodes = std::exchange(graph.nodes, {});
    for (const Node& each : nodes) {
      Node node = each;
      for (std::string& input : node.inputs) {
        if (const auto other = renamed_.find(input); other != renamed_.end()) input = other->second;
      }
      if (drops(each, node)) continue;
      widen(node);
      graph.nodes.push_back(std::move(node));
    }
    for (auto& [name, tensor] : graph.initializers) {
      if (half_unit(tensor->type()) == 0) continue;
      result_.units[name] = half_unit(tensor->type());
      if (!scales_.contains(name)) tensor = widened(*tensor);
    }
    for (auto* list : {&graph.inputs, &graph.outputs, &graph.value_info}) {
      for (model::ValueInfo& info : *list) {
        if (half_unit(info.type) != 0) info.type = DType::float32;
      }
    }
    std::erase_if(graph.value_info, [&](const model::ValueInfo& info) { return renamed_.contains(info.name); });
    result_.model = std::move(model_);
    return std::move(result_);
  }

 private:
  static TensorPtr widened(const Tensor& tensor) {
    return std::make_shared<const Tensor>(DType::float32, tensor.shape(), tensor.to_reals());
  }

  DType type_of(const std::string& tensor) const {
    const auto known = types_.find(tensor);
    return known == types_.end() ? DType::undefined : known->second.type;
  }

  /// A Cast between float types, whose readers read what it reads; `node` has its inputs' new names.
  bool drops(const Node& cast, const Node& node) {
    if (cast.op_type != "Cast" || cast.outputs.size() != 1) return false;
    const std::string& made = cast.outputs.front();
    const DType from = type_of(cast.inputs.front());
    if (!core::is_real(from) || !core::is_real(type_of(made))) return false;
    if (!outputs_.contains(made)) {
      renamed_[made] = node.inputs.front();
      const double unit = half_unit(type_of(made));
      if (unit != 0 && half_unit(from) == 0) result_.units.try_emplace(node.inputs.front(), unit);  // rounds them
      return true;
    }
    if (gives_name(node.inputs.front(), made)) {
      if (const double unit = half_unit(type_of(made)); unit != 0) result_.units[made] = unit;
      return true;
    }
    if (half_unit(from) != 0) result_.units[made] = half_unit(from);
    return false;
  }

  /// The tensor that a graph output is cast from takes its name.
  bool gives_name(const std::string& tensor, const std::string& output) {
    std::vector<Node>& nodes = model_->graph.nodes;
    const auto makes = [&](const Node& node) { return std::ranges::find(node.outputs, tensor) != node.outputs.end(); };
    const auto maker = std::ranges::find_if(nodes, makes);
    if (maker == nodes.end() || outputs_.contains(tensor)) return false;
    const auto rename = [&](std::string& name) {
      if (name == tensor) name = output;
    };
    for (Node& node : nodes) {
      std::ranges::for_each(node.inputs, rename);
      std::ranges::for_each(node.outputs, rename);
    }
    for (auto& [from, to] : renamed_) rename(to);
    renamed_[tensor] = output;
    if (const auto unit = result_.units.find(tensor); unit != result_.units.end()) {
      result_.units[output] = unit->second;
      result_.units.erase(unit);
    }
    return true;
  }

  void widen(Node& node) {
    for (const std::string& output : node.outputs) {
      if (const double unit = half_unit(type_of(output)); unit != 0) result_.units[output] = unit;
    }
    for (const char* key : {"to", "output_dtype"}) {
      if (half_unit(static_cast<DType>(node.int_or(key, 0))) != 0)
        node.attributes[key] = static_cast<std::int64_t>(DType::float32);
    }
    // Its scale keeps its type, and would give that to what it makes.
    if (node.op_type == "DequantizeLinear" && half_unit(type_of(std::string(node.input(1)))) != 0) {
      node.attributes["output_dtype"] = static_cast<std::int64_t>(DType::float32);
      node.domain = "com.microsoft";  // there the reference takes the attribute whatever the opset
      model_->opsets.try_emplace(node.domain, 1);
    }
    if (const TensorPtr value = node.tensor("value"); value != nullptr && half_unit(value->type()) != 0) {
      const bool scale = node.op_type == "Constant" && scales_.contains(node.outputs.front());
      if (!scale) node.attributes["value"] = widened(*value);
    }
  }

  std::shared_ptr<model::Model> model_;
  Widened result_;
  std::map<std::string, model::ValueInfo> types_;
  std::map<std::string, std::string, std::less<>> renamed_;
  std::set<std::string, std::less<>> outputs_, scales_;
};

bool has_halves(const model::Graph& graph) {
  const auto half = [](DType type) { return half_unit(type) != 0; };
  return std::ranges::any_of(graph.initializers, [&](const auto& each) { return half(each.second->type()); }) ||
         std::ranges::any_of(graph.inputs, half, &model::ValueInfo::type) ||
         std::ranges::any_of(graph.nodes, [&](const Node& node) {
           return node.op_type == "Cast" && half(static_cast<DType>(node.int_or("to", 0)));
         });
}

/// The types of all tensors, where some of them have 16 bits; nothing where none has, or a subgraph may.
core::Result<std::map<std::string, model::ValueInfo>> types_of_halves(const model::Model& model) {
  const bool nested =
      std::ranges::any_of(model.graph.nodes, [](const Node& node) { return !model::captured_names(node).empty(); });
  if (nested || !has_halves(model.graph)) return std::map<std::string, model::ValueInfo>{};
  model::Model undeclared = model;  // whether declared shapes hold is another audit's question
  undeclared.graph.value_info.clear();
  for (model::ValueInfo& output : undeclared.graph.outputs) output.shape.reset();
  return reference::infer_shapes(undeclared);
}

}  // namespace

double half_unit(DType type) { return type == DType::float16 ? kFloat16 : type == DType::bfloat16 ? kBfloat16 : 0; }

double half_underflow(double unit) { return unit == kFloat16 ? 0x1p-25 : 0x1p-134; }

double half_error(double unit, double value) {
  return unit == 0 ? 0 : 2 * (unit * std::fabs(value) + half_underflow(unit));
}

double half_limit(double unit) {
  return unit == kFloat16 ? 65504 : static_cast<double>(std::numeric_limits<float>::max());
}

std::map<std::string, double, std::less<>> half_units(const model::Model& model) {
  std::map<std::string, double, std::less<>> units;
  const auto types = types_of_halves(model);
  if (!types) return units;  // what is wrong with the model is said elsewhere
  for (const auto& [name, info] : *types)
    if (const double unit = half_unit(info.type); unit != 0) units[name] = unit;
  return units;
}

core::TensorMap widened_inputs(core::TensorMap inputs) {
  for (auto& [name, tensor] : inputs)
    if (half_unit(tensor.type()) != 0) tensor = std::move(tensor).relabeled(DType::float32);
  return inputs;
}

core::Result<Widened> widened_halves(std::shared_ptr<const model::Model> artifact) {
  auto types = types_of_halves(*artifact);
  if (!types) return types.error();
  if (types->empty()) return Widened{std::move(artifact), {}};
  return HalfWriter(*artifact, *std::move(types)).write();
}

}  // namespace assay::judge
