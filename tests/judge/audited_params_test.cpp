#include "harness/judge/audit/audited_params.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/judge/alignment/forward_error.hpp"

namespace assay::judge {
namespace {

using converters::Method;
using converters::Options;
using converters::Policy;
using core::DType;
using core::QuantParams;

QuantParams params(double scale, std::int64_t zero_point, DType type = DType::int8) {
  return {{static_cast<double>(static_cast<float>(scale))}, {zero_point}, type, {}};
}
AllowedRange range(double low, double high, double slack = 0) {
  return {{low, low}, {high, high}, slack, "t", false, 128, {}, {}, {}};
}
std::string fault(const QuantParams& declared, const AllowedRange& allowed, bool symmetric = false,
                  const Policy& policy = {}) {
  const auto found = check_params(declared, allowed, symmetric, policy);
  return found ? std::string(facet_name(found->facet)) : "";
}

TEST(AllowedRange, TheMeanOfTheBatchesExtremesIsOneValue) {
  TensorRange range;
  range.low = -4;
  range.high = 6;
  range.samples = 2;
  range.is_input = true;
  range.batches = 2;  // [-4, 2] and [-1, 6]
  range.batch_low = -5;
  range.batch_high = 8;
  range.batch_extent = 10;
  Policy policy;
  policy.averaging = converters::Averaging::batch_mean;
  Options options;
  const AllowedRange asymmetric = allowed_range("t", range, nullptr, options, policy);
  EXPECT_EQ(asymmetric.low.low, -2.5);
  EXPECT_EQ(asymmetric.low.high, -2.5);
  EXPECT_EQ(asymmetric.high.low, 4);
  options.symmetric = true;
  const AllowedRange symmetric = allowed_range("t", range, nullptr, options, policy);
  EXPECT_EQ(fault(params(5.0 / 127, 0), symmetric, true), "") << "the mean of 4 and 6";
  EXPECT_EQ(fault(params(6.0 / 127, 0), symmetric, true), "scale");
}

TEST(AllowedRange, TheMeanOfRangesThatAreWidenedToZeroFirst) {
  TensorRange range;
  range.low = -4;
  range.high = 6;
  range.samples = 3;
  range.is_input = true;
  range.batches = 3;  // [-4, -1], [2, 6] and [-2, 4]: with zero in each [-4, 0], [0, 6] and [-2, 4]
  range.batch_low = -4;
  range.batch_high = 9;
  range.batch_extent = 14;
  range.widened_low = -6;
  range.widened_high = 10;
  Policy policy;
  policy.averaging = converters::Averaging::widened_batch_mean;
  Options options;
  const AllowedRange asymmetric = allowed_range("t", range, nullptr, options, policy);
  EXPECT_EQ(asymmetric.low.low, -2);
  EXPECT_EQ(asymmetric.low.high, -2);
  EXPECT_EQ(asymmetric.high.low, 10.0 / 3);
  EXPECT_EQ(asymmetric.high.high, 10.0 / 3);
  options.symmetric = true;
  EXPECT_EQ(allowed_range("t", range, nullptr, options, policy).high.high, 14.0 / 3) << "the largest magnitudes' mean";
}

TEST(AllowedRange, AveragesTheEndsOfTheBatchesWhateverTheCodes) {
  TensorRange range;
  range.low = -5;
  range.high = 8;
  range.batches = 2;
  range.batch_low = -9;
  range.batch_high = 8;
  range.batch_extent = 13;
  Policy policy;
  policy.averaging = converters::Averaging::batch_ends;
  Options options;
  options.symmetric = true;
  const AllowedRange allowed = allowed_range("t", range, nullptr, options, policy);
  EXPECT_EQ(allowed.low.low, -4.5);
  EXPECT_EQ(allowed.high.high, 4) << "not 6.5, the mean of the largest magnitudes";
}

TEST(AllowedRange, IsWidenedToTheStatedFloor) {
  TensorRange range;
  range.low = -0.25;
  range.high = 0.5;
  Policy policy;
  policy.range_floor = 1;
  EXPECT_EQ(allowed_range("t", range, nullptr, {}, policy).high.low, 0.75);
  range.high = 2;
  EXPECT_EQ(allowed_range("t", range, nullptr, {}, policy).high.high, 2);
}

TEST(DeriveParams, FollowsTheFormulasOfMinMax) {
  EXPECT_EQ(derive_params(-1, 3, DType::int8, false, {}), params(4.0 / 255, -64));
  EXPECT_EQ(derive_params(-1, 3, DType::uint8, false, {}), params(4.0 / 255, 64, DType::uint8));
  EXPECT_EQ(derive_params(-1, 3, DType::int8, true, {}), params(3.0 / 127, 0));
  EXPECT_EQ(derive_params(-1, 3, DType::uint8, true, {}), params(3.0 / 127, 128, DType::uint8));
}

TEST(DeriveParams, IncludesZeroInTheRange) {
  EXPECT_EQ(derive_params(2, 4, DType::int8, false, {}), params(4.0 / 255, -128));
  EXPECT_EQ(derive_params(-4, -2, DType::int8, false, {}), params(4.0 / 255, 127));
}

TEST(DeriveParams, GivesAUsableScaleForARangeWithoutExtent) {
  EXPECT_EQ(derive_params(0, 0, DType::int8, false, {}).scale.front(), 1);
  EXPECT_EQ(derive_params(-1e-41, 1e-41, DType::int8, true, {}).scale.front(), 1);
}

TEST(DeriveParams, AppliesTheFloorOfARange) {
  Policy floored;
  floored.range_floor = 2;
  EXPECT_EQ(derive_params(-0.5, 1, DType::int8, true, floored).scale.front(),
            core::round_to_type(1.5 / 127, DType::float32));
  EXPECT_EQ(derive_params(-0.5, 1, DType::int8, false, floored), params(2.0 / 255, -64));
  EXPECT_EQ(derive_params(-0.5, 3, DType::int8, false, floored), derive_params(-0.5, 3, DType::int8, false, {}));
}

TEST(DeriveParams, AppliesFloorAndPowerOfTwo) {
  Policy floored;
  floored.scale_floor = 0.5;
  EXPECT_EQ(derive_params(-1, 1, DType::int8, true, floored).scale.front(), 0.5);
  Policy binary;
  binary.power_of_two = true;
  EXPECT_EQ(derive_params(-1, 1, DType::int8, true, binary).scale.front(), 1.0 / 64);
}

Policy exact_zero() {
  Policy policy;
  policy.zero = converters::ZeroRule::exact;
  return policy;
}

// -1.1 and 2.6: s* = 3.7/255, zero at 75.81, so 76 codes below it and 179 above; 2.6/179 = 0.0145251 > 1.1/76.
TEST(DeriveParams, WidensARangeUntilZeroHasACode) {
  EXPECT_EQ(derive_params(-1.1, 2.6, DType::int8, false, exact_zero()), params(2.6 / 179, 76 - 128));
  EXPECT_EQ(derive_params(0, 2.6, DType::int8, false, exact_zero()), params(2.6 / 255, -128));
  EXPECT_EQ(derive_params(-2.6, -1, DType::uint8, false, exact_zero()), params(2.6 / 255, 255, DType::uint8));
  EXPECT_EQ(derive_params(-1.1, 2.6, DType::int8, true, exact_zero()), params(2.6 / 127, 0)) << "symmetric has one";
}

TEST(DeriveParams, GivesARangeWithoutNegativesUnsignedCodes) {
  Policy policy;
  policy.unsigned_codes = converters::UnsignedCodes::nonnegative;
  EXPECT_EQ(derive_params(0.5, 3, DType::int8, true, policy), params(3.0 / 255, 0, DType::uint8));
  EXPECT_EQ(derive_params(-0.5, 3, DType::int8, true, policy), params(3.0 / 127, 0));
}

TEST(CheckParams, HoldsAnExactZeroToItsOwnFormula) {
  EXPECT_EQ(fault(params(2.6 / 179, -52), range(-1.1, 2.6), false, exact_zero()), "");
  EXPECT_EQ(fault(params(3.7 / 255, -52), range(-1.1, 2.6), false, exact_zero()), "scale") << "not widened";
  EXPECT_EQ(fault(params(2.6 / 179, -53), range(-1.1, 2.6), false, exact_zero()), "zero_point");
  EXPECT_EQ(fault(params(2.6 / 179, -52), range(-1.1, 2.6)), "scale") << "widened though nobody says so";
  // The quotient is 0.5 codes: which way it rounds, the float32 error of the range decides.
  const double hi = 1, lo = -0.5 / 254.5;
  EXPECT_EQ(fault(params(hi / 255, -128), range(lo, hi, 1e-6), false, exact_zero()), "");
  EXPECT_EQ(fault(params(hi / 254, -127), range(lo, hi, 1e-6), false, exact_zero()), "");
  // An error of 27 codes leaves 91 to 145 of them below zero open, and the exact 118 among them: 4.2326 / 137.
  EXPECT_EQ(fault(params(4.2326 / 137, 118 - 128), range(-3.644, 4.2326, 0.417), false, exact_zero()), "");
}

TEST(CheckParams, TakesUnsignedCodesByTheRange) {
  Policy policy;
  policy.unsigned_codes = converters::UnsignedCodes::nonnegative;
  EXPECT_EQ(fault(params(3.0 / 255, 0, DType::uint8), range(0, 3), true, policy), "");
  EXPECT_EQ(fault(params(3.0 / 255, 0, DType::uint8), range(0, 3), true), "scale") << "nobody says so";
  EXPECT_EQ(fault(params(3.0 / 255, 0, DType::uint8), range(-1, 3), true, policy), "scale");
  EXPECT_EQ(fault(params(3.0 / 127, 0), range(-1, 3), true, policy), "");
}

TEST(CheckParams, WhoDividesBy127AndAHalfReadsAlignedRangesBackFromTheirCodes) {
  Policy half;
  half.divisor = 127.5;
  EXPECT_EQ(fault(params(4.0 / 127.5, 0), range(-4, 3), true, half), "");
  EXPECT_EQ(fault(params(4.0 / 127.5 * 256 / 255, 0), range(-4, 3), true, half), "") << "read back from its codes";
  EXPECT_EQ(fault(params(4.0 / 127, 0), range(-4, 3), true, half), "scale") << "16 parts in a million off that";
  EXPECT_EQ(fault(params(4.0 / 126.5, 0), range(-4, 3), true, half), "scale");
}

TEST(CheckParams, AFullRangeGivesTheNegativeEndTheLeastCode) {
  Policy full;
  full.full_range = true;
  EXPECT_EQ(derive_params(-4, 3, DType::int8, true, full), params(4.0 / 128, 0));
  EXPECT_EQ(derive_params(-3, 4, DType::int8, true, full), params(4.0 / 127, 0));
  EXPECT_EQ(fault(params(4.0 / 128, 0), range(-4, 3), true, full), "");
  EXPECT_EQ(fault(params(4.0 / 127, 0), range(-4, 3), true, full), "scale");
  EXPECT_EQ(fault(params(4.0 / 128, 0), range(-4, 3), true), "scale");
}

TEST(CheckParams, TheExactParametersFit) {
  EXPECT_EQ(fault(params(4.0 / 255, -64), range(-1, 3)), "");
  EXPECT_EQ(fault(params(3.0 / 127, 0), range(-1, 3), true), "");
  EXPECT_EQ(fault(params(3.0 / 127, 128, DType::uint8), range(-1, 3), true), "");
}

TEST(CheckParams, UnsignedSymmetricCodesMayUseHalfOfTheirSteps) {
  EXPECT_EQ(fault(params(3.0 / 127.5, 128, DType::uint8), range(-1, 3), true), "");
  EXPECT_EQ(fault(params(3.0 / 127.5, 127, DType::uint8), range(-1, 3), true), "") << "zero lies halfway between both";
  EXPECT_EQ(fault(params(3.0 / 127.5, 129, DType::uint8), range(-1, 3), true), "zero_point");
  EXPECT_EQ(fault(params(3.0 / 127, 127, DType::uint8), range(-1, 3), true), "zero_point");
  EXPECT_EQ(fault(params(3.0 / 127.5, 0), range(-1, 3), true), "scale");
}

TEST(CheckParams, TheScaleMayLieTwoUlpAwayButNotThree) {
  const auto exact = static_cast<double>(static_cast<float>(4.0 / 255));
  EXPECT_EQ(fault(params(exact + 2 * float32_ulp(exact), -64), range(-1, 3)), "");
  EXPECT_EQ(fault(params(exact - 2 * float32_ulp(exact), -64), range(-1, 3)), "");
  EXPECT_EQ(fault(params(exact + 3 * float32_ulp(exact), -64), range(-1, 3)), "scale");
  EXPECT_EQ(fault(params(exact - 3 * float32_ulp(exact), -64), range(-1, 3)), "scale");
}

TEST(CheckParams, SlackWidensTheScaleByItsShare) {
  EXPECT_EQ(fault(params((4 + 0.0019) / 255, -64), range(-1, 3, 0.001)), "");
  EXPECT_EQ(fault(params((4 + 0.0022) / 255, -64), range(-1, 3, 0.001)), "scale");
}

TEST(CheckParams, AZeroPointMayFallEitherWayOnlyAtAHalf) {
  // qmin - lo/s = -128 + 0.5/(255/255)… : lo = -63.5, s = 1, so -64.5.
  for (const std::int64_t z : {-65, -64}) EXPECT_EQ(fault(params(1, z), range(-63.5, 191.5)), "") << z;
  for (const std::int64_t z : {-66, -63}) EXPECT_EQ(fault(params(1, z), range(-63.5, 191.5)), "zero_point") << z;
  EXPECT_EQ(fault(params(1, -64), range(-63.4, 191.6)), "zero_point");
  EXPECT_EQ(fault(params(1, -64), range(-63.4, 191.6, 0.11)), "") << "the slack reaches the half";
}

TEST(CheckParams, AnEmptyRangeTakesAnyPositiveFiniteScale) {
  for (const double scale : {1e-30, 1.0, 1e30}) EXPECT_EQ(fault(params(scale, 5), range(0, 0)), "") << scale;
  EXPECT_EQ(fault(params(1, 0), range(-1e-37, 1e-37)), "") << "the scale would be denormal";
  EXPECT_EQ(fault(params(1, 0), range(-1e-35, 1e-35)), "scale") << "the scale is normal";
}

TEST(CheckParams, ZeroNegativeAndNonFiniteScalesNeverFit) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double scale : {0.0, -1.0, infinity, -infinity, std::nan("")}) {
    EXPECT_EQ(fault({{scale}, {0}, DType::int8, {}}, range(0, 0)), "scale") << scale;
  }
}

