#include "harness/corpus/suite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "harness/core/files.hpp"

namespace assay::corpus {
namespace {

using testing::HasSubstr;

const std::vector<Case>& corpus() {
  static const std::vector<Case> cases = [] {
    auto loaded = load_corpus();
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return loaded ? std::move(*loaded) : std::vector<Case>{};
  }();
  return cases;
}

TEST(Corpus, HoldsEveryFamilyOfTheDesign) {
  std::map<std::string, int> families;
  for (const Case& c : corpus()) ++families[c.family];
  for (const char* family : {"unsupported_op", "concat", "conv_bn", "residual", "qdq_import", "deconv_output",
                             "multi_input", "conv", "gemm_matmul", "activations", "pooling", "layout", "numeric_edges",
                             "normalization", "dynamic_shape", "naming", "real"}) {
    EXPECT_GE(families[family], 3) << family;
  }
  EXPECT_GE(corpus().size(), 400U);
}

TEST(Corpus, MakesCalibrationAndEveryDataSetOfEveryCase) {
  for (const Case& c : corpus()) {
    if (c.model == nullptr) continue;
    for (const Step& step : c.steps) EXPECT_TRUE(calibration_batches(c, step.feed)) << c.name;
    EXPECT_FALSE(data_set_names(c).empty()) << c.name;
    for (const std::string& set : data_set_names(c)) EXPECT_TRUE(data_set(c, set, {})) << c.name << " " << set;
  }
}

TEST(Corpus, SaysOfEveryCaseWhyItExists) {
  for (const Case& c : corpus()) {
    EXPECT_GT(c.title.size(), 15U) << c.name;
    EXPECT_EQ(c.title.find('$'), std::string::npos) << c.name << ": " << c.title;
  }
}

TEST(LoadSuite, ListsTheNearestForAnUnknownName) {
  const auto suite = load_suite("sed");
  ASSERT_FALSE(suite);
  EXPECT_EQ(suite.error().kind, core::ErrorKind::usage);
  EXPECT_THAT(suite.error().message, HasSubstr("seeds"));
}

TEST(SelectCases, TakesEveryShippedSuite) {
  for (const std::string& name : suite_names()) {
    const auto suite = load_suite(name);
    ASSERT_TRUE(suite) << suite.error().message;
    EXPECT_FALSE(suite->option_sets.empty());
    const auto cases = select_cases(*suite, corpus());
    ASSERT_TRUE(cases) << cases.error().message;
    EXPECT_FALSE(cases->empty()) << name;
  }
}

TEST(SelectCases, KeepsTheSeedsToTheirFamilies) {
  const auto cases = select_cases(*load_suite("seeds"), corpus());
  ASSERT_TRUE(cases);
  for (const Case& c : *cases) EXPECT_NE(c.family, "conv") << c.name;
}

TEST(SelectCases, ListsTheNearestForAPatternThatMatchesNothing) {
  Suite suite;
  suite.select = {"deconv_outputs"};
  const auto cases = select_cases(suite, corpus());
  ASSERT_FALSE(cases);
  EXPECT_EQ(cases.error().kind, core::ErrorKind::usage);
  EXPECT_THAT(cases.error().message, HasSubstr("deconv_output"));
}

TEST(SelectCases, NarrowsByTagAndExclusion) {
  Suite suite;
  suite.select = {"*"};
  suite.tags = {"ConvTranspose"};
  suite.exclude = {"*/form=geometry*"};
  const auto cases = select_cases(suite, corpus());
  ASSERT_TRUE(cases);
  ASSERT_FALSE(cases->empty());
  for (const Case& c : *cases) {
    EXPECT_THAT(c.tags, testing::Contains("ConvTranspose")) << c.name;
    EXPECT_EQ(c.name.find("geometry"), std::string::npos);
  }
}

TEST(SelectCases, KnowsAFilesCases) {
  Suite suite;
  suite.select = {"cases/found/gemm_bias_*.json"};
  suite.exclude = {"cases/found/gemm_bias_axis.json", "cases/found/gemm_bias_before_a_gemm.json"};
  const auto cases = select_cases(suite, corpus());
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_FALSE(cases->empty());
  for (const Case& each : *cases) EXPECT_EQ(each.family, "gemm_bias_row") << each.name;
}

/// A home of its own, so that broken suites can be tried.
class Home : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = core::TemporaryFolder::create();
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
    std::filesystem::create_directories(folder_->path() / "suites");
    std::filesystem::create_directories(folder_->path() / "cases" / "found");
    ::setenv("ASSAY_HOME", folder_->path().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("ASSAY_HOME"); }
  void write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(core::write_file(folder_->path() / file, text));
  }
  std::optional<core::TemporaryFolder> folder_;
};

