#include "results/wilcoxon.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace assay::results {
namespace {

using List = std::vector<double>;

TEST(SignedRank, AllOfOneSignIsTwoOutOfAllSigns) {
  // Five increases: W- = 0 in 1 of 2^5 choices of signs, times two.
  const SignedRank test = signed_rank_test(List{0.1, 0.4, 0.2, 0.5, 0.3});
  EXPECT_EQ(test.pairs, 5U);
  EXPECT_EQ(test.positive_ranks, 15);
  EXPECT_EQ(test.p, 2.0 / 32);
}

TEST(SignedRank, CountsTheSubsetsOfRanks) {
  // n = 8, W- = 3: subsets of 1..8 that add up to 3 or less: {}, {1}, {2}, {3}, {1,2}. 2·5/256.
  EXPECT_EQ(signed_rank_test(List{1, 2, -3, 4, 5, 6, 7, 8}).p, 10.0 / 256);
  EXPECT_EQ(signed_rank_test(List{-1, -2, 3, 4, 5, 6, 7, 8}).p, 10.0 / 256);
  // n = 9, W = 5: 1 + 1 + 1 + 2 + 2 + 3 = 10 subsets, as in Hollander and Wolfe's example of nine patients.
  const SignedRank patients = signed_rank_test(List{0.952, -0.147, 1.022, 0.430, 0.620, 0.590, 0.490, -0.080, 0.010});
  EXPECT_EQ(patients.positive_ranks, 40);
  EXPECT_EQ(patients.p, 20.0 / 512);
}

TEST(SignedRank, TiesShareTheMeanOfTheirRanks) {
  // |d| = 1, 1, 2 have ranks 1.5, 1.5, 3. W- = 1.5: {}, {first}, {second} of 8 choices.
  const SignedRank test = signed_rank_test(List{-1, 1, 2});
  EXPECT_EQ(test.positive_ranks, 4.5);
  EXPECT_EQ(test.p, 6.0 / 8);
  EXPECT_EQ(signed_rank_test(List{1, 1, 2}).p, 2.0 / 8);
}

TEST(SignedRank, ZerosAreDropped) {
  EXPECT_EQ(signed_rank_test(List{0, 1, 2, 0, 3, 4, 0, -0.0, 5}).p, 2.0 / 32);
  EXPECT_EQ(signed_rank_test(List{0, 0, 0}).pairs, 0U);
  EXPECT_EQ(signed_rank_test(List{0, 0, 0}).p, 1);
  EXPECT_EQ(signed_rank_test({}).p, 1);
}

TEST(SignedRank, BothSidesWeighTheSame) {
  const List differences = {0.3, -1.2, 2.5, 0.7, -0.1, 4.2, 0.7};
  List negated;
  for (const double d : differences) negated.push_back(-d);
  EXPECT_EQ(signed_rank_test(differences).p, signed_rank_test(negated).p);
}

TEST(SignedRank, BalancedSignsGiveOne) { EXPECT_EQ(signed_rank_test(List{1, -1, 2, -2}).p, 1); }

TEST(SignedRank, ElevenPairsAreTheFewestForAThousandth) {
  EXPECT_EQ(fewest_pairs(1e-3), 11U);  // 2/2^11 < 1/1000 < 2/2^10
  EXPECT_EQ(fewest_pairs(0.05), 6U);
  EXPECT_LT(signed_rank_test(List(11, 0.2)).p, 1e-3);
  EXPECT_GT(signed_rank_test(List(10, 0.2)).p, 1e-3);
}

TEST(SignedRank, RejectsNoiseAsOftenAsItSays) {
  constexpr std::uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  std::normal_distribution<double> noise;
  constexpr int kTrials = 4000;
  int rejected = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    List differences(20);
    for (double& d : differences) d = noise(random);
    rejected += signed_rank_test(differences).p < 0.05 ? 1 : 0;
  }
  // A discrete test rejects at most its level: 5 % of 4000, with five standard deviations on top.
  EXPECT_LT(rejected, 200 + 5 * std::sqrt(190.0));
  EXPECT_GT(rejected, 130) << "seed " << kSeed;
}

TEST(SignedRank, HundredsOfPairsStayExact) {
  List differences;
  for (int i = 1; i <= 300; ++i) differences.push_back(i % 2 == 0 ? i : -i);
  const SignedRank test = signed_rank_test(differences);
  EXPECT_GT(test.p, 0.9);
  EXPECT_LE(test.p, 1);
}

}  // namespace
}  // namespace assay::results
