#include "harness/judge/evidence/demands.hpp"

#include <algorithm>
#include <string>

#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {

namespace {

/// A demand as this converter takes it.
Demand taken(const Evidence& evidence, Demand demand) {
  const bool chooses = evidence.converter.policy.chooses_int8 && demand.precision == Precision::int8;
  return {chooses ? Precision::int8_allowed : demand.precision, demand.stated};
}

}  // namespace

std::optional<Demand> demanded_precision(const Evidence& evidence, const model::Node& node) {
  const auto& stated = evidence.test_case->expect.precision;
  const auto& asked = evidence.options.precision;
  for (const std::string& key : {node.name, model::operator_name(node)}) {
    for (const auto* map : {&stated, &asked}) {
      const auto found = map->find(key);
      if (found == map->end()) continue;
      // The readers of cases and options let no other word through.
      if (const auto precision = precision_of(found->second)) return taken(evidence, {*precision, true});
    }
  }
  const auto& forms = evidence.converter.supports.int8_operators;
  const bool listed = !forms || std::ranges::find(*forms, model::operator_name(node)) != forms->end();
  if (!evidence.options.calibrates() && !listed) return std::nullopt;
  if (sums_products(node)) return taken(evidence, {Precision::int8, false});
  return std::nullopt;
}

bool asked_in_float(const Evidence& evidence, const model::Node& node) {
  const auto demand = demanded_precision(evidence, node);
  return demand && is_float(demand->precision);
}

const converters::NodePrecision* reported_precision(const Evidence& evidence, std::string_view node) {
  const auto& map = evidence.conversion.precision;
  if (evidence.precision_index != nullptr) {
    const auto position = evidence.precision_index->find(std::string(node));
    return position == evidence.precision_index->end() ? nullptr : &map[position->second];
  }
  const auto found = std::ranges::find(map, node, &converters::NodePrecision::node);
  return found == map.end() ? nullptr : &*found;
}

Indexed::Indexed(Evidence& evidence) : evidence_(evidence) {
  auto index = std::make_shared<std::unordered_map<std::string, std::size_t>>();
  const auto& map = evidence.conversion.precision;
  for (std::size_t i = 0; i < map.size(); ++i) index->emplace(map[i].node, i);
  evidence.precision_index = std::move(index);
}

Indexed::~Indexed() { evidence_.precision_index = nullptr; }

bool reported_in_float(const Evidence& evidence, std::string_view node) {
  const converters::NodePrecision* reported = reported_precision(evidence, node);
  return reported != nullptr && !ran_in_int8(*reported);
}

bool runs_in_float(const Evidence& evidence, const model::Node& node) {
  return reported_precision(evidence, node.name) != nullptr ? reported_in_float(evidence, node.name)
                                                            : asked_in_float(evidence, node);
}

bool keeps_weight(const Evidence& evidence, const model::Node& node) {
  return evidence.options.weights_only() ? asked_in_float(evidence, node) : runs_in_float(evidence, node);
}

WeightForm weight_form(const Evidence& evidence, std::optional<std::size_t> node, std::string_view op,
                       std::int64_t rank) {
  const auto shown = node ? evidence.weight_forms.find(*node) : evidence.weight_forms.end();
  if (shown != evidence.weight_forms.end()) return shown->second;
  const converters::Options& options = evidence.options;
  const bool matrix = rank == 2 && is_matrix_product(traits_of(op).product);
  return {options.weight, options.scale_type, matrix ? options.block : 0, options.symmetric};
}

bool lists_scales(const Evidence& evidence) {
  return !evidence.conversion.tensors.empty() && !evidence.converter.supports.says("inputs");
}

bool lists_constants(const Evidence& evidence) {
  return lists_scales(evidence) && !evidence.converter.supports.says("activations");
}

bool leaves_own_ranges_open(const Evidence& evidence) {
  return !lists_scales(evidence) && std::ranges::any_of(evidence.model->graph.nodes, &computes_by_attributes);
}

bool leaves_float_surroundings_open(const Evidence& evidence) {
  const auto in_float = [&](const model::Node& node) { return asked_in_float(evidence, node); };
  return !lists_scales(evidence) && std::ranges::any_of(evidence.model->graph.nodes, in_float);
}

bool has_calibrated_ranges(const Evidence& evidence) {
  return evidence.options.calibrates() && !evidence.options.dynamic;
}

std::set<const model::Node*> squeeze_gates(const model::Graph& graph) {
  const model::Wiring wiring(graph);
  std::set<const model::Node*> all;
  for (const model::Node& product : graph.nodes) {
    if (traits_of(product).formula != Formula::product || product.inputs.size() != 2) continue;
    for (const std::size_t gate : {0U, 1U}) {
      std::vector<const model::Node*> path;
      for (auto maker = wiring.producer(product.inputs[gate]); maker; maker = wiring.producer(path.back()->input(0))) {
        path.push_back(&graph.nodes[*maker]);
        if (traits_of(*path.back()).averages) break;
      }
      const bool squeezes =
          !path.empty() && traits_of(*path.back()).averages && path.back()->input(0) == product.inputs[1 - gate];
      if (squeezes) all.insert(path.begin(), path.end());
    }
  }
  return all;
}

}  // namespace assay::judge
