#include "harness/judge/artifact/artifact_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::codes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::parse;
using testing::reals;
using testing::Tensor;

Tensor scalar(double value) { return Tensor::scalar(DType::float32, value); }
Tensor zero(std::int64_t value = 0) { return codes(DType::int8, {}, {value}); }

core::Result<ArtifactView> view(const std::string& artifact, const std::map<std::string, Tensor>& constants,
                                const model::Model& original) {
  return ArtifactView::build(std::make_shared<const model::Model>(parse(artifact, constants)), original);
}

const std::map<std::string, Tensor> kConvConstants{{"s1", scalar(0.5)},
                                                   {"s2", scalar(0.25)},
                                                   {"z", zero()},
                                                   {"ws", reals({2}, {1, 2})},
                                                   {"wz", codes(DType::int8, {2}, {0, 0})},
                                                   {"wq", codes(DType::int8, {2, 1, 1, 1}, {3, 4})}};

TEST(ArtifactView, NamesWhatEachQuantizerStandsFor) {
  const model::Model original =
      parse("g (float[1,1,2,2] x) => (float[1,2,2,2] y) { y = Conv(x, w) }", {{"w", reals({2, 1, 1, 1}, {3, 8})}});
  auto read = view(
      "a (float[1,1,2,2] x) => (float[1,2,2,2] y) { xq = QuantizeLinear(x, s1, z) xd = DequantizeLinear(xq, s1, z)"
      " wd = DequantizeLinear<axis=0>(wq, ws, wz) c = Conv(xd, wd)"
      " yq = QuantizeLinear(c, s2, z) y = DequantizeLinear(yq, s2, z) }",
      kConvConstants, original);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->quantizers().size(), 2U);
  EXPECT_EQ(read->quantizers()[0].original, "x");
  EXPECT_EQ(read->quantizers()[1].original, "y");
  EXPECT_EQ(read->original_tensor("xd"), "x");
  EXPECT_EQ(read->original_tensor("c"), "y");
  const ArtifactNode* conv = read->find_original(0);
  ASSERT_NE(conv, nullptr);
  EXPECT_TRUE(conv->integer());
  EXPECT_EQ(conv->inputs[1].original, "w");
  EXPECT_EQ(conv->inputs[1].params->axis, 0);
  EXPECT_THAT(conv->inputs[1].constant_codes->to_integers(), ElementsAre(3, 4));
  EXPECT_EQ(conv->outputs[0]->scale.front(), 0.25);
}

TEST(ArtifactView, EachOfUnlikeQuantizersOfATensorStandsForWhatItsOwnReadersRead) {
  const std::string text =
      "(float[1,1,2,2] x) => (float[1,2,2,2] y, float[1,2,2,2] z) { t = Relu(x)"
      " qa = QuantizeLinear(t, s1, z8) da = DequantizeLinear(qa, s1, z8)"
      " qb = QuantizeLinear(t, s2, z8) db = DequantizeLinear(qb, s2, z8)"
      " wd = DequantizeLinear<axis=0>(wq, ws, wz) y = Conv(da, wd) z = Conv(db, wd) }";
  std::map<std::string, Tensor> constants = kConvConstants;
  constants.erase("z");
  constants.insert({"z8", zero()});
  const model::Model original = parse("g " + text, constants);
  auto read = view("a " + text, constants, original);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->quantizers().size(), 2U);
  EXPECT_EQ(read->quantizers()[0].original, "da");
  EXPECT_EQ(read->quantizers()[1].original, "db");
  EXPECT_EQ(read->original_tensor("db"), "db");

  constants["s2"] = constants.at("s1");  // alike, they may be one
  read = view("a " + text, constants, parse("g " + text, constants));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->quantizers()[1].original, read->quantizers()[0].original);
}

