#include "harness/run/made_by.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/programs/converter_spec.hpp"
#include "tests/judge/gemm_fixture.hpp"

namespace assay::run {
namespace {

using core::DType;
using judge::testing::codes;
using judge::testing::float32;
using judge::testing::GemmCase;
using judge::testing::reals;
using judge::testing::Tensor;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// A ready artifact whose maker is to be found.
struct Ready : GemmCase {
  std::string producer;  ///< of the artifact
  std::string settle(const std::string& made_by = "", const std::string& options = "{}") {
    context();
    model::Model written = *evidence.artifact;
    written.producer = producer;
    evidence.artifact = std::make_shared<const model::Model>(std::move(written));
    evidence.stated_options = options;
    evidence.converter.policy.arithmetic = converters::EngineArithmetic::floating;
    return settle_maker(evidence, cache, run::made_by(made_by).value());
  }
};

/// The same Gemm as NNCF's preset PERFORMANCE writes it: the mean of two batches' largest magnitudes, a bias and an
/// output in float.
struct OfNncf : Ready {
  OfNncf() {
    artifact_text =
        "a (float[2,3] x) => (float[2,2] y) {"
        " xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
        " wd = DequantizeLinear<axis=0>(wq, ws, wz) y = Gemm<transB=1>(xd, wd, b) }";
    batches = {{{"x", reals({2, 3}, {-1, 3, 3, 2, 0, -1})}}, {{"x", reals({2, 3}, {-1, 1, 1, 0.5, 0, -1})}}};
    constants = {
        {"xs", Tensor::scalar(DType::float32, float32(2.0 / 127))},       {"xz", codes(DType::int8, {}, {0})},
        {"ws", reals({2}, {float32(4.0 / 127), float32(0.5 / 127)})},     {"wz", codes(DType::int8, {2}, {0, 0})},
        {"wq", codes(DType::int8, {2, 3}, {32, 64, -127, 127, -64, 32})}, {"b", reals({2}, {0.5, -1})}};
  }
};

TEST(MadeBy, SettingsLeaveTheirPolicyAlone) {
  const auto named = run::made_by("modelopt:target_dla");
  ASSERT_TRUE(named);
  ASSERT_FALSE(named->candidates.empty());
  for (const programs::StatedPolicy& each : named->candidates) EXPECT_EQ(each.variant, "target_dla");
  const auto unknown = run::made_by("modelopt@0.47.0:target_dlas");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, core::ErrorKind::usage);
  EXPECT_THAT(unknown.error().message,
              HasSubstr("modelopt@0.47.0 states no policy for settings \"target_dlas\"; there are: \"target_dla\""));
}

TEST(MadeBy, AnArtifactIsExplainedByTheConverterThatMakesSuch) {
  Ready plain;
  // Without a BatchNormalization nothing shows whether the model was prepared, and no version differs.
  EXPECT_THAT(plain.settle(), HasSubstr("judged by the policy of onnxruntime 1.15.1 to 1.32.0"));
  EXPECT_THAT(plain.settle(), Not(HasSubstr("quant_pre_process")));
  EXPECT_THAT(plain.settle("onnxruntime@1.23.2"), HasSubstr("judged by the policy of onnxruntime 1.23.2"));
  OfNncf nncf;
  EXPECT_THAT(nncf.settle(), StartsWith("judged by the policy of nncf_onnx 3.4.0, preset performance"));
  EXPECT_EQ(nncf.evidence.converter.policy.averaging, converters::Averaging::batch_mean);
  EXPECT_TRUE(nncf.evidence.options.symmetric);
  EXPECT_THAT(nncf.evidence.granted, IsEmpty());
}

TEST(MadeBy, WhoSignsItsArtifactsIsTriedAlone) {
  OfNncf artifact;
  artifact.producer = "quark.onnx";
  EXPECT_THAT(artifact.settle(), StartsWith("closest: quark")) << "nobody else signs so";
  EXPECT_THAT(artifact.settle("nncf_onnx"), StartsWith("judged by the policy of nncf_onnx")) << "the user knows better";
  OfNncf unsigned_one;
  unsigned_one.producer = "pytorch";
  EXPECT_THAT(unsigned_one.settle(), StartsWith("judged by the policy of nncf_onnx")) << "the float model's own";
}

TEST(MadeBy, AMethodThatIsStatedAndShowsNowhereIsNoted) {
  for (const char* searched : {"entropy", "percentile"}) {
    Ready plain;
    const std::string stated = fmt::format(R"({{"method":"{}"}})", searched);
    EXPECT_THAT(plain.settle("", stated),
                HasSubstr(fmt::format("method {} is stated, and every range is exactly as minmax gives it", searched)));
    Ready narrower;
    narrower.constants["xs"] = Tensor::scalar(DType::float32, narrower.constants["xs"].reals().front() * 0.75);
    EXPECT_THAT(narrower.settle("", stated), Not(HasSubstr("is stated")));
  }
  for (const char* whole : {"{}", R"({"method":"minmax"})", R"({"method":"percentile","percentile":100})"}) {
    EXPECT_THAT(Ready().settle("", whole), Not(HasSubstr("is stated"))) << whole;
  }
}

TEST(MadeBy, ANamedConverterIsBelievedAndHeldToItsPolicy) {
  OfNncf own;
  EXPECT_THAT(own.settle("nncf_onnx@3.4.0"), StartsWith("judged by the policy of nncf_onnx 3.4.0"));
  OfNncf foreign;
  EXPECT_THAT(foreign.settle("aimet", R"({"method":"minmax"})"), HasSubstr("; it differs as listed below"));
  EXPECT_THAT(foreign.evidence.granted, IsEmpty());
}

TEST(MadeBy, AModelWithoutQuantizersIsNobodysUnlessSomebodyIsNamed) {
  Ready plain;
  plain.artifact_text = "a (float[2,3] x) => (float[2,2] y) { y = Gemm<transB=1>(x, w, b) }";
  plain.constants = plain.weights;
  EXPECT_THAT(plain.settle(), Not(HasSubstr("modelopt")));
  EXPECT_THAT(plain.evidence.options.precision, IsEmpty()) << "so that INT8 is required";
  EXPECT_THAT(plain.settle("modelopt"), HasSubstr("judged by the policy of modelopt"));
}

TEST(MadeBy, ADefectIsExplainedByNobodyAndGrantedByNobody) {
  for (const char* tensor : {"xs", "ys"}) {
    Ready wrong;
    wrong.set_scalar(tensor, 4 * wrong.constants.at(tensor).as_real(0));
    EXPECT_THAT(wrong.settle(), StartsWith("closest: ")) << tensor;
    EXPECT_THAT(wrong.faults(), Not(IsEmpty())) << tensor;
    EXPECT_THAT(wrong.evidence.granted, IsEmpty()) << tensor;
  }
}

TEST(MadeBy, WithoutCalibrationDataRangesDoNotTell) {
  OfNncf nncf;
  nncf.context();
  nncf.evidence.calibration = nullptr;
  nncf.set_scalar("xs", 7);  // no such range, but nobody knows
  nncf.evidence.artifact =
      std::make_shared<const model::Model>(judge::testing::parse(nncf.artifact_text, nncf.constants));
  const MadeBy makers{programs::list_stated_policies().value(), false};
  EXPECT_THAT(settle_maker(nncf.evidence, nncf.cache, makers), StartsWith("judged by the policy of"));
}

TEST(MadeBy, OptionsThatTheUserStatesHold) {
  OfNncf nncf;
  EXPECT_THAT(nncf.settle("", R"({"symmetric":false})"), Not(HasSubstr("preset performance")));
  EXPECT_FALSE(nncf.evidence.options.symmetric);
}

TEST(MadeBy, TheArtifactShowsWhatTheUserDoesNotState) {
  OfNncf nncf;
  EXPECT_THAT(nncf.settle("", R"({"method":"minmax"})"),
              StartsWith("judged by the policy of nncf_onnx 3.4.0, preset performance"));
  EXPECT_TRUE(nncf.evidence.options.symmetric);
  EXPECT_THAT(nncf.settle("onnxruntime", R"({"method":"entropy"})"), HasSubstr("entropy"));
}

TEST(StatedPolicies, EveryAdaptersFileIsReadable) {
  const auto all = programs::list_stated_policies();
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_GE(all->size(), 10U);
}

TEST(StatedPolicies, AnUnknownNameListsThoseThatStateAny) {
  const auto unknown = programs::stated_policies_of("nncf");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("nncf_onnx"));
}

