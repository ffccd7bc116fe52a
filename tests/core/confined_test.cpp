#include "harness/core/confined.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>

#include "harness/core/files.hpp"

namespace assay::core {
namespace {

namespace fs = std::filesystem;

class ConfinedTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryFolder::create();
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
    ASSERT_TRUE(make_folder(path("tree/inner")));
    ASSERT_TRUE(write_file(path("tree/inner/file"), "x"));
    ASSERT_TRUE(write_file(path("secret"), "s"));
  }
  [[nodiscard]] fs::path path(const std::string& name) const { return folder_->path() / name; }

 private:
  std::optional<TemporaryFolder> folder_;
};

TEST_F(ConfinedTest, TakesWhatLiesBelow) {
  for (const std::string name : {"inner/file", ".", "inner/../inner/file", "not/there/yet"}) {
    EXPECT_TRUE(confined_path(path("tree"), name)) << name;
  }
  EXPECT_TRUE(confined_path(path("tree"), path("tree/inner/file")));
}

TEST_F(ConfinedTest, RefusesWhatLeaves) {
  fs::create_symlink("../secret", path("tree/link"));
  fs::create_directory_symlink("/", path("tree/root"));
  for (const std::string name : {"..", "../secret", "inner/../../secret", "/etc/passwd", "link", "root/etc/passwd"}) {
    EXPECT_FALSE(confined_path(path("tree"), name)) << name;
  }
}

TEST_F(ConfinedTest, CopiesLinksInsideAndRefusesOthers) {
  fs::create_symlink("inner/file", path("tree/link"));
  ASSERT_TRUE(copy_tree(path("tree"), path("copy")));
  EXPECT_TRUE(fs::is_regular_file(path("copy/link")));
  EXPECT_FALSE(fs::is_symlink(path("copy/link")));

  fs::create_directory_symlink("/", path("tree/root"));
  EXPECT_FALSE(copy_tree(path("tree"), path("second")));
  fs::remove(path("tree/root"));
  ASSERT_EQ(mkfifo(path("tree/fifo").c_str(), 0600), 0);
  EXPECT_FALSE(copy_tree(path("tree"), path("third")));
}

}  // namespace
}  // namespace assay::core
