#include "reference/matmul_kernel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "harness/core/rng.hpp"
#include "reference/matmul_tile.hpp"

namespace assay::reference {
namespace {

std::vector<double> random_values(std::int64_t count, std::uint64_t seed) {
  core::Rng rng(seed);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) {
    value = rng.normal();
  }
  return values;
}

TEST(MultiplyAdd, GivesAHandWorkedProduct) {
  const std::vector<double> a{1, 2, 3, 4, 5, 6};     // 2 × 3
  const std::vector<double> b{7, 8, 9, 10, 11, 12};  // 3 × 2
  std::vector<double> c{100, 0, 0, 0};
  multiply_add(2, 2, 3, {a.data(), 3}, {b.data(), 2}, {c.data(), 2});
  EXPECT_EQ(c, (std::vector<double>{158, 64, 139, 154}));
}

TEST(MultiplyAdd, EqualsThePlainLoopsToTheLastBit) {
  // Sizes around the tile of 4 × 8, the depth block of 256 and the column block of 512.
  const std::vector<std::array<std::int64_t, 3>> sizes{{1, 600, 300}, {2, 17, 200},  {3, 513, 7},   {4, 8, 256},
                                                       {5, 9, 257},   {7, 1025, 33}, {64, 31, 600}, {13, 512, 513}};
  for (const auto& [rows, columns, depth] : sizes) {
    const std::vector<double> a = random_values(rows * depth, 1);
    const std::vector<double> b = random_values(depth * columns, 2);
    std::vector<double> plain = random_values(rows * columns, 3);
    std::vector<double> blocked = plain;
    multiply_add_plain(rows, columns, depth, {a.data(), depth}, {b.data(), columns}, {plain.data(), columns});
    multiply_add(rows, columns, depth, {a.data(), depth}, {b.data(), columns}, {blocked.data(), columns});
    EXPECT_EQ(plain, blocked) << rows << " × " << columns << " × " << depth;
  }
}

TEST(MultiplyAdd, EveryCompiledTileGivesTheSameBytes) {
  constexpr std::int64_t kDepth = 37;
  const std::vector<double> a = random_values(kTileRows * kDepth, 1);
  const std::vector<double> panel = random_values(kDepth * kTileColumns, 2);
  const std::vector<double> begin = random_values(kTileRows * kTileColumns, 3);
  for (std::int64_t rows = 1; rows <= kTileRows; ++rows) {
    std::vector<double> plain = begin;
    plain_matmul_tile()(rows, kDepth, {a.data(), kDepth}, panel.data(), {plain.data(), kTileColumns});
    for (const MatmulTile tile : {avx2_matmul_tile(), avx512_matmul_tile()}) {
      if (tile == nullptr) continue;
      std::vector<double> other = begin;
      tile(rows, kDepth, {a.data(), kDepth}, panel.data(), {other.data(), kTileColumns});
      EXPECT_EQ(plain, other) << rows << " rows";
    }
  }
}

TEST(MultiplyAdd, LeavesElementsOutsideAStridedResultAlone) {
  const std::vector<double> a = random_values(8L * 40, 1);
  const std::vector<double> b = random_values(40L * 30, 2);
  std::vector<double> c(8UL * 20, -1.0);
  multiply_add(8, 18, 40, {a.data(), 40}, {b.data(), 30}, {c.data(), 20});
  for (std::size_t row = 0; row < 8; ++row) {
    EXPECT_EQ(c[row * 20 + 18], -1.0);
    EXPECT_EQ(c[row * 20 + 19], -1.0);
  }
}

}  // namespace
}  // namespace assay::reference
