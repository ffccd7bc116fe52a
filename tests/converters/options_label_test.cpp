#include "converters/options_label.hpp"

#include <gtest/gtest.h>

namespace assay::converters {
namespace {

TEST(OptionsOfLabel, GivesTheOptionsThatHaveTheLabel) {
  for (const char* json :
       {"{}", R"({"activation":"uint8","symmetric":true,"per_axis":false,"method":"entropy"})", R"({"weight":"uint8"})",
        R"({"method":"percentile"})", R"({"method":"percentile","percentile":99.5})",
        R"({"precision":{"Concat":"fp32","c=1":"int8?"}})", R"({"method":"given"})",
        R"({"activation":"uint8","format":"qoperator"})", R"({"activation":"uint8","dynamic":true})",
        R"({"activation":"none","weight":"int4","block_size":32,"format":"nbits"})"}) {
    const Options options = options_from_json(json).value();
    EXPECT_EQ(options_of_label(options_label(options)), options) << json;
  }
}

TEST(OptionsOfLabel, KnowsNoLabelThatIsNone) {
  for (const char* label : {"", "per_axis", "strict", "default,uint8", "symmetric,uint8", "a,b=fp32", "cached"}) {
    EXPECT_EQ(options_of_label(label), std::nullopt) << label;
  }
}

}  // namespace
}  // namespace assay::converters
