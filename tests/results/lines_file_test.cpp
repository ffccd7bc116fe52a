#include "results/lines_file.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "harness/core/files.hpp"
#include "results/exchange.hpp"

namespace assay::results {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class LinesFile : public testing::Test {
 protected:
  void SetUp() override {
    ResultRow row;
    row.key = {"a", "default", "embedded", "1"};
    row.verdict = "pass";
    const std::string run = store_.begin_run({}, {row.key}).value();
    ASSERT_TRUE(store_.record(run, row).ok());
    ASSERT_TRUE(store_.finish_run(run).ok());
  }
  core::TemporaryFolder folder_ = core::TemporaryFolder::create().value();
  fs::path file_ = folder_.path() / "out" / "00001.jsonl.gz";
  Store store_ = Store::open(folder_.path() / "a.db").value();
};

TEST_F(LinesFile, HoldsWhatTheStoreDoes) {
  ASSERT_TRUE(core::make_folder(file_.parent_path()).ok());
  ASSERT_TRUE(write_lines_file(store_, file_).ok());
  const auto runs = read_lines_file(file_);
  ASSERT_TRUE(runs.ok()) << runs.error().message;
  Store other = Store::open(folder_.path() / "b.db").value();
  ASSERT_TRUE(other.merge(*runs).ok());
  std::ostringstream here, there;
  ASSERT_TRUE(export_lines(store_, here).ok());
  ASSERT_TRUE(export_lines(other, there).ok());
  EXPECT_EQ(there.str(), here.str());
}

TEST_F(LinesFile, IsReadUncompressedToo) {
  std::ostringstream text;
  ASSERT_TRUE(export_lines(store_, text).ok());
  ASSERT_TRUE(core::write_file(folder_.path() / "plain.jsonl", text.str()).ok());
  const auto runs = read_lines_file(folder_.path() / "plain.jsonl");
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ(runs->size(), 1U);
}

TEST_F(LinesFile, IsWholeWhoeverElseWritesIt) {
  ASSERT_TRUE(core::make_folder(file_.parent_path()).ok());
  std::vector<std::jthread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([this] {
      for (int times = 0; times < 5; ++times) EXPECT_TRUE(write_lines_file(store_, file_).ok());
    });
  }
  writers.clear();
  EXPECT_TRUE(read_lines_file(file_).ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(file_.parent_path()), fs::directory_iterator()), 1)
      << "no part is left beside it";
}

TEST_F(LinesFile, CutAnywhereIsDamaged) {
  ASSERT_TRUE(core::make_folder(file_.parent_path()).ok());
  ASSERT_TRUE(write_lines_file(store_, file_).ok());
  const std::string whole = core::read_file(file_).value();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    ASSERT_TRUE(core::write_file(file_, whole.substr(0, size)).ok());
    const auto runs = read_lines_file(file_);
    ASSERT_FALSE(runs.ok()) << size << " of " << whole.size() << " bytes";
    EXPECT_THAT(runs.error().message, HasSubstr("is damaged"));
  }
}

TEST_F(LinesFile, WithoutItsFolderIsAnError) {
  const core::Status written = write_lines_file(store_, file_);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().kind, core::ErrorKind::io);
  EXPECT_THAT(written.error().message, HasSubstr("can't be written (No such file or directory)"));
  EXPECT_THAT(read_lines_file(file_).error().message, HasSubstr("is no file that can be read"));
}

}  // namespace
}  // namespace assay::results
