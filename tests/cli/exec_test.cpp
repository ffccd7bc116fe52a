// `assay exec`: the reference alone, as an oracle for anybody.
#include <gmock/gmock.h>

#include <cmath>

#include "harness/model/onnx_io.hpp"
#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

namespace fs = std::filesystem;
using core::DType;
using core::Tensor;
using testing::HasSubstr;

class Exec : public HomeTest {
 protected:
  void save_model(const std::string& graph) const {
    const auto model = model::parse_graph_text("agraph " + graph, {{"", 13}});
    ASSERT_TRUE(model) << model.error().message;
    ASSERT_TRUE(model::save_model(*model, path("m.onnx")));
  }
  void save_input(const std::string& folder, const std::string& name, std::vector<double> values) const {
    ASSERT_TRUE(core::make_folder(path(folder)));
    const auto size = static_cast<std::int64_t>(values.size());
    ASSERT_TRUE(
        model::save_tensor({name, Tensor(DType::float32, {size}, std::move(values))}, path(folder) / "input_0.pb"));
  }
  [[nodiscard]] std::vector<double> output(const std::string& folder, const std::string& name,
                                           const std::string& stem = "output") const {
    const auto tensors = model::load_tensors(path(folder), stem);
    return tensors && tensors->contains(name) ? tensors->at(name).to_reals() : std::vector<double>();
  }
};

constexpr const char* kTwoSteps = "(float[2] x) => (float[2] y) { a = Mul (x, x) y = Add (a, x) }";

TEST_F(Exec, WritesOutputsThatCarryTheirNames) {
  save_model(kTwoSteps);
  save_input("in", "x", {3, -1});
  const Call call = run({"exec", "m.onnx", "--inputs", "in"});
  EXPECT_EQ(call.code, 0) << call.err;
  EXPECT_EQ(output("outputs", "y"), (std::vector<double>{12, 0}));
  EXPECT_FALSE(fs::exists(path("outputs/output_1.pb")));
}

TEST_F(Exec, RunsEveryBatchIntoAFolderOfItsOwn) {
  save_model(kTwoSteps);
  save_input("in/0000", "x", {1, 2});
  save_input("in/0001", "x", {3, 4});
  ASSERT_EQ(run({"exec", "m.onnx", "--inputs", "in", "--output", "out", "--dump", "all"}).code, 0);
  EXPECT_EQ(output("out/0001", "y"), (std::vector<double>{12, 20}));
  EXPECT_EQ(output("all/0001", "a", "tensor"), (std::vector<double>{9, 16}));
}

TEST_F(Exec, DumpsWhatNodesMakeInOrder) {
  save_model(kTwoSteps);
  save_input("in", "x", {3, -1});
  ASSERT_EQ(run({"exec", "m.onnx", "--inputs", "in", "--dump", "all"}).code, 0);
  EXPECT_TRUE(fs::exists(path("all/tensor_0000_a.pb")));
  EXPECT_TRUE(fs::exists(path("all/tensor_0001_y.pb")));
  EXPECT_EQ(model::load_tensors(path("all"), "tensor")->size(), 2U) << "no inputs, no constants";
}

TEST_F(Exec, DumpsHostileNamesInsideTheFolder) {
  save_model(kTwoSteps);
  auto model = model::load_model(path("m.onnx"));
  ASSERT_TRUE(model);
  const std::string hostile = "../../a b/\n" + std::string(300, 'q');
  for (model::Node& node : model->graph.nodes) {
    for (auto* names : {&node.inputs, &node.outputs}) {
      std::replace(names->begin(), names->end(), std::string("a"), hostile);
    }
  }
  ASSERT_TRUE(model::save_model(*model, path("m.onnx")));
  save_input("in", "x", {3, -1});
  const Call call = run({"exec", "m.onnx", "--inputs", "in", "--dump", "deep/down"});
  ASSERT_EQ(call.code, 0) << call.err;
  EXPECT_EQ(output("deep/down", hostile, "tensor"), (std::vector<double>{9, 1}));
}

TEST_F(Exec, RunsOnNanAndInfinity) {
  save_model("(float[2] x) => (float[2] y) { y = Abs (x) }");
  save_input("in", "x", {-HUGE_VAL, std::nan("")});
  ASSERT_EQ(run({"exec", "m.onnx", "--inputs", "in"}).code, 0);
  EXPECT_EQ(output("outputs", "y")[0], HUGE_VAL);
  EXPECT_TRUE(std::isnan(output("outputs", "y")[1]));
}

TEST_F(Exec, NeedsNoInputsWhereTheModelHasNone) {
  save_model("() => (float[2] y) { y = Constant <value_floats=[1.0, 2.5]> () }");
  const Call call = run({"exec", "m.onnx"});
  ASSERT_EQ(call.code, 0) << call.err;
  EXPECT_EQ(output("outputs", "y"), (std::vector<double>{1, 2.5}));
}

TEST_F(Exec, SaysWhichInputItLacks) {
  save_model(kTwoSteps);
  const Call call = run({"exec", "m.onnx"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("no data for input \"x\""));
}

TEST_F(Exec, NamesTheNodeThatItCannotRun) {
  save_model("(float[2] x) => (float[2] y) { y = RandomNormalLike (x) }");
  save_input("in", "x", {3, -1});
  const Call call = run({"exec", "m.onnx", "--inputs", "in"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("RandomNormalLike"));
}

}  // namespace
}  // namespace assay::test
