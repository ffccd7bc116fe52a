#include "harness/conformance/conform.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/core/files.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::conformance {
namespace {

namespace fs = std::filesystem;
using core::DType;
using core::Tensor;
using judge::Facet;
using judge::Stage;
using judge::Verdict;

/// A folder in ONNX's test layout with one data set.
class StoredCaseTest : public testing::Test {
 protected:
  void SetUp() override {
    core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
  }

  judge::Explained conform(const std::string& graph, const Tensor& input, const Tensor& output,
                           const std::map<std::string, std::int64_t>& opsets = {{"", 13}}) {
    const core::Result<model::Model> model = model::parse_graph_text("agraph " + graph, opsets);
    EXPECT_TRUE(model) << model.error().message;
    const fs::path data = folder_->path() / "test_data_set_0";
    EXPECT_TRUE(core::make_folder(data));
    EXPECT_TRUE(model::save_model(*model, folder_->path() / "model.onnx"));
    // Old data carries no names: place decides.
    EXPECT_TRUE(model::save_tensor({"", input}, data / "input_0.pb"));
    EXPECT_TRUE(model::save_tensor({"", output}, data / "output_0.pb"));
    return conformance::conform(folder_->path());
  }

  std::optional<core::TemporaryFolder> folder_;
};
using Conform = StoredCaseTest;

Tensor floats(std::vector<double> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return core::rounded_to_type({DType::float32, {size}, std::move(values)});
}

constexpr const char* kAbs = "(float[2] x) => (float[2] y) { y = Abs (x) }";
constexpr const char* kExp = "(float[2] x) => (float[2] y) { y = Exp (x) }";

TEST_F(Conform, PassesWhatIsStoredRight) {
  const judge::Judgement judgement = conform(kAbs, floats({-1, 2}), floats({1, 2})).judgement;
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_EQ(judgement.style, judge::StyleName::storage);
}

TEST_F(Conform, GrantsTheArithmeticOfFloat32AfterItsStorage) {
  const double exact = std::exp(2.0);
  const double two_off = std::nextafter(std::nextafter(static_cast<float>(exact), 0.0F), 0.0F);
  const judge::Explained explained = conform(kExp, floats({0, 2}), floats({1, two_off}));
  EXPECT_EQ(explained.judgement.verdict, Verdict::pass) << explained.judgement.reason;
  EXPECT_EQ(explained.judgement.style, judge::StyleName::arithmetic);
  ASSERT_TRUE(explained.explanation.end_to_end);
  EXPECT_EQ(explained.explanation.end_to_end->op, "Exp");
  EXPECT_EQ(explained.explanation.end_to_end->terms.size(), 2U);
}

TEST_F(Conform, FailsOnePartInAHundredThousand) {
  const judge::Judgement judgement = conform(kExp, floats({0, 2}), floats({1, std::exp(2.0) * 1.00001})).judgement;
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_EQ(judgement.facet, Facet::numerics);
  EXPECT_EQ(judgement.stage, Stage::judge);
}

TEST_F(Conform, FailsAnOperatorThatNobodyHas) {
  const judge::Judgement judgement = conform("(float[2] x) => (float[2] y) { y = my.own.Foo (x) }", floats({1, 2}),
                                             floats({1, 2}), {{"", 13}, {"my.own", 1}})
                                         .judgement;
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_EQ(judgement.stage, Stage::execute);
  EXPECT_EQ(judgement.facet, Facet::status);
}

TEST_F(Conform, CountsACategoryAsUnsupported) {
  const judge::Judgement judgement =
      conform("(float[2] x) => (float[2] y) { y = RandomNormalLike (x) }", floats({1, 2}), floats({1, 2})).judgement;
  EXPECT_EQ(judgement.verdict, Verdict::unsupported);
  EXPECT_EQ(judgement.reason, "random generators: RandomNormalLike");
}

TEST_F(Conform, ReadsBfloat16FromItsBits) {
  const Tensor bits(DType::uint16, {2}, std::vector<std::int64_t>{0x3f80, 0xc040});  // 1 and -3
  const judge::Judgement judgement =
      conform("(float[2] x) => (bfloat16[2] y) { y = Cast <to=16> (x) }", floats({1, -3}), bits).judgement;
  EXPECT_EQ(judgement.verdict, Verdict::pass) << judgement.reason;
}

TEST_F(Conform, FailsWithoutData) {
  const judge::Judgement judgement = conformance::conform(folder_->path()).judgement;
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_EQ(judgement.stage, Stage::load);
}

}  // namespace
}  // namespace assay::conformance