TEST(CheckParams, SeveralOrNoScalesAreACountFault) {
  EXPECT_EQ(fault({{1, 1}, {0, 0}, DType::int8, 0}, range(-1, 1)), "count");
  EXPECT_EQ(fault({{}, {}, DType::int8, {}}, range(-1, 1)), "count");
}

TEST(CheckParams, AStatedPowerOfTwoIsHeldToIt) {
  Policy binary;
  binary.power_of_two = true;
  EXPECT_EQ(fault(params(1.0 / 64, 0), range(-1, 1), true, binary), "");
  EXPECT_EQ(fault(params(1.0 / 128, 0), range(-1, 1), true, binary), "") << "either neighbour";
  EXPECT_EQ(fault(params(1.0 / 32, 0), range(-1, 1), true, binary), "scale");
  EXPECT_EQ(fault(params(1.0 / 127, 0), range(-1, 1), true, binary), "scale") << "its own artifact contradicts it";
}

TEST(CheckParams, AStatedFloorRaisesTheExpectedScale) {
  Policy floored;
  floored.scale_floor = 0.25;
  EXPECT_EQ(fault(params(0.25, 0), range(-1, 1), true, floored), "");
  EXPECT_EQ(fault(params(1.0 / 127, 0), range(-1, 1), true, floored), "scale");
  EXPECT_EQ(fault(params(1.0 / 127, 0), range(0, 0), true, floored), "scale") << "its own artifact contradicts it";
}

