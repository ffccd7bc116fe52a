#include "harness/report/repeat.hpp"

#include <gtest/gtest.h>

#include "tests/report/made_row.hpp"

namespace assay::report {
namespace {

TEST(Repeat, NamesTheOptionSetSoThatOneVerdictComesBack) {
  EXPECT_EQ(repeat_command(made_row("mini/stride=1", "fail"), run_words("run seeds --fault bias_dropped")),
            "./assay run mini/stride=1 --options default --fault bias_dropped");
}

TEST(Repeat, KeepsWhatDecidesTheVerdict) {
  RunWords words = run_words("run --require-judged --timeout 5 --memory 2 --metamorphic");
  words.database = "my runs.db";
  EXPECT_EQ(
      repeat_command(made_row("a/x=1", "unjudged"), words),
      "./assay run a/x=1 --options default --metamorphic --require-judged --timeout 5 --memory 2 --db 'my runs.db'");
}

TEST(Repeat, KeepsWhatConvertersMayDo) {
  EXPECT_EQ(
      repeat_command(made_row("a/x=1", "fail"), run_words("run a --writes /tmp/cache --reads 'my data' --no-sandbox")),
      "./assay run a/x=1 --options default --no-sandbox --reads 'my data' --writes /tmp/cache");
}

TEST(Repeat, NamesTheSuiteThatExpectsAFailure) {
  EXPECT_EQ(repeat_command(made_row("a/x=1", "xpass"), run_words("run")),
            "./assay run default --only a/x=1 --options default");
  EXPECT_EQ(repeat_command(made_row("a/x=1", "xfail-changed"), run_words("run seeds own.json")),
            "./assay run seeds own.json --only a/x=1 --options default");
}

TEST(Repeat, NamesTheSuiteWhoseOptionSetHasALabelAlone) {
  results::ResultRow row = made_row("a/x=1", "fail");
  row.key.options = "entropy";  // of suite tensorrt it is symmetric, too
  EXPECT_EQ(repeat_command(row, run_words("run tensorrt")), "./assay run tensorrt --only a/x=1 --options entropy");
  row.key.options = "int16";
  EXPECT_EQ(repeat_command(row, run_words("run int16")), "./assay run a/x=1 --options int16");
}

TEST(Repeat, NamesTheFileThatHoldsTheCase) {
  EXPECT_EQ(repeat_command(made_row("a/x=1", "fail"), run_words("run own.json")),
            "./assay run own.json a/x=1 --options default");
}

TEST(Repeat, KeepsOptionsThatWereGivenAndAddsNoneToAnArtifact) {
  EXPECT_EQ(repeat_command(made_row("a/x=1", "fail"), run_words("run a/x=1 --options '{\"symmetric\":true}'")),
            "./assay run a/x=1 --options '{\"symmetric\":true}'");
  EXPECT_EQ(repeat_command(made_row("a/x=1", "fail"), run_words("run a/x=1 --artifact q.onnx --made-by onnxruntime")),
            "./assay run a/x=1 --artifact q.onnx --made-by onnxruntime");
}

}  // namespace
}  // namespace assay::report