TEST(ArtifactView, FollowsCodesThatAreOnlyMoved) {
  const model::Model original = parse(
      "g (float[1,1,2,2] x) => (float[1,2,2,2] y) { t = Transpose<perm=[0,1,3,2]>(x) c = Concat<axis=2>(x, t)"
      " y = Conv(c, w) }",
      {{"w", reals({2, 1, 1, 1}, {3, 8})}});
  const auto artifact = [&](const std::string& scale) {
    return view(
        "a (float[1,1,2,2] x) => (float[1,2,2,2] y) { xq = QuantizeLinear(x, s1, z)"
        " xd = DequantizeLinear(xq, s1, z) t = Transpose<perm=[0,1,3,2]>(xd)"
        " uq = QuantizeLinear(x, " +
            scale + ", z) u = DequantizeLinear(uq, " + scale +
            ", z)"
            " c = Concat<axis=2>(u, t) wd = DequantizeLinear<axis=-4>(wq, ws, wz) y = Conv(c, wd) }",
        kConvConstants, original);
  };
  const auto alike = artifact("s1");
  ASSERT_TRUE(alike) << alike.error().message;
  const ArtifactNode* conv = alike->find_original(2);
  ASSERT_NE(conv, nullptr);
  EXPECT_TRUE(conv->quantized_inputs);
  ASSERT_TRUE(conv->inputs[0].params);
  EXPECT_EQ(conv->inputs[0].params->scale.front(), 0.5);
  EXPECT_EQ(conv->inputs[0].codes, "") << "no tensor of the artifact holds them";
  EXPECT_EQ(conv->inputs[1].params->axis, 0) << "a negative axis counts from the back";
  EXPECT_TRUE(alike->find_original(1)->integer());
  const auto unlike = artifact("s2");
  ASSERT_TRUE(unlike) << unlike.error().message;
  EXPECT_FALSE(unlike->find_original(2)->quantized_inputs) << "no scale in common";
}

TEST(ArtifactView, APadPassesCodesOnWhereItsConstantIsZero) {
  const model::Model original = parse("g (float[1,2] x) => (float[1,3] y) { y = Pad(x, p, v) }",
                                      {{"p", codes(DType::int64, {4}, {0, 0, 0, 1})}, {"v", scalar(0)}});
  const auto passes = [&](double value) {
    auto read = view(
        "a (float[1,2] x) => (float[1,3] y) { xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z)"
        " y = Pad(xd, p, v) }",
        {{"s", scalar(0.5)}, {"z", zero()}, {"p", codes(DType::int64, {4}, {0, 0, 0, 1})}, {"v", scalar(value)}},
        original);
    return read.value().nodes().front().outputs.front().has_value();
  };
  EXPECT_TRUE(passes(0));
  EXPECT_FALSE(passes(0.25));
}

TEST(ArtifactView, WhatTheConverterReshapesOnlyStandsForItsSource) {
  const model::Model original = parse("g (float[1,2,2] x) => (float[1,2,2] y) { p = MatMul(x, w) y = Add(p, b) }",
                                      {{"w", reals({2, 2}, {1, 2, 3, 4})}, {"b", reals({2}, {1, 2})}});
  auto read = view(
      "a (float[1,2,2] x) => (float[1,2,2] y) { m = Reshape(x, flat) mq = QuantizeLinear(m, s1, z)"
      " md = DequantizeLinear(mq, s1, z) n = Gemm(md, w, b) y = Reshape(n, whole) }",
      {{"s1", scalar(0.5)},
       {"z", zero()},
       {"flat", codes(DType::int64, {2}, {2, 2})},
       {"whole", codes(DType::int64, {3}, {1, 2, 2})},
       {"w", reals({2, 2}, {1, 2, 3, 4})},
       {"b", reals({2}, {1, 2})}},
      original);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->quantizers()[0].original, "x");
  EXPECT_EQ(read->original_tensor("md"), "x");
}

