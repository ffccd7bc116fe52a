#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/audit/audit.hpp"
#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::map<std::string, Tensor> kConstants = {
    {"e", Tensor::scalar(DType::float32, 0x1p-7)},
    {"one", Tensor::scalar(DType::float32, 1)},
    {"three", Tensor::scalar(DType::float32, 3)},
    {"five", Tensor::scalar(DType::float32, 5)},
    {"s", Tensor::scalar(DType::float32, 0x1p-6)},
    {"z", codes(DType::int8, {}, {0})},
    {"w", reals({4, 2}, {0.5, -0.25, 0.75, 1, -0.5, 0.25, 1, -1})},
    {"half_w", reals({4, 2}, {0.25, -0.125, 0.375, 0.5, -0.25, 0.125, 0.5, -0.5})},
    {"two", Tensor::scalar(DType::float32, 2)}};

/// What is found where the converter made `made`, of xd to h, out of `text`, of x to y.
std::vector<Finding> departures(const std::string& text, const std::string& made) {
  const std::string head = " (float[1,1,2,4] x) => (float y) { ";
  const auto initializers = [](const std::string& body) {
    std::map<std::string, Tensor> read;
    for (const auto& [name, value] : kConstants) {
      if (body.find(" " + name + ")") != std::string::npos || body.find(" " + name + ",") != std::string::npos)
        read.insert({name, value});
    }
    return read;
  };
  const std::string artifact = "a" + head + "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) " + made +
                               " hq = QuantizeLinear(h, s, z) y = DequantizeLinear(hq, s, z) }";
  Judged judged(parse("g" + head + text + " }", initializers(text)), parse(artifact, initializers(artifact)));
  judged.add("typical", {{"x", reals({1, 1, 2, 4}, {-1, 0.5, 0.25, -0.75, 1, 0.125, -0.5, 0.875})}}, {});
  judged.calibrate();
  return audit_function(judged.context());
}

TEST(AuditFunction, AnAddendThatIsLeftOutOrAddedTwiceIsFoundHoweverLittleItMoves) {
  const std::string text = "q = Mul(x, x) r = Add(q, e) y = Sqrt(r)";
  EXPECT_THAT(departures(text, "q = Mul(xd, xd) r = Add(q, e) h = Sqrt(r)"), IsEmpty());
  EXPECT_THAT(departures(text, "q = Mul(xd, xd) r = Add( e, q) h = Sqrt(r)"), IsEmpty()) << "operands that commute";
  const std::vector<Finding> removed = departures(text, "q = Mul(xd, xd) h = Sqrt(q)");
  ASSERT_THAT(removed, SizeIs(1));
  EXPECT_THAT(removed[0].message, HasSubstr("without any quantizer the artifact computes something else"));
  EXPECT_THAT(departures(text, "q = Mul(xd, xd) r = Add(q, e) t = Add(r, e) h = Sqrt(t)"), SizeIs(1));
}

TEST(AuditFunction, AFunctionThatTheConverterWroteOutIsComparedAsAWhole) {
  const auto written = [](const std::string& addend) {
    return departures("y = Softsign(x)", "a = Abs(xd) d = Add(a, " + addend + ") h = Div(xd, d)");
  };
  EXPECT_THAT(written("one"), IsEmpty());
  EXPECT_THAT(written("three"), SizeIs(1));
}

TEST(AuditFunction, OperatorsThatChangePlacesComputeTheSame) {
  const std::string text = "r = Relu(x) y = MaxPool<kernel_shape=[1,2], strides=[1,2]>(r)";
  EXPECT_THAT(departures(text, "m = MaxPool<kernel_shape=[1,2], strides=[1,2]>(xd) h = Relu(m)"), IsEmpty());
  EXPECT_THAT(departures(text, "m = MaxPool<kernel_shape=[1,2], strides=[1,2]>(xd) n = Neg(m) h = Relu(n)"), SizeIs(1));
}

TEST(AuditFunction, AFactorOfTheConvertersOwnHasToBeInTheWeightBehindIt) {
  const std::string text = "y = MatMul(x, w)";
  EXPECT_THAT(departures(text, "m = Mul(xd, two) h = MatMul(m, half_w)"), IsEmpty());
  EXPECT_THAT(departures(text, "m = Mul(xd, two) h = MatMul(m, w)"), SizeIs(1));
  EXPECT_THAT(departures(text, "m = Div(xd, two) h = MatMul(m, w)"), SizeIs(1));
}

TEST(AuditFunction, AModelThatIsQuantizedAlreadyRoundsOfItself) {
  EXPECT_THAT(
      departures("q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = Add(d, three)", "h = Add(xd, five)"),
      IsEmpty());
}

}  // namespace
}  // namespace assay::judge::testing
