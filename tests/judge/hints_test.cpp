#include "harness/judge/facets/hints.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge {
namespace {

using testing::codes;
using testing::float32;
using testing::GemmCase;
using ::testing::HasSubstr;
using testing::reals;

/// What is said of the first finding of `facet`.
std::string said(GemmCase& wrong, Facet facet) {
  LayerContext context = wrong.context();
  for (const auto& [name, range] : wrong.calibration->ranges) {
    context.audited.emplace(name, derive_params(range.low, range.high, core::DType::int8, false, {}));
  }
  Judgement out;
  std::vector<Finding> findings = audit_parameters(context, *wrong.calibration, out);
  add_hints(context, findings);
  const auto found = std::ranges::find(findings, facet, &Finding::facet);
  return found == findings.end() ? "nothing" : found->message;
}

// w's rows are {1, 2, -4} and {0.5, -0.25, 0.125}; on their own scales {32, 64, -127} and {127, -64, 32}.
struct Square : GemmCase {
  Square() {
    original_text = "g (float[2,3] x) => (float[2,3] y) { y = Gemm<transB=1>(x, w, b) }";
    weights = {{"w", reals({3, 3}, {1, 2, -4, 0.5, -0.25, 0.125, 3, -1, 0.6})}, {"b", reals({3}, {0.5, -1, 0.25})}};
    const double xs = float32(4.0 / 255);
    const std::vector<double> scales{float32(4.0 / 127), float32(0.5 / 127), float32(3.0 / 127)};
    set_weights({32, 64, -127, 127, -64, 32, 127, -42, 25}, scales);
    constants["wz"] = codes(core::DType::int8, {3}, {0, 0, 0});
    constants["bs"] = reals({3}, {float32(xs * scales[0]), float32(xs * scales[1]), float32(xs * scales[2])});
    constants["bq"] = codes(core::DType::int32, {3}, {1012, -16192, 675});
    set_scalar("ys", 11.65 / 255);  // y spans [-5.15, 6.5]
    constants["yz"] = codes(core::DType::int8, {}, {-15});
    artifact_text =
        "a (float[2,3] x) => (float[2,3] y) {"
        " xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
        " wd = DequantizeLinear<axis=0>(wq, ws, wz) bd = DequantizeLinear<axis=0>(bq, bs)"
        " y_float = Gemm<transB=1>(xd, wd, bd)"
        " yq = QuantizeLinear(y_float, ys, yz) y = DequantizeLinear(yq, ys, yz) }";
  }
  void set_weights(std::vector<std::int64_t> values, const std::vector<double>& scales) {
    constants["wq"] = codes(core::DType::int8, {3, 3}, std::move(values));
    constants["ws"] = reals({3}, scales);
  }
};

TEST(Hints, SayWhatHappenedToAWeight) {
  const std::vector<double> scales{float32(4.0 / 127), float32(0.5 / 127), float32(3.0 / 127)};
  Square rolled;
  rolled.set_weights({127, -42, 25, 32, 64, -127, 127, -64, 32}, scales);
  EXPECT_THAT(said(rolled, Facet::weight), HasSubstr("\n  the output channels are rolled by 1: at 1 stands what"));
  Square turned;
  turned.set_weights({-127, 64, 32, 32, -64, 127, 25, -42, 127}, scales);
  EXPECT_THAT(said(turned, Facet::weight), HasSubstr("the input channels stand in reverse order"));
  Square negated;
  negated.set_weights({-32, -64, 127, -127, 64, -32, -127, 42, -25}, scales);
  EXPECT_THAT(said(negated, Facet::weight), HasSubstr("all have the opposite sign"));
  for (const auto& [codes, words] : std::vector<std::pair<std::vector<std::int64_t>, std::string>>{
           {{31, 63, -127, 127, -63, 31, 127, -42, 25}, "all are rounded towards zero"},
           {{31, 63, -126, 126, -63, 31, 127, -42, 25}, "all are rounded towards zero"},  // 126.9999…
           {{31, 63, -127, 127, -64, 31, 127, -43, 25}, "all are rounded down"},
           {{32, 64, -127, 127, -63, 32, 127, -42, 26}, "all are rounded up"},
           {{32, 64, -127, 127, -64, 32, 127, -43, 26}, "all are rounded away from zero"}}) {
    Square cut;
    cut.set_weights(codes, scales);
    EXPECT_THAT(said(cut, Facet::weight), HasSubstr("\n  " + words));
  }
  Square one_wrong;  // nothing that is told in a word
  one_wrong.set_weights({32, 64, -127, 127, -64, 32, 127, 42, 25}, scales);
  EXPECT_THAT(said(one_wrong, Facet::weight), ::testing::Not(HasSubstr("rolled")));
  EXPECT_THAT(said(one_wrong, Facet::weight), ::testing::Not(HasSubstr("sign")));
  EXPECT_THAT(said(one_wrong, Facet::weight), ::testing::Not(HasSubstr("all are rounded")));
}

TEST(Hints, SayWhoseScalesTheseAre) {
  Square rolled;
  rolled.constants["ws"] = reals({3}, {float32(3.0 / 127), float32(4.0 / 127), float32(0.5 / 127)});
  EXPECT_THAT(said(rolled, Facet::scale), HasSubstr("of the right scales, the output channels are rolled by 1"));
  // The quantized values are those of the right scales: no list of them accuses them.
  EXPECT_THAT(said(rolled, Facet::weight), HasSubstr("\n  they are the nearest for the scales that the weight gives"));
  EXPECT_THAT(said(rolled, Facet::weight), ::testing::Not(HasSubstr("expected")));
  Square columns;  // the largest of the columns
  columns.constants["ws"] = reals({3}, {float32(3.0 / 127), float32(2.0 / 127), float32(4.0 / 127)});
  EXPECT_THAT(said(columns, Facet::scale), HasSubstr("these are the scales along axis 1"));
  GemmCase input;
  input.set_scalar("xs", 8.625 / 255);
  input.constants["xz"] = codes(core::DType::int8, {}, {-65});
  EXPECT_THAT(said(input, Facet::scale), HasSubstr("these are the scale and zero point of \"y\""));
}

TEST(Hints, SayInWhichOrderABiasStands) {
  Square rolled;  // the quantized values, beside scales that stand where they should
  rolled.constants["bq"] = codes(core::DType::int32, {3}, {675, 1012, -16192});
  EXPECT_THAT(said(rolled, Facet::bias), HasSubstr("\n  of its quantized values, the output channels are rolled by 1"));
  Square negated;
  negated.constants["bq"] = codes(core::DType::int32, {3}, {-1012, 16192, -675});
  EXPECT_THAT(said(negated, Facet::bias), HasSubstr("\n  all have the opposite sign"));
  Square one_wrong;
  one_wrong.constants["bq"] = codes(core::DType::int32, {3}, {1012, -16192, 700});
  EXPECT_THAT(said(one_wrong, Facet::bias), ::testing::Not(HasSubstr("of its")));
}

TEST(Hints, SayWhichRangeABiasGoesWith) {
  GemmCase wide;  // of x; its bias keeps the step of the right one
  wide.set_scalar("xs", 8.0 / 255);
  EXPECT_THAT(said(wide, Facet::bias), HasSubstr("the bias goes with 0.01568"));
}

TEST(Hints, SayWhatANodeReadsOrHasInPlaceOfItsOwn) {
  const auto about = [](const std::string& original, const std::string& artifact) {
    GemmCase wrong;
    wrong.original_text = original;
    wrong.artifact_text = artifact;
    wrong.weights = {{"w", reals({1, 1, 1, 1}, {1})}};
    wrong.constants.insert(wrong.weights.begin(), wrong.weights.end());
    wrong.batches = {{{"x", reals({1, 1, 2, 2}, {1, 2, 3, 4})}}};
    const LayerContext context = wrong.context();
    std::vector<Finding> findings(1);
    findings[0].facet = Facet::numerics;
    findings[0].node = "y";
    findings[0].message = "wrong";
    add_hints(context, findings);
    return findings[0].message;
  };
  const std::string shape = "(float[1,1,2,2] x) => (float[1,1,2,2] y)";
  EXPECT_EQ(about("g " + shape + " { a = Sin(x) b = Cos(x) y = Sub(a, b) }",
                  "a " + shape + " { a = Sin(x) b = Cos(x) y = Sub(a, a) }"),
            "wrong\n  its input 1 is \"a\", the model's \"b\"");
  EXPECT_EQ(about("g " + shape + " { a = Sin(x) b = Cos(x) y = Add(a, b) }",
                  "a " + shape + " { a = Sin(x) b = Cos(x) y = Add(b, a) }"),
            "wrong");
  EXPECT_EQ(about("g " + shape + " { y = Conv<pads=[0,0,0,0]>(x, w) }",
                  "a " + shape + " { y = Conv<pads=[0,1,0,-1]>(x, w) }"),
            "wrong\n  its pads are [0, 1, 0, -1], the model's [0, 0, 0, 0]");
}

}  // namespace
}  // namespace assay::judge