TEST(ArtifactView, ABatchNormalizationThatOnlyTheArtifactHasBelongsToTheSumBeforeIt) {
  const model::Model original = parse("g (float[1,1,2,2] x) => (float[1,2,2,2] y) { c = Conv(x, w) y = Relu(c) }",
                                      {{"w", reals({2, 1, 1, 1}, {3, 8})}});
  std::map<std::string, Tensor> constants = kConvConstants;
  for (const char* name : {"gamma", "beta", "mean", "var"}) constants.emplace(name, reals({2}, {1, 2}));
  auto read = view(
      "a (float[1,1,2,2] x) => (float[1,2,2,2] y) { xq = QuantizeLinear(x, s1, z) xd = DequantizeLinear(xq, s1, z)"
      " wd = DequantizeLinear<axis=0>(wq, ws, wz) c = Conv(xd, wd)"
      " b = BatchNormalization(c, gamma, beta, mean, var) y = Relu(b) }",
      constants, original);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->find_original(0), nullptr) << "its weight is not the original's";
  EXPECT_EQ(read->original_tensor("c"), "");
  EXPECT_EQ(read->original_tensor("b"), "c");
  EXPECT_NE(read->find_original(1), nullptr);
}

TEST(ArtifactView, ReadsScalesBehindConstantAndIdentityNodes) {
  const model::Model original = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }", {});
  auto read = view(
      "a (float[2] x) => (float[2] y) { c = Constant<value_float=0.5>() s = Identity(c)"
      " q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = Relu(d) }",
      {{"z", zero(3)}}, original);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->quantizers()[0].params.scale.front(), 0.5);
  EXPECT_EQ(read->quantizers()[0].params.zero_point.front(), 3);
}

TEST(ArtifactView, AFusedReluIsFoundThroughItsReader) {
  const model::Model original =
      parse("g (float[1,1,2,2] x) => (float[1,2,2,2] y) { c = Conv(x, w) r = Relu(c) y = Conv(r, v) }",
            {{"w", reals({2, 1, 1, 1}, {3, 8})}, {"v", reals({2, 2, 1, 1}, {1, 1, 1, 1})}});
  std::map<std::string, Tensor> constants = kConvConstants;
  constants["vq"] = codes(DType::int8, {2, 2, 1, 1}, {1, 1, 1, 1});
  // The Relu is gone: the QuantizeLinear clips. Its scale is that of r, not of c.
  auto read = view(
      "a (float[1,1,2,2] x) => (float[1,2,2,2] y) { xq = QuantizeLinear(x, s1, z) xd = DequantizeLinear(xq, s1, z)"
      " wd = DequantizeLinear<axis=0>(wq, ws, wz) c = Conv(xd, wd)"
      " cq = QuantizeLinear(c, s2, z) cd = DequantizeLinear(cq, s2, z)"
      " vd = DequantizeLinear<axis=0>(vq, ws, wz) y = Conv(cd, vd) }",
      constants, original);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->quantizers()[1].original, "r");
  EXPECT_EQ(read->find_original(1), nullptr);
  EXPECT_TRUE(read->find_original(0)->integer());
  EXPECT_FALSE(read->find_original(2)->quantized_outputs);
}

TEST(ArtifactView, CodesThatAreQuantizedAgainStandForWhatIsBehindTheReluThatIsGone) {
  const model::Model original =
      parse("g (float[1,1,2,2] x) => (float[1,2,2,2] y) { c = Conv(x, w) d = Identity(c) y = Relu(d) }",
            {{"w", reals({2, 1, 1, 1}, {3, 8})}});
  const auto names = [&](const std::string& behind) {
    auto read = view(
        "a (float[1,1,2,2] x) => (float[1,2,2,2] y) { xq = QuantizeLinear(x, s1, z) xd = DequantizeLinear(xq, s1, z)"
        " wd = DequantizeLinear<axis=0>(wq, ws, wz) f = Conv(xd, wd)"
        " cq = QuantizeLinear(f, s1, z) c = DequantizeLinear(cq, s1, z) r = " +
            behind,
        kConvConstants, original);
    std::vector<std::string> list;
    for (const Quantizer& quantizer : read.value().quantizers()) list.push_back(quantizer.original);
    return list;
  };
  EXPECT_THAT(names("Identity(c) yq = QuantizeLinear(r, s2, z) y = DequantizeLinear(yq, s2, z) }"),
              ElementsAre("x", "c", "y"));
  EXPECT_THAT(names("Identity(c) yq = QuantizeLinear(r, s1, z) y = DequantizeLinear(yq, s1, z) }"),
              ElementsAre("x", "y", "y"))
      << "the same codes are one tensor's";
  EXPECT_THAT(names("Relu(c) rq = QuantizeLinear(r, s1, z) rd = DequantizeLinear(rq, s1, z)"
                    " yq = QuantizeLinear(rd, s2, z) y = DequantizeLinear(yq, s2, z) }"),
              ElementsAre("x", "c", "y", "y"))
      << "the Relu stays before both";
}