TEST(StatedPolicies, AnOlderReleaseHasItsOwnWhateverItsSettings) {
  const auto quantizes = [](const std::string& made_by, const std::string& op) {
    const auto stated = programs::stated_policies_of(made_by);
    EXPECT_TRUE(stated.ok() && !stated->empty()) << made_by;
    std::vector<bool> all;
    for (const programs::StatedPolicy& each : *stated) all.push_back(std::ranges::count(each.policy.quantizes, op) > 0);
    return all;
  };
  for (const std::string settings : {"quant_pre_process", "QuantizeBias off"}) {
    EXPECT_THAT(quantizes("onnxruntime@1.18.1:" + settings, "BatchNormalization"), testing::Each(false)) << settings;
    EXPECT_THAT(quantizes("onnxruntime@1.19.2:" + settings, "BatchNormalization"), testing::Each(true)) << settings;
    EXPECT_THAT(quantizes("onnxruntime:" + settings, "BatchNormalization"), testing::Contains(false))
        << "of any release";
    EXPECT_THAT(quantizes("onnxruntime:" + settings, "BatchNormalization"), testing::Contains(true))
        << "of any release";
  }
  const auto once = programs::stated_policies_of("onnxruntime:for TensorRT");  // states its own list
  EXPECT_EQ(once->size(), 4U) << "one for each of its options";
}

