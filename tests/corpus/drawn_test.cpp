#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "harness/corpus/case.hpp"
#include "harness/corpus/data_sets.hpp"

namespace assay::corpus {
namespace {

using testing::HasSubstr;

/// Calibration batches of a network that copies one input, described by `input`.
core::Result<std::vector<core::TensorMap>> batches_of(const std::string& type, const std::string& input) {
  const std::string json = R"j({"family":"f","title":"t","graph":["agraph ()j" + type + " x) => (" + type +
                           R"j( y) {","y = Identity (x)","}"],"inputs":{"x":)j" + input +
                           R"j(},"calibration":{"batches":3}})j";
  const auto cases = parse_family(json, "f.json");
  if (!cases) return cases.error();
  return calibration_batches((*cases)[0], (*cases)[0].calibration);
}

core::Tensor first_of(const std::string& type, const std::string& input) {
  const auto batches = batches_of(type, input);
  EXPECT_TRUE(batches) << (batches ? "" : batches.error().message);
  if (!batches) return {};
  EXPECT_NE((*batches)[0].at("x"), (*batches)[1].at("x"));
  return (*batches)[0].at("x");
}

std::string refusal(const std::string& type, const std::string& input) {
  const auto batches = batches_of(type, input);
  return batches ? "" : batches.error().message;
}

TEST(DrawnPicture, IsOfBytesThatDifferFromBatchToBatch) {
  for (const std::string kind : {"drawn_text", "drawn_faces"}) {
    const core::Tensor x = first_of("float[2,3,96,64]", R"({"kind":")" + kind + R"(","range":[-1,1]})");
    std::set<double> bytes;
    for (const double value : x.reals()) {
      const double byte = (value * 0.5 + 0.5) * 255;
      EXPECT_NEAR(byte, std::round(byte), 1e-4);
      bytes.insert(std::round(byte));
    }
    EXPECT_GT(bytes.size(), 60U) << kind;
    EXPECT_GE(*bytes.begin(), 0);
    EXPECT_LE(*bytes.rbegin(), 255);
  }
}

TEST(DrawnPicture, IsTheSameInBothLayouts) {
  const core::Tensor first = first_of("float[2,3,5,4]", R"({"kind":"drawn_text","range":[0,255]})");
  const core::Tensor last = first_of("float[2,5,4,3]", R"({"kind":"drawn_text","range":[0,255],"layout":"NHWC"})");
  for (std::int64_t n = 0; n < 2; ++n) {
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t i = 0; i < 20; ++i) {
        EXPECT_EQ(first.as_real((n * 3 + c) * 20 + i), last.as_real((n * 20 + i) * 3 + c));
      }
    }
  }
}

TEST(DrawnPicture, HasTheMeanAndDeviationOfEachChannelTakenOff) {
  const core::Tensor bytes = first_of("float[1,2,70,8]", R"({"kind":"drawn_faces","range":[0,255]})");
  const core::Tensor x = first_of("float[1,2,70,8]", R"({"kind":"drawn_faces","mean":[0.5,0.25],"std":[0.5,0.125]})");
  EXPECT_NEAR(x.as_real(3), (bytes.as_real(3) / 255 - 0.5) / 0.5, 1e-6);
  EXPECT_NEAR(x.as_real(70 * 8 + 3), (bytes.as_real(70 * 8 + 3) / 255 - 0.25) / 0.125, 1e-6);
}

double loudness(const core::Tensor& x, std::size_t from, std::size_t count) {
  const auto begin = x.reals().begin() + static_cast<std::ptrdiff_t>(from);
  return std::sqrt(std::inner_product(begin, begin + static_cast<std::ptrdiff_t>(count), begin, 0.0) /
                   static_cast<double>(count));
}

TEST(DrawnSound, HasLoudAndQuietPartsAndThePitchOfAVoice) {
  const core::Tensor x = first_of("float[1,32000]", R"({"kind":"drawn_sound","range":[-1,1]})");
  const auto size = static_cast<std::size_t>(x.size());
  std::vector<double> parts;
  for (std::size_t at = 0; at + 320 <= size; at += 320) parts.push_back(loudness(x, at, 320));
  const auto [quiet, loud] = std::ranges::minmax(parts);
  EXPECT_GT(loud, 0.1);
  EXPECT_LT(quiet, loud / 20);
  // The loudest 40 ms repeat themselves with a period between 70 and 300 Hz, which noise does not.
  const auto loudest = static_cast<std::size_t>(std::ranges::max_element(parts) - parts.begin());
  const std::size_t at = std::min(loudest * 320, size - 900);
  double best = 0;
  for (std::size_t lag = 16000 / 300; lag < 16000 / 70; ++lag) {
    double sum = 0;
    for (std::size_t i = at; i < at + 640; ++i) {
      sum += x.as_real(static_cast<std::int64_t>(i)) * x.as_real(static_cast<std::int64_t>(i + lag));
    }
    best = std::max(best, sum / (640 * loudness(x, at, 640) * loudness(x, at + lag, 640)));
  }
  EXPECT_GT(best, 0.5);
  for (const double value : x.reals()) EXPECT_EQ(value * 32768, std::round(value * 32768));
}

TEST(DrawnSpectrum, StaysInItsRangeAndFallsSilent) {
  const core::Tensor x = first_of("float[1,400,120]", R"({"kind":"drawn_spectrum","range":[-16,6]})");
  const auto [low, high] = std::ranges::minmax(x.reals());
  EXPECT_GE(low, -16);
  EXPECT_LT(low, -12);
  EXPECT_GT(high, 0);
  EXPECT_LE(high, 6);
}

TEST(DrawnFiles, AreBytesAnd256BehindTheirEnd) {
  const core::Tensor x = first_of("int32[40,512]", R"({"kind":"drawn_files"})");
  int letters = 0;
  int ends = 0;
  for (std::int64_t i = 0; i < 40 * 512; ++i) {
    const double value = x.as_real(i);
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 256);
    letters += value >= 'a' && value <= 'z' ? 1 : 0;
    ends += value == 256 ? 1 : 0;
    if (value == 256 && i % 512 != 511) {
      EXPECT_EQ(x.as_real(i + 1), 256);
    }
  }
  EXPECT_GT(letters, 40 * 512 / 4);
  EXPECT_GT(ends, 0);
}

TEST(DrawnInput, SaysWhatItCannotDraw) {
  EXPECT_THAT(refusal("float[3,8,8]", R"({"kind":"drawn_text"})"),
              HasSubstr("\"drawn_text\" needs 4 axes, its shape is [3,8,8]"));
  EXPECT_THAT(refusal("int32[1,8]", R"({"kind":"drawn_sound"})"), HasSubstr("makes real numbers, it holds int32"));
  EXPECT_THAT(refusal("float[1,8]", R"({"kind":"drawn_files"})"), HasSubstr("makes integers, it holds float"));
  EXPECT_THAT(refusal("float[1,3,8,8]", R"({"kind":"drawn_text","mean":[0.5],"std":[0.5]})"),
              HasSubstr("one number a channel, it has 3"));
  EXPECT_THAT(refusal("float[1,3,8,8]", R"({"kind":"drawn_text","mean":[0.5,0.5,0.5]})"),
              HasSubstr("\"std\" need each other"));
  EXPECT_THAT(refusal("float[1,3,8,8]", R"({"layout":"NHWC"})"), HasSubstr("layout: belongs to a drawn picture"));
}

}  // namespace
}  // namespace assay::corpus
