// The shape rules against libonnx's inference and against what execution makes, over ONNX's own models and all of ours.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>

#include "harness/conformance/stored_case.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"
#include "reference/infer.hpp"
#include "reference/op.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kNewestOfLibonnx = 17;

using Infos = std::map<std::string, model::ValueInfo>;

std::string text(const model::ValueInfo& info) { return facts_text(facts_of(info)); }

/// The model without what it declares of intermediates and outputs, so that all must come from the rules.
model::Model undeclared(model::Model model) {
  model.graph.value_info.clear();
  for (model::ValueInfo& output : model.graph.outputs)
    output = {.name = output.name, .type = DType::undefined, .shape = {}};
  return model;
}

bool is_contradiction(const model::ValueInfo& ours, const model::ValueInfo& theirs) {
  if (ours.type != theirs.type && ours.type != DType::undefined && theirs.type != DType::undefined) return true;
  return ours.shape && theirs.shape && !may_equal(*ours.shape, *theirs.shape);
}

/// They know a type, a rank, a number or a symbol where we know nothing.
bool is_less_known(const model::ValueInfo& ours, const model::ValueInfo& theirs) {
  if (ours.type == DType::undefined && theirs.type != DType::undefined) return true;
  if (!theirs.shape) return false;
  if (!ours.shape) return true;
  for (std::size_t axis = 0; axis < theirs.shape->size(); ++axis) {
    const Dimension& own = (*ours.shape)[axis];
    const Dimension& other = (*theirs.shape)[axis];
    if (other.value && !own.value) return true;
    // What is open it calls unk__0, unk__1 and so on.
    if (!other.symbol.empty() && !other.symbol.starts_with("unk__") && !own.value && own.symbol.empty()) return true;
  }
  return false;
}

/// The reference has every operator of the model's, in its version.
bool is_covered(const model::Model& model) {
  return std::ranges::all_of(model.graph.nodes, [&](const Node& node) {
    const OpDef* op = find_operator(node.domain, node.op_type);
    return op != nullptr && op->first_opset <= model.opset() && model.opset() <= op->last_opset;
  });
}

bool is_wholly_known(const model::ValueInfo& info) {
  return info.type != DType::undefined && info.shape && sizes(*info.shape);
}

struct Counts {
  std::size_t models = 0;
  std::size_t tensors = 0;
  std::size_t known = 0;  ///< of the tensors, those with a type and every extent
  std::size_t known_to_libonnx = 0;
};

/// As far as libonnx's inference knows; empty where it knows nothing of the model's opset.
Infos libonnx_shapes(const model::Model& model) {
  onnx::ModelProto proto;
  if (model.opset() > kNewestOfLibonnx || !proto.ParseFromString(model::serialize_model(model))) return {};
  try {
    onnx::shape_inference::InferShapes(proto);
  } catch (const std::exception&) {
    return {};  // it refuses what it can't infer
  }
  const auto inferred = model::load_model_bytes(proto.SerializeAsString(), {});
  Infos infos;
  if (!inferred) return infos;
  for (const auto* list : {&inferred->graph.inputs, &inferred->graph.outputs, &inferred->graph.value_info})
    for (const model::ValueInfo& info : *list) infos.emplace(info.name, info);
  return infos;
}

void compare_with_libonnx(const std::string& name, const model::Model& declared, Counts& counts) {
  const model::Model model = undeclared(declared);
  const Infos theirs = libonnx_shapes(model);
  if (theirs.empty()) return;
  const auto ours = infer_shapes(model);
  if (!ours) {
    ADD_FAILURE() << name << ": " << ours.error().message;
    return;
  }
  ++counts.models;
  const bool covered = is_covered(model);
  for (const auto& [tensor, info] : theirs) {
    const auto own = ours->find(tensor);
    ASSERT_NE(own, ours->end()) << name << ": " << tensor;
    counts.tensors += covered ? 1U : 0U;
    counts.known += covered && is_wholly_known(own->second) ? 1U : 0U;
    counts.known_to_libonnx += covered && is_wholly_known(info) ? 1U : 0U;
    EXPECT_FALSE(is_contradiction(own->second, info))
        << name << ": " << tensor << ": we say " << text(own->second) << ", libonnx " << text(info);
    EXPECT_FALSE(covered && is_less_known(own->second, info))
        << name << ": " << tensor << ": we say " << text(own->second) << ", libonnx " << text(info);
  }
}

