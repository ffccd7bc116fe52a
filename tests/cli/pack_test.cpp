// `assay pack`, the run.sh in its parts, and `assay import-results`.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

/// Runs a shell's words with an empty environment, where the system allows it with the folders in $HIDDEN, separated by
/// blanks, out of sight.
constexpr const char* kElsewhere = R"(
if unshare -rm true 2>/dev/null; then
  exec unshare -rm sh -c 'for each in $HIDDEN; do mount -t tmpfs none "$each" || exit 99; done; cd "$PLACE"; exec env -i "$@"' sh "$@"
fi
exec env -i "$@")";

class Pack : public HomeTest {
 protected:
  void SetUp() override {
    HomeTest::SetUp();
    fs::create_directory_symlink(source_tree() / "tools", path("tools"));
  }
  /// The words on a machine that has neither the source tree nor this corpus.
  [[nodiscard]] Call elsewhere(const std::vector<std::string>& words) const {
    fs::create_directories(path("there"));
    core::SpawnOptions options;
    options.arguments = {"sh", "-c", kElsewhere, "sh"};
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
    options.working_folder = path("there").string();
    options.environment = {
        {"PLACE", path("there").string()},
        {"HIDDEN", source_tree().string() + " " + path("cases").string() + " " + path("suites").string()}};
    return finished(options);
  }
  /// Takes `part` to the other machine, and starts its script there.
  [[nodiscard]] Call arrive(const std::string& part, const std::vector<std::string>& words = {}) const {
    const fs::path folder = path("arrived") / part;
    if (!fs::exists(folder)) {
      fs::create_directories(folder);
      fs::copy(path("pack") / part, folder);
    }
    std::vector<std::string> all = {"sh", (folder / "run.sh").string(), "target"};
    all.insert(all.end(), words.begin(), words.end());
    return elsewhere(all);
  }
  /// Puts another byte into the middle of a file.
  void damage(const std::string& file) const {
    const auto size = static_cast<std::streamoff>(fs::file_size(path(file)));
    std::fstream stream(path(file), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(size / 2);
    const int byte = stream.get();
    stream.seekp(size / 2);
    stream.put(static_cast<char>(~byte));
  }
  [[nodiscard]] std::vector<std::string> parts() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path("pack"))) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(Pack, RunsWhereNothingIsInstalledAndItsResultsComeBack) {
  const Call made = run({"pack", "pack", "--converter", "embedded", "--level", "0", "--parts", "6M"});
  ASSERT_EQ(made.code, 0) << made.out << made.err;
  const std::vector<std::string> names = parts();
  ASSERT_GE(names.size(), 2U);
  for (const std::string& name : names) {
    std::uintmax_t bytes = 0;
    for (const auto& file : fs::directory_iterator(path("pack") / name)) bytes += file.file_size();
    EXPECT_LE(bytes, std::uintmax_t{6} << 20U) << name;
  }

  const Call first = arrive(names.front());
  EXPECT_EQ(first.code, 20) << first.out << first.err;
  EXPECT_THAT(first.err, HasSubstr("still missing: part-02"));
  fs::remove_all(path("arrived"));
  for (std::size_t i = 1; i + 1 < names.size(); ++i) EXPECT_EQ(arrive(names[i]).code, 20);
  const std::string last = names.back();
  fs::create_directories(path("arrived") / last);
  fs::copy(path("pack") / last, path("arrived") / last);
  damage("arrived/" + last + "/" + last + ".bin");
  const Call damaged = arrive(last);
  EXPECT_EQ(damaged.code, 21);
  EXPECT_THAT(damaged.err, HasSubstr("is damaged: expected sha256"));
  EXPECT_FALSE(fs::exists(path("there/target/pack")));

  fs::remove_all(path("arrived") / last);
  const Call there = arrive(last, {"--", "--json", "--jobs", "2"});
  ASSERT_EQ(there.code, 0) << there.out << there.err;
  const std::string id = there.json()["run"];
  EXPECT_EQ(there.json()["verdicts"]["pass"], 2);

  const std::string file = path("there/target/results.db.gz").string();
  const Call imported = run({"import-results", file, "--json"});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(imported.json()["new_verdicts"], 2);
  EXPECT_EQ(imported.json()["runs"][0]["run"], id);
  const Call again = run({"import-results", file});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.out, HasSubstr("1 run, 0 new; 2 verdicts, 0 new"));
  EXPECT_THAT(run({"history", "mini/*"}).out, HasSubstr("mini/stride=2"));
  EXPECT_EQ(run({"expect", "--from", id}).code, 0);

  // A red verdict there is the run's exit code, and the same file brings both runs.
  const Call red = arrive(last, {"--", "--fault", "bias_dropped", "--quiet"});
  EXPECT_EQ(red.code, 1) << red.out << red.err;
  EXPECT_EQ(run({"import-results", file, "--json"}).json()["new_runs"], 1);
}

