#include "harness/conformance/operator_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/conformance/conform.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/model/survey.hpp"
#include "reference/op.hpp"

namespace assay::conformance {
namespace {

using core::DType;
using reference::OpDef;
using reference::TensorFacts;

constexpr std::array kReals{DType::float32, DType::float64, DType::float16, DType::bfloat16};
constexpr std::array kCodes{DType::int8, DType::uint8, DType::int16, DType::uint16};

/// What the shape rule says to a node of whose inputs only the types in `types` are known.
core::Result<std::vector<TensorFacts>> asked(const OpDef& op, const std::map<std::size_t, DType>& types) {
  const std::size_t count = std::max({op.min_inputs, types.empty() ? 1 : types.rbegin()->first + 1, std::size_t{1}});
  std::vector<TensorFacts> facts(count);
  for (const auto& [index, type] : types) {
    facts[index].type = type;
  }
  model::Node node;
  node.op_type = op.name;
  node.domain = op.domain;
  node.outputs = {"y"};
  std::vector<const TensorFacts*> inputs;
  for (const TensorFacts& each : facts) {
    inputs.push_back(&each);
    node.inputs.emplace_back("x");
  }
  return op.infer({.node = node, .opset = op.last_opset, .inputs = inputs});
}

/// The rule has nothing against data of `type`: input 0 may have it, or another one beside it gives it to the output.
/// What the rule misses without any type (an attribute) it still may miss.
bool takes(const OpDef& op, DType type) {
  if (op.max_inputs == 0) {
    return false;
  }
  const auto without = asked(op, {});
  const auto with = asked(op, {{0, type}});
  if (with || (!without && with.error() == without.error())) {
    return true;
  }
  for (std::size_t index = 1; index < std::min(op.max_inputs, op.min_inputs + 1); ++index) {
    for (const DType first : {DType::float32, DType::int64, DType::boolean}) {
      const auto outputs = asked(op, {{0, first}, {index, type}});
      if (outputs && !outputs->empty() && outputs->front().type == type) {
        return true;
      }
    }
  }
  return false;
}

using Tests = std::map<std::pair<std::string, std::string>, NodeTests>;

/// Runs the case in `folder` and counts it for each operator that it uses.
core::Status count_case(const std::filesystem::path& folder, Tests& tests, NodeTests& all) {
  const auto survey = model::survey_model(folder / "model.onnx");
  if (!survey) {
    return survey.error();
  }
  const bool passed = conformance::conform(folder).judgement.verdict == judge::Verdict::pass;
  const auto count = [&](NodeTests& of) {
    ++of.all;
    of.passed += passed ? 1U : 0U;
  };
  for (const auto& op : survey->operators) {
    count(tests[op]);
  }
  count(all);
  return core::success();
}

}  // namespace

core::Result<OperatorTable> operator_table(const Int8Form& int8_form) {
  const auto cases = corpus::load_family(corpus::home() / "cases" / "onnx_node.json");
  if (!cases) {
    return cases.error();
  }
  OperatorTable table;
  Tests stored;
  for (const corpus::Case& each : *cases) {
    const std::filesystem::path folder = each.stored_case.value_or("");
    if (folder.empty() || !each.name.starts_with("onnx_node/group=node,")) {
      continue;
    }
    if (auto status = count_case(folder, stored, table.stored); !status) {
      return status.error();
    }
  }
  for (const OpDef* op : reference::all_operators()) {
    OperatorRow row{.name = model::operator_name(op->domain, op->name),
                    .first_opset = op->first_opset,
                    .last_opset = op->last_opset,
                    .takes_reals = std::ranges::any_of(kReals, [&](DType type) { return takes(*op, type); }),
                    .code_types = {},
                    .int8_form = std::string(int8_form(model::operator_name(op->domain, op->name))),
                    .stored = stored[{std::string(op->domain), std::string(op->name)}]};
    for (const DType type : kCodes) {
      if (takes(*op, type)) {
        row.code_types.emplace_back(core::dtype_name(type));
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace assay::conformance
