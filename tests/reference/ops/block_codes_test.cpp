#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/model/onnx_io.hpp"
#include "reference/infer.hpp"
#include "tests/reference/op_case.hpp"

// Operators on codes in blocks; tests/conformance/second_opinion.py holds them against ONNX Runtime's kernels.

namespace assay::reference {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

/// Rows of codes in bytes, the first in the lowest bits.
Tensor packed(const Shape& shape, std::int64_t bits, std::int64_t columns, const Ints& values) {
  Ints bytes(static_cast<std::size_t>(core::element_count(shape)));
  const std::int64_t in_byte = 8 / bits, stride = (columns + in_byte - 1) / in_byte;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); ++i) {
    const std::int64_t column = i % columns;
    bytes[static_cast<std::size_t>(i / columns * stride + column / in_byte)] |= values[static_cast<std::size_t>(i)]
                                                                                << (column % in_byte * bits);
  }
  return codes(DType::uint8, shape, bytes);
}

Attributes of_weight(std::int64_t k, std::int64_t n, std::int64_t bits) {
  return {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", std::int64_t{16}}};
}

/// K = 18 in blocks of 16 and 2, N = 2: a row that picks indices 0, 15, 16 and 17 apart.
const Tensor kRow = [] {
  Reals row(18, 0);
  row[0] = 1, row[15] = 10, row[16] = 100, row[17] = 1000;
  return reals({1, 18}, row);
}();

/// The codes of two columns: `zero` but at 0, 15, 16, 17, where they are zero + 1, 2, 3, -1; and what fills the block.
Ints columns_of(std::int64_t zero, std::int64_t filling) {
  Ints all;
  for (int column = 0; column < 2; ++column) {
    Ints one(18, zero);
    one[0] += 1, one[15] += column == 0 ? 2 : 0, one[16] += 1, one[17] -= 1;
    one.resize(32, filling);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

class MatMulNBitsCodes : public testing::TestWithParam<std::int64_t> {
 protected:
  const std::int64_t bits = GetParam(), middle = std::int64_t{1} << (bits - 1);
  [[nodiscard]] Tensor weight(std::int64_t zero) const {
    return packed({2, 2, 2 * bits}, bits, 32, columns_of(zero, 0));
  }
};

TEST_P(MatMulNBitsCodes, MultipliesByBlocks) {
  const Tensor scale = reals({2, 2}, {0.5, 2, -1, 4});
  // Column 0: 0.5 · (1 + 20), 2 · (100 − 1000); column 1: −1 · 1, 4 · (100 − 1000).
  if (bits > 2) {
    EXPECT_THAT(
        first_output("com.microsoft.MatMulNBits", {kRow, weight(middle), scale}, of_weight(18, 2, bits), 1).reals(),
        ElementsAre(10.5 - 1800, -1 - 3600));
  }
  // Zero points of a row start at a byte.
  Ints zeros{1, 1, 1, 1};
  const Tensor shifted = packed({2, 2 * bits == 16 ? 2 : 1}, bits, 2, zeros);
  EXPECT_THAT(
      first_output("com.microsoft.MatMulNBits", {kRow, weight(1), scale, shifted}, of_weight(18, 2, bits), 1).reals(),
      ElementsAre(10.5 - 1800, -1 - 3600));
  EXPECT_THAT(first_output("com.microsoft.MatMulNBits",
                           {kRow, weight(1), scale.reshaped({4}), shifted.reshaped({shifted.size()})},
                           of_weight(18, 2, bits), 1)
                  .reals(),
              ElementsAre(10.5 - 1800, -1 - 3600));
}

TEST_P(MatMulNBitsCodes, TakesRealZeroPointsAndABias) {
  const Tensor scale = reals({2, 2}, {1, 1, 1, 1}), zeros = reals({2, 2}, {1, 1, 0.5, 1}), bias = reals({2}, {7, 8});
  const Tensor codes = weight(1);
  const auto y =
      run_op("com.microsoft.MatMulNBits", {&kRow, &codes, &scale, &zeros, nullptr, &bias}, of_weight(18, 2, bits), 1);
  ASSERT_TRUE(y) << y.error().message;
  // Column 1: (1.5 + 0.5 · 10) + (100 − 1000) + 8.
  EXPECT_THAT(y->front().reals(), ElementsAre(21 - 900 + 7, 6.5 - 900 + 8));
}

TEST_P(MatMulNBitsCodes, AGroupIndexSaysTheBlock) {
  const Tensor codes = weight(1), scale = reals({2, 2}, {1, 2, 3, 4});
  const Tensor zeros = reals({2, 2}, {1, 1, 1, 1});
  Ints groups(18, 0);
  groups[0] = 1, groups[17] = 1;
  for (const bool filled : {false, true}) {
    if (filled) groups.resize(32, 0);
    const Tensor index = reference::codes(DType::int32, {static_cast<std::int64_t>(groups.size())}, groups);
    const auto y =
        run_op("com.microsoft.MatMulNBits", {&kRow, &codes, &scale, &zeros, &index}, of_weight(18, 2, bits), 1);
    ASSERT_TRUE(y) << y.error().message;
    EXPECT_THAT(y->front().reals(), ElementsAre(2 + 20 + 100 - 2000, 4 + 300 - 4000));
  }
  groups[3] = 2;
  const Tensor index = reference::codes(DType::int32, {32}, groups);
  const auto y =
      run_op("com.microsoft.MatMulNBits", {&kRow, &codes, &scale, &zeros, &index}, of_weight(18, 2, bits), 1);
  ASSERT_FALSE(y);
  EXPECT_THAT(y.error().message, HasSubstr("holds 2, but there are 2 blocks"));
}
INSTANTIATE_TEST_SUITE_P(Bits, MatMulNBitsCodes, testing::Values(2, 4, 8));

TEST(MatMulNBits, RefusesWhatDoesNotFit) {
  const Tensor weight = packed({2, 2, 8}, 4, 32, columns_of(8, 0)), scale = reals({2, 2}, {1, 1, 1, 1});
  const auto message = [&](const Tensor& b, const Tensor& s, const Attributes& attributes) {
    return error_of("com.microsoft.MatMulNBits", {kRow, b, s}, attributes, 1);
  };
  EXPECT_THAT(message(weight.reshaped({2, 16}), scale, of_weight(18, 2, 4)), HasSubstr("[2,2,8]"));
  EXPECT_THAT(message(weight, reals({2}, {1, 1}), of_weight(18, 2, 4)), HasSubstr("[4]"));
  EXPECT_THAT(message(weight, reals({2, 2}, {1, kInf, 1, 1}), of_weight(18, 2, 4)),
              HasSubstr("expected finite scales"));
  EXPECT_THAT(message(weight, scale, of_weight(18, 2, 3)), HasSubstr("bits is 3"));
  EXPECT_THAT(message(weight, scale, of_weight(0, 2, 4)), HasSubstr("K is 0"));
  EXPECT_THAT(message(weight, scale, of_weight(20, 2, 4)), HasSubstr("18"));  // A has 18 columns
  Attributes odd = of_weight(18, 2, 4);
  odd["block_size"] = std::int64_t{24};
  EXPECT_THAT(message(weight, scale, odd), HasSubstr("power of two from 16"));
}

Tensor indices(Ints values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return codes(DType::int64, {count}, std::move(values));
}

TEST(GatherBlockQuantized, UnpacksRowsOfBytes) {
  Ints low(18, 8), high(18, 8);
  low[0] = 0, low[17] = 15, high[15] = 9, high[16] = 7;
  Ints all = low;
  all.insert(all.end(), high.begin(), high.end());
  const Attributes attributes{{"block_size", std::int64_t{16}}, {"quantize_axis", std::int64_t{-1}}};
  Reals first(18, 0), second(18, 0);
  first[0] = -8, first[17] = 70, second[15] = 100, second[16] = -1000;
  const Tensor scale = reals({2, 2}, {1, 10, 100, 1000}), table = packed({2, 9}, 4, 18, all);
  second.insert(second.end(), first.begin(), first.end());
  EXPECT_THAT(
      first_output("com.microsoft.GatherBlockQuantized", {table, indices({1, -2}), scale}, attributes, 1).reals(),
      ElementsAreArray(second));
  const Tensor zero = packed({2, 1}, 4, 2, {0, 8, 8, 8});
  for (int i = 0; i < 16; ++i) second[static_cast<std::size_t>(18 + i)] += 8;
  EXPECT_THAT(
      first_output("com.microsoft.GatherBlockQuantized", {table, indices({1, 0}), scale, zero}, attributes, 1).reals(),
      ElementsAreArray(second));
}

TEST(GatherBlockQuantized, TakesOtherAxesOfFourBits) {
  // Two blocks of rows; columns 1 and 0 are gathered.
  Ints all(34, 1);
  all[32] = -2, all[33] = 3;
  const Attributes attributes{
      {"block_size", std::int64_t{16}}, {"quantize_axis", std::int64_t{0}}, {"gather_axis", std::int64_t{1}}};
  const Tensor y =
      first_output("com.microsoft.GatherBlockQuantized",
                   {codes(DType::int4, {17, 2}, all), indices({1, 0}), reals({2, 2}, {1, 2, 3, 4})}, attributes, 1);
  EXPECT_EQ(y.shape(), (Shape{17, 2}));
  EXPECT_EQ(y.reals()[0], 2);
  EXPECT_EQ(y.reals()[32], 12);
  EXPECT_EQ(y.reals()[33], -6);
}

TEST(GatherBlockQuantized, RefusesWhatDoesNotFit) {
  const auto message = [&](const Tensor& table, const Attributes& attributes) {
    Attributes all = attributes;
    all["block_size"] = std::int64_t{16};
    return error_of("com.microsoft.GatherBlockQuantized", {table, indices({0}), reals({2, 2}, {1, 2, 3, 4})}, all, 1);
  };
  const Tensor bytes = codes(DType::uint8, {2, 9}, Ints(18, 0));
  EXPECT_THAT(message(bytes, {{"bits", std::int64_t{3}}}), HasSubstr("bits is 3"));
  EXPECT_THAT(message(bytes, {{"quantize_axis", std::int64_t{0}}}), HasSubstr("are the same"));
  EXPECT_THAT(message(bytes, {{"quantize_axis", std::int64_t{0}}, {"gather_axis", std::int64_t{1}}}),
              HasSubstr("must be the first axis"));
  EXPECT_THAT(message(bytes, {{"bits", std::int64_t{8}}}), HasSubstr("[2,1]"));
  EXPECT_THAT(message(codes(DType::int8, {2, 9}, Ints(18, 0)), {}), HasSubstr("int8"));
}

/// What the rule knows of y, where `node` of ONNX Runtime's domain reads `inputs`; else its error.
std::string known_of_y(const std::string& inputs, const std::string& node) {
  auto model = model::parse_graph_text("g (" + inputs + ") => (float[] y) { y = " + node + " }",
                                       {{"", 17}, {"com.microsoft", 1}});
  if (!model) return model.error().message;
  model->graph.nodes.front().domain = "com.microsoft";
  model->graph.outputs.front() = {.name = "y", .type = DType::undefined, .shape = {}};
  const auto infos = infer_shapes(*model);
  return infos ? facts_text(facts_of(infos->at("y"))) : infos.error().message;
}

TEST(MatMulNBits, ShapesAreKnownFromTheAttributes) {
  const std::string node = "MatMulNBits<K=40, N=5, bits=4, block_size=16>";
  EXPECT_EQ(known_of_y("float[B,7,40] x, uint8[5,3,8] b, float[15] s", node + "(x, b, s)"), "float[B,7,5]");
  EXPECT_EQ(known_of_y("float[B,7,40] x, uint8[] b, float[] s", node + "(x, b, s)"), "float[B,7,5]");
  EXPECT_THAT(known_of_y("float[7,39] x, uint8[] b, float[] s", node + "(x, b, s)"), HasSubstr("39"));
  EXPECT_THAT(known_of_y("float[7,40] x, uint8[5,3,8] b, float[5,3] s, uint8[5,3] z", node + "(x, b, s, z)"),
              HasSubstr("[5,2]"));
  EXPECT_THAT(known_of_y("float[7,40] x, uint8[5,3,8] b, float16[5,3] s", node + "(x, b, s)"), HasSubstr("float16"));
  EXPECT_THAT(known_of_y("float[7,40] x, uint8[] b, float[] s, float[7,5] c", node + "(x, b, s, , , c)"),
              HasSubstr("[5]"));
}

TEST(GatherBlockQuantized, ShapesFollowTheTable) {
  const std::string node = "GatherBlockQuantized<block_size=16>";
  EXPECT_EQ(known_of_y("uint8[M,20] t, int64[N] i, float[M,3] s", node + "(t, i, s)"), "float[N,40]");
  EXPECT_EQ(known_of_y("uint8[M,C] t, int64[2,N] i, float[] s", node + "(t, i, s)"), "float[2,N,?]");
  EXPECT_EQ(known_of_y("uint8[M,C] t, int64[2] i, float16[] s", "GatherBlockQuantized<block_size=16, bits=8>(t, i, s)"),
            "float16[2,C]");
  EXPECT_THAT(known_of_y("uint8[M,20] t, int64[N] i, float[M,2] s", node + "(t, i, s)"), HasSubstr("[M,3]"));
}

TEST(DequantizeLinear, TakesScalesOfAnySign) {
  const Tensor x = codes(DType::int4, {3}, {1, 2, 3});
  for (const std::string op : {"DequantizeLinear", "com.microsoft.DequantizeLinear"}) {
    const std::int64_t opset = op == "DequantizeLinear" ? 21 : 1;
    EXPECT_THAT(
        first_output(op, {x, reals({2}, {-2, 0})}, {{"axis", std::int64_t{0}}, {"block_size", std::int64_t{2}}}, opset)
            .reals(),
        ElementsAre(-2, -4, 0));
    EXPECT_THAT(first_output(op, {x, scalar(-2)}, {}, opset).reals(), ElementsAre(-2, -4, -6));
    EXPECT_THAT(first_output(op, {x, reals({3}, {2, 3, 4})}, {{"axis", std::int64_t{0}}}, opset).reals(),
                ElementsAre(2, 6, 12));
  }
}

}  // namespace
}  // namespace assay::reference