/// Every tensor of the main graph is as the rules say, and a symbol is one number throughout. False where the reference
/// does not run the model.
bool compare_with_execution(const std::string& name, const model::Model& declared, const TensorMap& inputs,
                            Counts& counts) {
  const model::Model model = undeclared(declared);
  const auto infos = infer_shapes(model);
  EXPECT_TRUE(infos) << name << ": " << infos.error().message;
  if (!infos) return false;
  Counts seen;
  std::map<std::string, std::int64_t> symbols;
  const auto observe = [&](const std::string& tensor, const Tensor& value) {
    const auto found = infos->find(tensor);
    ASSERT_NE(found, infos->end()) << name << ": " << tensor;
    const model::ValueInfo& info = found->second;
    const bool fits = info.type == value.type() && (!info.shape || may_equal(*info.shape, dims_of(value.shape())));
    EXPECT_TRUE(fits) << name << ": " << tensor << " is " << facts_text(facts_of(value)) << ", the rules say "
                      << text(info);
    ++seen.tensors;
    if (!fits || !info.shape) return;
    seen.known += is_wholly_known(info) ? 1U : 0U;
    for (std::size_t axis = 0; axis < info.shape->size(); ++axis) {
      const std::string& symbol = (*info.shape)[axis].symbol;
      if (symbol.empty()) continue;
      const auto [entry, added] = symbols.emplace(symbol, value.shape()[axis]);
      EXPECT_EQ(entry->second, value.shape()[axis]) << name << ": " << tensor << ": symbol " << symbol;
    }
  };
  if (!execute(model, inputs, {.observe = observe, .substitute = {}})) return false;
  ++counts.models;
  counts.tensors += seen.tensors;
  counts.known += seen.known;
  return true;
}

void report(const std::string& what, const Counts& libonnx, const Counts& executed) {
  fmt::print("{}: {} models have {} tensors whose operators we cover; {} are wholly known to us, {} to libonnx\n", what,
             libonnx.models, libonnx.tensors, libonnx.known, libonnx.known_to_libonnx);
  fmt::print("{}: {} executions made {} tensors, all as the rules say; {} were wholly known\n", what, executed.models,
             executed.tensors, executed.known);
}

TEST(InferSweep, OnnxNodeModels) {
  const auto cases = corpus::load_family(test::source_tree() / "cases" / "onnx_node.json");
  ASSERT_TRUE(cases) << cases.error().message;
  Counts libonnx;
  Counts executed;
  for (const corpus::Case& each : *cases) {
    if (!each.stored_case || each.stored_case->empty()) continue;
    const auto stored = conformance::load_stored_case(*each.stored_case);
    if (!stored) continue;
    compare_with_libonnx(each.name, stored->model, libonnx);
    for (const conformance::StoredData& data : stored->data) {
      compare_with_execution(each.name, stored->model, data.inputs, executed);
    }
  }
  if (executed.models == 0) GTEST_SKIP() << "ONNX's test data are not installed: install libonnx-testdata";
  report("ONNX's models", libonnx, executed);
}

TEST(InferSweep, EveryShippedCase) {
  const auto cases = corpus::load_corpus();
  ASSERT_TRUE(cases) << cases.error().message;
  Counts libonnx;
  Counts executed;
  for (const corpus::Case& each : *cases) {
    if (each.model == nullptr) continue;
    const auto declared = check_declarations(*each.model);
    EXPECT_TRUE(declared) << each.name << ": " << declared.error().message;
    if (each.expect.status == "refused" && !infer_shapes(*each.model)) continue;  // what no converter can run
    compare_with_libonnx(each.name, *each.model, libonnx);
    const auto inputs = corpus::data_set(each, "typical", {});
    ASSERT_TRUE(inputs) << each.name << ": " << inputs.error().message;
    if (!compare_with_execution(each.name, *each.model, *inputs, executed)) {
      EXPECT_EQ(each.expect.status, "refused") << each.name;
    }
  }
  EXPECT_GT(executed.models, 600U);
  report("our cases", libonnx, executed);
}

}  // namespace
}  // namespace assay::reference
