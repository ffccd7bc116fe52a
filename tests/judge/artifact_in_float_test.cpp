#include "harness/judge/alignment/artifact_in_float.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/executor.hpp"
#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::codes;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::parse;
using testing::Tensor;

/// A function that the converter wrote out: "h" and "m" are tensors of its own.
struct WrittenOut {
  model::Model original = parse("g (float[2] x) => (float[2] y) { y = HardSwish(x) }", {});
  std::shared_ptr<const model::Model> artifact = std::make_shared<const model::Model>(
      parse("a (float[2] x) => (float[2] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
            " h = HardSigmoid<alpha=0.16666667,beta=0.5>(xd) hq = QuantizeLinear(h, s, z)"
            " hd = DequantizeLinear(hq, s, z) m = Mul(xd, hd) yq = QuantizeLinear(m, s, z)"
            " y = DequantizeLinear(yq, s, z) }",
            {{"s", Tensor::scalar(DType::float32, 0.25)}, {"z", codes(DType::int8, {}, {0})}}));
  ArtifactView view = ArtifactView::build(artifact, original).value();
};

TEST(ArtifactInFloat, ItsTensorsAreNamed) {
  const WrittenOut written;
  EXPECT_THAT(own_tensors(written.view, written.original.graph, {}), ElementsAre("h"));
  converters::Policy fixed;
  fixed.fixed_ranges["HardSigmoid"] = {0, 1};
  EXPECT_THAT(own_tensors(written.view, written.original.graph, fixed), IsEmpty()) << "its range isn't calibrated";
}

TEST(ArtifactInFloat, NothingIsRounded) {
  const WrittenOut written;
  const auto run = reference::execute(artifact_in_float(written.view), {{"x", testing::reals({2}, {0.3, -1.1})}});
  ASSERT_TRUE(run) << run.error().message;
  const auto hard_swish = [](double x) { return x * (x * 0.16666667 + 0.5); };
  EXPECT_THAT(run->at("y").to_reals(),
              ElementsAre(DoubleNear(hard_swish(0.3), 1e-6), DoubleNear(hard_swish(-1.1), 1e-6)));
}

}  // namespace
}  // namespace assay::judge
