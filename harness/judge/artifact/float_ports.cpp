#include "harness/judge/artifact/float_ports.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/rewriter.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/quantized_form.hpp"

namespace assay::judge {
namespace {

using core::DType;
using core::TensorPtr;
using model::Node;
using model::ValueInfo;

bool is_float(DType type) { return core::is_real(type) && !core::is_code_type(type); }

/// The original has floats there, the artifact other ones or codes.
bool differs(const ValueInfo& original, const ValueInfo& port) {
  return is_float(original.type) && port.type != original.type &&
         (is_float(port.type) || core::is_code_type(port.type));
}

/// Scale and zero point of codes, each constant.
struct Steps {
  TensorPtr scale, zero_point;  ///< zero_point: null where there is none
};

class PortWriter : private Rewriter {
 public:
  explicit PortWriter(const model::Model& artifact) : Rewriter(artifact) {}

  std::optional<model::Model> write(const model::Graph& original) {
    for (ValueInfo& input : result_.graph.inputs) {
      const ValueInfo* wanted = differing(original.inputs, input);
      if (wanted == nullptr) continue;
      const Steps steps = is_float(input.type) ? Steps{} : read_by(input.name);
      if (!is_float(input.type) && steps.scale == nullptr) continue;
      const std::string inside = names_.fresh(input.name + "_at_port");
      front_.push_back(conversion("QuantizeLinear", steps, input.name, inside, input.type));
      renamed_[input.name] = inside;
      input.type = wanted->type;
    }
    for (ValueInfo& output : result_.graph.outputs) {
      const ValueInfo* wanted = differing(original.outputs, output);
      if (wanted == nullptr || renamed_.contains(output.name) || !wiring_.producer(output.name)) continue;
      const Steps steps = is_float(output.type) ? Steps{} : made_by(output.name);
      if (!is_float(output.type) && steps.scale == nullptr) continue;
      const std::string inside = names_.fresh(output.name + "_at_port");
      behind_.push_back(conversion("DequantizeLinear", steps, inside, output.name, wanted->type));
      renamed_[output.name] = inside;
      output.type = wanted->type;
    }
    if (renamed_.empty()) return std::nullopt;
    for (Node& node : result_.graph.nodes) {
      for (std::vector<std::string>* names : {&node.inputs, &node.outputs}) {
        for (std::string& name : *names) {
          if (const auto other = renamed_.find(name); other != renamed_.end()) name = other->second;
        }
      }
    }
    front_.insert(front_.end(), std::make_move_iterator(result_.graph.nodes.begin()),
                  std::make_move_iterator(result_.graph.nodes.end()));
    front_.insert(front_.end(), behind_.begin(), behind_.end());
    result_.graph.nodes = std::move(front_);
    return std::move(result_);
  }

 private:
  /// The original's port of the same name, where that is of floats and this one of other floats or of codes. Ports that
  /// a subgraph reads are left alone.
  [[nodiscard]] const ValueInfo* differing(const std::vector<ValueInfo>& original, const ValueInfo& port) const {
    const auto found = std::ranges::find(original, port.name, &ValueInfo::name);
    if (found == original.end() || !differs(*found, port)) return nullptr;
    const bool captured = std::ranges::any_of(graph_.nodes, [&](const Node& node) {
      const auto names = model::captured_names(node);
      return std::ranges::find(names, port.name) != names.end();
    });
    return captured ? nullptr : &*found;
  }

  [[nodiscard]] Steps steps(const Node& node, std::size_t scale) const {
    Steps found{find_constant(constants_, node.input(scale)), find_constant(constants_, node.input(scale + 1))};
    const bool one = found.scale != nullptr && found.scale->size() == 1;
    return one && (found.zero_point != nullptr || node.input(scale + 1).empty()) ? found : Steps{};
  }

  /// Codes that this node makes of codes have the parameters of its operand.
  [[nodiscard]] bool passes_codes(const Node& node) const {
    return only_moves(node, constants_) || traits_of(node).movement == Movement::joins || node.op_type == "MaxPool";
  }

  /// The parameters by which codes are read, also once they were moved.
  Steps read_by(const std::string& codes) {
    std::vector<std::string> open{codes};
    std::set<std::string, std::less<>> seen{codes};
    while (!open.empty()) {
      const std::string tensor = std::move(open.back());
      open.pop_back();
      for (const std::size_t i : wiring_.consumers(tensor)) {
        const Node& node = graph_.nodes[i];
        if (Steps found = steps_of_operand(node, tensor); found.scale != nullptr) return found;
        if (!passes_codes(node)) continue;
        for (const std::string& output : node.outputs) {
          if (!output.empty() && seen.insert(output).second) open.push_back(output);
        }
      }
    }
    return {};
  }

  /// Of codes that `node` reads as such.
  [[nodiscard]] Steps steps_of_operand(const Node& node, const std::string& codes) const {
    if (node.op_type == "DequantizeLinear" && node.input(0) == codes) return steps(node, 1);
    const reference::QuantizedForm* form = reference::quantized_form(node);
    if (form == nullptr || form->unpack != nullptr) return {};
    for (std::size_t k = 0; k < form->count(node.inputs.size()); ++k) {
      if (node.input(form->operand(k)) == codes) return steps(node, form->operand(k) + 1);
    }
    return {};
  }

  /// The parameters by which codes are made, also where they were moved since.
  Steps made_by(std::string codes) {
    while (const auto maker = wiring_.producer(codes)) {
      const Node& node = graph_.nodes[*maker];
      if (node.op_type == "QuantizeLinear") return steps(node, 1);
      const reference::QuantizedForm* form = reference::quantized_form(node);
      if (form != nullptr && form->unpack == nullptr && !node.input(form->output).empty())
        return steps(node, form->output);
      if (!passes_codes(node) || node.inputs.empty()) return {};
      codes = node.inputs.front();
    }
    return {};
  }

  /// `op` by `steps`, or a Cast to `type` where there are none.
  Node conversion(std::string_view op, const Steps& steps, const std::string& from, const std::string& to, DType type) {
    Node node;
    node.name = to + "_port";
    node.inputs = {from};
    node.outputs = {to};
    if (steps.scale == nullptr) {
      node.op_type = "Cast";
      node.attributes["to"] = static_cast<std::int64_t>(type);
      return node;
    }
    node.op_type = op;
    node.inputs.push_back(store(to + "_scale", *steps.scale));
    if (steps.zero_point != nullptr) node.inputs.push_back(store(to + "_zero_point", *steps.zero_point));
    return node;
  }

  std::map<std::string, std::string, std::less<>> renamed_;
  std::vector<Node> front_, behind_;
};

}  // namespace

std::shared_ptr<const model::Model> with_float_ports(std::shared_ptr<const model::Model> artifact,
                                                     const model::Graph& original) {
  const auto any = [](const std::vector<ValueInfo>& wanted, const std::vector<ValueInfo>& ports) {
    return std::ranges::any_of(ports, [&](const ValueInfo& port) {
      const auto found = std::ranges::find(wanted, port.name, &ValueInfo::name);
      return found != wanted.end() && differs(*found, port);
    });
  };
  if (!any(original.inputs, artifact->graph.inputs) && !any(original.outputs, artifact->graph.outputs)) return artifact;
  auto written = PortWriter(*artifact).write(original);
  return written ? std::make_shared<const model::Model>(*std::move(written)) : artifact;
}

}  // namespace assay::judge
