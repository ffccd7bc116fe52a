#include "converters/calibration_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/files.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::converters {
namespace {

using testing::HasSubstr;

std::string data(const std::string& name) { return core::read_file(test::test_data() / name).value(); }
std::string error(const std::string& bytes) {
  const auto table = parse_calibration_table(bytes);
  return table ? "" : table.error().message;
}

TEST(CalibrationTable, ReadsTensorRtsBigEndianBits) {
  // 0x3f58d2e4 = 0.84696794…; the range is 127 steps to each side.
  const auto table =
      parse_calibration_table("TRT-8601-EntropyCalibration2\n(Unnamed Layer* 3) [Shuffle]: c: 3f58d2e4\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->method, Method::entropy);
  EXPECT_TRUE(table->first_batch_bins);
  EXPECT_TRUE(table->magnitudes);
  EXPECT_NEAR(table->ranges.at("(Unnamed Layer* 3) [Shuffle]: c").high / 127, 0.8469679, 1e-7);
}

TEST(CalibrationTable, TakesTheMethodFromTensorRtsHeader) {
  EXPECT_EQ(parse_calibration_table("TRT-8601-MinMaxCalibration\nx: 3d052036\n")->method, Method::minmax);
  const auto first = parse_calibration_table("TRT-7103-EntropyCalibration\nx: 3d052036\n");
  EXPECT_EQ(first->method, Method::entropy);
  EXPECT_FALSE(first->first_batch_bins);
  EXPECT_EQ(parse_calibration_table("TRT-8601-LegacyCalibration\nx: 3d052036\n")->method, std::nullopt);
}

/// The three files that one call of ONNX Runtime 1.23.2's write_calibration_table left, of the same four numbers.
TEST(CalibrationTable, OnnxRuntimesThreeFormsAgree) {
  const auto text = parse_calibration_table(data("onnxruntime/concat_ranges.cache"));
  const auto binary = parse_calibration_table(data("onnxruntime/concat_ranges.flatbuffers"));
  const auto json = parse_calibration_table(data("onnxruntime/concat_ranges.json"));
  ASSERT_TRUE(text && binary && json);
  EXPECT_EQ(text->ranges, binary->ranges);
  EXPECT_EQ(text->method, std::nullopt);
  EXPECT_EQ(json->method, Method::minmax);
  EXPECT_FALSE(json->magnitudes);
  EXPECT_EQ(json->ranges.size(), text->ranges.size());
  for (const auto& [name, range] : text->ranges) EXPECT_EQ(json->ranges.at(name).high, range.high) << name;
  EXPECT_EQ(json->ranges.at("x").low, -3.7411627769470215);
  EXPECT_EQ(text->ranges.at("x").high, 4.036861896514893);
}

TEST(CalibrationTable, LosesOneEntryAndKeepsTheRest) {
  const auto rest = [](const std::string& bytes, const std::string& tensor) {
    return without_entry(bytes, tensor).value_or("no such entry");
  };
  const std::string tensorrt = "TRT-8601-MinMaxCalibration\nx: 3d052036\na: b: 3f58d2e4\n";
  EXPECT_EQ(rest(tensorrt, "x"), "TRT-8601-MinMaxCalibration\na: b: 3f58d2e4\n");
  EXPECT_EQ(rest(tensorrt, "a: b"), "TRT-8601-MinMaxCalibration\nx: 3d052036\n");
  EXPECT_EQ(rest(tensorrt, "b"), "no such entry");
  const std::string assay =
      R"({"format": "assay-calibration", "version": 1, "fingerprint": {"data": {"x": "1f"}, "method": "minmax"},
          "ranges": {"x": [-1, 2], "y": [0, 3]}})";
  const auto table = parse_calibration_table(rest(assay, "x"));
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_FALSE(table->ranges.contains("x"));
  EXPECT_EQ(table->ranges.size(), 1U);
  EXPECT_EQ(table->origin, parse_calibration_table(assay)->origin) << "the data of \"x\" are still known";
  EXPECT_EQ(rest(assay, "z"), "no such entry");
  for (const std::string form : {"cache", "json"}) {
    const std::string whole = data("onnxruntime/concat_ranges." + form);
    const auto left = parse_calibration_table(rest(whole, "x"));
    ASSERT_TRUE(left) << left.error().message;
    EXPECT_EQ(left->ranges.size() + 1, parse_calibration_table(whole)->ranges.size());
    EXPECT_FALSE(left->ranges.contains("x"));
  }
  EXPECT_EQ(rest(data("onnxruntime/concat_ranges.flatbuffers"), "x"), "no such entry");
}

