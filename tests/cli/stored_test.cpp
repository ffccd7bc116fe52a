// Cases that lie in ONNX's own test layout, run by the reference.
#include <gmock/gmock.h>

#include "harness/core/files.hpp"
#include "harness/model/onnx_io.hpp"
#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

namespace fs = std::filesystem;
using core::DType;
using core::Tensor;
using testing::HasSubstr;

/// Two stored cases beside the family "mini": "right", and "wrong", whose stored output is off.
class Stored : public HomeTest {
 protected:
  void SetUp() override {
    HomeTest::SetUp();
    write("cases/kept.json", R"json({ "family": "kept", "title": "stored", "matrix": { "group": ["here", "away"] },
          "stored_cases": { "folder": "data/$group", "missing": "fetch it" } })json");
    write("suites/kept.json", R"json({ "title": "t", "select": ["kept"], "converters": ["reference"] })json");
    store("right", {-1, 2}, {1, 2});
    store("wrong", {-1, 2}, {1, 2.5});
  }
  void store(const std::string& name, std::vector<double> input, std::vector<double> output) const {
    const fs::path folder = path("data/here") / name;
    ASSERT_TRUE(core::make_folder(folder / "test_data_set_0"));
    const auto model = model::parse_graph_text("agraph (float[2] x) => (float[2] y) { y = Abs (x) }", {{"", 13}});
    ASSERT_TRUE(model && model::save_model(*model, folder / "model.onnx"));
    ASSERT_TRUE(model::save_tensor({"x", Tensor(DType::float32, {2}, std::move(input))},
                                   folder / "test_data_set_0/input_0.pb"));
    ASSERT_TRUE(model::save_tensor({"y", Tensor(DType::float32, {2}, std::move(output))},
                                   folder / "test_data_set_0/output_0.pb"));
  }
};

TEST_F(Stored, AreRunByTheReferenceAndRecorded) {
  const Call call = run({"run", "kept", "--json"});
  EXPECT_EQ(call.code, 1) << call.out << call.err;
  const nlohmann::json json = call.json();
  EXPECT_EQ(json["verdicts"], (nlohmann::json{{"fail", 1}, {"pass", 1}, {"unsupported", 1}}));
  EXPECT_EQ(json["unsupported"], (nlohmann::json{{"no cases in data/away", 1}}));
  for (const nlohmann::json& result : json["results"]) {
    EXPECT_EQ(result["converter"], "reference");
    if (result["verdict"] == "fail") {
      EXPECT_EQ(result["case"], "kept/group=here,case=wrong");
      EXPECT_EQ(result["facet"], "numerics");
      EXPECT_THAT(result["reason"].get<std::string>(), HasSubstr("element [1]: expected 2.5, actual 2, limit "));
    }
  }
  EXPECT_EQ(run({"history", "kept/group=here,case=right", "--json"}).json()["history"].size(), 1U);
}

TEST_F(Stored, AreSaidToBeMissingWithWhatToDo) {
  const Call call = run({"run", "kept/group=away"});
  EXPECT_EQ(call.code, 77) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("unsupported: no cases in data/away (1 verdict)"));
  const Call json = run({"run", "kept/group=away", "--json"});
  EXPECT_EQ(json.json()["results"][0]["reason"], "no cases in data/away: fetch it");
}

TEST_F(Stored, AreNotForConvertersNorInTheirSuites) {
  EXPECT_THAT(run({"list"}).out, testing::Not(HasSubstr("kept")));
  EXPECT_THAT(run({"list", "kept"}).out, HasSubstr("kept/group=here,case=right"));
  EXPECT_EQ(run({"run", "kept", "--converter", "embedded"}).code, 5);
  EXPECT_EQ(run({"run", "mini", "--converter", "reference"}).code, 5);
}

TEST_F(Stored, RunBesideOtherCasesEachByTheirOwnConverter) {
  const nlohmann::json json = run({"run", "mini/stride=1", "kept/*right", "--json"}).json();
  ASSERT_EQ(json["results"].size(), 2U);
  EXPECT_EQ(json["verdicts"]["pass"], 2);
}

TEST_F(Stored, AreExplainedByTheirNearestElement) {
  const Call call = run({"explain", "kept/group=here,case=wrong"});
  EXPECT_EQ(call.code, 0) << call.err;
  EXPECT_THAT(call.out, HasSubstr("node \"y\" (Abs), y[1]"));
  EXPECT_THAT(call.out, HasSubstr("rounding of the stored value"));
}

TEST_F(Stored, HaveAVersionThatFollowsTheirFiles) {
  ASSERT_EQ(run({"run", "kept/*right"}).code, 0);
  store("right", {-3, 2}, {3, 2});
  ASSERT_EQ(run({"run", "kept/*right"}).code, 0);
  const nlohmann::json rows = run({"history", "kept/*right", "--json"}).json()["history"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_NE(rows[0]["case_hash"], rows[1]["case_hash"]);
}

TEST_F(Stored, ExcuseExpectedFailuresOfAGroupThatIsAway) {
  write("suites/kept.json", R"json({ "title": "t", "select": ["kept"], "converters": ["reference"],
        "expected_failures": [
          { "case": "kept/group=here,case=wrong", "converter": "reference", "reason": "2.5", "url": "https://example.org/1" },
          { "case": "kept/group=away,case=any", "converter": "reference", "reason": ".", "url": "https://example.org/2" }]})json");
  const Call call = run({"run", "kept", "--json"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_EQ(call.json()["verdicts"]["xfail"], 1);
}

}  // namespace
}  // namespace assay::test
