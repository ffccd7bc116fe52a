#include "converters/converter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::converters {
namespace {

using core::DType;
using testing::HasSubstr;

TEST(OptionsFromJson, AnEmptyObjectGivesTheDefaults) {
  const auto options = options_from_json("{}");
  ASSERT_TRUE(options);
  EXPECT_EQ(*options, Options{});
}

TEST(OptionsFromJson, ReadsEveryKey) {
  const auto options = options_from_json(R"({"activation":"uint8","weight":"int8","symmetric":true,"per_axis":false,
      "method":"percentile","percentile":99.5,"precision":{"Concat":"fp32","c1":"int8?"},"cache":"a/b.cache"})");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->activation, DType::uint8);
  EXPECT_TRUE(options->symmetric);
  EXPECT_FALSE(options->per_axis);
  EXPECT_EQ(options->method, Method::percentile);
  EXPECT_EQ(options->percentile, 99.5);
  EXPECT_EQ(options->precision.at("Concat"), "fp32");
  EXPECT_EQ(options->precision.at("c1"), "int8?");
  EXPECT_EQ(options->cache, "a/b.cache");
}

TEST(OptionsFromJson, TheBaseSuppliesWhatIsLeftOut) {
  Options base;
  base.activation = DType::uint8;
  const auto options = options_from_json(R"({"symmetric":true})", base);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->activation, DType::uint8);
  EXPECT_TRUE(options->symmetric);
}

TEST(OptionsFromJson, AnUnknownKeyListsTheKeysNearestFirst) {
  const auto options = options_from_json(R"({"per_axs":true})");
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().kind, core::ErrorKind::usage);
  EXPECT_THAT(options.error().message, HasSubstr("no \"per_axs\"; the keys are per_axis"));
}

TEST(OptionsFromJson, AnUnknownValueListsTheChoices) {
  for (const auto* text : {R"({"method":"minmix"})", R"({"activation":"int4"})", R"({"precision":{"Conv":"int4"}})"}) {
    const auto options = options_from_json(text);
    ASSERT_FALSE(options) << text;
    EXPECT_THAT(options.error().message, HasSubstr("choose one of")) << text;
  }
}

TEST(OptionsFromJson, CodesOfOtherSizesNeedLaterOpsets) {
  const std::initializer_list<std::pair<const char*, std::int64_t>> cases{
      {R"({"activation":"none","weight":"uint8"})", 0},
      {R"({"activation":"int16"})", 21},
      {R"({"weight":"int4"})", 21},
      {R"({"activation":"none","block_size":32})", 21},
      {R"({"activation":"none","weight":"float4e2m1"})", 23},
      {R"({"activation":"none","weight":"int2","block_size":32})", 25},
      {R"({"activation":"none","weight":"int4","scale_type":"float8e4m3fn"})", 21},
      {R"({"activation":"none","weight":"float4e2m1","scale_type":"float8e8m0"})", 24}};
  for (const auto& [json, opset] : cases) {
    const auto options = options_from_json(json);
    ASSERT_TRUE(options) << json;
    EXPECT_EQ(options->needed_opset(), opset) << json;
    EXPECT_EQ(*options_from_json(options_to_json(*options)), *options) << json;
  }
}

TEST(OptionsFromJson, ScalesInCodesGoWithWeightsAlone) {
  const auto refused = options_from_json(R"({"scale_type":"float8e8m0"})");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("goes with"));
  EXPECT_FALSE(options_from_json(R"({"activation":"none","scale_type":"int8"})"));
}

TEST(OptionsFromJson, BlocksGoWithWeightsAlone) {
  const auto options = options_from_json(R"({"activation":"none","weight":"uint4","block_size":32})");
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->weights_only());
  EXPECT_EQ(options->block, 32);
  for (const char* json :
       {R"({"block_size":32})", R"({"activation":"none","block_size":-1})", R"({"activation":"none","block_size":2.5})",
        R"({"activation":"int4"})", R"({"format":"onnx"})"}) {
    const auto refused = options_from_json(json);
    ASSERT_FALSE(refused) << json;
    EXPECT_EQ(refused.error().kind, core::ErrorKind::usage) << json;
  }
}

TEST(OptionsFromJson, DynamicRangesGoWithATypeOfActivations) {
  const auto dynamic = options_from_json(R"({"activation":"uint8","dynamic":true})");
  ASSERT_TRUE(dynamic);
  EXPECT_FALSE(dynamic->calibrates());
  EXPECT_FALSE(dynamic->weights_only());
  EXPECT_TRUE(options_from_json("{}")->calibrates());
  EXPECT_FALSE(options_from_json(R"({"activation":"none","dynamic":true})"));
  // A case that asks for weights alone goes before a suite's option set.
  const auto alone = options_from_json(R"({"activation":"none"})", *dynamic);
  ASSERT_TRUE(alone);
  EXPECT_FALSE(alone->dynamic);
  const auto blocks = options_from_json(R"({"activation":"none","block_size":32})");
  EXPECT_EQ(options_from_json(R"({"activation":"uint8","dynamic":true})", *blocks)->block, 0);
}

TEST(OptionsFromJson, RefusesWhatIsNotAnObjectOfRightKinds) {
  for (const auto* text : {"", "[]", "{", R"({"symmetric":1})", R"({"cache":3})", R"({"percentile":101})",
                           R"({"precision":"int8"})", R"({"percentile":"NaN"})"}) {
    EXPECT_FALSE(options_from_json(text)) << text;
  }
}

TEST(OptionsToJson, ReadsBackEqual) {
  Options options;
  options.activation = DType::uint8;
  options.method = Method::percentile;
  options.percentile = 99.9;
  options.precision = {{"a\"b", "int8?"}};
  options.cache = "c";
  const auto back = options_from_json(options_to_json(options));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, options);
}

TEST(OptionsLabel, NamesOnlyWhatDiffersFromTheDefaults) {
  Options options;
  EXPECT_EQ(options_label(options), "default");
  options.activation = DType::uint8;
  options.symmetric = true;
  options.per_axis = false;
  options.method = Method::entropy;
  EXPECT_EQ(options_label(options), "uint8,symmetric,per_tensor,entropy");
}

TEST(OptionsLabel, TellsPrecisionAndPercentileApart) {
  Options options;
  options.method = Method::percentile;
  options.percentile = 99.5;
  options.precision = {{"Concat", "fp32"}};
  EXPECT_EQ(options_label(options), "percentile=99.5,Concat=fp32");
}

TEST(Names, EveryMethodAndOutcomeHasOne) {
  EXPECT_EQ(method_name(Method::mse), "mse");
  EXPECT_EQ(outcome_name(Outcome::refused), "refused");
  EXPECT_EQ(outcome_name(Outcome::oom), "oom");
}

TEST(SupportsSays, IsTrueForWhatIsReported) {
  Supports supports;
  supports.reports = {"tensors"};
  EXPECT_TRUE(supports.says("tensors"));
  EXPECT_FALSE(supports.says("cache"));
  EXPECT_FALSE(supports.says("activations"));
  supports.reports = {"activations"};
  EXPECT_TRUE(supports.says("tensors"));
}

}  // namespace
}  // namespace assay::converters