TEST(CalibrationTable, GetsAHeaderOfAnotherVersionOrMethod) {
  const std::string own =
      R"({"format":"assay-calibration","version":1,"ranges":{"t":[-1,2]},"fingerprint":{"method":"minmax"}})";
  EXPECT_THAT(error(with_other_header(own, HeaderWord::version).value()), HasSubstr("stale: version 2"));
  const auto table = parse_calibration_table(with_other_header(own, HeaderWord::method).value());
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->method, Method::entropy);
  EXPECT_EQ(table->ranges.at("t"), (CalibrationTable::Range{-2, 4}));
  // 3f000000 is 0.5, 3f800000 is 1.
  const std::string lines = "TRT-8601-EntropyCalibration2\na: b: 3f000000\n";
  EXPECT_EQ(with_other_header(lines, HeaderWord::version), "TRT-1-EntropyCalibration2\na: b: 3f800000\n");
  EXPECT_EQ(with_other_header(lines, HeaderWord::method), "TRT-8601-MinMaxCalibration\na: b: 3f800000\n");
  EXPECT_FALSE(with_other_header("x 1.5\n", HeaderWord::version));
  EXPECT_FALSE(with_other_header(R"({"x": [-1.5, 2]})", HeaderWord::version));
}

TEST(CalibrationTable, ReadsTheBareJsonOfOlderVersions) {
  const auto table = parse_calibration_table(R"({"x": [-1.5, 2], "y": [[0], [3.5]]})");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->ranges.at("x"), (CalibrationTable::Range{-1.5, 2}));
  EXPECT_EQ(table->ranges.at("y"), (CalibrationTable::Range{0, 3.5}));
}

TEST(CalibrationTable, TakesMethodAndOriginFromAssaysCache) {
  const auto table = parse_calibration_table(
      R"({"format":"assay-calibration","version":1,"ranges":{"t":[-1,2]},
          "fingerprint":{"model":"abc","data":{"x":"d"},"method":"percentile 99.9 symmetric"}})");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->method, Method::percentile);
  EXPECT_EQ(table->percentile, 99.9);
  EXPECT_TRUE(table->symmetric);
  EXPECT_EQ(table->origin->model, "abc");
}

TEST(CalibrationTable, RefusesWhatIsNoneOrOnlyAPart) {
  EXPECT_THAT(error(""), HasSubstr("empty"));
  EXPECT_THAT(error("hello\n"), HasSubstr("neither JSON nor TensorRT"));
  EXPECT_THAT(error("TRT-8601-EntropyCalibration2\n"), HasSubstr("holds no tensor"));
  EXPECT_THAT(error("TRT-8601-EntropyCalibration2\nx: 3d0520"), HasSubstr("line 2 is not"));
  EXPECT_THAT(error("TRT-8601-EntropyCalibration2\nx: 3d0520"), HasSubstr("cut off"));
  EXPECT_THAT(error("TRT-8601-EntropyCalibration2\nx: 3d052036\nx: 3d052036\n"), HasSubstr("second time"));
  EXPECT_THAT(error("TRT-1-X\nx: ff800000\n"), HasSubstr("-Infinity"));
  EXPECT_THAT(error("x 1.5\ny 2.2"), HasSubstr("cut off"));
  EXPECT_THAT(error("x 1.5\ny nan\n"), HasSubstr("line 2"));
  EXPECT_THAT(error(R"({"x": [1, )"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error(R"({"x": {"lowest": 3, "highest": 1}})"), HasSubstr("entry \"x\""));
  EXPECT_THAT(error(R"({"x": {"lowest": {"data": [1, 2]}, "highest": {"data": [3, 4]}}})"), HasSubstr("entry \"x\""));
}

/// Whatever is cut off or overwritten, the reader answers and stays inside the file.
TEST(CalibrationTable, NoDamagedFlatBufferIsReadBeyondItsEnd) {
  const std::string whole = data("onnxruntime/concat_ranges.flatbuffers");
  // Up to three bytes of padding may go.
  for (std::size_t size = 1; size + 4 <= whole.size(); ++size) {
    EXPECT_NE(error(whole.substr(0, size)), "") << size;
  }
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = '\xff';
    refused += error(damaged).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace assay::converters
