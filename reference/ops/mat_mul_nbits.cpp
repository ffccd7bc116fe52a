#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/block_codes.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/quantized_form.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

enum NbitsInput : std::size_t { kNbitsB = 1, kNbitsScale, kNbitsZero, kNbitsGroup, kNbitsBias };

/// What the attributes say of B.
struct NbitsSizes {
  std::int64_t k = 0, n = 0, bits = 0, block = 0, blocks = 0;

  static Result<NbitsSizes> of(const Node& node) {
    const Result<std::int64_t> block = block_size_of(node, 0);
    if (!block) return block.error();
    const NbitsSizes sizes{node.int_or("K", 0), node.int_or("N", 0), node.int_or("bits", 4), *block,
                           blocks_of(node.int_or("K", 0), *block)};
    if (sizes.bits != 2 && sizes.bits != 4 && sizes.bits != 8)
      return op_unsupported(fmt::format("bits is {}; the reference has 2, 4 and 8", sizes.bits));
    if (sizes.k < 1 || sizes.n < 1)
      return op_error(fmt::format("K is {} and N is {}, expected both from 1 on", sizes.k, sizes.n));
    if (const auto count = checked_count(std::array{sizes.n, sizes.blocks, sizes.block}); !count) return count.error();
    return sizes;
  }
};

/// Input `index`, where it is there, has `rows` × `columns` elements in a matrix or, as in older models, a list.
core::Status require_rows(const ShapeCall& call, std::size_t index, std::int64_t rows, std::int64_t columns) {
  const bool list = call.has_input(index) && call.in(index).rank() == 1;
  return require_shape(call, index, list ? Dims{known(rows * columns)} : Dims{known(rows), known(columns)});
}

/// B, its parameters and the bias fit the attributes; the facts are those of B's values, [K,N].
Result<Facts> infer_nbits_weight(const ShapeCall& call) {
  static constexpr std::array kBytes{DType::uint8};
  static constexpr std::array kGroups{DType::int32};
  const Result<NbitsSizes> sizes = NbitsSizes::of(call.node);
  if (!sizes) return sizes.error();
  const auto& [k, n, bits, block, blocks] = *sizes;
  core::Status status = require_type(call, kNbitsB, kBytes);
  status = status ? require_real(call, kNbitsScale) : status;
  const bool packed = call.has_input(kNbitsZero) && input_type(call, kNbitsZero) == DType::uint8;
  status = status && !packed ? require_same_type(call, kNbitsScale, kNbitsZero) : status;
  status = status && call.has_input(kNbitsGroup) ? require_type(call, kNbitsGroup, kGroups) : status;
  status = status ? require_same_type(call, kNbitsScale, kNbitsBias) : status;
  status = status ? require_shape(call, kNbitsB, {known(n), known(blocks), known(packed_bytes(block, bits))}) : status;
  status = status ? require_rows(call, kNbitsScale, n, blocks) : status;
  const bool type_known = !call.has_input(kNbitsZero) || input_type(call, kNbitsZero) != DType::undefined;
  status =
      status && type_known ? require_rows(call, kNbitsZero, n, packed ? packed_bytes(blocks, bits) : blocks) : status;
  const bool padded = call.has_input(kNbitsGroup) && call.in(kNbitsGroup).shape &&
                      may_equal(*call.in(kNbitsGroup).shape, Dims{known(blocks * block)});
  status = status && !padded ? require_shape(call, kNbitsGroup, {known(k)}) : status;
  status = status ? require_shape(call, kNbitsBias, {known(n)}) : status;
  if (!status) return status.error();
  return one(call.in(kNbitsScale).type, dims_of(std::array{k, n}));
}

/// Zero points of the scales' type: as codes where all of them are some, as in the packed form.
Tensor zero_points_as_codes(const Tensor& real, DType type, Shape shape) {
  const core::IntegerLimits limits = core::integer_limits(type);
  const bool codes = std::ranges::all_of(real.reals(), [&](double value) {
    return value >= static_cast<double>(limits.low) && value <= static_cast<double>(limits.high) &&
           value == std::floor(value);
  });
  return codes ? Tensor(type, std::move(shape), real.to_integers()) : real.reshaped(std::move(shape));
}