TEST_F(Home, NamesTheNearestKeyOfASuite) {
  write("suites/odd.json", R"({"selct":["*"]})");
  const auto suite = load_suite("odd");
  ASSERT_FALSE(suite);
  EXPECT_EQ(suite.error().kind, core::ErrorKind::invalid_case);
  EXPECT_THAT(suite.error().message, HasSubstr("select"));
}

TEST_F(Home, DemandsCaseConverterReasonAndUrlOfAnExpectedFailure) {
  write("suites/odd.json", R"({"select":["*"],"expected_failures":[{"case":"a","converter":"b","reason":"c"}]})");
  const auto suite = load_suite("odd");
  ASSERT_FALSE(suite);
  EXPECT_THAT(suite.error().message, HasSubstr("expected_failures[0].url"));
}

TEST_F(Home, TakesExpectedFailuresThatCasesState) {
  const std::string family =
      R"j({"family":"f","title":"a title","graph":["agraph (float[2] x) => (float[2] y) {","y = Relu (x)","}"],"inputs":{"x":{}},
          "matrix":{"form":["one","two"]},"expected_failures":[)j";
  write("cases/found/f.json", family + R"j({"converter":"mine*","reason":"r","url":"u"},
      {"case":"f/form=two","converter":"mine:fast","reason":"$r","url":"u"},{"converter":"other","reason":"r","url":"u"}]})j");
  write("suites/asks.json", R"({"select":["*"],"converters":["mine"],"expected_failures_from":["cases/found/*"]})");
  write("suites/does_not.json", R"({"select":["*"],"converters":["mine"]})");
  const auto suite = load_suite("asks");
  ASSERT_TRUE(suite) << suite.error().message;
  ASSERT_EQ(suite->expected_failures.size(), 2U);
  EXPECT_EQ(suite->expected_failures[0].case_pattern, "f/*");
  EXPECT_EQ(suite->expected_failures[1].case_pattern, "f/form=two");
  EXPECT_EQ(suite->expected_failures[0].family, "f") << "the file that states it";
  EXPECT_TRUE(load_suite("does_not")->expected_failures.empty());
  write("suites/variant.json",
        R"({"select":["*"],"converters":["mine:fast"],"expected_failures_from":["cases/found/*"]})");
  EXPECT_EQ(load_suite("variant")->expected_failures.size(), 2U) << "a suite may name variants alone";
  write("cases/found/f.json", family + R"j({"converter":"mine","options":"other","reason":"r","url":"u"},
      {"converter":"mine","options":"def*","reason":"r","url":"u"}]})j");
  const auto of_its_options = load_suite("asks");
  ASSERT_EQ(of_its_options->expected_failures.size(), 1U) << "the other one speaks of none of its option sets";
  EXPECT_EQ(of_its_options->expected_failures[0].options, "def*");
  write("cases/found/f.json", family + R"j({"converter":"other mine:fast","reason":"r","url":"u"},
      {"converter":"other !mine","reason":"r","url":"u"}]})j");
  EXPECT_EQ(load_suite("asks")->expected_failures.size(), 1U) << "one of the first entry's two converters";
  const auto cases = load_corpus();
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_EQ(cases->size(), 2U);
  write("cases/found/f.json", family + R"j({"converter":"mine","reason":"r"}]})j");
  EXPECT_THAT(load_suite("asks").error().message, HasSubstr("f.json: expected_failures[0].url"));
}

TEST_F(Home, ReadsOptionSetsAndLabels) {
  write("suites/odd.json",
        R"({"select":["*"],"option_sets":[{"options":{"activation":"uint8"}},{"label":"own","options":{}}]})");
  const auto suite = load_suite("odd");
  ASSERT_TRUE(suite) << suite.error().message;
  EXPECT_EQ(suite->option_sets[0].label, "uint8");
  EXPECT_EQ(suite->option_sets[1].label, "own");
}

TEST_F(Home, RefusesTheSameCaseInTwoFiles) {
  const std::string family =
      R"j({"family":"f","title":"a title","graph":["agraph (float[2] x) => (float[2] y) {","y = Relu (x)","}"],"inputs":{"x":{}}})j";
  write("cases/one.json", family);
  write("cases/two.json", family);
  const auto cases = load_corpus();
  ASSERT_FALSE(cases);
  EXPECT_THAT(cases.error().message, testing::AllOf(HasSubstr("one.json"), HasSubstr("two.json")));
}

}  // namespace
}  // namespace assay::corpus
