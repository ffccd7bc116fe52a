#include "converters/protocol/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace assay::protocol {
namespace {

using converters::ConvertReply;
using converters::Description;
using converters::Outcome;
using testing::HasSubstr;

TEST(Request, ConvertReadsBackAsWritten) {
  Request request;
  request.id = 7;
  request.verb = Verb::convert;
  request.convert.model = "/job/a \"b\"/model.onnx";
  request.convert.calibration = "/job/calibration";
  request.convert.output = "/job/out";
  request.convert.options.symmetric = true;
  request.convert.options.method = converters::Method::percentile;
  request.convert.options.percentile = 99.9;
  request.convert.options.precision = {{"Concat", "fp32"}, {"c1", "int8?"}};
  request.convert.options.cache = "/job/cache.json";
  const auto read = read_request(write_request(request));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->id, 7);
  EXPECT_EQ(read->verb, Verb::convert);
  EXPECT_EQ(read->convert.model, request.convert.model);
  EXPECT_EQ(read->convert.output, request.convert.output);
  EXPECT_EQ(read->convert.options, request.convert.options);
}

TEST(Request, EveryVerbReadsBack) {
  for (const Verb verb : {Verb::describe, Verb::execute, Verb::quit}) {
    Request request;
    request.verb = verb;
    request.execute = {"a", "b", "c"};
    const auto read = read_request(write_request(request));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->verb, verb);
    EXPECT_TRUE(read->execute.trace.empty());
  }
}

TEST(Request, ATraceMayBeAskedForAndGiven) {
  Request request;
  request.verb = Verb::execute;
  request.execute = {"a", "b", "c", "d"};
  const auto read = read_request(write_request(request));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->execute.trace, "d");

  converters::ExecuteReply reply;
  reply.outcome = Outcome::ok;
  reply.trace = {"xq", "yq"};
  const auto answer = read_execute_reply(3, write_reply(3, reply));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->trace, reply.trace);
  EXPECT_TRUE(read_execute_reply(3, R"({"id":3,"status":"ok"})")->trace.empty());
  EXPECT_FALSE(read_execute_reply(3, R"({"id":3,"status":"ok","trace":7})").ok());
}

TEST(Request, UnknownKeysAreIgnoredAndMissingOnesNamed) {
  EXPECT_TRUE(read_request(R"({"protocol":1,"id":1,"do":"describe","mood":"cheerful"})").ok());
  const auto options = read_request(
      R"({"protocol":1,"id":1,"do":"convert","model":"m","calibration":"c","output":"o","options":{"new":1,"symmetric":true}})");
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_TRUE(options->convert.options.symmetric);
  EXPECT_THAT(read_request(R"({"protocol":1,"id":1,"do":"convert","model":"m"})").error().message,
              HasSubstr("convert needs \"calibration\""));
  EXPECT_THAT(read_request(R"({"protocol":2,"id":1,"do":"quit"})").error().message, HasSubstr("protocol 1"));
  EXPECT_THAT(read_request(R"({"protocol":1,"id":1,"do":"sing"})").error().message, HasSubstr("\"sing\""));
  EXPECT_THAT(read_request(R"({"protocol":1,"do":"quit"})").error().message, HasSubstr("id"));
}