TEST_F(Pack, NamesWhatCannotBePacked) {
  const auto refused = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"pack", "pack"};
    all.insert(all.end(), words.begin(), words.end());
    const Call call = run(all);
    EXPECT_EQ(call.code, 2) << call.out;
    EXPECT_FALSE(fs::exists(path("pack")));
    return call.err;
  };
  EXPECT_THAT(refused({"--converter", "nobody"}), HasSubstr("there is no converter \"nobody\""));
  EXPECT_THAT(refused({"--suite", "nothing"}), HasSubstr("\"nothing\" is no suite"));
  EXPECT_THAT(refused({"--parts", "60X"}), HasSubstr("a number of bytes such as 60M"));
  EXPECT_THAT(refused({"--parts", "1K"}), HasSubstr("at least 256K"));
  EXPECT_THAT(refused({"--converter", "reference"}), HasSubstr("stored cases, which are not packed"));
  fs::create_directories(path("converters/adapters"));
  fs::create_directory_symlink(source_tree() / "converters/adapters/onnxruntime",
                               path("converters/adapters/onnxruntime"));
  EXPECT_THAT(refused({"--converter", "onnxruntime==0.0.1"}),
              testing::AllOf(HasSubstr("onnxruntime==0.0.1 is not installed; run "),
                             HasSubstr("/assay converters install onnxruntime==0.0.1")));
  fs::create_directories(path("taken"));
  write("taken/file", "");
  const Call taken = run({"pack", "taken"});
  EXPECT_EQ(taken.code, 2);
  EXPECT_THAT(taken.err, HasSubstr("exists already"));
}

TEST_F(Pack, OfAnOutsideConverterBringsItsInterpreterAlong) {
  const fs::path python = ASSAY_ONNXRUNTIME_PYTHON;
  if (!python.is_absolute()) GTEST_SKIP() << "ONNX Runtime is not installed: ./assay converters install onnxruntime";
  const fs::path environment = python.parent_path().parent_path();
  const std::string version = environment.filename().string().substr(sizeof("onnxruntime"));
  fs::create_directories(path("converters"));
  fs::create_directory_symlink(source_tree() / "converters/adapters", path("converters/adapters"));
  const std::map<std::string, std::string> installed = {{"ASSAY_VENVS", environment.parent_path().string()}};
  const Call made = run(
      {"pack", "pack", "--converter", "onnxruntime==" + version, "--converter", "embedded", "--level", "0"}, installed);
  ASSERT_EQ(made.code, 0) << made.out << made.err;
  const Call there = arrive("part-01", {"--", "--json"});
  ASSERT_GE(there.code, 0) << there.err;
  const Call here =
      run({"run", "--converter", "onnxruntime@" + version, "--converter", "embedded", "--json"}, installed);
  EXPECT_EQ(there.code, here.code) << there.out << there.err;
  const nlohmann::json theirs = there.json()["results"], ours = here.json()["results"];
  ASSERT_EQ(theirs.size(), 4U) << there.out << there.err;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    for (const char* key : {"case", "converter", "version", "verdict", "reason", "margin", "sqnr_db"}) {
      EXPECT_EQ(theirs[i][key], ours[i][key]) << theirs[i];
    }
  }
}

// Suites tensorrt and reported on TensorRT 8.6.1 and H200s, as its pack brought them back
// (docs/converters/tensorrt.md).
TEST_F(Pack, ResultsOfARealGpuAreImported) {
  const std::string file = (source_tree() / "tests/data/tensorrt/results-8.6.1-h200.db.gz").string();
  const Call imported = run({"import-results", file, "--json"});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(imported.json()["new_runs"], 68);
  EXPECT_EQ(imported.json()["new_verdicts"], 784 + 599 + 621 + 537 + 132 + 10 + 11)
      << "entropy, reported, parts of minmax, strict and allowed, what is newer, and what was mended";
  EXPECT_THAT(imported.json()["runs"][0]["machine"]["accelerators"].get<std::string>(), HasSubstr("NVIDIA H200"));
  const Call series = run({"history", "deconv_output/form=geometry,what=dilated"});
  EXPECT_EQ(series.code, 0) << series.err;
  EXPECT_THAT(series.out, AllOf(HasSubstr("tensorrt@8.6.1"), HasSubstr("not-quantized")));
}

TEST_F(Pack, ResultsThatAreNoneAreNotImported) {
  write("text.db", "no database");
  const Call text = run({"import-results", "text.db"});
  EXPECT_EQ(text.code, 2);
  EXPECT_THAT(text.err, HasSubstr("text.db is no SQLite database; nothing is taken from it"));
  EXPECT_FALSE(fs::exists(path(".assay")));
  EXPECT_EQ(run({"import-results", "absent.db"}).code, 2);
  EXPECT_EQ(run({"export-results", "out.gz"}).code, 2);
}

TEST_F(Pack, ResultsTravelByThemselvesToo) {
  ASSERT_EQ(run({"run", "--db", "one.db"}).code, 0);
  ASSERT_EQ(run({"export-results", "one.gz", "--db", "one.db"}).code, 0);
  ASSERT_EQ(run({"import-results", "one.gz", "--db", "two.db"}).code, 0);
  ASSERT_EQ(run({"import-results", "one.db", "--db", "two.db"}).code, 0);
  const Call history = run({"history", "mini/*", "--db", "two.db"});
  EXPECT_EQ(history.out, run({"history", "mini/*", "--db", "one.db"}).out);
}

}  // namespace
}  // namespace assay::test