TensorRange observed(double low, double high) {
  TensorRange seen;
  seen.low = seen.inner_low = low;
  seen.high = seen.inner_high = high;
  seen.samples = 100;
  return seen;
}

TEST(AllowedRange, EntropyKeepsAtLeastItsBinsAndAtMostTheExtreme) {
  Options options;
  options.method = Method::entropy;
  options.symmetric = true;
  const AllowedRange allowed = allowed_range("t", observed(-2, 2), nullptr, options, {});
  EXPECT_EQ(fault(params(2.0 / 127, 0), allowed, true), "");
  EXPECT_EQ(fault(params(2.0 * 128 / 2048 / 127, 0), allowed, true), "");
  EXPECT_EQ(fault(params(2.0 * 110 / 2048 / 127, 0), allowed, true), "scale");
  EXPECT_EQ(fault(params(2.01 / 127, 0), allowed, true), "scale");
}

TEST(AllowedRange, EntropyOverAsManyBinsAsLevelsHasNothingToSearch) {
  Options options;
  options.method = Method::entropy;
  Policy policy;
  policy.histogram = converters::HistogramBins::whole_range;
  const AllowedRange whole = allowed_range("t", observed(-1, 3), nullptr, options, policy);
  EXPECT_EQ(fault(params(4.0 / 255, -64), whole), "");
  EXPECT_EQ(fault(params(3.9 / 255, -64), whole), "scale");
  // Of the bins that later batches add some may be cut off.
  policy.histogram = converters::HistogramBins::as_levels;
  TensorRange seen = observed(-1, 3);
  seen.first = 2;
  const AllowedRange grown = allowed_range("t", seen, nullptr, options, policy);
  EXPECT_EQ(fault(params(4.0 / 255, -64), grown), "");
  EXPECT_EQ(fault(params(3.0 / 255, -43), grown), "") << "[-1, 2]: what the first batch has";
  EXPECT_EQ(fault(params(2.9 / 255, -43), grown), "scale");
}

