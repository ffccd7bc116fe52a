#include "reference/infer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/model/onnx_io.hpp"
#include "reference/op.hpp"
#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::HasSubstr;

model::Model parse_at(const std::string& text, std::int64_t opset = 13) {
  core::Result<model::Model> model = model::parse_graph_text(text, {{"", opset}});
  EXPECT_TRUE(model.ok()) << model.error().message;
  return model ? std::move(*model) : model::Model{};
}

/// Type and shape of `tensor` in the text form of facts_text.
std::string inferred(const std::string& text, const std::string& tensor, std::int64_t opset = 13) {
  const auto infos = infer_shapes(parse_at(text, opset));
  if (!infos) return infos.error().message;
  const auto found = infos->find(tensor);
  return found == infos->end() ? "nothing of that name" : facts_text(facts_of(found->second));
}

core::Error refusal(const std::string& text, std::int64_t opset = 13) {
  const auto infos = infer_shapes(parse_at(text, opset));
  EXPECT_FALSE(infos.ok()) << text;
  return infos ? core::Error{} : infos.error();
}

TEST(InferShapes, EveryOperatorHasARule) {
  for (const OpDef* op : all_operators()) EXPECT_NE(op->infer, nullptr) << op->name;
}

TEST(InferShapes, KeepsNumbersSymbolsAndWhatIsUnknownApart) {
  const std::string text = "g (float[N,3,M] x, float[1,3,1] b) => (float[] y) { y = Add(x, b) }";
  EXPECT_EQ(inferred(text, "y"), "float[N,3,M]");
  EXPECT_EQ(inferred("g (float[N,4] x, float[M,1] b) => (float[] y) { y = Add(x, b) }", "y"), "float[?,4]");
  EXPECT_EQ(inferred("g (float[N,4] x, float[5,1] b) => (float[] y) { y = Add(x, b) }", "y"), "float[5,4]");
  EXPECT_EQ(inferred("g (float[] x, float[5] b) => (float[] y) { y = Add(x, b) }", "y"), "float of unknown rank");
}

TEST(InferShapes, FollowsShapeArithmeticOfWhichSomeExtentsAreOpen) {
  const std::string text = R"(g (float[N,3,4,5] x) => (float[] y) {
    s = Shape(x)
    zero = Constant <value = int64[1] {0}> ()
    rest = Constant <value = int64[1] {-1}> ()
    n = Gather <axis=0> (s, zero)
    shape = Concat <axis=0> (n, rest)
    y = Reshape(x, shape)
  })";
  EXPECT_EQ(inferred(text, "y"), "float[N,60]");
  EXPECT_EQ(inferred(text, "shape"), "int64[2]");
}

TEST(InferShapes, ComputesWithTheExtentsThatAreKnown) {
  const std::string text = R"(g (float[N,3,4,5] x) => (float[] y) {
    s = Shape(x)
    two = Constant <value = int64[4] {1,1,2,2}> ()
    doubled = Mul(s, two)
    roi = Constant <value = float[0] {}> ()
    none = Constant <value = float[0] {}> ()
    y = Resize <mode="nearest"> (x, roi, none, doubled)
  })";
  EXPECT_EQ(inferred(text, "y"), "float[?,3,8,10]");
}

TEST(InferShapes, AWindowLeavesOpenOnlyTheAxisThatIs) {
  EXPECT_EQ(inferred("g (float[N,2,H,9] x, float[4,2,3,3] w) => (float[] y) { y = Conv <strides=[2,2]> (x, w) }", "y"),
            "float[N,4,?,4]");
  EXPECT_EQ(inferred("g (float[N,2,H,9] x) => (float[] y) { y = MaxPool <kernel_shape=[2,2]> (x) }", "y"),
            "float[N,2,?,8]");
  EXPECT_EQ(
      inferred("g (float[N,2,H,9] x, float[2,4,3,3] w) => (float[] y) { y = ConvTranspose <strides=[2,2]> (x, w) }",
               "y"),
      "float[N,4,?,19]");
}

TEST(InferShapes, DataDependentResultsHaveRankAndTypeAlone) {
  EXPECT_EQ(inferred("g (float[2,3] x) => (int64[] y) { y = NonZero(x) }", "y"), "int64[2,?]");
  EXPECT_EQ(inferred("g (float[2,3] x, bool[3] c) => (float[] y) { y = Compress <axis=1> (x, c) }", "y"), "float[2,?]");
}