/// The scales, or zero points, [N,blocks] of all K indices, by which block each of them belongs to.
Tensor of_each_index(const Tensor& parameters, const Tensor& groups, std::int64_t k) {
  std::vector<std::int64_t> table(groups.integers().begin(), groups.integers().begin() + k);
  AxisMap map = AxisMap::identity(parameters.shape());
  for (std::int64_t& group : table) group = map.axes[1][at(group)];
  map.axes[1] = std::move(table);
  return *take(parameters, map);
}

Result<BlockCodes> unpack_nbits_weight(const OpCall& call) {
  if (const auto shape = ruled_shape(call, &infer_nbits_weight); !shape) return shape.error();
  const auto [k, n, bits, block, blocks] = *NbitsSizes::of(call.node);
  Result<Tensor> scale = stored_scales(call, kNbitsScale, ScaleSign::any);
  if (!scale) return scale.error();
  const Shape rows{n, blocks};
  BlockCodes result{
      unpacked(call.in(kNbitsB), bits, {n, blocks * block}), std::move(*scale).reshaped(rows), {}, 0, block};
  const DType type = result.codes.type();
  if (const Tensor* zero = call.optional_in(kNbitsZero); zero == nullptr) {
    result.zero_point = Tensor(type, rows, std::vector(at(n * blocks), std::int64_t{1} << (bits - 1)));
  } else {
    result.zero_point = zero->is_real() ? zero_points_as_codes(*zero, type, rows) : unpacked(*zero, bits, rows);
  }
  if (const Tensor* groups = call.optional_in(kNbitsGroup); groups != nullptr) {
    const auto wrong =
        std::ranges::find_if(groups->integers(), [&, last = blocks](std::int64_t i) { return i < 0 || i >= last; });
    if (wrong != groups->integers().end())
      return op_error(
          fmt::format("{} holds {}, but there are {} blocks", input_text(call, kNbitsGroup), *wrong, blocks));
    bool in_order = true;  // as without g_idx
    for (std::int64_t i = 0; in_order && i < k; ++i) in_order = groups->integers()[at(i)] == i / block;
    if (!in_order) {
      result.block_size = 1;
      result.scale = of_each_index(result.scale, *groups, k);
      result.zero_point = of_each_index(result.zero_point, *groups, k);
    }
  }
  result.codes = *transposed(*take_range(result.codes, 1, 0, k), {1, 0});  // behind it the last block is filled up
  result.scale = *transposed(result.scale, {1, 0});
  result.zero_point = *transposed(result.zero_point, {1, 0});
  return result;
}

/// ONNX Runtime's MatMulNBits-1 (docs/ContribOperators.md): A · B + bias, where B [K,N] is quantized along K in blocks,
/// block_size indices of a column each, and lies packed as [N,blocks,bytes]. A zero point that is left out is
/// 2^(bits-1); g_idx says which block each index along K belongs to. Of accuracy_level the result is independent: it
/// says how coarsely a kernel may compute. From 0 to 3 that is in floating point; with 4 ONNX Runtime rounds each block
/// of a row of A to int8 first, in steps of its largest magnitude / 127, which moves an output by up to half such a
/// step times Σ|B| over the block, for each block.
constexpr QuantizedForm kMatMulNBits{.op = "MatMul",
                                     .operands = 1,
                                     .first = kNbitsB,
                                     .plain = 1,
                                     .unpack = &unpack_nbits_weight,
                                     .values = &infer_nbits_weight,
                                     .addend = kNbitsBias};

}  // namespace

const OpDef& op_mat_mul_nbits() {
  static const OpDef def = quantized_operator<kMatMulNBits>("MatMulNBits", 3, 6);
  return def;
}

}  // namespace assay::reference
