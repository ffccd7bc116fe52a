#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/files.hpp"
#include "harness/core/forked.hpp"
#include "harness/core/owner.hpp"

namespace assay::core {
namespace {
namespace fs = std::filesystem;

/// This process's tag as one of a process of the same number that started at another time.
std::string tag_of_the_dead() { return process_tag() + "0"; }

TEST(TemporaryFolders, OfTheDeadAreSwept) {
  const TemporaryFolder own = TemporaryFolder::create().value();
  const fs::path parent = own.path().parent_path().parent_path();
  const fs::path dead = parent / ("assay-" + tag_of_the_dead() + "-abcdef");
  const fs::path elsewhere = parent / "assay-0123456789abcdef-1-1-abcdef";
  const fs::path another = parent / "assay-notes";
  for (const fs::path& folder : {dead, elsewhere, another}) fs::create_directories(folder / "deep");
  std::ofstream(dead / "deep" / "file") << "left";

  sweep_temporary_folders();
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(own.path())) << "its owner lives";
  EXPECT_TRUE(fs::exists(elsewhere)) << "of another machine or container: nobody here can tell";
  EXPECT_TRUE(fs::exists(another)) << "not one of these";
  for (const fs::path& folder : {elsewhere, another}) fs::remove_all(folder);
}

TEST(TemporaryFolders, ThatAreLinksAreLeftAlone) {
  const TemporaryFolder own = TemporaryFolder::create().value();
  const fs::path link = own.path().parent_path().parent_path() / ("assay-" + tag_of_the_dead() + "-ghijkl");
  fs::create_directory_symlink(own.path(), link);
  std::ofstream(own.path() / "file") << "kept";
  sweep_temporary_folders();
  EXPECT_TRUE(fs::exists(own.path() / "file"));
  fs::remove(link);
}

TEST(TemporaryFolders, LieInOneFolderOfTheirProcess) {
  const TemporaryFolder one = TemporaryFolder::create().value(), two = TemporaryFolder::create().value();
  EXPECT_EQ(one.path().parent_path(), process_folder().value());
  EXPECT_EQ(two.path().parent_path(), process_folder().value());
  Forked child = Forked::start([](Forked::Line& line) { line.send(process_folder().value().string()); }).value();
  std::vector<std::string> told;
  while (!child.ended()) {
    for (std::string& each : child.receive()) told.push_back(std::move(each));
  }
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(fs::path(told.front()), process_folder().value()) << "a forked child has its own";
  EXPECT_FALSE(fs::exists(told.front())) << "which goes with it";
  EXPECT_TRUE(fs::exists(one.path())) << "while its parent's stay";
}

TEST(ProcessTag, SaysWhetherItsProcessRuns) {
  EXPECT_EQ(tagged_process_state(process_tag()), ProcessState::runs);
  EXPECT_EQ(tagged_process_state(tag_of_the_dead()), ProcessState::ended);
  EXPECT_EQ(tagged_process_state("0123456789abcdef-1-1"), ProcessState::elsewhere);
  EXPECT_EQ(tagged_process_state("notes"), ProcessState::elsewhere);
}

}  // namespace
}  // namespace assay::core