TEST(ArtifactView, WhatIsQuantizedAgainBehindTheModelsOwnPairIsTheSameTensor) {
  const std::map<std::string, Tensor> constants{{"s1", scalar(0.5)}, {"s2", scalar(0.25)}, {"z", zero()}};
  const model::Model original = parse(
      "g (float[2] x) => (float[2] y) { q = QuantizeLinear(x, s1, z) d = DequantizeLinear(q, s1, z) y = Relu(d) }",
      constants);
  auto read = view(
      "a (float[2] x) => (float[2] y) { q = QuantizeLinear(x, s1, z) d = DequantizeLinear(q, s1, z)"
      " dq = QuantizeLinear(d, s2, z) dd = DequantizeLinear(dq, s2, z) y = Relu(dd) }",
      constants, original);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->quantizers()[0].original, "x");
  EXPECT_EQ(read->quantizers()[1].original, "x");
}

TEST(ArtifactView, AReluThatStaysBetweenConvAndQuantizeIsFused) {
  const model::Model original = parse("g (float[1,1,2,2] x) => (float[1,2,2,2] y) { c = Conv(x, w) y = Relu(c) }",
                                      {{"w", reals({2, 1, 1, 1}, {3, 8})}});
  auto read = view(
      "a (float[1,1,2,2] x) => (float[1,2,2,2] y) { xq = QuantizeLinear(x, s1, z) xd = DequantizeLinear(xq, s1, z)"
      " wd = DequantizeLinear<axis=0>(wq, ws, wz) c = Conv(xd, wd) r = Relu(c)"
      " yq = QuantizeLinear(r, s2, z) y = DequantizeLinear(yq, s2, z) }",
      kConvConstants, original);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->find_original(0)->integer());
  EXPECT_TRUE(read->find_original(1)->integer());
  EXPECT_EQ(read->quantizers()[1].original, "y");
}

TEST(ArtifactView, NodesAreMatchedByFusedOutputAndByPosition) {
  const model::Model original =
      parse("g (float[1,1,2,2] x) => (float[1,2,2,2] y) { c = Conv(x, w) y = BatchNormalization(c, g, g, g, g) }",
            {{"w", reals({2, 1, 1, 1}, {3, 8})}, {"g", reals({2}, {1, 1})}});
  auto fused = view("a (float[1,1,2,2] x) => (float[1,2,2,2] y) { y = Conv(x, w2) }",
                    {{"w2", reals({2, 1, 1, 1}, {3, 8})}}, original);
  ASSERT_TRUE(fused);
  EXPECT_NE(fused->find_original(0), nullptr);
  auto renamed = view("a (float[1,1,2,2] x) => (float[1,2,2,2] z) { z = Conv(x, w2) }",
                      {{"w2", reals({2, 1, 1, 1}, {3, 8})}}, original);
  ASSERT_TRUE(renamed);
  EXPECT_NE(renamed->find_original(0), nullptr) << "the only Conv on both sides";
}

TEST(ArtifactView, ExchangedOperandsOfAddKeepTheirNames) {
  const model::Model original =
      parse("g (float[2] a, float[2] b) => (float[2] y) { p = Relu(a) q = Relu(b) y = Add(p, q) }", {});
  auto read = view(
      "a (float[2] a, float[2] b) => (float[2] y) { p = Relu(a) q = Relu(b)"
      " pq = QuantizeLinear(p, s, z) pd = DequantizeLinear(pq, s, z)"
      " qq = QuantizeLinear(q, s, z) qd = DequantizeLinear(qq, s, z) y = Add(qd, pd) }",
      {{"s", scalar(1)}, {"z", zero()}}, original);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->original_tensor("pd"), "p");
  EXPECT_EQ(read->original_tensor("qd"), "q");
}

