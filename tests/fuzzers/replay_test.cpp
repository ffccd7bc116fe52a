// What the fuzzers keep, read by the ordinary build: what once found something stays judged in every run of the tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "harness/core/files.hpp"
#include "tests/fuzzers/target.hpp"

namespace assay::fuzzers {
namespace {

namespace fs = std::filesystem;

const fs::path& corpus() {
  static const fs::path folder = fs::path(ASSAY_SOURCE_DIR) / "tests" / "fuzzers" / "corpus";
  return folder;
}

class Fuzzers : public testing::TestWithParam<Target> {};

TEST_P(Fuzzers, ReadWhatIsKept) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(corpus() / GetParam().name)) {
    files.push_back(entry.path());
  }
  ASSERT_FALSE(files.empty());
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    std::cout << file.string() << std::endl;  // the last one shown is what a crash is about
    const auto bytes = core::read_file(file);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    GetParam().read(*bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzzers, testing::ValuesIn(targets()),
                         [](const auto& target) { return target.param.name; });

TEST(KeptInputs, HaveATargetForEachFolderThatIsKept) {
  std::set<std::string> names, folders;
  for (const Target& target : targets()) names.insert(target.name);
  for (const fs::directory_entry& entry : fs::directory_iterator(corpus())) folders.insert(entry.path().filename());
  EXPECT_EQ(names, folders);
}

}  // namespace
}  // namespace assay::fuzzers