TEST(AllowedRange, ASearchThatIsKnownEndsAtItsOwnScales) {
  Options options;
  options.method = Method::entropy;
  options.symmetric = true;
  Policy policy;
  policy.histogram = converters::HistogramBins::magnitudes;
  policy.divisor = 127.5;
  const std::vector<double> found{0.25, 0.5};
  const AllowedRange allowed = allowed_range("t", observed(-60, 64), nullptr, options, policy, false, &found);
  EXPECT_EQ(fault(params(0.25, 0), allowed, true, policy), "");
  EXPECT_EQ(fault(params(0.5, 0), allowed, true, policy), "");
  EXPECT_EQ(fault(params(0.375, 0), allowed, true, policy), "scale") << "between them";
  EXPECT_EQ(fault(params(0.5 * 256 / 255, 0), allowed, true, policy), "") << "read back from its codes";
  EXPECT_EQ(fault(params(0.125, 0), allowed, true, policy), "scale");
}

TEST(AllowedRange, MseReachesAtMostTheExtreme) {
  Options options;
  options.method = Method::mse;
  const AllowedRange allowed = allowed_range("t", observed(-1, 3), nullptr, options, {});
  EXPECT_EQ(fault(params(2.0 / 255, -128), allowed), "");
  EXPECT_EQ(fault(params(4.0 / 255, -64), allowed), "");
  EXPECT_EQ(fault(params(4.09 / 255, -64), allowed), "scale") << "more than a bin";
  Policy searching;
  searching.search_beyond = 3.0 / 126;
  const AllowedRange stated = allowed_range("t", observed(-1, 3), nullptr, options, searching);
  EXPECT_EQ(fault(params(4.09 / 255, -64), stated), "") << "three codes more";
  EXPECT_EQ(fault(params(4.2 / 255, -64), stated), "scale");
}