TEST(ArtifactView, ANodeWithoutItsNameIsFoundByWhatItsReaderReads) {
  const model::Model original =
      parse("g (float[2] x) => (float[2] y) { p = Sigmoid(x) q = Sigmoid(p) r = Sigmoid(x) y = Sub(q, r) }", {});
  auto read = view(
      "a (float[2] x) => (float[2] y) { t1 = Sigmoid(x) t2 = Sigmoid(x)"
      " uq = QuantizeLinear(t1, s1, z) ud = DequantizeLinear(uq, s1, z) t3 = Sigmoid(t2) y = Sub(t3, ud) }",
      {{"s1", scalar(0.5)}, {"z", zero()}}, original);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->original_tensor("t1"), "r");
  EXPECT_EQ(read->original_tensor("t2"), "p");
  EXPECT_EQ(read->original_tensor("t3"), "q");
}

TEST(ArtifactView, ConstantCodesHaveTheParametersOfWhoeverDequantizesThem) {
  const model::Model original =
      parse("g (int64[2] i) => (float[2,2] y) { y = Gather(t, i) }", {{"t", reals({3, 2}, {1, 2, 3, 4, 5, 6})}});
  auto read =
      view("a (int64[2] i) => (float[2,2] y) { g = Gather(tq, i) y = DequantizeLinear(g, s1, z) }",
           {{"s1", scalar(0.5)}, {"z", zero()}, {"tq", codes(DType::int8, {3, 2}, {2, 4, 6, 8, 10, 12})}}, original);
  ASSERT_TRUE(read);
  const Operand& table = read->find_original(0)->inputs[0];
  EXPECT_TRUE(table.quantized());
  EXPECT_EQ(table.params->scale.front(), 0.5);
  ASSERT_NE(table.constant_codes, nullptr);
}

TEST(ArtifactView, APadOfCodesHasItsValueAsACode) {
  const model::Model original = parse("g (float[2] x) => (float[4] y) { y = Pad(x, p, v) }",
                                      {{"p", codes(DType::int64, {2}, {1, 1})}, {"v", scalar(3)}});
  auto read = view(
      "a (float[2] x) => (float[4] y) { xq = QuantizeLinear(x, s1, z) g = Pad(xq, p, v)"
      " y = DequantizeLinear(g, s1, z) }",
      {{"s1", scalar(0.5)}, {"z", zero()}, {"p", codes(DType::int64, {2}, {1, 1})}, {"v", zero(6)}}, original);
  ASSERT_TRUE(read);
  const ArtifactNode& pad = *read->find_original(0);
  EXPECT_FALSE(pad.inputs[1].quantized());
  ASSERT_TRUE(pad.inputs[2].quantized());
  EXPECT_EQ(pad.inputs[2].params->scale.front(), 0.5);
}

TEST(ArtifactView, QOperatorsAreIntegerByDefinition) {
  const model::Model original =
      parse("g (float[1,1,2,2] x) => (float[1,2,2,2] y) { y = Conv(x, w) }", {{"w", reals({2, 1, 1, 1}, {3, 8})}});
  auto read = view(
      "a (float[1,1,2,2] x) => (float[1,2,2,2] y) { xq = QuantizeLinear(x, s1, z)"
      " yq = QLinearConv(xq, s1, z, wq, ws, wz, s2, z) y = DequantizeLinear(yq, s2, z) }",
      kConvConstants, original);
  ASSERT_TRUE(read) << read.error().message;
  const ArtifactNode* conv = read->find_original(0);
  ASSERT_NE(conv, nullptr);
  EXPECT_TRUE(conv->integer());
  EXPECT_EQ(conv->op, "Conv");
  EXPECT_EQ(conv->inputs[0].original, "x");
  EXPECT_EQ(conv->inputs[1].params->axis, 0);
  ASSERT_EQ(read->quantizers_of("y").size(), 1U);
  EXPECT_EQ(read->quantizers_of("y")[0]->params.scale.front(), 0.25);
}