TEST(InferShapes, ABranchGivesWhatBothHaveInCommon) {
  const std::string text = R"(g (bool c, float[2,3] x, float[2,4] z) => (float[] y) {
    y = If (c) <then_branch = a () => (float[] t) { t = Relu(x) }, else_branch = b () => (float[] e) { e = Relu(z) }>
  })";
  EXPECT_EQ(inferred(text, "y"), "float[2,?]");
}

TEST(InferShapes, ABranchThatCannotRunSaysNothing) {
  const std::string text = R"(g (bool c, float[2,3] x, float[7] z) => (float[] y) {
    y = If (c) <then_branch = a () => (float[] t) { t = Add(x, z) }, else_branch = b () => (float[] e) { e = Relu(x) }>
  })";
  EXPECT_EQ(inferred(text, "y"), "float[2,3]");
}

TEST(InferShapes, ALoopKeepsOnlyWhatNoIterationChanges) {
  const std::string text =
      R"(g (int64 trips, bool go, float[2,3] start, float[2,1] more) => (float[] last, float[] all) {
    last, all = Loop (trips, go, start) <body = b (int64 i, bool c, float[] s) => (bool c2, float[] s2, float[] o) {
      c2 = Identity(c) s2 = Concat <axis=1> (s, more) o = Identity(more) }>
  })";
  EXPECT_EQ(inferred(text, "last"), "float[2,?]");
  EXPECT_EQ(inferred(text, "all"), "float[?,2,1]");
}

TEST(InferShapes, TakesOverWhatADeclarationAdds) {
  EXPECT_EQ(inferred("g (float[2,3] x) => (int64[2,4] y) { y = NonZero(x) }", "y"), "int64[2,4]");
}

TEST(InferShapes, LeavesUnknownOperatorsAsDeclared) {
  EXPECT_EQ(inferred("g (float[2,3] x) => (float[7] y) { h = NoSuchOperator(x) y = Relu(h) }", "h"),
            "? of unknown rank");
}

TEST(InferShapes, NamesTheTensorWhoseDeclarationIsContradicted) {
  const core::Error shape = refusal("g (float[2,3] x) => (float[2,4] y) { y = Relu(x) }");
  EXPECT_EQ(shape.tensor, "y");
  EXPECT_THAT(shape.message, HasSubstr("\"y\" is declared float[2,4], but the operators' rules give float[2,3]"));
  const core::Error type = refusal("g (float[2,3] x) => (int32[2,3] y) { y = Relu(x) }");
  EXPECT_EQ(type.tensor, "y");
  const core::Error rank = refusal("g (float[2,3] x) => (float[1,2,3] y) { y = Relu(x) }");
  EXPECT_EQ(rank.tensor, "y");
}

TEST(CheckDeclarations, LeavesANodeThatCannotRunToItsConverter) {
  const model::Model broken = parse_at("g (float[2,3] x, float[4,5] w) => (float[2,5] y) { y = MatMul(x, w) }");
  EXPECT_TRUE(check_declarations(broken).ok());
  EXPECT_FALSE(infer_shapes(broken).ok());
  EXPECT_FALSE(check_declarations(parse_at("g (float[2,3] x) => (float[2,4] y) { y = Relu(x) }")).ok());
}

TEST(CheckDeclarations, LooksIntoSubgraphs) {
  const model::Model model = parse_at(R"(g (bool c, float[2,3] x) => (float[] y) {
    y = If (c) <then_branch = a () => (float[2,9] t) { t = Relu(x) }, else_branch = b () => (float[] e) { e = Relu(x) }>
  })");
  const core::Status status = check_declarations(model);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().tensor, "t");
}

/// One violation of each family's rule; all are refused by node, operator and tensor, with the inputs' shapes.
struct Violation {
  const char* family;
  const char* text;
  const char* reason;
};

class BrokenRule : public testing::TestWithParam<Violation> {};

TEST_P(BrokenRule, IsRefusedByTensor) {
  const core::Error error = refusal(GetParam().text);
  EXPECT_EQ(error.tensor, "y") << error.message;
  EXPECT_EQ(error.kind, core::ErrorKind::invalid_model);
  EXPECT_FALSE(error.op.empty());
  EXPECT_THAT(error.message, HasSubstr(GetParam().reason));
  EXPECT_THAT(error.message, HasSubstr("the inputs are \""));
}

