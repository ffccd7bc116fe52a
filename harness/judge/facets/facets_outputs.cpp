#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/core/text.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/facets/facets.hpp"
#include "reference/infer.hpp"

namespace assay::judge {
namespace {

using core::Tensor;

std::string quoted(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("\"{}\"", fmt::join(names, "\", \""));
}

class OutputCheck {
 public:
  explicit OutputCheck(const LayerContext& context) : context_(context), evidence_(context.evidence) {}

  std::vector<Finding> run() {
    check_order();
    check_inputs();
    check_declared();
    for (std::size_t i = 0; i < evidence_.executions.size(); ++i) {
      const Execution& execution = evidence_.executions[i];
      const bool has_reference = i < context_.reference.size() && context_.reference[i] != nullptr;
      if (execution.reply.outcome != converters::Outcome::ok || !has_reference) continue;
      check_names(execution);
      for (const auto& output : evidence_.model->graph.outputs) {
        const auto actual = execution.outputs.find(output.name);
        const auto expected = context_.reference[i]->find(output.name);
        if (actual == execution.outputs.end() || expected == context_.reference[i]->end()) continue;
        check_tensor(execution, output.name, expected->second, actual->second);
      }
    }
    return std::move(findings_);
  }

 private:
  /// Each facet of each output is reported for the first data set that shows it.
  void add(Facet facet, const std::string& tensor, const std::string& data_set, std::string message) {
    if (!seen_.insert({facet, tensor}).second) return;
    Finding finding;
    finding.stage = data_set.empty() ? Stage::artifact : Stage::judge;
    finding.facet = facet;
    finding.tensor = tensor;
    finding.data_set = data_set;
    finding.message = std::move(message);
    if (const auto producer = wiring_.producer(tensor)) {
      finding.node = evidence_.model->graph.nodes[*producer].name;
      finding.op = evidence_.model->graph.nodes[*producer].op_type;
    }
    findings_.push_back(std::move(finding));
  }

  /// Names and their order as the artifact declares them.
  void check_order() {
    if (evidence_.artifact == nullptr) return;
    std::vector<std::string> actual, expected;
    for (const auto& output : evidence_.artifact->graph.outputs) actual.push_back(output.name);
    for (const auto& output : evidence_.model->graph.outputs) expected.push_back(output.name);
    if (evidence_.test_case->expect.outputs) expected = *evidence_.test_case->expect.outputs;
    if (actual == expected) return;
    std::vector<std::string> sorted_actual = actual, sorted_expected = expected;
    std::ranges::sort(sorted_actual);
    std::ranges::sort(sorted_expected);
    const Facet facet =
        actual.size() == expected.size() || sorted_actual == sorted_expected ? Facet::names : Facet::count;
    add(facet, "", "",
        fmt::format("outputs of the artifact: expected {} ({}), actual {} ({})", quoted(expected), expected.size(),
                    quoted(actual), actual.size()));
  }

  /// Who feeds by place, or reads the type of an input, has to find the original's.
  void check_inputs() {
    if (evidence_.artifact == nullptr) return;
    const model::Graph& artifact = evidence_.artifact->graph;
    std::vector<std::string> actual, expected;
    for (const auto& input : evidence_.model->graph.inputs) {
      const model::ValueInfo* same = artifact.find_input(input.name);
      if (same == nullptr) continue;  // fed all the same, it shows at the execution
      expected.push_back(input.name);
      if (same->type == input.type || same->type == core::DType::undefined) continue;
      add(Facet::dtype, input.name, "",
          fmt::format("input \"{}\" of the artifact: expected type {}, actual {}", input.name,
                      core::dtype_name(input.type), core::dtype_name(same->type)));
    }
    for (const auto& input : artifact.inputs) {
      if (evidence_.model->graph.find_input(input.name) != nullptr) actual.push_back(input.name);
    }
    if (actual == expected) return;
    add(Facet::names, expected.front(), "",
        fmt::format("inputs of the artifact: expected the order {}, actual {}", quoted(expected), quoted(actual)));
  }

