// docs/schema: what each --json prints, held by what it prints.
#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

#include "harness/core/files.hpp"
#include "tests/cli/home.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::IsEmpty;
using Words = std::vector<std::string>;

std::filesystem::path schemas() { return source_tree() / "docs" / "schema"; }

nlohmann::json schema_of(const std::string& name) {
  std::ifstream stream(schemas() / (name + ".json"));
  return nlohmann::json::parse(stream, nullptr, false);
}

class Schema : public HomeTest {
 protected:
  static std::string data(const std::string& name) { return (test_data() / "trt861" / name).string(); }
  /// What `words` print fits docs/schema/NAME.json.
  void expect_fits(const std::string& name, Words words) const {
    words.emplace_back("--json");
    const Call call = run(words);
    const nlohmann::json schema = schema_of(name), printed = call.json();
    ASSERT_FALSE(schema.is_discarded()) << "docs/schema/" << name << ".json can't be read";
    ASSERT_FALSE(printed.is_discarded()) << words[0] << ": " << call.out << call.err;
    EXPECT_THAT(schema_faults(schema, printed, schemas().string()), IsEmpty()) << testing::PrintToString(words);
  }
};

TEST_F(Schema, IsThereForEveryCommandThatPrintsJson) {
  std::istringstream lines(run({"completion", "bash"}).out);
  std::set<std::string> commands, described;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.find("') flags='");
    if (end != std::string::npos && line.find("--json", end) != std::string::npos) {
      std::string name = line.substr(line.find('\'') + 1, end - line.find('\'') - 1);
      std::ranges::replace(name, ' ', '-');
      commands.insert(name);
    }
  }
  for (const auto& file : std::filesystem::directory_iterator(schemas())) {
    const std::string name = file.path().stem().string();
    if (file.path().extension() != ".json" || name.starts_with("part-") || name == "protocol") continue;
    const nlohmann::json schema = schema_of(name);
    EXPECT_TRUE(schema.is_object() && schema.contains("title")) << name;
    described.insert(name);
  }
  EXPECT_EQ(described, commands);
}

TEST_F(Schema, HoldsWhatRunsPrint) {
  expect_fits("run", {"run", "--db", "h.db"});
  expect_fits("run", {"run", "--db", "h.db", "--fault", "bias_dropped"});
  write("dies.sh",
        "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"1\"}'\nread line\nkill -KILL $$\n");
  const std::string dies = "sh " + path("dies.sh").string();
  expect_fits("run", {"run", "mini/stride=1", "--converter-cmd", dies});
  ASSERT_EQ(run({"accept", "--db", "h.db", "--reason", "x"}).code, 0);
  expect_fits("run", {"run", "--db", "h.db", "--fault", "zero_point_ignored"});
  expect_fits("history", {"history", "--db", "h.db"});
  ASSERT_NE(run({"run", "--db", "h.db", "--converter-cmd", dies}).code, 0);
  expect_fits("drift", {"drift", "--db", "h.db", "--converter", "embedded"});
  ASSERT_EQ(run({"export-results", "r.db.gz", "--db", "h.db"}).code, 0);
  expect_fits("import-results", {"import-results", "r.db.gz", "--db", "other.db"});
  expect_fits("prune", {"prune", "--keep", "1", "--dry-run", "--db", "h.db"});
  expect_fits("prune", {"prune", "--keep", "1", "--db", "other.db"});
  expect_fits("db-check", {"db", "check", "--db", "other.db"});
  expect_fits("db-backup", {"db", "backup", "copy.db", "--db", "other.db"});
  expect_fits("db-vacuum", {"db", "vacuum", "--db", "other.db"});
  expect_fits("plan", {"plan", "--chunks", "2", "--db", "h.db"});
  ASSERT_EQ(run({"work", "plan", "1"}).code, 0);
  expect_fits("merge", {"merge", "plan", "--db", "h.db"});
  ASSERT_EQ(run({"work", "plan", "2"}).code, 0);
  expect_fits("merge", {"merge", "plan", "--db", "h.db"});
}

TEST_F(Schema, HoldsWhatIsSaidOfCases) {
  expect_fits("list", {"list"});
  expect_fits("list", {"list", "--faults"});
  expect_fits("explain", {"explain", "mini/stride=1"});
  expect_fits("explain", {"explain", "mini/stride=1", "--fault", "bias_dropped"});
  expect_fits("explain", {"explain", "mini/stride=1", "--metamorphic"});
  std::filesystem::create_directories(path("docs"));
  write("docs/glossary.md", "## margin\n\nError over limit.\n");
  expect_fits("explain", {"explain", "margin"});
  expect_fits("bundle", {"bundle", "mini/stride=1", "kept"});
  expect_fits("replay", {"replay", "kept"});
  expect_fits("score", {"score", "--fault", "bias_dropped", "--fault", "nan_ignored", "--variant", "uint8"});
  expect_fits("score", {"score", "--artifacts", "embedded"});
}

TEST_F(Schema, HoldsWhatIsSaidOfAModel) {
  const std::string model = data("concat_ranges.onnx"), given = data("concat_ranges.calibration.npz");
  expect_fits("check", {"check", model});
  expect_fits("check", {"check", model, "--fault", "concat_range_narrow", "--calibration", given});
  expect_fits("convert", {"convert", model, "--output", "out", "--calibration", given});
  expect_fits("check", {"check", model, "--artifact", "out/model.onnx", "--calibration", given});
  expect_fits("explain", {"explain", model, "--artifact", "out/model.onnx", "--calibration", given});
  expect_fits("audit", {"audit", model, "--artifact", "out/model.onnx", "--calibration", given});
  expect_fits("reduce", {"reduce", model, "--fault", "concat_range_narrow", "--output", "small"});
  expect_fits("bisect", {"bisect", model, "--fault", "concat_range_narrow"});
  expect_fits("bisect", {"bisect", model, "--over", "batches"});
  expect_fits("precision", {"precision", model, "--fault", "concat_range_narrow"});
  ASSERT_EQ(run({"exec", model, "--inputs", given, "--output", "one"}).code, 0);
  expect_fits("compare", {"compare", "one/0000", "one/0000"});
}

TEST_F(Schema, HoldsTheRest) {
  expect_fits("converters-list", {"converters", "list"});
  expect_fits("converters-test", {"converters", "test", "--converter", "embedded"});
  expect_fits("doctor", {"doctor"});
  expect_fits("fuzz", {"fuzz", "--graphs", "2", "--output", "found"});
  expect_fits("fuzz",
              {"fuzz", "--graphs", "1", "--fault", "bias_dropped", "--output", "found", "--reduce-seconds", "1"});
}

}  // namespace
}  // namespace assay::test
