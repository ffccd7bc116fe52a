#include "harness/programs/environments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "harness/core/files.hpp"

namespace assay::programs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A folder of environments with one layer that "one-1.2" sees.
class Environments : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = core::TemporaryFolder::create();
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
    setenv("ASSAY_VENVS", folder_->path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe): no other thread
    make("one-1.2", "layer-torch-2.1\n");
    make("two-3", "");
    make("layer-torch-2.1", "");
    make(".partial-two-4", "");
    std::filesystem::create_directories(folder_->path() / "broken-5");
  }
  void TearDown() override { unsetenv("ASSAY_VENVS"); }  // NOLINT(concurrency-mt-unsafe): no other thread

  void make(const std::string& name, const std::string& layers) const {
    std::filesystem::create_directories(folder_->path() / name / "lib");
    ASSERT_TRUE(core::write_file(folder_->path() / name / "packages.txt", "a==1\n"));
    ASSERT_TRUE(core::write_file(folder_->path() / name / "lib" / "file", std::string(1000, 'x')));
    if (!layers.empty()) {
      ASSERT_TRUE(core::write_file(folder_->path() / name / "layers.txt", layers));
    }
  }
  static std::vector<std::string> names(const std::vector<Environment>& environments) {
    std::vector<std::string> names;
    for (const Environment& each : environments) names.push_back(each.name);
    return names;
  }

 private:
  std::optional<core::TemporaryFolder> folder_;
};

TEST_F(Environments, ThatAreCompleteAreListed) {
  const auto all = list_environments();
  EXPECT_THAT(names(all), ElementsAre("layer-torch-2.1", "one-1.2", "two-3"));
  EXPECT_THAT(all[1].layers, ElementsAre("layer-torch-2.1"));
  EXPECT_EQ(size_of(all[2]), 1005U);
}

TEST_F(Environments, KeepTheLayersThatTheySee) {
  EXPECT_THAT(unused_layers(), IsEmpty());
  EXPECT_EQ(remove_environment({"one-1.2", {}}), "");
  EXPECT_THAT(names(unused_layers()), ElementsAre("layer-torch-2.1"));
  EXPECT_THAT(names(list_environments()), ElementsAre("layer-torch-2.1", "two-3"));
}

}  // namespace
}  // namespace assay::programs
