#include "harness/run/operator_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "converters/embedded/support.hpp"
#include "harness/conformance/conform.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/model/survey.hpp"
#include "reference/op.hpp"

namespace assay::run {
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

std::string int8_form(const OpDef& op) {
  const auto table = embedded::support_table();
  const auto found = std::ranges::find_if(
      table, [&](const embedded::Support& support) { return op.domain.empty() && support.op == op.name; });
  if (found == table.end()) {
    return "";
  }
  switch (found->handling) {
    case embedded::Handling::multiplies:
      return "multiplies";
    case embedded::Handling::computes:
      return "computes";
    case embedded::Handling::moves:
      return "moves";
  }
  return "";
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

std::string tests_text(const NodeTests& tests) {
  return tests.all == 0 ? "" : fmt::format("{} of {}", tests.passed, tests.all);
}

}  // namespace

core::Result<OperatorTable> operator_table() {
  const auto cases = corpus::load_family(corpus::home() / "cases" / "onnx_node.json");
  if (!cases) {
    return cases.error();
  }
  OperatorTable table;
  Tests stored;
  Tests newest;
  for (const corpus::Case& each : *cases) {
    const std::filesystem::path folder = each.stored_case.value_or("");
    const bool is_node = each.name.starts_with("onnx_node/group=node,");
    const bool is_newest = each.name.starts_with("onnx_node/group=newest,");
    if (folder.empty() || (!is_node && !is_newest)) {
      continue;
    }
    if (auto status = count_case(folder, is_node ? stored : newest, is_node ? table.stored : table.newest); !status) {
      return status.error();
    }
  }
  for (const OpDef* op : reference::all_operators()) {
    OperatorRow row{.name = op->domain.empty() ? std::string(op->name) : fmt::format("{}.{}", op->domain, op->name),
                    .first_opset = op->first_opset,
                    .last_opset = op->last_opset,
                    .takes_reals = std::ranges::any_of(kReals, [&](DType type) { return takes(*op, type); }),
                    .code_types = {},
                    .int8_form = int8_form(*op),
                    .stored = stored[{std::string(op->domain), std::string(op->name)}],
                    .newest = newest[{std::string(op->domain), std::string(op->name)}]};
    for (const DType type : kCodes) {
      if (takes(*op, type)) {
        row.code_types.emplace_back(core::dtype_name(type));
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string operators_markdown(const OperatorTable& table) {
  std::string text = fmt::format(
      R"(# Operators of the reference

Made by `./assay doctor --operators`; a test fails when this file says something else than that command. {} operators.

- **opsets**: the versions whose text the kernel follows, from the oldest to the newest.
- **float**: takes real tensors (float16, bfloat16, float32 and float64, all computed in float64).
- **quantized**: takes or makes codes of these types, exactly in integers; by the operator's own shape and type rule.
- **INT8 form**: what the embedded converter does with codes: it *multiplies* them with a weight, *computes* a result with
  parameters of its own, or *moves* values that keep theirs. Whether a certain node has one may depend on its attributes.
- **node tests**: those that pass of ONNX's own that use the operator; what keeps the others from passing stands in
  [conformance.md](conformance.md). 1.12: of Debian's `libonnx-testdata`, {} in all.
- **newest**: of the newest `onnx` package{}.

| operator | opsets | float | quantized | INT8 form | node tests, 1.12 | newest |
| --- | --- | --- | --- | --- | ---: | ---: |
)",
      table.rows.size(), tests_text(table.stored),
      table.newest.all == 0 ? ", where its tests are not written" : ", " + tests_text(table.newest) + " in all");
  for (const OperatorRow& row : table.rows) {
    text += fmt::format("| {} | {}–{} | {} | {} | {} | {} | {} |\n", row.name, row.first_opset, row.last_opset,
                        row.takes_reals ? "yes" : "", fmt::join(row.code_types, ", "), row.int8_form,
                        tests_text(row.stored), tests_text(row.newest));
  }
  return text;
}

}  // namespace assay::run
