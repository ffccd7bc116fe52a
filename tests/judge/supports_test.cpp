#include <gtest/gtest.h>

#include "harness/judge/evidence/supports.hpp"
#include "tests/judge/judge_fixture.hpp"

namespace assay::judge {
namespace {

using testing::Bench;

TEST(Unsupported, IsWhatTheDescriptionLeavesOut) {
  Bench bench;
  bench.context();
  bench.test_case.model = std::make_shared<const model::Model>(bench.original);
  converters::Description description;
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt)
      << "left out: try it";
  description.supports.activation = {{"uint8"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options),
            "activation int8, the converter supports uint8");
  bench.test_case.options_json = R"({"per_axis":true})";
  description.supports.activation.reset();
  description.supports.per_axis = {{false}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options),
            "the case requires per_axis true, the converter supports false");
  description.supports.per_axis.reset();
  description.supports.activation = {{"int8"}};
  description.supports.operators = {{"Conv"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), "operator Gemm (node \"y\")");
  description.supports.operators = {{"Gemm"}};
  description.supports.int8_operators = {{"Conv"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt)
      << "nothing is said of the Gemm's precision";
  bench.test_case.expect.precision = {{"Gemm", "int8"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options),
            "an INT8 form of operator Gemm (node \"y\")");
  bench.test_case.expect.status = "refused";
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt);
  bench.test_case.expect.status = "converts";
  description.supports.int8_operators = {{"Gemm"}};
  bench.test_case.expect.precision = {{"Gemm", "fp32"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options),
            "the lack of an INT8 form of operator Gemm (node \"y\")");
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options, false), std::nullopt)
      << "a later step may ask for it";
  bench.evidence.options.precision = {{"y", "fp32"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt) << "asked for";
  bench.evidence.options.precision = {{"y", "int8"}};
  bench.test_case.expect.status = "refused";
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt)
      << "refused for another reason";
  bench.test_case.expect.refused_op = "Gemm";
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options),
            "the lack of an INT8 form of operator Gemm (node \"y\")");
  bench.test_case.expect.refused_op.reset();
  description.supports.models = {{"qdq"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options),
            "a model that isn't quantized already");
  description.supports.models = {{"float"}};
  bench.test_case.steps.resize(1);
  bench.test_case.steps.front().feed.cache = "stale";
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), "a calibration cache");
  bench.test_case.steps.front().feed.cache = "previous";
  bench.test_case.steps.front().feed.forget = {"x"};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), "a calibration cache");
  bench.test_case.steps.front().feed = {};
  for (const char* cache : {"foreign", "missing"}) {
    bench.test_case.steps.front().feed.cache = cache;
    EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), "a calibration cache");
  }
  bench.test_case.steps.front().feed.cache = "previous";
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt) << "beside data";
  bench.test_case.steps.front().feed.batches = 0;
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), "a calibration cache");
  bench.test_case.steps.front().feed.batches = 1;
  bench.test_case.steps.front().feed.edit = "version";
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), "a calibration cache");
  description.supports.reports = {"cache"};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options), std::nullopt);
  description.supports.method = {{"entropy"}};
  EXPECT_EQ(unsupported_reason(description, bench.test_case, bench.evidence.options),
            "method minmax, the converter supports entropy");
}

}  // namespace
}  // namespace assay::judge
