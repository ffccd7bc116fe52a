#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "harness/judge/enclosures/enclosure.hpp"
#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

Enclosure box(const Shape& shape, std::vector<double> low, std::vector<double> high) {
  std::vector<double> centre(low.size());
  for (std::size_t i = 0; i < low.size(); ++i) centre[i] = (low[i] + high[i]) / 2;
  Enclosure enclosure = exact_enclosure(std::make_shared<const Tensor>(reals(shape, std::move(centre))));
  enclosure.low = std::make_shared<const Tensor>(reals(shape, std::move(low)));
  enclosure.high = std::make_shared<const Tensor>(reals(shape, std::move(high)));
  return enclosure;
}

TEST(PReluEnclosure, OfAnUncertainSlopeIsTheHullOfAllOfThem) {
  const model::Model model = parse("g (float[N] x, float[N] s) => (float[N] y) { y = PRelu(x, s) }", {});
  // Straddling zero with slopes that are positive, of either sign, and below −1; then on one side of zero.
  const Enclosure x = box({5}, {-1, -1, -1, -3, 1}, {2, 2, 2, -1, 3});
  const Enclosure slope = box({5}, {0.2, -0.5, -2, 0.5, 0.1}, {0.4, 0.5, -1.5, 0.75, 0.3});
  const auto y = enclose_node(model.graph.nodes[0], 16, std::vector{&x, &slope}, Arithmetic{});
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ(y->front().low_or_centre().to_reals(), (std::vector<double>{-0.4, -0.5, 0, -2.25, 1}));
  EXPECT_EQ(y->front().high_or_centre().to_reals(), (std::vector<double>{2, 2, 2, -0.5, 3}));
}

}  // namespace
}  // namespace assay::judge::testing