TEST(ArtifactView, AFloatConstantBehindQuantizeHasItsCodesComputed) {
  const model::Model original =
      parse("g (float[1,1,2,2] x) => (float[1,2,2,2] y) { y = Conv(x, w) }", {{"w", reals({2, 1, 1, 1}, {3, 8})}});
  std::map<std::string, Tensor> constants = kConvConstants;
  constants["w"] = reals({2, 1, 1, 1}, {3, 8});
  auto read = view(
      "a (float[1,1,2,2] x) => (float[1,2,2,2] y) { q = QuantizeLinear<axis=0>(w, ws, wz)"
      " wd = DequantizeLinear<axis=0>(q, ws, wz) y = Conv(x, wd) }",
      constants, original);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->find_original(0)->inputs[1].constant_codes->to_integers(), ElementsAre(3, 4));
}

TEST(ArtifactView, AScaleThatIsComputedIsAnErrorByNode) {
  const model::Model original = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }", {});
  auto read = view(
      "a (float[2] x, float[2] t) => (float[2] y) { s = ReduceMax<keepdims=0>(t) q = QuantizeLinear(x, s, z)"
      " d = DequantizeLinear(q, s, z) y = Relu(d) }",
      {{"z", zero()}}, original);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().node, "q");
  EXPECT_THAT(read.error().message, HasSubstr("isn't a float constant"));
}

TEST(ArtifactView, CountsOfScalesAndZeroPointsMustAgree) {
  const model::Model original = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }", {});
  auto read = view(
      "a (float[2] x) => (float[2] y) { q = QuantizeLinear<axis=0>(x, s, z) d = DequantizeLinear<axis=0>(q, s, z) y = "
      "Relu(d) }",
      {{"s", reals({2}, {1, 1})}, {"z", codes(DType::int8, {3}, {0, 0, 0})}}, original);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("2 scales"));
}

TEST(ChannelIndex, FindsTheChannelAlongTheAxis) {
  const core::QuantParams params{{1, 2, 3}, {0, 0, 0}, DType::int8, 1};
  const auto index = ChannelIndex::make({2, 3, 2}, params);
  ASSERT_TRUE(index);
  std::vector<std::size_t> channels;
  for (std::size_t i = 0; i < 12; ++i) channels.push_back(index->channel(i));
  EXPECT_THAT(channels, ElementsAre(0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2));
}

TEST(ChannelIndex, RefusesAWrongCountAndAWrongRank) {
  EXPECT_FALSE(ChannelIndex::make({2, 4}, {{1, 2, 3}, {0, 0, 0}, DType::int8, 1}));
  EXPECT_FALSE(ChannelIndex::make({2}, {{1, 2, 3}, {0, 0, 0}, DType::int8, 1}));
  EXPECT_FALSE(ChannelIndex::make({}, {{1, 2}, {0, 0}, DType::int8, 0}));
  EXPECT_TRUE(ChannelIndex::make({}, {{1}, {0}, DType::int8, {}}));
  EXPECT_TRUE(ChannelIndex::make({0, 3}, {{1, 2, 3}, {0, 0, 0}, DType::int8, -1}));
}

TEST(ChannelIndex, FindsTheBlockAndTheRuns) {
  const auto channels_of = [](const core::Shape& shape, const core::QuantParams& params) {
    const auto index = ChannelIndex::make(shape, params);
    EXPECT_TRUE(index);
    const auto count = static_cast<std::size_t>(core::element_count(shape));
    std::vector<std::size_t> channels, visited(count, 99);
    for (std::size_t i = 0; i < count; ++i) channels.push_back(index->channel(i));
    index->for_each_run(count, [&](std::size_t first, std::size_t length, std::size_t channel) {
      std::fill_n(visited.begin() + static_cast<std::ptrdiff_t>(first), length, channel);
    });
    EXPECT_EQ(visited, channels);
    EXPECT_EQ(index->extent(), params.scale.size());
    return channels;
  };
  const core::QuantParams four{{1, 2, 3, 4}, {0, 0, 0, 0}, DType::int8, 0, 2};
  EXPECT_THAT(channels_of({3, 2}, four), ElementsAre(0, 1, 0, 1, 2, 3));  // the last block is short
  core::QuantParams last = four;
  last.axis = -1;
  EXPECT_THAT(channels_of({2, 3}, last), ElementsAre(0, 0, 1, 2, 2, 3));
  last.axis = 1;
  EXPECT_THAT(channels_of({1, 4, 2}, last), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
}

TEST(ChannelIndex, RefusesAWrongCountOfBlocks) {
  const core::QuantParams four{{1, 2, 3, 4}, {0, 0, 0, 0}, DType::int8, 0, 2};
  const auto wrong = ChannelIndex::make({5, 2}, four);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "4 scales for blocks of 2 along axis 0 of shape [5,2], expected 6");
  EXPECT_FALSE(ChannelIndex::make({2, 2}, four));
  EXPECT_TRUE(ChannelIndex::make({4, 2}, four));
}

