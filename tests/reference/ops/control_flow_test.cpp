#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"
#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::HasSubstr;

Result<TensorMap> run_text(const std::string& graph, const TensorMap& inputs, std::int64_t opset = 16) {
  const auto model = model::parse_graph_text(graph, {{"", opset}});
  if (!model) return model.error();
  return execute(*model, inputs);
}

/// Adds the iteration number to the carried value and scans it, while the sum stays below 4.
const std::string kLoop = R"(agraph (int64 m, bool go, int64 start) => (int64 last, int64[n] all) {
  last, all = Loop (m, go, start) <body = b (int64 i, bool c, int64 v) => (bool next, int64 w, int64 s) {
    w = Add (v, i)
    four = Constant <value_int = 4> ()
    next = Less (w, four)
    s = Identity (w)
  }>
})";

TensorMap loop_inputs(std::int64_t trips, std::int64_t go) {
  return {{"m", scalar(DType::int64, trips)}, {"go", scalar(DType::boolean, go)}, {"start", scalar(DType::int64, 0)}};
}

TEST(Loop, EndsByItsConditionOrItsTripCount) {
  const auto by_condition = run_text(kLoop, loop_inputs(100, 1));
  ASSERT_TRUE(by_condition) << by_condition.error().message;
  EXPECT_EQ(by_condition->at("last"), scalar(DType::int64, 6));
  EXPECT_EQ(by_condition->at("all"), codes(DType::int64, {4}, {0, 1, 3, 6}));
  const auto by_count = run_text(kLoop, loop_inputs(2, 1));
  ASSERT_TRUE(by_count);
  EXPECT_EQ(by_count->at("all"), codes(DType::int64, {2}, {0, 1}));
}

TEST(Loop, ThatNeverRunsGivesItsStartAndNothingScanned) {
  const auto never = run_text(kLoop, loop_inputs(5, 0));
  ASSERT_TRUE(never) << never.error().message;
  EXPECT_EQ(never->at("last"), scalar(DType::int64, 0));
  EXPECT_EQ(never->at("all"), codes(DType::int64, {0}, {}));
}

// PaddlePaddle's exporter declares such bodies, and ONNX Runtime runs them.
TEST(Loop, GivesABodyTheRanksThatItDeclares) {
  const auto result = run_text(
      R"(agraph (int64 m, bool go, int64[1] start) => (int64[1] last) {
    last = Loop (m, go, start) <body = b (int64[1] i, bool[1] c, int64[1] v) => (bool[1] next, int64[1] w) {
      joined = Concat <axis = 0> (i, v)
      w = ReduceSum (joined)
      next = Identity (c)
    }>
  })",
      {{"m", scalar(DType::int64, 4)}, {"go", scalar(DType::boolean, 1)}, {"start", codes(DType::int64, {1}, {10})}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->at("last"), codes(DType::int64, {1}, {16}));
}

TEST(If, RunsTheBranchThatTheConditionNames) {
  const std::string graph = R"(agraph (bool c, float[2] x) => (float[2] y) {
    y = If (c) <then_branch = t () => (float[2] p) { p = Neg (x) }, else_branch = e () => (float[2] q) { q = Abs (x) }>
  })";
  for (const std::int64_t condition : {0, 1}) {
    const auto result = run_text(graph, {{"c", scalar(DType::boolean, condition)}, {"x", reals({1, -2})}});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->at("y"), condition != 0 ? reals({-1, 2}) : reals({1, 2}));
  }
}

TEST(If, NeedsABooleanCondition) {
  EXPECT_THAT(error_of("If", {scalar(1.0)}), HasSubstr("expected bool"));
  EXPECT_THAT(error_of("If", {scalar(DType::boolean, 1)}), HasSubstr("a branch is missing"));
}

/// Running sums of x along its second axis.
std::string scan_text(const std::string& attributes) {
  return R"(agraph (float[2] start, float[2,3] x) => (float[2] last, float[a,b] sums) {
    last, sums = Scan <num_scan_inputs = 1, scan_input_axes = [1])" +
         attributes + R"(, body = b (float[2] s, float[2] e) => (float[2] t, float[2] u) {
      t = Add (s, e)
      u = Identity (t)
    }> (start, x)
  })";
}

TEST(Scan, TakesAndStacksAlongAnyAxis) {
  const TensorMap inputs{{"start", reals({0, 0})}, {"x", counting({2, 3})}};
  const auto forward = run_text(scan_text(", scan_output_axes = [1]"), inputs);
  ASSERT_TRUE(forward) << forward.error().message;
  EXPECT_EQ(forward->at("last"), reals({3, 12}));
  EXPECT_EQ(forward->at("sums"), reals({2, 3}, {0, 1, 3, 3, 7, 12}));
}

TEST(Scan, GoesBackwardsInAndOut) {
  const TensorMap inputs{{"start", reals({0, 0})}, {"x", counting({2, 3})}};
  const auto in = run_text(scan_text(", scan_input_directions = [1]"), inputs);
  ASSERT_TRUE(in) << in.error().message;
  EXPECT_EQ(in->at("sums"), reals({3, 2}, {2, 5, 3, 9, 3, 12}));
  const auto out = run_text(scan_text(", scan_output_directions = [1]"), inputs);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->at("sums"), reals({3, 2}, {3, 12, 1, 7, 0, 3}));
}

TEST(Scan, NamesAListThatDoesNotFit) {
  const auto result =
      run_text(scan_text(", scan_output_axes = [0, 0]"), {{"start", reals({0, 0})}, {"x", counting({2, 3})}});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("scan_output_axes has 2 entries for 1 values"));
}

}  // namespace
}  // namespace assay::reference
