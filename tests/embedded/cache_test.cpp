#include "converters/embedded/cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/embedded/small_models.hpp"

namespace assay::embedded {
namespace {

using testing::HasSubstr;

TEST(Cache, JsonReadsBackEqual) {
  const Cache cache{Fingerprint{"m", {{"x", "d"}}, "minmax"}, {{"a: b", {-0.1, 1e-30}}, {"y", {0, 3}}}};
  const auto back = parse_cache(cache_to_json(cache));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->fingerprint, cache.fingerprint);
  EXPECT_EQ(back->ranges, cache.ranges);
}

TEST(Cache, ReadsTensorRtsBigEndianScales) {
  // 3f58d2e4 is 0.847...; the range is 127 steps to each side.
  const auto cache =
      parse_cache("TRT-8601-EntropyCalibration2\nc: 3f58d2e4\n(Unnamed Layer* 3) [Shuffle]: x: 3d052036\n");
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_FALSE(cache->fingerprint);
  EXPECT_NEAR(cache->ranges.at("c").high, 0.847 * 127, 0.1);
  EXPECT_EQ(cache->ranges.at("c").low, -cache->ranges.at("c").high);
  EXPECT_TRUE(cache->ranges.contains("(Unnamed Layer* 3) [Shuffle]: x"));
}

TEST(Cache, WritesTensorRtsFormBackBitForBit) {
  const std::string text = "TRT-8601-EntropyCalibration2\na: 3e1c5438\nb: c: 3d052036\n";
  const auto cache = parse_cache(text);
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache_to_tensorrt(*cache), text);
}

TEST(Cache, RefusesWhatIsNoCache) {
  EXPECT_THAT(parse_cache("hello").error().message, HasSubstr("neither JSON nor TensorRT"));
  EXPECT_THAT(parse_cache("TRT-1-X\nx 12\n").error().message, HasSubstr("line 2 is not"));
  EXPECT_THAT(parse_cache("TRT-1-X\nx: 7f800000\n").error().message, HasSubstr("tensor \"x\" has scale Infinity"));
  EXPECT_THAT(parse_cache("{}").error().message, HasSubstr("assay-calibration"));
  EXPECT_THAT(parse_cache(R"({"format":"assay-calibration","version":99})").error().message, HasSubstr("version 99"));
  EXPECT_THAT(parse_cache(R"({"format":"assay-calibration","version":1,"ranges":{"t":[2,1]}})").error().message,
              HasSubstr("range of tensor \"t\""));
  EXPECT_FALSE(parse_cache(R"({"format":"assay-calibration","version":1,"fingerprint":3,"ranges":[]})"));
}

TEST(CheckFresh, SaysWhatDiffers) {
  const Cache cache{Fingerprint{"aaaa", {{"x", "1111"}, {"z", "2222"}}, "minmax"}, {}};
  EXPECT_TRUE(check_fresh(cache, *cache.fingerprint));
  const auto stale = check_fresh(cache, {"bbbb", {{"x", "1111"}, {"z", "3333"}}, "entropy"});
  ASSERT_FALSE(stale);
  EXPECT_THAT(stale.error().message, HasSubstr("stale"));
  EXPECT_THAT(stale.error().message, HasSubstr("the model (cache aaaa, now bbbb)"));
  EXPECT_THAT(stale.error().message, HasSubstr("the data of input \"z\" (cache 2222, now 3333)"));
  EXPECT_THAT(stale.error().message, HasSubstr("method (cache minmax, now entropy)"));
  EXPECT_THAT(stale.error().message, testing::Not(HasSubstr("\"x\"")));
}

TEST(CheckFresh, WithoutDataOnlyModelAndMethodCount) {
  const Cache cache{Fingerprint{"m", {{"x", "1"}}, "minmax"}, {}};
  EXPECT_TRUE(check_fresh(cache, {"m", {}, "minmax"}));
}

}  // namespace
}  // namespace assay::embedded
