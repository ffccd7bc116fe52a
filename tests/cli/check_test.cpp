// `assay check`, `convert`, `exec` and `compare` on models of the user's.
#include <gmock/gmock.h>

#include <cmath>

#include "harness/model/onnx_io.hpp"
#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;

class Check : public HomeTest {
 protected:
  static std::string data(const std::string& name) { return (test::test_data() / "trt861" / name).string(); }
};

TEST_F(Check, JudgesAModelWithItsOwnData) {
  const Call call =
      run({"check", data("three_inputs.onnx"), "--calibration", data("three_inputs.calibration.npz"), "--json"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_EQ(call.json()["planned"], 1);
}

TEST_F(Check, GeneratesDataWhereNoneIsGiven) {
  const Call call = run({"check", data("concat_ranges.onnx"), "--json"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
}

TEST_F(Check, ChecksMetamorphicRelationsOnRequest) {
  const Call call = run({"check", data("three_inputs.onnx"), "--metamorphic", "--json"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.json()["results"][0]["layers"], testing::Contains("L3"));
}

TEST_F(Check, JudgesTheEmbeddedArtifactAsWell) {
  const std::string model = data("concat_ranges.onnx");
  const std::string calibration = data("concat_ranges.calibration.npz");
  ASSERT_EQ(run({"convert", model, "--calibration", calibration, "--output", "out"}).code, 0);
  const Call call = run({"check", model, "--artifact", "out/model.onnx", "--calibration", calibration, "--json"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
}

TEST_F(Check, RefusesBadModelsAndDataWithTheirNames) {
  write("truncated.onnx", core::read_file(data("concat_ranges.onnx"))->substr(0, 300));
  const Call truncated = run({"check", "truncated.onnx"});
  EXPECT_EQ(truncated.code, 2);
  EXPECT_THAT(truncated.err, HasSubstr("truncated.onnx"));
  EXPECT_EQ(run({"check", "absent.onnx"}).code, 2);
  const Call foreign =
      run({"check", data("three_inputs.onnx"), "--calibration", data("concat_ranges.calibration.npz")});
  EXPECT_EQ(foreign.code, 2);
  EXPECT_THAT(foreign.err, HasSubstr("batch 0"));
  EXPECT_EQ(run({"check", data("concat_ranges.onnx"), "--artifact", "absent.onnx"}).code, 2);
}

TEST_F(Check, RefusesADeclaredShapeThatTheRulesContradictByTensor) {
  auto model = model::load_model(data("concat_ranges.onnx"));
  ASSERT_TRUE(model.ok());
  model::ValueInfo& output = model->graph.outputs.front();
  ASSERT_TRUE(output.shape);
  output.shape->front() = {.value = 77, .symbol = {}};
  ASSERT_TRUE(model::save_model(*model, path("wrong.onnx")).ok());
  const Call call = run({"check", "wrong.onnx"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("\"" + output.name + "\" is declared float[77,"));
  EXPECT_THAT(call.err, HasSubstr("the operators' rules give float["));
  EXPECT_EQ(run({"exec", "wrong.onnx", "--output", "out"}).code, 2);
}

TEST_F(Check, RefusesACaseWhoseDeclaredShapeTheRulesContradict) {
  write("cases/wrong.json", R"json({
    "family": "wrong", "title": "a declared shape that can't be", "tags": ["Relu"],
    "graph": ["agraph (float[2,3] x) => (float[2,4] y) { y = Relu(x) }"],
    "inputs": { "x": { "data": ["typical"], "range": [-3, 3] } }, "kills": ["deconv_axis_zero"] })json");
  const Call call = run({"run", "wrong"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("case \"wrong\""));
  EXPECT_THAT(call.err, HasSubstr("\"y\" is declared float[2,4]"));
}

TEST_F(Check, RefusesNaNInTheDataNamingTensorAndBatch) {
  std::filesystem::create_directories(path("calibration/0000"));
  const core::Result<model::Model> model = model::load_model(data("concat_ranges.onnx"));
  ASSERT_TRUE(model.ok());
  const model::ValueInfo& input = model->graph.inputs.front();
  core::Shape shape;
  for (const model::Dimension& dimension : *input.shape) {
    shape.push_back(dimension.value.value_or(1));
  }
  core::Tensor tensor = core::Tensor::zeros(core::DType::float32, shape);
  tensor.reals()[3] = std::nan("");
  ASSERT_TRUE(model::save_tensor({input.name, tensor}, path("calibration/0000/input_0.pb")).ok());
  const Call call = run({"check", data("concat_ranges.onnx"), "--calibration", "calibration"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("\"" + input.name + "\""));
  EXPECT_THAT(call.err, HasSubstr("batch 0"));
  EXPECT_THAT(call.err, HasSubstr("NaN"));
}

TEST_F(Check, ExecutesTheReferenceAndComparesTensors) {
  ASSERT_TRUE(std::filesystem::create_directories(path("in")));
  const core::Result<model::Model> model = model::load_model(data("concat_ranges.onnx"));
  ASSERT_TRUE(model.ok());
  core::TensorMap inputs;
  for (const model::ValueInfo& input : model->graph.inputs) {
    core::Shape shape;
    for (const model::Dimension& dimension : *input.shape) {
      shape.push_back(dimension.value.value_or(1));
    }
    inputs.emplace(input.name, core::Tensor::zeros(core::DType::float32, shape));
  }
  ASSERT_TRUE(model::save_tensors(inputs, path("in"), "input").ok());
  for (const char* folder : {"first", "second"}) {
    const Call call = run({"exec", data("concat_ranges.onnx"), "--inputs", "in", "--output", folder});
    ASSERT_EQ(call.code, 0) << call.err;
  }
  EXPECT_EQ(run({"compare", "first", "second"}).code, 0);
  EXPECT_EQ(run({"compare", "first", "in"}).code, 1);
}

}  // namespace
}  // namespace assay::test
