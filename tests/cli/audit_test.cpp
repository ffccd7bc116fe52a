// `assay audit`: the parameters of a calibration cache or of a Q/DQ model, without executing anything.
#include <gmock/gmock.h>

#include <set>

#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Audit : public HomeTest {
 protected:
  static std::string data(const std::string& name) { return (test::test_data() / "trt861" / name).string(); }
  [[nodiscard]] Call audit(const std::string& model, const std::string& cache,
                           const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{
        "audit", data(model + ".onnx"), "--cache", cache, "--calibration", data(model + ".calibration.npz"), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  static std::vector<std::string> tensors(const Call& call) {
    std::vector<std::string> names;
    const nlohmann::json json = call.json();
    for (const auto& finding : json["results"][0]["findings"]) {
      names.push_back(finding["facet"].get<std::string>() + " " + finding["tensor"].get<std::string>());
    }
    return names;
  }
};

/// What TensorRT 8.6.1 wrote for nine small models: three give their Concat a range that costs it, the others don't.
TEST_F(Audit, NamesTensorRtsNarrowConcatsAndNothingElse) {
  const std::set<std::string> narrow{"concat_ranges", "erf_concat", "deconv_output_10"};
  for (const std::string model : {"concat_const", "concat_output", "concat_ranges", "concat_shape", "deconv_output_10",
                                  "deconv_output_64", "erf_concat", "residual_seq_conv_bn", "three_inputs"}) {
    const Call call = audit(model, data(model + ".cache"));
    if (!narrow.contains(model)) {
      EXPECT_EQ(call.code, 0) << model << call.out << call.err;
      EXPECT_THAT(tensors(call), IsEmpty()) << model;
      continue;
    }
    EXPECT_EQ(call.code, 1) << model << call.out << call.err;
    EXPECT_THAT(tensors(call), ElementsAre("scale c")) << model;
    const nlohmann::json result = call.json()["results"][0];
    EXPECT_EQ(result["verdict"], "fail");
    EXPECT_EQ(result["layers"], nlohmann::json({"L0"}));
    EXPECT_THAT(result["reason"].get<std::string>(), HasSubstr("dB are lost"));
    EXPECT_EQ(result["lost_at"][0]["tensor"], "c");
    EXPECT_GT(result["lost_at"][0]["loss_db"], 3.0) << model;
  }
}

TEST_F(Audit, AScaleThatIsNoWholeNumberOfBinsIsSeen) {
  std::string text = core::read_file(data("concat_const.cache")).value();
  text.replace(text.find("3f1c1ff5"), 8, "3f1c17ca");  // y: a third of a bin less
  write("off.cache", text);
  const Call call = audit("concat_const", path("off.cache").string());
  EXPECT_EQ(call.code, 1) << call.out << call.err;
  EXPECT_THAT(tensors(call), ElementsAre("scale y"));
  EXPECT_THAT(call.out, HasSubstr("first batch's bins"));
}

TEST_F(Audit, AMissingEntryIsNamed) {
  std::string text = core::read_file(data("concat_ranges.cache")).value();
  const auto line = text.find("c: 3eb557f2\n");
  text.erase(line, 12);
  write("without.cache", text);
  const Call call = audit("concat_ranges", path("without.cache").string());
  EXPECT_EQ(call.code, 1) << call.out << call.err;
  EXPECT_THAT(tensors(call), ElementsAre("scale c"));
  EXPECT_THAT(call.out, HasSubstr("no entry"));
  // A Concat that is the graph's output needs none: TensorRT warns and leaves it in float.
  EXPECT_EQ(audit("concat_output", data("concat_output.without_concat.cache")).code, 0);
}

TEST_F(Audit, ReadsOnnxRuntimesTables) {
  for (const std::string form : {"cache", "json", "flatbuffers"}) {
    const std::string file = (test::test_data() / "onnxruntime" / ("concat_ranges." + form)).string();
    const Call call =
        audit("concat_ranges", file,
              form == "json" ? std::vector<std::string>{} : std::vector<std::string>{"--method", "minmax"});
    EXPECT_EQ(call.code, 0) << form << call.out << call.err;
    EXPECT_EQ(audit("concat_ranges", file).code, 0) << "without a method: intervals";
  }
  write("wide.cache", "a 200\nar 146.4\nb 27.95\nbs 1\nc 146.4\nx 5\ny 350\n");
  const Call wide = audit("concat_ranges", path("wide.cache").string());
  EXPECT_EQ(wide.code, 1);
  EXPECT_THAT(tensors(wide), UnorderedElementsAre("scale a", "scale x", "scale y")) << "beyond what any method gives";
}

TEST_F(Audit, ReadsItsOwnCacheAndArtifact) {
  const std::string model = data("concat_ranges.onnx"), calibration = data("concat_ranges.calibration.npz");
  const Call convert = run({"convert", model, "--calibration", calibration, "--output", "out", "--json"});
  ASSERT_EQ(convert.code, 0) << convert.err;
  const Call cache = audit("concat_ranges", path("out/calibration.cache").string());
  EXPECT_EQ(cache.code, 0) << cache.out << cache.err;
  EXPECT_EQ(run({"audit", model, "--artifact", "out/model.onnx", "--calibration", calibration}).code, 0);
  ASSERT_EQ(
      run({"convert", model, "--calibration", calibration, "--output", "faulty", "--fault", "concat_range_narrow"})
          .code,
      0);
  EXPECT_EQ(run({"audit", model, "--artifact", "faulty/model.onnx", "--calibration", calibration}).code, 1);
  const Call other = run({"audit", data("erf_concat.onnx"), "--cache", "out/calibration.cache", "--calibration",
                          data("erf_concat.calibration.npz")});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("another model"));
}

TEST_F(Audit, WhatIsNoCacheOrNotOfThisModelIsAnError) {
  write("truncated.cache", core::read_file(data("concat_ranges.cache")).value().substr(0, 60));
  write("other.cache", "TRT-8601-EntropyCalibration2\nsomething: 3d052036\n");
  write("noise.cache", "hello\n");
  EXPECT_EQ(audit("concat_ranges", path("truncated.cache").string()).code, 2);
  const Call other = audit("concat_ranges", path("other.cache").string());
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("it names 1 tensor, and none of the model's"));
  const Call noise = audit("concat_ranges", path("noise.cache").string());
  EXPECT_EQ(noise.code, 2);
  EXPECT_THAT(noise.err, HasSubstr("noise.cache"));
  EXPECT_EQ(audit("concat_ranges", path("absent.cache").string()).code, 2);
  EXPECT_EQ(audit("concat_ranges", data("concat_ranges.cache"), {"--method", "minmax"}).code, 2) << "its header says";
  EXPECT_EQ(run({"audit", data("concat_ranges.onnx")}).code, 2);
  EXPECT_EQ(run({"audit", data("concat_ranges.onnx"), "--cache", data("concat_ranges.cache")}).code, 2);
}

}  // namespace
}  // namespace assay::test