  /// What the artifact declares of its tensors holds on the data that it was executed on.
  void check_declared() {
    if (evidence_.artifact == nullptr || evidence_.artifact->graph.value_info.empty()) return;
    model::Model bound = *evidence_.artifact;
    for (const Execution& execution : evidence_.executions) {
      if (execution.reply.outcome != converters::Outcome::ok) continue;
      for (auto& input : bound.graph.inputs) {
        const auto fed = execution.inputs.find(input.name);
        if (fed == execution.inputs.end()) continue;
        std::vector<model::Dimension> extents;
        for (const std::int64_t extent : fed->second.shape()) extents.push_back({extent, ""});
        input.shape = std::move(extents);
      }
      const core::Status status = reference::check_declarations(bound);
      if (status) return;
      add(Facet::shape, evidence_.model->graph.find_output(status.error().tensor) ? status.error().tensor : "", "",
          fmt::format("on data set \"{}\" the artifact doesn't hold what it declares: {}", execution.data_set,
                      status.error().message));
      return;
    }
  }

  void check_names(const Execution& execution) {
    std::vector<std::string> missing, extra;
    for (const auto& output : evidence_.model->graph.outputs) {
      if (!execution.outputs.contains(output.name)) missing.push_back(output.name);
    }
    for (const auto& [name, tensor] : execution.outputs) {
      if (evidence_.model->graph.find_output(name) == nullptr) extra.push_back(name);
    }
    if (missing.empty() && extra.empty()) return;
    const Facet facet = missing.size() == extra.size() ? Facet::names : Facet::count;
    add(facet, missing.empty() ? "" : missing.front(), execution.data_set,
        fmt::format("outputs by name: missing {}, not asked for {}", quoted(missing), quoted(extra)));
  }

  void check_tensor(const Execution& execution, const std::string& name, const Tensor& expected, const Tensor& actual) {
    const corpus::Expectation& expect = evidence_.test_case->expect;
    core::Shape shape = expected.shape();
    if (const auto stated = expect.shape.find(name); stated != expect.shape.end()) shape = stated->second;
    if (actual.shape() != shape) {
      add(Facet::shape, name, execution.data_set,
          fmt::format("output \"{}\": expected shape {}, actual {}", name, core::shape_text(shape),
                      core::shape_text(actual.shape())));
    }
    std::string_view type = core::dtype_name(expected.type());
    if (const auto stated = expect.dtype.find(name); stated != expect.dtype.end()) {
      const auto parsed = core::parse_dtype(stated->second);
      type = parsed ? core::dtype_name(*parsed) : std::string_view(stated->second);
    }
    if (core::dtype_name(actual.type()) != type) {
      add(Facet::dtype, name, execution.data_set,
          fmt::format("output \"{}\": expected type {}, actual {}", name, type, core::dtype_name(actual.type())));
    }
    if (actual.is_real() && expected.is_real() && actual.shape() == expected.shape())
      check_finite(execution, name, expected, actual);
  }

  void check_finite(const Execution& execution, const std::string& name, const Tensor& expected, const Tensor& actual) {
    const auto values = actual.reals();
    const auto reference = expected.reals();
    std::size_t first = values.size(), count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i]) || !std::isfinite(reference[i])) continue;
      first = std::min(first, i);
      ++count;
    }
    if (count == 0) return;
    add(Facet::nan, name, execution.data_set,
        fmt::format("output \"{}\": {} of {} elements are NaN or infinite where the reference is finite\n"
                    "  first at flat index {}: expected {}, actual {}",
                    name, count, values.size(), first, core::exact_text64(reference[first]),
                    core::exact_text64(values[first])));
  }

  const LayerContext& context_;
  const Evidence& evidence_;
  model::Wiring wiring_{evidence_.model->graph};
  std::set<std::pair<Facet, std::string>> seen_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_outputs(const LayerContext& context) { return OutputCheck(context).run(); }

}  // namespace assay::judge