/// A MatMul of x [2,3] with a weight [3,2] in two blocks of 2 rows.
core::Result<ArtifactView> matmul_in_blocks(const std::map<std::string, Tensor>& constants, const std::string& text) {
  const model::Model original =
      parse("g (float[2,3] x) => (float[2,2] y) { y = MatMul(x, w) }", {{"w", reals({3, 2}, {1, 2, 3, 4, 5, 6})}});
  return view("a (float[2,3] x) => (float[2,2] y) { " + text + " y = MatMul(x, wd) }", constants, original);
}
const std::map<std::string, Tensor> kBlocks{{"wq", codes(DType::int4, {3, 2}, {1, 2, 3, -4, 5, -6})},
                                            {"ws", reals({2, 2}, {0.5, 1, 2, 4})},
                                            {"wz", codes(DType::int4, {2, 2}, {0, 1, 2, 3})},
                                            {"w", reals({3, 2}, {0.5, 1, 1.5, -5, 6, -36})}};

TEST(ArtifactView, ReadsScalesOfBlocks) {
  const auto read = matmul_in_blocks(kBlocks, "wd = DequantizeLinear<axis=0, block_size=2>(wq, ws, wz)");
  ASSERT_TRUE(read) << read.error().message;
  const Operand& weight = read->find_original(0)->inputs[1];
  ASSERT_TRUE(weight.quantized());
  EXPECT_EQ(*weight.params, (core::QuantParams{{0.5, 1, 2, 4}, {0, 1, 2, 3}, DType::int4, 0, 2}));
  const auto values = dequantize_tensor(*weight.constant_codes, *weight.params);
  ASSERT_TRUE(values);
  EXPECT_THAT(values->to_reals(), ElementsAre(0.5, 1, 1.5, -5, 6, -36));
  const auto codes_again = quantize_tensor(*values, *weight.params);
  ASSERT_TRUE(codes_again);
  EXPECT_EQ(*codes_again, *weight.constant_codes);
}

TEST(ArtifactView, AWeightOfMatMulNBitsIsUnpacked) {
  const model::Model original = parse("g (float[2,18] x) => (float[2,1] y) { m = MatMul(x, w) y = Add(m, b) }",
                                      {{"w", reals({18, 1}, std::vector<double>(18, 0.5))}, {"b", reals({1}, {1})}});
  std::vector<std::int64_t> bytes(16, 0x88);
  bytes[0] = 0x7F, bytes[8] = 0x19;
  model::Model artifact = parse(
      "a (float[2,18] x) => (float[2,1] y) { y = MatMulNBits<K=18, N=1, bits=4, block_size=16>(x, w_Q4, ws, wz, , b) "
      "}",
      {{"w_Q4", codes(DType::uint8, {1, 2, 8}, bytes)},
       {"ws", reals({1, 2}, {0.5, 2})},
       {"wz", codes(DType::uint8, {1, 1}, {0x68})},
       {"b", reals({1}, {1})}});
  artifact.graph.nodes.front().domain = "com.microsoft";
  artifact.opsets["com.microsoft"] = 1;
  const auto read = ArtifactView::build(std::make_shared<const model::Model>(std::move(artifact)), original);
  ASSERT_TRUE(read) << read.error().message;
  const ArtifactNode* product = read->find_original(0);
  ASSERT_NE(product, nullptr);
  EXPECT_EQ(product->op, "MatMul");
  const Operand& weight = product->inputs[1];
  EXPECT_EQ(weight.original, "w");
  ASSERT_TRUE(weight.quantized());
  EXPECT_EQ(*weight.params, (core::QuantParams{{0.5, 2}, {8, 6}, DType::uint4, 0, 16}));
  ASSERT_NE(weight.constant_codes, nullptr);
  EXPECT_EQ(weight.constant_codes->shape(), (core::Shape{18, 1}));
  EXPECT_THAT(weight.constant_codes->to_integers(), ElementsAre(15, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 9, 1));
  EXPECT_EQ(constant_value(weight)->reals()[17], -10);
  ASSERT_NE(read->find_original(1), nullptr);
  EXPECT_EQ(read->find_original(1)->op, "Add");
  EXPECT_FALSE(product->inputs[0].quantized());
}

