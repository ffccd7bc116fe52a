#include "harness/core/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace assay::core {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(ReadJson, RefusesWhatNestsTooDeep) {
  EXPECT_TRUE(read_json<json>(nested(100)));
  const auto deep = read_json<json>(nested(101));
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().message, HasSubstr("nest more than 100 deep"));
  EXPECT_FALSE(read_json<json>(nested(100'000)));
  EXPECT_TRUE(json_or_discarded<json>(std::string(100'000, '[')).is_discarded());
}

TEST(ReadJson, CountsNoBracketsInStrings) {
  EXPECT_TRUE(read_json<json>("\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\""));
}

TEST(ReadJson, SaysWhereAndWhat) {
  EXPECT_THAT(read_json<json>("{\"a\": ").error().message, HasSubstr("not valid JSON: line 1"));
  EXPECT_THAT(read_json<json>("[1,2,3]", {.bytes = 6}).error().message, HasSubstr("more than the limit of 6"));
  EXPECT_THAT(read_json<json>(R"({"a": {"b": 1, "b": 2}})", {.unique_keys = true}).error().message,
              HasSubstr("\"b\" stands twice"));
}

}  // namespace
}  // namespace assay::core
