#include "harness/conformance/float_limits.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/model/onnx_io.hpp"

namespace assay::conformance {
namespace {

using core::DType;
using core::Tensor;

core::Result<std::map<std::string, std::vector<double>>> limits_of(const std::string& body, std::vector<double> x) {
  const core::Result<model::Model> model =
      model::parse_graph_text("agraph (float[1,4] x) => (float[1,N] y) { " + body + " }", {{"", 13}});
  EXPECT_TRUE(model) << model.error().message;
  return arithmetic_limits(*model, {{"x", Tensor(DType::float32, {1, 4}, std::move(x))}}, 0x1p-24);
}

TEST(StorageLimit, IsHalfTheDistanceOfNeighboursOrMore) {
  for (const float value : {1.0F, 1.9999999F, 3.1415927F, 1e-30F, 1e-44F, 65504.0F}) {
    const double next = std::nextafter(value, 1e38F);
    EXPECT_GE(storage_limit(value, DType::float32), (next - static_cast<double>(value)) / 2) << value;
    EXPECT_LE(storage_limit(value, DType::float32), std::max(2 * (next - static_cast<double>(value)), 0x1p-149));
  }
  EXPECT_EQ(storage_limit(1.0, DType::float16), 0x1p-11);
  EXPECT_EQ(storage_limit(-2.0, DType::bfloat16), 0x1p-7);
}

TEST(ArithmeticLimits, GrantASumOneRoundingForEachTerm) {
  const auto limits = limits_of("y = ReduceSum <keepdims=0> (x)", {1, -2, 3, -4});
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_GE(limits->at("y")[0], 3 * 10 * 0x1p-24);  // three additions of terms whose magnitudes sum to 10
  EXPECT_LE(limits->at("y")[0], 6 * 10 * 0x1p-24);
}

TEST(ArithmeticLimits, GrantNothingWhereNothingIsRounded) {
  const auto limits = limits_of("y = Relu (x)", {1, -2, 3, -4});
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_EQ(limits->at("y"), (std::vector<double>{0, 0, 0, 0}));
}

TEST(ArithmeticLimits, LeaveOutWhatIsNotFinite) {
  const auto limits = limits_of("y = Add (x, x)", {1, HUGE_VAL, std::nan(""), -4});
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_GT(limits->at("y")[0], 0);
  EXPECT_EQ(limits->at("y")[1], 0);
}

TEST(ArithmeticLimits, NameTheNodeThatHasNone) {
  const auto limits = limits_of("s = Tan (x) y = Relu (s)", {1, 2, 3, 4});
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().op, "Tan");
}

TEST(ArithmeticLimits, DoNotTakeAWindowForAConstant) {
  const auto model = model::parse_graph_text("g (int64 n) => (float[4] y) { y = HannWindow (n) }", {{"", 17}});
  ASSERT_TRUE(model) << model.error().message;
  const auto limits = arithmetic_limits(*model, {{"n", core::Tensor::scalar(core::DType::int64, 4)}}, 0x1p-24);
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().op, "HannWindow");
}

TEST(StatisticalLimit, GrowsWithTheRootOfTheTerms) {
  EXPECT_DOUBLE_EQ(statistical_limit(0x1p-24, 400, 10, 1), 10 * statistical_limit(0x1p-24, 4, 10, 1));
  EXPECT_DOUBLE_EQ(statistical_limit(0x1p-24, 1, 1, 1), 0x1p-24 * std::sqrt(2 * std::log(2e6)));
}

}  // namespace
}  // namespace assay::conformance