TEST(ArtifactView, ATableOfGatherBlockQuantizedIsUnpacked) {
  const model::Model original = parse("g (int64[2] x) => (float[2,16] y) { y = Gather(w, x) }",
                                      {{"w", reals({2, 16}, std::vector<double>(32, 0.5))}});
  model::Model artifact = parse(
      "a (int64[2] x) => (float[2,16] y) { y = GatherBlockQuantized<bits=8, block_size=16>(w_Q8, x, ws) }",
      {{"w_Q8", codes(DType::uint8, {2, 16}, std::vector<std::int64_t>(32, 129))}, {"ws", reals({2, 1}, {0.5, 2})}});
  artifact.graph.nodes.front().domain = "com.microsoft";
  artifact.opsets["com.microsoft"] = 1;
  const auto read = ArtifactView::build(std::make_shared<const model::Model>(std::move(artifact)), original);
  ASSERT_TRUE(read) << read.error().message;
  const ArtifactNode* gather = read->find_original(0);
  ASSERT_NE(gather, nullptr);
  EXPECT_EQ(gather->op, "Gather");
  EXPECT_EQ(gather->inputs[0].original, "w");
  EXPECT_EQ(gather->inputs[0].codes, "w_Q8");
  EXPECT_EQ(*gather->inputs[0].params, (core::QuantParams{{0.5, 2}, {128, 128}, DType::uint8, 1, 16}));
}

TEST(ArtifactView, AFloatConstantIsQuantizedInBlocks) {
  const auto read = matmul_in_blocks(kBlocks,
                                     "q = QuantizeLinear<axis=-2, block_size=2>(w, ws, wz)"
                                     " wd = DequantizeLinear<axis=-2, block_size=2>(q, ws, wz)");
  ASSERT_TRUE(read) << read.error().message;
  const Operand& weight = read->find_original(0)->inputs[1];
  EXPECT_EQ(weight.params->axis, 0);
  EXPECT_THAT(weight.constant_codes->to_integers(), ElementsAre(1, 2, 3, -4, 5, -6));
}

TEST(ArtifactView, RefusesScalesOfAnotherShapeThanTheBlocks) {
  const auto message = [](const std::map<std::string, Tensor>& constants, const std::string& attributes) {
    const auto read = matmul_in_blocks(constants, "wd = DequantizeLinear<" + attributes + ">(wq, ws, wz)");
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(message(kBlocks, "axis=1, block_size=2"),
            "scale \"ws\" has shape [2,2], expected [3,1] for blocks of 2 along axis 1");
  EXPECT_THAT(message(kBlocks, "axis=2, block_size=2"), HasSubstr("axis 2 is outside [3,2]"));
  EXPECT_THAT(message(kBlocks, "axis=0, block_size=-1"), HasSubstr("block_size is -1"));
  EXPECT_THAT(message(kBlocks, "axis=0"), HasSubstr("has shape [2,2], expected a scalar or one scale"));
  std::map<std::string, Tensor> fewer = kBlocks;
  fewer["wz"] = codes(DType::int4, {2}, {0, 1});
  EXPECT_THAT(message(fewer, "axis=0, block_size=2"), HasSubstr("4 scales \"ws\" but 2 zero points"));
}

}  // namespace
}  // namespace assay::judge
