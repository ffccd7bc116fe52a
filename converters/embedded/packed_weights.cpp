#include "converters/embedded/packed_weights.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded {
namespace {

using core::DType;
using model::Node;

constexpr std::int64_t kLeastBlock = 16;
constexpr std::int64_t kByte = 8;

/// Rows of codes below 2^bits as bytes, the first code in the lowest bits; each row begins with a byte of its own.
std::vector<std::int64_t> packed(const std::vector<std::int64_t>& codes, std::int64_t columns, std::int64_t bits) {
  const std::int64_t per_byte = kByte / bits, bytes = (columns + per_byte - 1) / per_byte;
  const std::int64_t rows = static_cast<std::int64_t>(codes.size()) / columns;
  std::vector<std::int64_t> out(static_cast<std::size_t>(rows * bytes), 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::int64_t code = codes[static_cast<std::size_t>(row * columns + i)] << (i % per_byte * bits);
      out[static_cast<std::size_t>(row * bytes + i / per_byte)] |= code;
    }
  }
  return out;
}

class Packer {
 public:
  explicit Packer(const model::Model& artifact) : result_(artifact), wiring_(artifact.graph), names_(artifact.graph) {}

  model::Model run() {
    const std::vector<Node> nodes = result_.graph.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto made = nodes[i].op_type == "MatMul" ? wiring_.producer(nodes[i].input(1)) : std::nullopt;
      if (!made || !is_op(nodes[*made], "DequantizeLinear")) continue;
      if (auto packed_node = pack(nodes[i], nodes[*made])) result_.graph.nodes[i] = *std::move(packed_node);
    }
    remove_dead(result_.graph);
    return std::move(result_);
  }

 private:
  std::optional<Node> pack(const Node& node, const Node& dequantizer) {
    const auto* codes = result_.graph.initializer(dequantizer.input(0));
    const auto params = codes == nullptr ? std::nullopt : declared_params(result_.graph, dequantizer);
    if (!params || params->axis != 0 || codes->rank() != 2) return std::nullopt;
    if (params->block < kLeastBlock || !std::has_single_bit(static_cast<std::uint64_t>(params->block))) {
      return std::nullopt;
    }
    const auto bits = static_cast<std::int64_t>(core::element_size_bits(params->type));
    if (core::is_real(params->type) || core::integer_limits(params->type).low != 0 || bits > kByte) return std::nullopt;
    const std::int64_t k = codes->shape()[0], n = codes->shape()[1];
    const std::int64_t blocks = (k + params->block - 1) / params->block;
    // [K,N] becomes [N,blocks,block], the last one filled up with zeros.
    const auto integers = codes->integers();
    const auto at = [n](std::int64_t row, std::int64_t column) { return static_cast<std::size_t>(row * n + column); };
    std::vector<std::int64_t> turned, zero_points;
    std::vector<double> scales;
    for (std::int64_t column = 0; column < n; ++column) {
      for (std::int64_t row = 0; row < blocks * params->block; ++row) {
        turned.push_back(row < k ? integers[at(row, column)] : 0);
      }
      for (std::int64_t block = 0; block < blocks; ++block) {
        scales.push_back(params->scale[at(block, column)]);
        zero_points.push_back(params->zero_point[at(block, column)]);
      }
    }
    const core::Shape shape{n, blocks, params->block * bits / kByte};
    const std::int64_t zero_bytes = n * ((blocks * bits + kByte - 1) / kByte);
    const std::string stem(dequantizer.input(0));
    Node made = node;
    made.op_type = "MatMulNBits";
    made.domain = "com.microsoft";
    made.inputs = {node.inputs[0],
                   put(stem + "_packed", Tensor(DType::uint8, shape, packed(turned, params->block, bits))),
                   put(stem + "_scales", Tensor(DType::float32, {n * blocks}, std::move(scales))),
                   put(stem + "_zero_points", Tensor(DType::uint8, {zero_bytes}, packed(zero_points, blocks, bits)))};
    made.attributes = {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", params->block}};
    result_.opsets[made.domain] = 1;
    return made;
  }

  std::string put(const std::string& stem, Tensor value) {
    auto name = names_.fresh(stem);
    result_.graph.initializers[name] = std::make_shared<const Tensor>(std::move(value));
    return name;
  }

  model::Model result_;
  model::Wiring wiring_;
  Names names_;
};

}  // namespace

model::Model packed_weights(const model::Model& artifact) { return Packer(artifact).run(); }

}  // namespace assay::embedded