TEST(Description, ReadsBackAsWritten) {
  Description d;
  d.name = "n";
  d.version = "1.2";
  d.supports.activation = {"int8"};
  d.supports.symmetric = {true, false};
  d.supports.operators = std::vector<std::string>{};
  d.supports.models = {"qdq"};
  d.supports.int8_operators = {"Conv"};
  d.supports.execute = false;
  d.supports.artifact = converters::ArtifactKind::scales;
  d.supports.reports = {"tensors"};
  d.supports.trace = true;
  d.supports.optimizers = {"ConstantFolding", "NhwcTransformer"};
  d.policy.weights = converters::WeightRounding::adapted;
  d.policy.divisor = 127.5;
  d.policy.fixed_ranges = {{"Softmax", {0, 1}}, {"Odd", {-HUGE_VAL, HUGE_VAL}}};
  d.policy.shares = {"MaxPool"};
  d.policy.folds_bn = true;
  d.policy.deterministic = false;
  d.policy.zero = converters::ZeroRule::exact;
  d.policy.unsigned_codes = converters::UnsignedCodes::nonnegative;
  d.policy.outputs = converters::GraphOutputs::stay_float;
  d.policy.narrow_range = true;
  d.policy.folds_scales = true;
  d.policy.gates_in_float = true;
  d.policy.chooses_int8 = true;
  d.policy.bias = converters::BiasRounding::mean_corrected;
  d.policy.one_threshold = true;
  d.policy.whole_products = true;
  d.policy.equalizes = true;
  d.policy.reads_float = {"Relu"};
  d.policy.reads_quantized = {"Conv"};
  d.policy.writes_quantized = {"Mul"};
  d.policy.keeps_quantized = {"AveragePool"};
  d.policy.reads_evenly = true;
  d.policy.own_ranges = {"Concat"};
  d.policy.dequantize = converters::DequantizeForm::affine;
  d.policy.histogram = converters::HistogramBins::first_batch;
  d.policy.averaging = converters::Averaging::batch_mean;
  d.policy.full_range = true;
  d.policy.signed_scales = true;
  d.policy.symmetric_products = true;
  d.policy.depthwise_channels = true;
  d.policy.first_divisor = 63;
  d.policy.channel_floor = 0.01;
  d.unavailable = "no GPU";
  const auto read = read_description(3, write_description(3, d));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->supports.activation, d.supports.activation);
  EXPECT_EQ(read->supports.symmetric, d.supports.symmetric);
  EXPECT_EQ(read->supports.operators, d.supports.operators);
  EXPECT_EQ(read->supports.models, d.supports.models);
  EXPECT_EQ(read->supports.int8_operators, d.supports.int8_operators);
  EXPECT_FALSE(read->supports.per_axis.has_value());
  EXPECT_FALSE(read->supports.execute);
  EXPECT_TRUE(read->supports.trace);
  EXPECT_EQ(read->supports.optimizers, d.supports.optimizers);
  EXPECT_EQ(read->supports.artifact, converters::ArtifactKind::scales);
  EXPECT_EQ(read->policy, d.policy);
}

TEST(Policies, ByThemselvesAreReadLikeADescriptionsAndRefuseUnknownWords) {
  converters::Policy policy;
  policy.folds_bn = false;
  policy.averaging = converters::Averaging::batch_mean;
  const auto read = read_policy(write_policy(policy));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, policy);
  const auto misspelt = read_policy(R"({"first_divisors": 63})");
  ASSERT_FALSE(misspelt.ok());
  EXPECT_THAT(misspelt.error().message, testing::HasSubstr("no \"first_divisors\"; there are: first_divisor"));
}

/// Reads a policy of nothing but `field` with each of the enum's words.
template <core::Worded E>
void expect_every_word(const char* key, E converters::Policy::*field) {
  for (const auto& [value, word] : words(E())) {
    const auto read = read_policy(R"({")" + std::string(key) + R"(":")" + std::string(word) + R"("})");
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ((*read).*field, value) << key << " " << word;
    EXPECT_EQ(*read_policy(write_policy(*read)), *read) << key << " " << word;
  }
}

TEST(Policies, EveryWordIsReadBackAsWritten) {
  using converters::Policy;
  expect_every_word("weights", &Policy::weights);
  expect_every_word("bias", &Policy::bias);
  expect_every_word("averaging", &Policy::averaging);
  expect_every_word("zero", &Policy::zero);
  expect_every_word("unsigned", &Policy::unsigned_codes);
  expect_every_word("outputs", &Policy::outputs);
  expect_every_word("dequantize", &Policy::dequantize);
  expect_every_word("histogram", &Policy::histogram);
  expect_every_word("calibrates", &Policy::calibrates);
  expect_every_word("arithmetic", &Policy::arithmetic);
}

Description described(const std::string& supports, const std::string& policy = "{}") {
  const auto read = read_description(
      1, R"({"id":1,"status":"ok","name":"n","version":"1","supports":)" + supports + R"(,"policy":)" + policy + "}");
  EXPECT_TRUE(read.ok()) << read.error().message;
  return read.ok() ? *read : Description{};
}

