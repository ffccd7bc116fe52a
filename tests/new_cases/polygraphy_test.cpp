#include "harness/new_cases/polygraphy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "harness/core/files.hpp"

namespace assay::new_cases {
namespace {

using testing::HasSubstr;

class Polygraphy : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = core::TemporaryFolder::create();
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
  }
  [[nodiscard]] core::Result<std::vector<core::TensorMap>> load(const std::string& text) const {
    const auto file = folder_->path() / "inputs.json";
    EXPECT_TRUE(core::write_file(file, text));
    return load_polygraphy_inputs(file);
  }

 private:
  std::optional<core::TemporaryFolder> folder_;
};

// numpy.save of float32 [1.5, -2.25].
constexpr const char* kArray =
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKSwgfSAgICAgICAgICAgICAgICAg"
    "ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAMA/AAAQwA==";

TEST_F(Polygraphy, ReadsABatchAnObject) {
  const std::string batch = std::string(R"({"x": {"array": ")") + kArray + R"(", "polygraphy_class": "ndarray"}})";
  const auto batches = load("[" + batch + "," + batch + "]");
  ASSERT_TRUE(batches) << batches.error().message;
  ASSERT_EQ(batches->size(), 2U);
  EXPECT_EQ((*batches)[1].at("x").to_reals(), (std::vector<double>{1.5, -2.25}));
}

TEST_F(Polygraphy, NamesWhatItCannotRead) {
  for (const char* text : {"", "{}", "[]", "[3]"}) EXPECT_FALSE(load(text)) << text;
  const auto wrong = load(R"([{"x": {"array": "!"}}])");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("inputs.json: batch 0, \"x\""));
}

TEST(Base64, DecodesEveryLengthAndRefusesOtherCharacters) {
  EXPECT_EQ(base64_decoded(""), "");
  EXPECT_EQ(base64_decoded("TQ=="), "M");
  EXPECT_EQ(base64_decoded("TWE="), "Ma");
  EXPECT_EQ(base64_decoded("TWFu"), "Man");
  EXPECT_EQ(base64_decoded("TWF"), std::nullopt);
  EXPECT_EQ(base64_decoded("TW-u"), std::nullopt);
}

}  // namespace
}  // namespace assay::new_cases
