#include "harness/corpus/tensor_spec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::corpus {
namespace {

TensorSpec spec_of(core::Shape shape, std::string kind) {
  TensorSpec spec;
  spec.shape = std::move(shape);
  spec.kind = std::move(kind);
  return spec;
}

double largest_of_channel(const core::Tensor& tensor, std::int64_t axis, std::int64_t channel) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    if (index_along(tensor.shape(), axis, i) == channel) largest = std::max(largest, std::abs(tensor.as_real(i)));
  }
  return largest;
}

TEST(Generate, CountsAndAlternatesByTheBook) {
  TensorSpec arange = spec_of({2, 2}, "arange");
  arange.start = 1;
  arange.step = 0.5;
  EXPECT_EQ(generate(arange, 1, "t").to_reals(), (std::vector<double>{1, 1.5, 2, 2.5}));
  TensorSpec alternating = spec_of({3}, "alternating");
  alternating.value = 2;
  EXPECT_EQ(generate(alternating, 1, "t").to_reals(), (std::vector<double>{2, -2, 2}));
}

TEST(Generate, PutsOneIntoTheMiddleTapOfEachIdentityChannel) {
  const core::Tensor w = generate(spec_of({2, 2, 3}, "one_hot_identity"), 1, "w");
  EXPECT_EQ(w.to_reals(), (std::vector<double>{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
}

TEST(Generate, DependsOnSeedAndNameOnly) {
  const TensorSpec spec = spec_of({40}, "normal");
  EXPECT_EQ(generate(spec, 1, "w"), generate(spec, 1, "w"));
  EXPECT_FALSE(generate(spec, 1, "w") == generate(spec, 1, "v"));
  EXPECT_FALSE(generate(spec, 1, "w") == generate(spec, 2, "w"));
}

TEST(Generate, MakesValuesThatFloat32Holds) {
  const core::Tensor tensor = generate(spec_of({500}, "normal"), 3, "w");
  for (const double x : tensor.reals()) EXPECT_EQ(x, static_cast<double>(static_cast<float>(x)));
}

TEST(Generate, SpreadsChannelsOverTheWholeRatio) {
  TensorSpec spec = spec_of({6, 400}, "normal");
  spec.std_dev = 1;
  spec.ratio = 1000;
  const core::Tensor tensor = generate(spec, 5, "w");
  std::vector<double> largest;
  for (std::int64_t channel = 0; channel < 6; ++channel) largest.push_back(largest_of_channel(tensor, 0, channel));
  EXPECT_FALSE(std::is_sorted(largest.begin(), largest.end()));
  std::sort(largest.begin(), largest.end());
  EXPECT_NEAR(std::log10(largest.back() / largest.front()), 3, 0.4);
}

TEST(Generate, EmptiesZeroChannelsAndPlacesTheOutlierLast) {
  TensorSpec spec = spec_of({3, 4}, "constant");
  spec.value = 7;
  spec.zero_channels = {1};
  spec.outlier = -90;
  spec.outlier_at = {1, 2};
  EXPECT_EQ(generate(spec, 1, "w").to_reals(), (std::vector<double>{7, 7, 7, 7, 0, 0, -90, 0, 7, 7, 7, 7}));
}

TEST(Generate, KeepsIntegersInsideTheirType) {
  TensorSpec spec = spec_of({3}, "values");
  spec.type = core::DType::int8;
  spec.values = {-400, 2.5, 400};
  EXPECT_EQ(generate(spec, 1, "z").to_integers(), (std::vector<std::int64_t>{-128, 2, 127}));
  spec.type = core::DType::int64;
  spec.values = {9223372036854775807.0, -1, 0};
  EXPECT_EQ(generate(spec, 1, "z").to_integers().front(), std::numeric_limits<std::int64_t>::max());
}

TEST(IndexAlong, FollowsRowMajorOrder) {
  EXPECT_EQ(index_along({2, 3, 4}, 0, 13), 1);
  EXPECT_EQ(index_along({2, 3, 4}, 1, 13), 0);
  EXPECT_EQ(index_along({2, 3, 4}, 2, 13), 1);
}

}  // namespace
}  // namespace assay::corpus
