#include "harness/core/staging.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "harness/core/confined.hpp"
#include "harness/core/files.hpp"

namespace assay::core {
namespace {

namespace fs = std::filesystem;

class StagingTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = core::TemporaryFolder::create();
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
  }
  [[nodiscard]] fs::path path(const std::string& name) const { return folder_->path() / name; }
  [[nodiscard]] bool is_empty() const { return fs::is_empty(folder_->path()); }

 private:
  std::optional<core::TemporaryFolder> folder_;
};

TEST_F(StagingTest, LeavesNothingWhereItIsNotCommitted) {
  {
    auto staging = Staging::create(path("place"));
    ASSERT_TRUE(staging);
    ASSERT_TRUE(core::write_file(staging->path() / "file", "x"));
    EXPECT_FALSE(fs::exists(path("place")));
  }
  EXPECT_TRUE(is_empty());
}

TEST_F(StagingTest, PutsTheWholeFolderIntoItsPlaceAlsoAnEmptyOne) {
  fs::create_directory(path("place"));
  auto staging = Staging::create(path("place/"));
  ASSERT_TRUE(staging);
  ASSERT_TRUE(core::write_file(staging->path() / "file", "x"));
  ASSERT_TRUE(staging->commit());
  EXPECT_TRUE(fs::exists(path("place/file")));
}

TEST_F(StagingTest, TakesNoPlaceThatHoldsSomething) {
  ASSERT_TRUE(core::make_folder(path("place/inner")));
  EXPECT_FALSE(Staging::create(path("place")));
}

TEST_F(StagingTest, CopiesFoldersWhole) {
  ASSERT_TRUE(core::make_folder(path("from/inner")));
  ASSERT_TRUE(core::write_file(path("from/inner/file"), "x"));
  ASSERT_TRUE(copy_tree(path("from"), path("to/here")));
  EXPECT_TRUE(fs::exists(path("to/here/inner/file")));
  EXPECT_TRUE(copy_tree(path("absent"), path("there")));
  EXPECT_FALSE(fs::exists(path("there")));
}

}  // namespace
}  // namespace assay::core
