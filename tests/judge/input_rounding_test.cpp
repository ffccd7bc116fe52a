#include "harness/judge/numerics/input_rounding.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "harness/judge/reference_cache.hpp"
#include "numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// x runs from −63/64 to 3 in half steps of 1/64, so that s_x = 1/64 and z = −128 + 63 = −65: every second value is a
// tie.
constexpr double kInputStep = 1.0 / 64;
constexpr double kZeroPoint = -65;

/// A Relu whose engine makes codes of x by `round`, of the quotient x/s_x.
Judged relu_behind(const std::function<double(double)>& round) {
  std::vector<double> x, y;
  const double y_step = float32(3.0 / 255);
  for (int half = -126; half <= 384; ++half) {
    x.push_back(half * kInputStep / 2);
    const double value = std::max(round(half / 2.0), 0.0) * kInputStep;
    y.push_back(float32(std::nearbyint(value / y_step) * y_step));
  }
  const auto count = static_cast<std::int64_t>(x.size());
  const std::string text = "(float[1,511] x) => (float[1,511] y) { y = Relu(x) }";
  Judged judged(parse("g " + text, {}), parse("a " + text, {}));
  judged.opaque = true;
  judged.evidence.converter.policy.arithmetic = converters::EngineArithmetic::integer;
  judged.add("ties", {{"x", reals({1, count}, x)}}, {{"y", reals({1, count}, y)}});
  judged.calibrate();
  return judged;
}

std::vector<Finding> check(Judged& judged) {
  LayerContext context = judged.context();
  context.calibration = std::make_shared<const CalibrationRanges>(CalibrationRanges{judged.ranges, {}, {}, {}});
  Grounds grounds(context);
  return check_input_rounding(context, grounds);
}

double half_even(double v) { return std::nearbyint(v); }
double half_away(double v) { return std::round(v); }
double half_up(double v) { return std::floor(v + 0.5); }
double zero_point_first(double v) { return std::nearbyint(v + kZeroPoint) - kZeroPoint; }

TEST(InputRounding, TiesMayGoByAnyRuleThatIsKept) {
  for (const auto& rule : {half_even, half_away, half_up}) {
    Judged judged = relu_behind(rule);
    EXPECT_THAT(check(judged), IsEmpty()) << "opaque";
    judged.evidence.conversion.tensors = {
        {"x", {{kInputStep}, {static_cast<std::int64_t>(kZeroPoint)}, DType::int8, std::nullopt}}};
    EXPECT_THAT(check(judged), IsEmpty()) << "with its scale";
  }
}

TEST(InputRounding, CodesOf16BitsReachBeyondTheirLargestWithoutTheZeroPoint) {
  constexpr double kFineStep = 0x1p-14;
  std::vector<double> x, y;
  for (int code = 0; code < 65536; code += 257) {
    x.push_back(float32((code + 0.3) * kFineStep));
    y.push_back(code * kFineStep);
  }
  const std::string text = fmt::format("(float[1,{0}] x) => (float[1,{0}] y) {{ y = Relu(x) }}", x.size());
  const Shape shape{1, static_cast<std::int64_t>(x.size())};
  Judged judged(parse("g " + text, {}), parse("a " + text, {}));
  judged.opaque = true;
  judged.evidence.options.activation = DType::int16;
  judged.evidence.converter.policy.arithmetic = converters::EngineArithmetic::integer;
  judged.evidence.conversion.tensors = {{"x", {{kFineStep}, {-32768}, DType::int16, std::nullopt}}};
  judged.add("typical", {{"x", reals(shape, x)}}, {{"y", reals(shape, y)}});
  judged.calibrate();
  EXPECT_THAT(check(judged), IsEmpty());
}

TEST(InputRounding, AZeroPointThatIsAddedFirstTurnsEveryTie) {
  Judged judged = relu_behind(zero_point_first);
  EXPECT_THAT(check(judged), SizeIs(1)) << "opaque";
  judged.evidence.conversion.tensors = {
      {"x", {{kInputStep}, {static_cast<std::int64_t>(kZeroPoint)}, DType::int8, std::nullopt}}};
  const auto findings = check(judged);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].facet, Facet::integers);
  EXPECT_EQ(findings[0].tensor, "x");
  EXPECT_THAT(findings[0].message, HasSubstr("no rule of rounding explains the outputs"));
}

TEST(InputRounding, AnEngineThatStatesNoArithmeticMayLeaveTiesToFloat32) {
  Judged judged = relu_behind(zero_point_first);
  judged.evidence.converter.policy.arithmetic = converters::EngineArithmetic::unknown;
  EXPECT_THAT(check(judged), IsEmpty());
}

TEST(InputRounding, AnInputThatWasNeverRoundedIsNoFunctionOfCodes) {
  Judged judged = relu_behind([](double v) { return v; });
  EXPECT_THAT(check(judged), IsEmpty());
}

}  // namespace
}  // namespace assay::judge::testing