TEST(MadeBy, ARangeThatLosesFarMoreThanTheOthersIsNoOtherMethods) {
  Ready whole;
  EXPECT_THAT(whole.settle("onnxruntime"), StartsWith("judged by the policy of"));
  EXPECT_EQ(whole.evidence.options.method, converters::Method::minmax);
  Ready halved;
  halved.set_scalar("ys", 8.625 / 255 / 2);
  EXPECT_THAT(halved.settle("onnxruntime"), HasSubstr(": all but 1 value"));
  EXPECT_EQ(halved.evidence.options.method, converters::Method::minmax) << "entropy allows any range inside the data";
  Ready narrower;  // by what a search for a better range may well end at
  narrower.set_scalar("ys", 8.625 / 255 * 0.999);
  EXPECT_THAT(narrower.settle("onnxruntime"), Not(HasSubstr(": all but 1 value")));
}

/// Seven tensors, each twice the one before: [-1, 3], [-2, 6] …
struct Doubled : Ready {
  Doubled() {
    original_text = "g (float[2,3] x) => (float[2,3] t6) {";
    artifact_text = "a (float[2,3] x) => (float[2,3] t6) {";
    std::string tensor = "x", read = "x";
    for (int i = 0; i <= 6; ++i) {
      const std::string n = std::to_string(i);
      if (i > 0) {
        original_text += " t" + n + " = Add(" + tensor + ", " + tensor + ")";
        tensor = "t" + n;
        artifact_text += (i < 6 ? " t" + n : " f6") + std::string(" = Add(") + read + ", " + read + ")";
      }
      read = i < 6 ? "d" + n : "t6";
      artifact_text += " q" + n + " = QuantizeLinear(" + (i < 6 ? tensor : "f6") + ", s" + n + ", xz) " + read +
                       " = DequantizeLinear(q" + n + ", s" + n + ", xz)";
      set_scalar("s" + n, 4.0 / 255 * (1 << i));
    }
    original_text += " }";
    artifact_text += " }";
    weights.clear();
  }
};

TEST(MadeBy, ADefectHidesNoOtherThatAWiderMethodWouldAllow) {
  Doubled right;
  EXPECT_THAT(right.settle("onnxruntime"), StartsWith("judged by the policy of onnxruntime"));
  Doubled wrong;
  wrong.set_scalar("s2", 10 * 16.0 / 255);   // under every method
  wrong.set_scalar("s4", 1.5 * 64.0 / 255);  // entropy's last bin may lie outside of the data
  EXPECT_THAT(wrong.settle("onnxruntime"), HasSubstr("; it differs as listed below"));
  EXPECT_EQ(wrong.evidence.options.method, converters::Method::minmax);
}

TEST(MadeBy, QuantizersThatStandAlikeEverywhereAreAMakersChoice) {
  OfNncf in_float;  // with ranges that every maker would choose, and an output that some quantize
  in_float.batches.pop_back();
  in_float.set_scalar("xs", 3.0 / 127);
  EXPECT_THAT(in_float.settle(), AllOf(StartsWith("judged by the policy of"), Not(HasSubstr(": all but"))));
  EXPECT_THAT(in_float.faults(), IsEmpty());
}

TEST(MadeBy, SettingsThatAreNotFollowedAreUnsupported) {
  Ready powers;
  for (const char* scale : {"xs", "ys"}) powers.set_scalar(scale, 0x1p-4);
  powers.constants["ws"] = reals({2}, {0x1p-5, 0x1p-8});
  powers.constants["bs"] = reals({2}, {0x1p-7, 0x1p-7});  // on steps of their own
  EXPECT_EQ(powers.settle("quark"), "judged by the policy of quark 0.13, XINT8");
  ASSERT_TRUE(powers.evidence.own_limit);
  EXPECT_THAT(powers.evidence.own_limit->message, HasSubstr("XINT8"));
  EXPECT_EQ(powers.evidence.own_limit->kind, core::ErrorKind::unsupported);
  Ready others;  // wrong in the same way, with scales of any kind
  others.constants["bs"] = reals({2}, {0.01, 0.01});
  EXPECT_THAT(others.settle("quark"), HasSubstr("; it differs as listed below"));
  EXPECT_FALSE(others.evidence.own_limit);
}

}  // namespace
}  // namespace assay::run