TEST(Description, ABareTrueStandsForBoth) {
  const auto both = described(R"({"symmetric":true,"per_axis":false,"operators":true,"mood":1})");
  EXPECT_EQ(both.supports.symmetric, (std::vector<bool>{true, false}));
  EXPECT_EQ(both.supports.per_axis, (std::vector<bool>{false}));
  EXPECT_FALSE(both.supports.operators.has_value());
}

TEST(Description, DefaultsAreThePolicyOfDesign) {
  const auto bare = described("{}");
  EXPECT_EQ(bare.policy.weights, converters::WeightRounding::nearest);
  EXPECT_EQ(bare.policy.bias, converters::BiasRounding::nearest);
  EXPECT_EQ(bare.policy.divisor, 127);
  EXPECT_EQ(bare.policy.averaging, converters::Averaging::none);
  EXPECT_EQ(bare.policy.arithmetic, converters::EngineArithmetic::unknown);
  EXPECT_EQ(bare.policy.zero, converters::ZeroRule::rounded);
  EXPECT_EQ(bare.policy.unsigned_codes, converters::UnsignedCodes::asked);
  EXPECT_EQ(bare.policy.outputs, converters::GraphOutputs::either);
  EXPECT_FALSE(bare.policy.narrow_range);
  EXPECT_FALSE(bare.policy.folds_scales);
  EXPECT_EQ(bare.policy.dequantize, converters::DequantizeForm::product);
  EXPECT_EQ(bare.policy.histogram, converters::HistogramBins::unknown);
  EXPECT_EQ(bare.unavailable, "");
  EXPECT_EQ(bare.policy.calibrates, converters::CalibratedNetwork::float_network);
  EXPECT_TRUE(bare.policy.deterministic);
  EXPECT_FALSE(bare.supports.activation.has_value());
}

TEST(Description, RangesOnTheWeightsCodesNeedAnArtifactThatHoldsThem) {
  const auto read = [](const std::string& artifact) {
    return read_description(1, R"({"id":1,"status":"ok","name":"n","version":"1","supports":{"artifact":")" + artifact +
                                   R"("},"policy":{"calibrates":"quantized_weights"}})");
  };
  ASSERT_TRUE(read("qdq").ok());
  EXPECT_EQ(read("qdq")->policy.calibrates, converters::CalibratedNetwork::quantized_weights);
  EXPECT_EQ(read_description(1, write_description(1, *read("qdq")))->policy, read("qdq")->policy);
  ASSERT_FALSE(read("scales").ok());
  EXPECT_THAT(read("scales").error().message, HasSubstr("nobody knows the codes"));
}

TEST(Description, WrongKindsAreNamed) {
  const auto message = [](const std::string& rest) {
    const auto read = read_description(1, R"({"id":1,"status":"ok","name":"n","version":"1",)" + rest + "}");
    return read.ok() ? std::string("accepted") : read.error().message;
  };
  EXPECT_THAT(message(R"("supports":{"activation":"int8"})"), HasSubstr("protocol: \"activation\" must be a list"));
  EXPECT_THAT(message(R"("supports":{"symmetric":[1]})"), HasSubstr("\"symmetric\""));
  EXPECT_THAT(message(R"("supports":{"artifact":"engine"})"), HasSubstr("\"engine\"; choose one of"));
  EXPECT_THAT(message(R"("supports":[])"), HasSubstr("\"supports\" must be an object"));
  EXPECT_THAT(message(R"("policy":{"weights":"random"})"), HasSubstr("choose one of"));
  EXPECT_THAT(message(R"("policy":{"bias":"correct"})"),
              HasSubstr("\"bias\" is \"correct\"; choose one of corrected, "));
  EXPECT_THAT(message(R"("policy":{"arithmetic":8})"), HasSubstr("\"arithmetic\" must be a string, not 8"));
  EXPECT_THAT(message(R"("policy":{"fixed_ranges":{"Softmax":[0]}})"), HasSubstr("fixed_ranges.Softmax"));
  EXPECT_THAT(message(R"("policy":{"divisor":"many"})"), HasSubstr("\"divisor\" must be a number"));
}

