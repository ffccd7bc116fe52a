#include "harness/judge/integers/integer_memo.hpp"

#include <gtest/gtest.h>

#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge::testing {
namespace {

/// One artifact on one data set, traced; each is an object of its own.
struct Conversion {
  explicit Conversion(double scale = 0.5, double y = 2) {
    evidence.artifact = std::make_shared<const model::Model>(
        parse("g (float[1] x) => (float[1] y) { q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }",
              {{"s", Tensor::scalar(DType::float32, scale)}, {"z", codes(DType::int8, {}, {0})}}));
    evidence.converter.policy.arithmetic = converters::EngineArithmetic::unknown;
    Execution execution;
    execution.data_set = "typical";
    execution.inputs.emplace("x", reals({1}, {2}));
    execution.outputs.emplace("y", reals({1}, {y}));
    evidence.executions.push_back(execution);
    executions = {&evidence.executions[0]};
  }
  Evidence evidence;
  std::vector<Execution*> executions;
};

class IntegerMemoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Conversion first;
    first.executions[0]->trace.emplace("q", codes(DType::int8, {1}, {4}));
    StyleResult result;
    result.style = &styles_for(first.evidence.converter.policy).front();
    result.agrees = true;
    result.compared = 1;
    result.codes.push_back({{"q", {core::TensorPtr(), &first.executions[0]->trace.at("q")}}});
    memo.keep(first.evidence, first.executions, result);
  }
  IntegerMemo memo;
};

TEST_F(IntegerMemoTest, KnowsTheSameArtifactWithTheSameOutputsAgain) {
  Conversion again;
  again.evidence.options.symmetric = true;
  const StyleResult* known = memo.find(again.evidence, again.executions);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->compared, 1);
  EXPECT_EQ(known->codes[0].at("q")->to_integers(), (std::vector<std::int64_t>{4})) << "of a conversion that is gone";
  EXPECT_EQ(again.executions[0]->trace.count("q"), 1U) << "other layers read it";
}

TEST_F(IntegerMemoTest, KnowsNoOther) {
  Conversion scale(0.25), output(0.5, 2.5), set, arithmetic, precision, input;
  set.executions[0]->data_set = "ties";
  arithmetic.evidence.converter.policy.arithmetic = converters::EngineArithmetic::floating;
  precision.evidence.conversion.precision.push_back({"q", "QuantizeLinear", "fp32"});
  input.executions[0]->inputs.insert_or_assign("x", reals({1}, {1.9}));
  for (Conversion* other : {&scale, &output, &set, &arithmetic, &precision, &input}) {
    EXPECT_EQ(memo.find(other->evidence, other->executions), nullptr);
    EXPECT_TRUE(other->executions[0]->trace.empty());
  }
}

}  // namespace
}  // namespace assay::judge::testing
