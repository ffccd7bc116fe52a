// If, GatherElements, ScatterElements and STFT beyond ONNX's node data.
#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "tests/embedded_engine/graphs.hpp"

namespace assay::embedded::engine::test::branches {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Reals = std::vector<double>;

Tensor flag(bool value) { return ints(DType::boolean, {}, {value ? 1 : 0}); }

Reals output_of(const model::Model& model, const TensorMap& inputs) {
  const auto outputs = run_float(model, inputs);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().message);
  return outputs ? outputs->at("y").to_reals() : Reals();
}

const char* const kNested =
    "g (float[2] x, bool chosen, bool inner) => (float[N] y) {"
    "  d = Add (x, x)"
    "  y = If (chosen) <then_branch = t () => (float[N] a) {"
    "        e = Mul (d, k)"
    "        a = If (inner) <then_branch = u () => (float[N] c) { c = Add (e, x) },"
    "                        else_branch = v () => (float[N] n) { n = Neg (e) }> },"
    "      else_branch = f () => (float[N] b) { b = Concat <axis=0> (x, k) }> }";

TEST(If, TakesTheBranchOfEachRunAndReadsWhatIsNamedAround) {
  const model::Model model = model_of(kNested, {{"k", floats({2}, {10, 100})}}, 16);
  const Tensor x = floats({2}, {1, 2});
  EXPECT_THAT(output_of(model, {{"x", x}, {"chosen", flag(true)}, {"inner", flag(true)}}), ElementsAre(21, 402));
  EXPECT_THAT(output_of(model, {{"x", x}, {"chosen", flag(true)}, {"inner", flag(false)}}), ElementsAre(-20, -400));
  EXPECT_THAT(output_of(model, {{"x", x}, {"chosen", flag(false)}, {"inner", flag(true)}}), ElementsAre(1, 2, 10, 100));
}

TEST(If, OfAConstantConditionNeedsNoKernelForTheOtherBranch) {
  const std::string text =
      "g (float[2] x) => (float[2] y) { y = If (chosen) <then_branch = t () => (float[2] a) { a = Neg (x) },"
      " else_branch = f () => (float[2] b) { b = Hardmax (x) }> }";
  const Tensor x = floats({2}, {1, 2});
  EXPECT_THAT(output_of(model_of(text, {{"chosen", flag(true)}}, 16), {{"x", x}}), ElementsAre(-1, -2));
  const auto refused = run_float(model_of(text, {{"chosen", flag(false)}}, 16), {{"x", x}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, core::ErrorKind::unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("Hardmax"));
}

TEST(If, RefusesAConditionOfSeveralElements) {
  const model::Model model = model_of(
      "g (float[2] x, bool[2] c) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] a) { a = Neg (x) },"
      " else_branch = f () => (float[2] b) { b = Abs (x) }> }",
      {}, 16);
  const auto ran = run_float(model, {{"x", floats({2}, {1, 2})}, {"c", ints(DType::boolean, {2}, {1, 1})}});
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, HasSubstr("condition"));
}

TEST(GatherElements, CountsNegativeIndicesFromTheEnd) {
  const auto gathered = [](int axis, const Tensor& indices) {
    const std::string node = "GatherElements <axis=" + std::to_string(axis) + "> (x, i)";
    return output_of(model_of("g (float[2,3] x) => (float[a,b] y) { y = " + node + " }", {{"i", indices}}),
                     {{"x", floats({2, 3}, {1, 2, 3, 4, 5, 6})}});
  };
  EXPECT_THAT(gathered(1, int64s({2, 2}, {-1, 0, -3, 1})), ElementsAre(3, 1, 4, 5));
  EXPECT_THAT(gathered(-2, int64s({1, 2}, {-1, 0})), ElementsAre(4, 2));
}

TEST(GatherElements, RefusesAnIndexOutsideAndIndicesThatReachBeyond) {
  const auto refusal = [](const Tensor& indices) {
    const auto ran =
        run_float(model_of("g (float[2,3] x) => (float[a,b] y) { y = GatherElements (x, i) }", {{"i", indices}}),
                  {{"x", floats({2, 3}, {1, 2, 3, 4, 5, 6})}});
    return ran ? std::string() : ran.error().message;
  };
  EXPECT_THAT(refusal(int64s({1, 1}, {2})), HasSubstr("index 2 is outside an extent of 2"));
  EXPECT_THAT(refusal(int64s({1, 1}, {-3})), HasSubstr("index -3"));
  EXPECT_THAT(refusal(int64s({1, 4}, {0, 0, 0, 0})), HasSubstr("don't fit"));
}

TEST(ScatterElements, ReducesWhatSeveralIndicesName) {
  const auto scattered = [](const std::string& attributes) {
    return output_of(
        model_of("g (float[4] x) => (float[4] y) { y = ScatterElements <axis=0" + attributes + "> (x, i, u) }",
                 {{"i", int64s({3}, {1, -3, 3})}, {"u", floats({3}, {5, -7, 9})}}, 18),
        {{"x", floats({4}, {1, 2, 3, 4})}});
  };
  EXPECT_THAT(scattered(""), ElementsAre(1, -7, 3, 9));
  EXPECT_THAT(scattered(", reduction=\"add\""), ElementsAre(1, 0, 3, 13));
  EXPECT_THAT(scattered(", reduction=\"mul\""), ElementsAre(1, -70, 3, 36));
  EXPECT_THAT(scattered(", reduction=\"max\""), ElementsAre(1, 5, 3, 9));
  EXPECT_THAT(scattered(", reduction=\"min\""), ElementsAre(1, -7, 3, 4));
}

// A cosine of two turns in a frame of 5 lies in bin 2 alone (and its mirror), whatever the frames' step.
TEST(Stft, FindsATurningSignalInItsBin) {
  Reals signal;
  for (int i = 0; i < 11; ++i) signal.push_back(std::cos(2 * std::numbers::pi * 2 * i / 5));
  const Tensor x = core::rounded_to_type(floats({1, 11, 1}, std::move(signal)));
  for (const std::int64_t onesided : {1, 0}) {
    const std::int64_t bins = onesided != 0 ? 3 : 5;
    const Reals y = output_of(model_of("g (float[1,11,1] x) => (float[1,f,b,2] y) { y = STFT <onesided=" +
                                           std::to_string(onesided) + "> (x, step, , length) }",
                                       {{"step", int64s({}, {3})}, {"length", int64s({}, {5})}}, 17),
                              {{"x", x}});
    ASSERT_EQ(std::ssize(y), 3 * bins * 2);
    for (std::int64_t i = 0; i < 3 * bins; ++i) {
      const double size = std::hypot(y[static_cast<std::size_t>(2 * i)], y[static_cast<std::size_t>(2 * i + 1)]);
      EXPECT_NEAR(size, i % bins == 2 || i % bins == 3 ? 2.5 : 0, 1e-6) << "bin " << i % bins;
    }
  }
}

TEST(Stft, RefusesComplexSignalsWithOneSide) {
  const auto ran = run_float(model_of("g (float[1,4,2] x) => (float[1,f,b,2] y) { y = STFT (x, step, , length) }",
                                      {{"step", int64s({}, {2})}, {"length", int64s({}, {2})}}, 17),
                             {{"x", floats({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}});
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, HasSubstr("two sides"));
}

}  // namespace
}  // namespace assay::embedded::engine::test::branches
