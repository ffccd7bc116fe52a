#include "harness/run/chunks.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

namespace assay::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Unit> units(std::size_t kind, const std::vector<double>& seconds) {
  std::vector<Unit> all;
  for (std::size_t item = 0; item < seconds.size(); ++item) all.push_back({kind, item, seconds[item]});
  return all;
}

TEST(Chunks, TakeTheLongestFirstAndAboutAsLong) {
  const auto chunks = make_chunks(units(0, {1, 7, 3, 5, 4}), 2);
  ASSERT_TRUE(chunks.ok());
  ASSERT_EQ(chunks->size(), 2U);
  // 7; 5; 5+4; 7+3; 9+1: the next longest always goes to the chunk that has least.
  EXPECT_THAT((*chunks)[0].items, ElementsAre(1, 2));
  EXPECT_THAT((*chunks)[1].items, ElementsAre(3, 4, 0));
  EXPECT_EQ((*chunks)[0].seconds, 10);
  EXPECT_EQ((*chunks)[1].seconds, 10);
}

TEST(Chunks, StandInFallingOrderOfTime) {
  const auto chunks = make_chunks(units(0, {1, 9, 2}), 3);
  ASSERT_TRUE(chunks.ok());
  EXPECT_THAT((*chunks)[0].items, ElementsAre(1));
  EXPECT_THAT((*chunks)[1].items, ElementsAre(2));
  EXPECT_THAT((*chunks)[2].items, ElementsAre(0));
}

TEST(Chunks, HoldEveryUnitOnce) {
  std::vector<double> seconds;
  for (int i = 0; i < 1000; ++i) seconds.push_back(i * 37 % 101);
  const auto chunks = make_chunks(units(0, seconds), 64);
  ASSERT_TRUE(chunks.ok());
  EXPECT_EQ(chunks->size(), 64U);
  std::vector<std::size_t> all;
  for (const Chunk& chunk : *chunks) {
    EXPECT_FALSE(chunk.items.empty());
    all.insert(all.end(), chunk.items.begin(), chunk.items.end());
  }
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), seconds.size());
  for (std::size_t item = 0; item < all.size(); ++item) EXPECT_EQ(all[item], item);
}

TEST(Chunks, AreSpreadWhereNothingTakesTime) {
  const auto chunks = make_chunks(units(0, {0, 0, 0, 0}), 2);
  ASSERT_TRUE(chunks.ok());
  EXPECT_EQ((*chunks)[0].items.size(), 2U);
  EXPECT_EQ((*chunks)[1].items.size(), 2U);
}

TEST(Chunks, AreNoMoreThanThereAreUnits) {
  const auto chunks = make_chunks(units(0, {1, 2, 3}), 10);
  ASSERT_TRUE(chunks.ok());
  EXPECT_EQ(chunks->size(), 3U);
}

TEST(Chunks, OfAKindAreAsManyAsItsTimeAsksFor) {
  std::vector<Unit> all = units(0, std::vector<double>(30, 1.0));
  const std::vector<Unit> slow = units(1, std::vector<double>(30, 3.0));
  all.insert(all.end(), slow.begin(), slow.end());
  const auto chunks = make_chunks(all, 8);
  ASSERT_TRUE(chunks.ok());
  EXPECT_EQ(std::ranges::count(*chunks, 0U, &Chunk::kind), 2);
  EXPECT_EQ(std::ranges::count(*chunks, 1U, &Chunk::kind), 6);
  EXPECT_TRUE(std::ranges::is_sorted(*chunks, {}, &Chunk::kind)) << "those of a kind stand behind one another";
}

TEST(Chunks, FewerThanKindsAreRefused) {
  std::vector<Unit> all = units(0, {1});
  all.push_back({1, 0, 1});
  const auto chunks = make_chunks(all, 1);
  ASSERT_FALSE(chunks.ok());
  EXPECT_THAT(chunks.error().message, HasSubstr("ask for at least 2"));
}

}  // namespace
}  // namespace assay::run