TEST(Reply, Float32ReadsBackExactly) {
  ConvertReply reply;
  reply.outcome = Outcome::ok;
  reply.artifact = "/";
  reply.precision = {{"c1", "Conv", "int8"}};
  reply.diagnostics = {"a warning"};
  reply.changed = {"channels were moved last"};
  for (const float scale : {0.0236F, 1.17549435e-38F, 1e-45F, 3.4028235e38F, 0.1F}) {
    reply.tensors.push_back({"t", {{static_cast<double>(scale)}, {-128}, core::DType::uint8, 1}});
  }
  reply.tensors.push_back({"odd", {{std::nan(""), -HUGE_VAL}, {0, 0}, core::DType::int8, std::nullopt}});
  const std::string line = write_reply(5, reply, {});
  EXPECT_THAT(line, HasSubstr(R"(["NaN","-Infinity"])"));
  const auto read = read_convert_reply(5, line, {}, "/");
  ASSERT_TRUE(read.ok()) << read.error().message;
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(read->tensors[i].params, reply.tensors[i].params);
  EXPECT_TRUE(std::isnan(read->tensors[5].params.scale[0]));
  EXPECT_EQ(read->precision[0].got, "int8");
  EXPECT_EQ(read->diagnostics, reply.diagnostics);
  EXPECT_EQ(read->changed, reply.changed);
}

TEST(Reply, WhatReportsListsIsWrittenEvenWhenEmpty) {
  ConvertReply reply;
  reply.outcome = Outcome::ok;
  reply.artifact = "/";
  converters::Supports supports;
  supports.reports = {"tensors", "precision"};
  EXPECT_TRUE(read_convert_reply(1, write_reply(1, reply, supports), supports, "/").ok());
  EXPECT_FALSE(read_convert_reply(1, write_reply(1, reply, {}), supports, "/").ok());
}

TEST(Reply, CountsOfScalesAndZeroPointsMustAgree) {
  const auto message = [](const std::string& tensor) {
    const auto read =
        read_convert_reply(1, R"({"id":1,"status":"ok","artifact":"/","tensors":[)" + tensor + "]}", {}, "/");
    return read.ok() ? std::string("accepted") : read.error().message;
  };
  EXPECT_EQ(message(R"({"name":"x","scale":0.5,"zero_point":3.0})"), "accepted");
  EXPECT_EQ(message(R"({"name":"x","scale":[0.5,1]})"), "accepted");
  EXPECT_THAT(message(R"({"name":"x","scale":[0.5,1],"zero_point":[0]})"), HasSubstr("2 scales and 1 zero points"));
  EXPECT_THAT(message(R"({"name":"x","scale":[]})"), HasSubstr("0 scales"));
  EXPECT_THAT(message(R"({"name":"x","scale":["wide"]})"), HasSubstr("x.scale"));
  EXPECT_THAT(message(R"({"name":"x","scale":[1],"zero_point":[0.5]})"), HasSubstr("x.zero_point"));
  EXPECT_THAT(message(R"({"name":"x","scale":[1],"type":"int3"})"), HasSubstr("\"int3\""));
  EXPECT_THAT(message(R"({"name":"x","scale":[1],"axis":"last"})"), HasSubstr("x.axis"));
  EXPECT_THAT(message(R"({"scale":[1]})"), HasSubstr("has no name"));
  EXPECT_THAT(message("3"), HasSubstr("list of objects"));
}

TEST(Reply, DeepAndHugeLinesAreOnlyErrors) {
  EXPECT_FALSE(read_execute_reply(1, std::string(100'000, '[')).ok());
  EXPECT_FALSE(read_execute_reply(1, R"({"id":1e400,"status":"ok"})").ok());
  EXPECT_FALSE(read_execute_reply(1, "").ok());
  EXPECT_FALSE(read_execute_reply(1, R"({"id":18446744073709551615,"status":"ok"})").ok());
  EXPECT_FALSE(read_execute_reply(1, "{\"id\":1,\"status\":NaN}").ok());
}

}  // namespace
}  // namespace assay::protocol
