#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "harness/core/files.hpp"
#include "tests/cli/program.hpp"

namespace assay::test {

/// A folder with a corpus of its own: one family "mini" of two Conv cases, and suite `default`.
class HomeTest : public testing::Test {
 protected:
  void SetUp() override {
    core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
    std::filesystem::create_directories(path("cases"));
    std::filesystem::create_directories(path("suites"));
    write("cases/mini.json", kMiniFamily);
    write("suites/default.json", R"({"title": "all", "select": ["*"], "converters": ["embedded"],
                                     "option_sets": [{"label": "default", "options": {}}]})");
  }

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_->path() / name; }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(core::write_file(path(name), text).ok());
  }
  /// Runs the program with this corpus, in this folder.
  [[nodiscard]] Call run(const std::vector<std::string>& arguments,
                         std::map<std::string, std::string> environment = {}) const {
    environment.emplace("ASSAY_HOME", folder_->path().string());
    environment.emplace("ASSAY_COMMAND", "./assay");
    return assay(arguments, folder_->path(), environment);
  }

  static constexpr const char* kMiniFamily = R"json({
    "family": "mini", "title": "a plain Conv", "tags": ["Conv"],
    "matrix": { "stride": [1, 2] },
    "graph": ["agraph (float[2,3,9,7] x) => (float[N,5,H,W] y) {",
              "  y = Conv <kernel_shape=[3,2], strides=[$stride,$stride]> (x, w, b)", "}"],
    "opset": 13,
    "initializers": { "w": { "shape": [5, 3, 3, 2], "data": "normal", "spread": { "axis": 0, "ratio": 20 } },
                      "b": { "shape": [5], "data": "normal" } },
    "inputs": { "x": { "data": ["typical", "saturate"], "range": [-3, 2] } },
    "kills": ["bias_dropped"] })json";

 private:
  std::optional<core::TemporaryFolder> folder_;
};

}  // namespace assay::test