INSTANTIATE_TEST_SUITE_P(
    Families, BrokenRule,
    testing::Values(
        Violation{"real", "g (int32[2] x) => (float[] y) { y = Exp(x) }", "has type int32, expected a floating point"},
        Violation{"broadcast", "g (float[2,3] x, float[4] z) => (float[] y) { y = Add(x, z) }", "do not broadcast"},
        Violation{"one_type", "g (float[2] x, double[2] z) => (float[] y) { y = Mul(x, z) }", "expected the same"},
        Violation{"compare", "g (float[2] x, float[3] z) => (bool[] y) { y = Less(x, z) }", "do not broadcast"},
        Violation{"logical", "g (bool[2] x, float[2] z) => (bool[] y) { y = And(x, z) }", "expected bool"},
        Violation{"variadic", "g (float[2] x, float[3] z) => (float[] y) { y = Max(x, x, z) }", "do not broadcast"},
        Violation{"reduction", "g (float[2,3] x) => (float[] y) { y = ReduceMax <axes=[2]> (x) }", "axis 2"},
        Violation{"arg", "g (float[2,3] x) => (int64[] y) { y = ArgMax <axis=-3> (x) }", "axis -3"},
        Violation{"softmax", "g (float[2,3] x) => (float[] y) { y = Softmax <axis=2> (x) }", "axis 2"},
        Violation{"pool", "g (float[1,1,4,4] x) => (float[] y) { y = MaxPool <kernel_shape=[5,5]> (x) }", "covers 5"},
        Violation{"global_pool", "g (float[2,3] x) => (float[] y) { y = GlobalAveragePool(x) }", "one spatial axis"},
        Violation{"conv", "g (float[1,3,8,8] x, float[4,2,3,3] w) => (float[] y) { y = Conv(x, w) }", "3 channels"},
        Violation{"conv_bias",
                  "g (float[1,2,8,8] x, float[4,2,3,3] w, float[3] b) => (float[] y) { y = Conv(x, w, b) }",
                  "expected the shape [4]"},
        Violation{"conv_transpose", "g (float[1,3,8,8] x, float[4,2,3,3] w) => (float[] y) { y = ConvTranspose(x, w) }",
                  "3 channels"},
        Violation{"matmul", "g (float[2,3] x, float[4,5] w) => (float[] y) { y = MatMul(x, w) }", "3 columns"},
        Violation{"gemm", "g (float[2,3] x, float[3,5] w, float[4] c) => (float[] y) { y = Gemm(x, w, c) }",
                  "what broadcasts to [2,5]"},
        Violation{"normalization",
                  "g (float[2,3,4] x, float[4] s, float[3] b) => (float[] y) { y = InstanceNormalization(x, s, b) }",
                  "expected the shape [3]"},
        Violation{"concat", "g (float[2,3] x, float[3,4] z) => (float[] y) { y = Concat <axis=1> (x, z) }",
                  "does not fit"},
        Violation{"axis_map", "g (float[2,3] x) => (float[] y) { y = Transpose <perm=[0,0]> (x) }", "named twice"},
        Violation{"reshape",
                  "g (float[2,3] x) => (float[] y) { s = Constant <value = int64[2] {4,-1}> () y = Reshape(x, s) }",
                  "can't be given the shape [4,-1]"},
        Violation{"squeeze",
                  "g (float[2,3] x) => (float[] y) { a = Constant <value = int64[1] {0}> () y = Squeeze(x, a) }",
                  "can't be dropped"},
        Violation{"split", "g (float[5] x) => (float[] y, float[] z) { y, z = Split(x) }", "2 equal parts"},
        Violation{"slice", "g (float[5] x, int64[2] s, int64[1] e) => (float[] y) { y = Slice(x, s, e) }",
                  "as many of each"},
        Violation{"gather", "g (float[5] x, float[2] i) => (float[] y) { y = Gather(x, i) }",
                  "expected an integer type"},
        Violation{"scatter", "g (float[5] x, int64[2] i, float[3] u) => (float[] y) { y = ScatterElements(x, i, u) }",
                  "expected the shape [2]"},
        Violation{"pad", "g (float[5] x, int64[3] p) => (float[] y) { y = Pad(x, p) }", "3 pads for 1 axes"},
        Violation{"resize", "g (float[1,2] x, float[0] r, float[3] s) => (float[] y) { y = Resize(x, r, s) }",
                  "expected 2 numbers"},
        Violation{"blocks", "g (float[1,5,2,2] x) => (float[] y) { y = DepthToSpace <blocksize=2> (x) }",
                  "does not divide"},
        Violation{"quantize",
                  "g (float[2,3] x, float[2] s, int8[2] z) => (int8[] y) { y = QuantizeLinear <axis=1> (x, s, z) }",
                  "1 or 3 values"},
        Violation{"dequantize", "g (float[2,3] x, float s) => (float[] y) { y = DequantizeLinear(x, s) }",
                  "has type float"}),
    [](const auto& each) { return std::string(each.param.family); });

}  // namespace
}  // namespace assay::reference
