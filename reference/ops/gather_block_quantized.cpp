#include <fmt/format.h>

#include <array>

#include "reference/arguments.hpp"
#include "reference/block_codes.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/quantized_form.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

enum TableInput : std::size_t { kTable, kTableIndices, kTableScale, kTableZero };

/// What node and types say of the table.
struct TableLayout {
  std::int64_t bits = 0, block = 0, axis = 0;  ///< axis: along which the blocks lie
  std::int64_t packed_bits = 8;                ///< of a code in uint8, which may hold several; else 8

  template <typename Call>
  static Result<TableLayout> of(const Call& call, std::int64_t rank) {
    const bool bytes = input_type(call, kTable) == DType::uint8;
    const Result<std::int64_t> block = block_size_of(call.node, 128);
    if (!block) return block.error();
    const Result<std::int64_t> axis = checked_axis(call.node.int_or("quantize_axis", 1), rank);
    if (!axis) return axis.error();
    const Result<std::int64_t> gathered = checked_axis(call.node.int_or("gather_axis", 0), rank);
    if (!gathered) return gathered.error();
    const std::int64_t bits = call.node.int_or("bits", 4);
    if (bits != 4 && !(bytes && (bits == 2 || bits == 8)))
      return op_error(fmt::format("bits is {}, expected 4, or for uint8 2, 4 or 8", bits));
    if (*axis == *gathered) return op_error("gather_axis and quantize_axis are the same");
    if (bytes && (*gathered != 0 || *axis != rank - 1))
      return op_error("of uint8 gather_axis must be the first axis and quantize_axis the last");
    return TableLayout{bits, *block, *axis, bytes ? bits : 8};
  }
};

/// The table and its parameters fit; the facts are those of the table's values.
Result<Facts> infer_table(const ShapeCall& call) {
  static constexpr std::array kTypes{DType::uint8, DType::uint4, DType::int4};
  core::Status status = require_type(call, kTable, kTypes);
  status = status ? require_real(call, kTableScale) : status;
  status = status ? require_same_type(call, kTable, kTableZero) : status;
  if (!status) return status.error();
  const TensorFacts& table = call.in(kTable);
  const DType type = call.in(kTableScale).type;
  if (!table.shape || table.type == DType::undefined) return one(type, std::nullopt);
  const Result<TableLayout> layout = TableLayout::of(call, *table.rank());
  if (!layout) return layout.error();
  const std::int64_t in_byte = 8 / layout->packed_bits;
  Dims values = *table.shape;
  Dimension& extent = values[at(layout->axis)];
  if (extent.value)
    extent = known(*extent.value * in_byte);
  else if (in_byte != 1)
    extent = {};
  Dims scales = values;
  scales[at(layout->axis)] = extent.value ? known(blocks_of(*extent.value, layout->block)) : Dimension{};
  Dims zeros = scales;
  if (extent.value) {
    zeros[at(layout->axis)] = known(packed_bytes(blocks_of(*extent.value, layout->block), layout->packed_bits));
  }
  status = require_shape(call, kTableScale, scales);
  status = status ? require_shape(call, kTableZero, zeros) : status;
  if (!status) return status.error();
  return one(type, std::move(values));
}

Result<BlockCodes> unpack_table(const OpCall& call) {
  const Result<Shape> shape = ruled_shape(call, &infer_table);
  if (!shape) return shape.error();
  const Tensor& table = call.in(kTable);
  const TableLayout layout = *TableLayout::of(call, table.rank());
  Result<Tensor> scale = stored_scales(call, kTableScale, ScaleSign::any);
  if (!scale) return scale.error();
  const bool bytes = table.type() == DType::uint8;
  BlockCodes result{
      bytes ? unpacked(table, layout.bits, *shape) : table, *std::move(scale), {}, layout.axis, layout.block};
  if (const Tensor* zero = call.optional_in(kTableZero); zero != nullptr) {
    result.zero_point = bytes ? unpacked(*zero, layout.bits, result.scale.shape()) : *zero;
  } else {
    const std::int64_t middle = bytes ? std::int64_t{1} << (layout.bits - 1) : 0;
    result.zero_point = Tensor(result.codes.type(), result.scale.shape(), std::vector(at(result.scale.size()), middle));
  }
  return result;
}

/// ONNX Runtime's GatherBlockQuantized-1 (docs/ContribOperators.md): Gather along gather_axis (0 by default) of a table
/// that is quantized along quantize_axis (1) in blocks of block_size (128). In uint8 lie codes of `bits` (4), packed
/// along the last axis, with a zero point of 2^(bits-1) where none is given; int4 and uint4 have 0 there. An index
/// outside of the table is an error, as for Gather; ONNX Runtime may give zeros there.
constexpr QuantizedForm kGatherBlockQuantized{.op = "Gather",
                                              .opset = 11,
                                              .operands = 1,
                                              .first = kTable,
                                              .unpack = &unpack_table,
                                              .values = &infer_table,
                                              .behind = kTableIndices,
                                              .axis_attribute = "gather_axis"};

}  // namespace

const OpDef& op_gather_block_quantized() {
  static const OpDef def = quantized_operator<kGatherBlockQuantized>("GatherBlockQuantized", 3, 4);
  return def;
}

}  // namespace assay::reference