TEST(AllowedRange, PercentileLiesBetweenTheNeighbouringValues) {
  Options options;
  options.method = Method::percentile;
  options.percentile = 90;
  std::vector<double> values;
  for (int i = 0; i <= 100; ++i) values.push_back(i);
  const AllowedRange allowed = allowed_range("t", observed(0, 100), &values, options, {});
  EXPECT_EQ(fault(params(90.0 / 255, -128), allowed), "");
  EXPECT_EQ(fault(params(95.0 / 255, -128), allowed), "");
  EXPECT_EQ(fault(params(100.0 / 255, -128), allowed), "scale") << "that is min-max";
  EXPECT_EQ(fault(params(80.0 / 255, -128), allowed), "scale");
}

TEST(AllowedRange, PercentileMayBeOfTheMagnitudes) {
  Options options;
  options.method = Method::percentile;
  options.percentile = 90;
  // Of the values 95 % are at most 50, of the magnitudes not even 90 % are.
  std::vector<double> values(55, -100);
  values.insert(values.end(), 799, 0);
  values.insert(values.end(), 100, 50);
  values.insert(values.end(), 46, 99);
  const AllowedRange allowed = allowed_range("t", observed(-100, 99), &values, options, {});
  EXPECT_EQ(fault(params(198.0 / 255, 0), allowed), "") << "[-99, 99]";
  EXPECT_EQ(fault(params(150.0 / 255, 42), allowed), "") << "[-100, 50]";
  EXPECT_EQ(fault(params(210.0 / 255, 0), allowed), "scale");
}

