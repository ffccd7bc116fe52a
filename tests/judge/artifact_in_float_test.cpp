#include "harness/judge/alignment/artifact_in_float.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::codes;
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

TEST(ArtifactInFloat, ReadersReadRealValues) {
  const WrittenOut written;
  const model::Model plain = artifact_in_float(written.view);
  const auto node = [&](const std::string& op) {
    return *std::ranges::find(plain.graph.nodes, op, &model::Node::op_type);
  };
  EXPECT_THAT(node("HardSigmoid").inputs, ElementsAre("x"));
  EXPECT_THAT(node("Mul").inputs, ElementsAre("x", "h"));
}

}  // namespace
}  // namespace assay::judge
