#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/audit/audit.hpp"
#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// What is found where `op` became `made`, both of x between quantizers of scale 1/64.
std::vector<Finding> findings_of(const std::string& op, const std::string& made) {
  const std::string head = " (float[1,2,4] x) => (float[1,2,4] y) {";
  Judged judged(parse("g" + head + " y = " + op + "(x) }", {}),
                parse("a" + head + " xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) h = " + made +
                          "(xd) yq = QuantizeLinear(h, s, z) y = DequantizeLinear(yq, s, z) }",
                      {{"s", Tensor::scalar(DType::float32, 0x1p-6)}, {"z", codes(DType::int8, {}, {0})}}));
  judged.add("typical", {{"x", reals({1, 2, 4}, {-1, 0.5, 0.25, -0.75, 1, 0.125, -0.5, 0.875})}}, {});
  judged.calibrate();
  return audit_operators(judged.context());
}

TEST(AuditOperators, AnAttributeThatChangesTheResultIsFoundOnTheFloatModelsOwnValues) {
  const std::vector<Finding> slope = findings_of("LeakyRelu<alpha=0.1>", "LeakyRelu<alpha=0.12>");
  ASSERT_THAT(slope, SizeIs(1));
  EXPECT_THAT(slope[0].message, HasSubstr("LeakyRelu"));
  EXPECT_THAT(findings_of("Softmax<axis=1>", "Softmax<axis=2>"), SizeIs(1));
  EXPECT_THAT(findings_of("Softmax<axis=2>", "Softmax"), IsEmpty()) << "the default, left out";
  EXPECT_THAT(findings_of("Softmax<axis=2>", "Softmax<axis=-1>"), IsEmpty()) << "the same axis in other words";
  EXPECT_THAT(findings_of("LeakyRelu<alpha=0.1>", "LeakyRelu<alpha=0.100001>"), IsEmpty()) << "stored in float32";
}

}  // namespace
}  // namespace assay::judge::testing