TEST(ForwardError, GammaGrowsWithTheRoundings) {
  EXPECT_DOUBLE_EQ(rounding_gamma(0), 0);
  EXPECT_GT(rounding_gamma(1), 0x1p-24);
  EXPECT_LT(rounding_gamma(1), 0x1.000002p-24);
  EXPECT_TRUE(std::isinf(rounding_gamma(0x1p24)));
}

TEST(CheckParams, OneThresholdLeavesTheShorterSideOrCutsBothAlike) {
  const TensorRange range = observed(-1, 3);
  converters::Options options;
  options.method = converters::Method::entropy;
  converters::Policy policy;
  policy.one_threshold = true;
  const auto fault_of = [&](double low, double high) {
    const core::QuantParams params = derive_params(low, high, DType::int8, false, policy);
    return check_params(params, allowed_range("x", range, nullptr, options, policy), false, policy).has_value();
  };
  EXPECT_FALSE(fault_of(-1, 3));
  EXPECT_FALSE(fault_of(-1, 2)) << "only the longer side is cut";
  EXPECT_FALSE(fault_of(-0.5, 0.5)) << "both at one magnitude";
  EXPECT_TRUE(fault_of(-0.5, 3)) << "the shorter alone";
  EXPECT_TRUE(fault_of(-0.5, 1.5));
  policy.one_threshold = false;
  EXPECT_FALSE(fault_of(-0.5, 3));
}

}  // namespace
}  // namespace assay::judge
