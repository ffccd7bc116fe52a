#include "harness/judge/artifact/written_out.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/executor.hpp"
#include "reference/quantized_form.hpp"
#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge {
namespace {

using core::DType;
using testing::codes;
using testing::parse;
using testing::reals;
using testing::Tensor;

const std::map<std::string, Tensor> kParameters{{"s", Tensor::scalar(DType::float32, 0.5)},
                                                {"z", codes(DType::int8, {}, {3})},
                                                {"s2", Tensor::scalar(DType::float32, 0.8)},
                                                {"z2", codes(DType::int8, {}, {-5})},
                                                {"w", codes(DType::int8, {2, 1, 1, 1}, {30, -70})},
                                                {"m", codes(DType::int8, {2, 3}, {30, -70, 1, 17, 5, -90})},
                                                {"ws", reals({2}, {0.25, 0.125})},
                                                {"ws3", reals({3}, {0.25, 0.125, 0.5})},
                                                {"wz", codes(DType::int8, {2}, {0, 0})},
                                                {"wz3", codes(DType::int8, {3}, {0, 0, 0})},
                                                {"b", codes(DType::int32, {2}, {400, -900})},
                                                {"one", Tensor::scalar(DType::float32, 1)},
                                                {"choice", codes(DType::boolean, {2}, {1, 0})}};

/// ONNX Runtime's own operators get its domain, which the text leaves out.
std::shared_ptr<const model::Model> on_codes(const std::string& text, std::int64_t opset = 17) {
  model::Model model = parse(text, kParameters);
  for (model::Node& node : model.graph.nodes) {
    if (node.op_type != "QLinearConv" && node.op_type != "QLinearMatMul" && !model::is_quantizer(node)) {
      node.domain = "com.microsoft";
    }
  }
  model.opsets = {{"", opset}, {"com.microsoft", 1}};
  return std::make_shared<const model::Model>(std::move(model));
}

bool is_written_out(const model::Model& model) {
  return std::ranges::none_of(model.graph.nodes,
                              [](const auto& node) { return reference::quantized_form(node) != nullptr; });
}

TEST(WrittenOut, GivesTheSameCodes) {
  const std::vector<std::string> texts{
      "g (int8[1,1,2,2] x) => (int8[1,2,2,2] y) { y = QLinearConv <kernel_shape=[1,1]> (x, s, z, w, ws, wz, s2, z2, b) "
      "}",
      "g (int8[2,2] x) => (int8[2,3] y) { y = QLinearMatMul (x, s, z, m, ws3, wz3, s2, z2) }",
      "g (int8[2,3] x) => (int8[2,2] y) { y = QGemm <transB=1, alpha=0.75> (x, s, z, m, ws, wz, b, s2, z2) }",
      "g (int8[2,3] x) => (float[2,2] y) { y = QGemm <transB=1, alpha=2.0> (x, s, z, m, ws, wz, b) }",
      "g (int8[2,3] x) => (int8[2,3] y) { y = QLinearAdd (x, s, z, m, s2, z2, one, z) }",
      "g (int8[2,3] x) => (int8[4,3] y) { y = QLinearConcat <axis=0> (s2, z2, x, s, z, m, one, z) }",
      "g (int8[2] x) => (int8[2] y) { y = QLinearWhere (choice, x, s, z, x, s2, z2, one, z) }",
      "g (int8[2,3] x) => (int8[2,3] y) { y = QLinearSoftmax <axis=1, opset=13> (x, s, z, s2, z2) }",
      "g (int8[1,1,2,2] x) => (int8[1,1,1,1] y) { y = QLinearGlobalAveragePool (x, s, z, s2, z2) }",
      "g (int8[2,3] x) => (int8[2] y) { y = QLinearReduceMean <axes=[1], keepdims=0> (x, s, z, s2, z2) }"};
  for (const std::string& text : texts) {
    const auto artifact = on_codes(text);
    const auto written = written_out(artifact);
    EXPECT_TRUE(is_written_out(*written)) << text;
    std::vector<std::int64_t> values;
    core::Shape shape;
    for (const model::Dimension& extent : *artifact->graph.inputs.front().shape) shape.push_back(*extent.value);
    for (std::int64_t i = 0; i < core::element_count(shape); ++i) values.push_back(37 * i % 256 - 128);
    const core::TensorMap inputs{{"x", codes(DType::int8, shape, values)}};
    const auto expected = reference::execute(*artifact, inputs), actual = reference::execute(*written, inputs);
    ASSERT_TRUE(expected) << expected.error().message;
    ASSERT_TRUE(actual) << actual.error().message;
    EXPECT_EQ(expected->at("y"), actual->at("y")) << text;
  }
}

TEST(WrittenOut, LeavesWhatTheModelsOpsetCannotSay) {
  const auto stays = [](const std::string& text, std::int64_t opset) {
    const auto artifact = on_codes(text, opset);
    return !is_written_out(*written_out(artifact));
  };
  const std::string softmax = "g (int8[2,3] x) => (int8[2,3] y) { y = QLinearSoftmax <opset=11> (x, s, z, s2, z2) }";
  EXPECT_FALSE(stays(softmax, 11));
  EXPECT_TRUE(stays(softmax, 13));
  const std::string mean =
      "g (int8[2,3] x) => (int8[2] y) { y = QLinearReduceMean <axes=[1], keepdims=0> (x, s, z, s2, z2) }";
  EXPECT_FALSE(stays(mean, 17));
  EXPECT_TRUE(stays(mean, 18));
}

TEST(WrittenOut, AWeightWithManyScalesRaisesAnOldOpset) {
  const auto written =
      written_out(on_codes("g (int8[1,1,2,2] x) => (int8[1,2,2,2] y) { y = QLinearConv <kernel_shape=[1,1]> (x, s, z, "
                           "w, ws, wz, s2, z2, b) }",
                           10));
  EXPECT_TRUE(is_written_out(*written));
  EXPECT_EQ(written->opset(), 13);
}

TEST(WrittenOut, AWeightWithManyScalesStaysWhereTheOpsetCannotBeRaised) {
  const auto artifact = std::make_shared<model::Model>(*on_codes(
      "g (int8[1,1,2,2] x) => (int8[1,2,2,2] y) { t = QLinearConv <kernel_shape=[1,1]> (x, s, z, w, ws, wz, s2, "
      "z2, b) y = QLinearConv <kernel_shape=[1,1]> (x, s, z, w, ws, wz, s2, z2, b) }",
      10));
  artifact->graph.nodes.front().op_type = "Upsample";
  EXPECT_FALSE(is_written_out(*written_out(artifact)));
}

/// Operands in blocks. K = 18 in blocks of 16 and 2, N = 2; a table of 3 rows of 18.
const std::map<std::string, Tensor> kBlocks = [] {
  const auto bytes = [](const core::Shape& shape) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(core::element_count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(83 * i + 7) % 256;
    return codes(DType::uint8, shape, std::move(values));
  };
  const std::vector<std::int64_t> quarters{-8, 7, 1, 0, -3, 5};
  std::vector<std::int64_t> fours, groups, in_order;
  for (std::size_t i = 0; i < 54; ++i) fours.push_back(quarters[i % quarters.size()]);
  for (std::int64_t i = 0; i < 18; ++i) groups.push_back(i % 3 / 2);
  for (std::int64_t i = 0; i < 18; ++i) in_order.push_back(i / 16);
  return std::map<std::string, Tensor>{{"b2", bytes({2, 2, 4})},
                                       {"b4", bytes({2, 2, 8})},
                                       {"b8", bytes({2, 2, 16})},
                                       {"z2", codes(DType::uint8, {2, 1}, {0b0110, 0b0011})},
                                       {"z4", codes(DType::uint8, {2}, {0x8F, 0x17})},
                                       {"z8", codes(DType::uint8, {2, 2}, {128, 0, 255, 9})},
                                       {"zr", reals({2, 2}, {8, 0, 15, 3})},
                                       {"zh", reals({2, 2}, {8, 0.5, 15, 3})},
                                       {"g", codes(DType::int32, {18}, groups)},
                                       {"s", reals({2, 2}, {0.5, -0.25, 2, 0})},
                                       {"sl", reals({4}, {0.5, -0.25, 2, 0})},
                                       {"bias", reals({2}, {3, -4})},
                                       {"t4", bytes({3, 9})},
                                       {"t8", bytes({3, 18})},
                                       {"ti", codes(DType::int4, {3, 18}, fours)},
                                       {"tu", codes(DType::int4, {18, 3}, fours)},
                                       {"ts", reals({3, 2}, {1, 0.5, -2, 0.25, 4, 8})},
                                       {"tz", codes(DType::uint8, {3, 1}, {0x21, 0x43, 0xF0})},
                                       {"iz", codes(DType::int4, {3, 2}, {-1, 2, 0, 7, -8, 3})},
                                       {"us", reals({2, 3}, {1, 0.5, -2, 0.25, 4, 8})},
                                       {"in_order", codes(DType::int32, {18}, in_order)}};
}();

std::shared_ptr<const model::Model> in_blocks(const std::string& node, const std::string& input = "float[1,18] x") {
  model::Model model = parse("m (" + input + ") => (float[a,b] y) { y = " + node + " }", kBlocks);
  for (model::Node& each : model.graph.nodes) {
    each.domain = "com.microsoft";
    each.name = "n";
  }
  model.opsets = {{"", 13}, {"com.microsoft", 1}};
  return std::make_shared<const model::Model>(std::move(model));
}

TEST(WrittenOut, IsAGemmWhereTheOriginalHasOne) {
  const auto artifact = in_blocks("MatMulNBits<K=18, N=2, block_size=16, bits=8>(x, b8, s, , , bias)");
  const auto operators = [&](const std::string& original) {
    std::vector<std::string> names;
    const auto written = written_out(artifact, parse(original, {}).graph);
    for (const model::Node& node : written->graph.nodes) names.push_back(node.op_type);
    return names;
  };
  EXPECT_EQ(operators("m (float[1,18] x, float[18,2] w, float[2] b) => (float[1,2] y) { y = Gemm (x, w, b) }"),
            (std::vector<std::string>{"DequantizeLinear", "Gemm"}));
  EXPECT_EQ(operators("m (float[1,18] x, float[18,2] w) => (float[1,2] y) { y = MatMul (x, w) }"),
            (std::vector<std::string>{"DequantizeLinear", "MatMul", "Add"}));
}

TEST(WrittenOut, GivesTheSameValuesOfBlocks) {
  const std::string k = "MatMulNBits<K=18, N=2, block_size=16, bits=", t = "GatherBlockQuantized<block_size=16, ";
  const std::vector<std::string> products{k + "4>(x, b4, s)",
                                          k + "4>(x, b4, sl, z4)",
                                          k + "2>(x, b2, s, z2)",
                                          k + "2>(x, b2, s)",
                                          k + "8, accuracy_level=4>(x, b8, s, z8)",
                                          k + "8>(x, b8, s, , , bias)",
                                          k + "4>(x, b4, s, zr)",
                                          k + "4>(x, b4, s, z4, g, bias)",
                                          k + "4>(x, b4, s, , g)"};
  const std::vector<std::string> gathers{t + "bits=4>(t4, x, ts)", t + "bits=4>(t4, x, ts, tz)",
                                         t + "bits=8>(t8, x, ts)", t + "quantize_axis=-1>(ti, x, ts, iz)",
                                         t + "quantize_axis=0, gather_axis=1>(tu, x, us)"};
  const auto check = [](const std::shared_ptr<const model::Model>& artifact, const Tensor& x) {
    const auto written = written_out(artifact);
    const std::string node = artifact->graph.nodes.front().op_type;
    ASSERT_TRUE(is_written_out(*written)) << node;
    EXPECT_EQ(written->opset(), 13);
    const auto expected = reference::execute(*artifact, {{"x", x}}), actual = reference::execute(*written, {{"x", x}});
    ASSERT_TRUE(expected) << expected.error().message;
    ASSERT_TRUE(actual) << actual.error().message;
    EXPECT_EQ(expected->at("y"), actual->at("y")) << node;
  };
  std::vector<double> row;
  for (int i = 0; i < 18; ++i) row.push_back(i % 5 - 1.5);
  for (const std::string& text : products) {
    SCOPED_TRACE(text);
    check(in_blocks(text), reals({1, 18}, row));
  }
  for (const std::string& text : gathers) {
    SCOPED_TRACE(text);
    check(in_blocks(text, "int64[2] x"), codes(DType::int64, {2}, {2, 0}));
  }
}

TEST(WrittenOut, BlocksThatGroupsNameInOrderStayBlocks) {
  const auto block_of = [](const std::string& groups) {
    const auto written =
        written_out(in_blocks("MatMulNBits<K=18, N=2, block_size=16, bits=4>(x, b4, s, , " + groups + ")"));
    return written->graph.nodes.front().int_or("block_size", 0);
  };
  EXPECT_EQ(block_of("in_order"), 16);
  EXPECT_EQ(block_of("g"), 1) << "each index with its own";
}

TEST(WrittenOut, BlocksStayWhereTheirParametersAreNoCodesOrNoConstants) {
  const std::string k = "MatMulNBits<K=18, N=2, block_size=16, bits=4>";
  EXPECT_FALSE(is_written_out(*written_out(in_blocks(k + "(x, b4, s, zh)"))));
  EXPECT_FALSE(is_written_out(*written_out(in_blocks(k + "(x, b4, q)", "float[1,18] x, float[2,2] q"))));
  EXPECT_FALSE(is_written_out(*written_out(in_blocks(k + "(x, b8, s)"))));
  EXPECT_TRUE(is_written_out(*written_out(in_blocks(k + "(x, b4, s, , , q)", "float[1,18] x, float[2] q"))));
}

TEST(WrittenOut, IsTheSameObjectWhereThereIsNothingToDo) {
  const auto artifact = on_codes("g (float[2] x) => (int8[2] y) { y = QuantizeLinear (x, s, z) }");
  EXPECT_EQ(written_out(artifact), artifact);
}

}  // namespace
}  // namespace assay::judge
