#include "harness/conformance/old_forms.hpp"

#include <gtest/gtest.h>

#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"

namespace assay::conformance {
namespace {

using core::DType;
using core::Tensor;

/// Runs an opset-6 model.
core::Result<core::TensorMap> run(const std::string& declaration, const std::string& body,
                                  const core::TensorMap& inputs) {
  core::Result<model::Model> old = model::parse_graph_text("agraph " + declaration + " { " + body + " }", {{"", 13}});
  if (!old) return old.error();
  old->opsets[""] = 6;
  const core::Result<model::Model> model = without_old_forms(*old);
  if (!model) return model.error();
  return reference::execute(*model, inputs);
}

Tensor zeros(core::Shape shape) { return Tensor::zeros(DType::float32, std::move(shape)); }
Tensor three() { return {DType::float32, {3}, std::vector<double>{1, 2, 3}}; }

TEST(WithoutOldForms, LaysTheSecondOperandAlongTheNamedAxis) {
  const auto outputs = run("(float[2,3,4] x, float[3] b) => (float[2,3,4] y)", "y = Add <broadcast=1, axis=1> (x, b)",
                           {{"x", zeros({2, 3, 4})}, {"b", three()}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ(outputs->at("y").reals()[0], 1);
  EXPECT_EQ(outputs->at("y").reals()[11], 3);
}

TEST(WithoutOldForms, LaysItAlongTheLastAxesWithoutOne) {
  const auto outputs = run("(float[2,4,3] x, float[3] b) => (float[2,4,3] y)", "y = Mul <broadcast=1> (x, b)",
                           {{"x", zeros({2, 4, 3})}, {"b", three()}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ(outputs->at("y").shape(), (core::Shape{2, 4, 3}));
}

TEST(WithoutOldForms, LaysASlopeAlongTheChannels) {
  Tensor x = zeros({1, 3, 2});
  for (double& value : x.reals()) value = -1;
  const auto outputs = run("(float[1,3,2] x, float[3] s) => (float[1,3,2] y)", "y = PRelu (x, s)",
                           {{"x", std::move(x)}, {"s", three()}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ(std::vector<double>(outputs->at("y").reals().begin(), outputs->at("y").reals().end()),
            (std::vector<double>{-1, -1, -2, -2, -3, -3}));
}

TEST(WithoutOldForms, RefusesTraining) {
  const auto outputs = run("(float[2] x) => (float[2] y)", "y = Dropout <is_test=0> (x)", {{"x", zeros({2})}});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().message, "node \"y\" (Dropout): training has no opset-7 form");
}

TEST(WithoutOldForms, LeavesNewerModelsAlone) {
  const core::Result<model::Model> model =
      model::parse_graph_text("agraph (float[2] x) => (float[2] y) { y = Dropout (x) }", {{"", 13}});
  ASSERT_TRUE(model);
  const core::Result<model::Model> same = without_old_forms(*model);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->opset(), 13);
}

}  // namespace
}  // namespace assay::conformance
