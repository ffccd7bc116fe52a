// `assay new`.
#include <gmock/gmock.h>

#include "harness/model/onnx_io.hpp"
#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;

class New : public HomeTest {
 protected:
  void SetUp() override {
    HomeTest::SetUp();
    // The corpus's own case as a model file, with its wrong and its right artifact.
    ASSERT_EQ(run({"bundle", "mini/stride=1", "right"}).code, 0);
    ASSERT_EQ(run({"bundle", "mini/stride=1", "wrong", "--fault", "bias_dropped"}).code, 0);
    std::filesystem::copy(path("right/model.onnx"), path("net.onnx"));
  }
  [[nodiscard]] nlohmann::json written(const std::string& name) const {
    const auto text = core::read_file(path(name));
    return text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
  }
};

TEST_F(New, RegistersACaseThatIsRedWithTheFaultAndGreenWithout) {
  const Call call = run({"new", "https://example.org/issues/7", "--model", "net.onnx", "--name", "lost_bias",
                         "--defect", "the bias is lost", "--reported-against", "X 1.2", "--fault", "bias_dropped"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("with the defect, embedded@"));
  EXPECT_THAT(call.out, HasSubstr("registered: "));
  const nlohmann::json json = written("cases/lost_bias.json");
  EXPECT_EQ(json["kills"], nlohmann::json({"bias_dropped"}));
  EXPECT_EQ(json["origin"][0]["reported_against"], "X 1.2");
  EXPECT_EQ(run({"run", "lost_bias"}).code, 0);
  EXPECT_EQ(run({"run", "lost_bias", "--fault", "bias_dropped"}).code, 1);
}

TEST_F(New, RefusesACaseThatDoesNotSeeTheDefect) {
  const Call call = run({"new", "blind", "--model", "net.onnx", "--fault", "deconv_axis_zero"});
  EXPECT_EQ(call.code, 1);
  EXPECT_THAT(call.out, HasSubstr("not registered: it is not red with the defect"));
  EXPECT_THAT(call.out, HasSubstr("--calibration"));
  EXPECT_FALSE(std::filesystem::exists(path("cases/blind.json")));
}

TEST_F(New, KeepsAWrongArtifactBesideTheCase) {
  const Call call =
      run({"new", "stored", "--model", "net.onnx", "--wrong-artifact", "wrong/artifact/model.onnx", "--into", "mine"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_TRUE(std::filesystem::exists(path("mine/stored.wrong.onnx")));
  const Call right = run({"new", "no_defect", "--model", "net.onnx", "--wrong-artifact", "right/artifact/model.onnx"});
  EXPECT_EQ(right.code, 1);
}

TEST_F(New, KeepsTheUsersDataAndALargeModelAsFiles) {
  const Call call = run({"new", "fed", "--model", "net.onnx", "--fault", "bias_dropped", "--calibration",
                         "right/calibration", "--inputs", "right/inputs/typical"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_TRUE(std::filesystem::exists(path("cases/fed/calibration/0007/input_0.pb")));
  EXPECT_TRUE(std::filesystem::exists(path("cases/fed/test_data_set_0/input_0.pb")));
  EXPECT_EQ(written("cases/fed.json")["stored_data"], "fed");
  const Call again = run({"run", "fed"});
  EXPECT_EQ(again.code, 0) << again.out << again.err;
}

TEST_F(New, SaysWhatIsMissing) {
  EXPECT_EQ(run({"new", "x", "--model", "net.onnx"}).code, 2);
  EXPECT_EQ(run({"new", "x", "--model", "absent.onnx", "--fault", "bias_dropped"}).code, 2);
  EXPECT_EQ(run({"new", "a/b", "--model", "net.onnx", "--fault", "bias_dropped"}).code, 2);
  const Call taken = run({"new", "mini", "--model", "net.onnx", "--fault", "bias_dropped"});
  EXPECT_EQ(taken.code, 2);
  EXPECT_THAT(taken.err, HasSubstr("there is a case \"mini\" already"));
}

}  // namespace
}  // namespace assay::test
