// Operators whose codes only move or compare: the float kernel of the operator moves them as they are, and a table of
// 256 codes brings them to the output's parameters where those differ.
#include <algorithm>
#include <memory>
#include <numeric>

#include "converters/embedded/engine/integer_kernel.hpp"
#include "converters/embedded/engine/resize.hpp"

namespace assay::embedded::engine {
namespace {

/// A table of codes; empty where they stay as they are.
using CodeTable = std::vector<std::uint8_t>;

CodeTable table_for(const Operand& operand, const OutputCodes& out, const ArithmeticPolicy& policy) {
  CodeTable table = moved_codes_table(policy, operand.params.type, operand.scale(), operand.zero_point(), out);
  bool is_identity = operand.params.type == out.type;
  for (std::size_t i = 0; i < table.size(); ++i) is_identity = is_identity && table[i] == i;
  if (is_identity) table.clear();
  return table;
}

Buffer translate(const Buffer& codes, const CodeTable& table, DType type) {
  if (table.empty()) return codes;
  Buffer out(type, codes.shape());
  const auto* in = codes.data<std::uint8_t>();
  auto* target = out.data<std::uint8_t>();
  for (std::int64_t i = 0; i < codes.size(); ++i) target[i] = table[in[i]];
  return out;
}

/// The float kernel of the node, told of the constants that are not codes.
Result<Kernel> moving_kernel(const IntegerBinding& binding) {
  std::vector<const Buffer*> constants;
  for (const Operand& operand : binding.operands) {
    constants.push_back(operand.kind == Operand::Kind::plain ? operand.constant : nullptr);
  }
  const auto maker = float_makers().find(model::operator_name(binding.node));
  if (maker == float_makers().end()) return Kernel();
  return maker->second({binding.node, binding.opset, constants});
}

/// One tensor of codes in; each output has its own parameters.
Result<Kernel> make_move(const IntegerBinding& binding) {
  const Operand& x = binding.operand(0);
  if (!x.is_per_tensor()) return Kernel();
  for (std::size_t i = 1; i < binding.operands.size(); ++i) {
    if (binding.operands[i].is_codes()) return Kernel();
  }
  auto move = moving_kernel(binding);
  if (!move || !*move) return move;
  struct Target {
    CodeTable table;
    DType type;
  };
  std::vector<Target> targets;
  for (const OutputCodes& out : binding.outputs) targets.push_back({table_for(x, out, binding.policy), out.type});
  return Kernel([move = std::move(*move), targets = std::move(targets)](const Call& call) -> Status {
    if (auto status = move(call); !status) return status;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      call.outputs[i] = translate(call.outputs[i], targets[i].table, targets[i].type);
    }
    return core::success();
  });
}

/// Several tensors of codes in, from input `first` on: each is brought to the output's parameters first.
Result<Kernel> make_join(const IntegerBinding& binding, std::size_t first) {
  std::vector<CodeTable> tables(binding.operands.size());
  for (std::size_t i = 0; i < binding.operands.size(); ++i) {
    const Operand& operand = binding.operands[i];
    if (i < first ? operand.is_codes() : !operand.is_per_tensor()) return Kernel();
    if (i >= first) tables[i] = table_for(operand, binding.outputs[0], binding.policy);
  }
  auto move = moving_kernel(binding);
  if (!move || !*move) return move;
  return Kernel([move = std::move(*move), tables = std::move(tables), type = binding.outputs[0].type,
                 first](const Call& call) -> Status {
    std::vector<Buffer> translated(call.inputs.size());
    std::vector<const Buffer*> inputs(call.inputs.begin(), call.inputs.end());
    for (std::size_t i = first; i < inputs.size(); ++i) {
      translated[i] = translate(call.input(i), tables[i], type);
      inputs[i] = &translated[i];
    }
    return move({inputs, call.outputs});
  });
}

Result<Kernel> make_concat(const IntegerBinding& binding) { return make_join(binding, 0); }
Result<Kernel> make_where(const IntegerBinding& binding) { return make_join(binding, 1); }

/// The real value that a constant scalar stands for.
std::optional<double> scalar_value(const Operand& operand) {
  if (operand.constant == nullptr || operand.constant->size() != 1) return std::nullopt;
  if (operand.is_codes()) {
    return static_cast<double>(operand.constant->to_integers()[0] - operand.zero_point()) * operand.scale();
  }
  if (operand.constant->type() != DType::float32) return std::nullopt;
  return static_cast<double>(*operand.constant->data<float>());
}

/// Pad: the constant becomes a code of the output's parameters.
Result<Kernel> make_pad(const IntegerBinding& binding) {
  const Operand& x = binding.operand(0);
  if (!x.is_per_tensor() || binding.operand(1).is_codes() || binding.operand(3).is_codes()) return Kernel();
  std::optional<double> value = binding.node.float_or("value", 0);
  if (binding.has(2)) value = scalar_value(binding.operand(2));
  auto move = moving_kernel(binding);
  if (!value || !move || !*move) return move ? Result<Kernel>(Kernel()) : move;
  const OutputCodes& out = binding.outputs[0];
  Buffer fill(out.type, {});
  const bool raw = binding.policy.pad == PadCode::zero && *value == 0;
  *fill.data<std::uint8_t>() = raw ? std::uint8_t{0} : finish_code(*value / out.scale, out, binding.policy);
  return Kernel([move = std::move(*move), fill, table = table_for(x, out, binding.policy),
                 type = out.type](const Call& call) -> Status {
    const Buffer data = translate(call.input(0), table, type);
    std::vector<const Buffer*> inputs(call.inputs.begin(), call.inputs.end());
    inputs.resize(std::max<std::size_t>(inputs.size(), 3), nullptr);
    inputs[0] = &data;
    inputs[2] = &fill;
    return move({inputs, call.outputs});
  });
}

/// Resize: nearest moves codes; linear and cubic weigh them, (q - zero_point) * weight, and round once at the end.
Result<Kernel> make_resize(const IntegerBinding& binding) {
  auto attributes = read_resize_attributes(binding.node, binding.opset);
  if (!attributes) return attributes.error();
  const bool crops = attributes->coordinates == "tf_crop_and_resize";
  if (attributes->mode == ResizeAttributes::Mode::nearest && !crops) return make_move(binding);
  const Operand& x = binding.operand(0);
  if (!x.is_per_tensor()) return Kernel();
  for (std::size_t i = 1; i < binding.operands.size(); ++i) {
    if (binding.operands[i].is_codes()) return Kernel();
  }
  const std::int16_t zero_point = subtracted_zero_point(x, binding.policy);
  ArithmeticPolicy own = binding.policy;
  own.rounding = own.interpolation_rounding.value_or(own.rounding);
  return Kernel([attributes = *attributes, zero_point, scale = x.scale(), out = binding.outputs[0],
                 policy = own](const Call& call) -> Status {
    auto plan = bind_resize(attributes, call);
    if (!plan) return plan.error();
    const Buffer& codes = call.input(0);
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(codes.size()));
    with_code_type(codes.type(), [&](auto code) {
      for (const auto value : codes.span<decltype(code)>()) values.push_back(value - zero_point);
    });
    values = resize<double>(*plan, codes.shape(), std::move(values), attributes.extrapolation / scale);
    call.outputs[0] = Buffer(out.type, plan->out_shape);
    auto* target = call.outputs[0].data<std::uint8_t>();
    const double factor = scale / out.scale;
    for (const double value : values) *target++ = finish_code(value * factor, out, policy);
    return core::success();
  });
}

/// Relu and Clip on their own: the codes move between limits.
Result<Kernel> make_limit(const IntegerBinding& binding) {
  const Operand& x = binding.operand(0);
  if (!x.is_per_tensor()) return Kernel();
  OutputCodes out = binding.outputs[0];
  if (binding.node.op_type == "Relu") {
    narrow_to_relu(out, binding.policy);
  } else {
    std::vector<const Buffer*> constants;
    for (const Operand& operand : binding.operands) {
      constants.push_back(operand.kind == Operand::Kind::plain ? operand.constant : nullptr);
    }
    const auto limits = clip_limits(binding.node, constants);
    if (!limits) return Kernel();
    narrow(out, limits->low, limits->high, binding.policy);
  }
  return Kernel([table = table_for(x, out, binding.policy), type = out.type](const Call& call) -> Status {
    call.outputs[0] = translate(call.input(0), table, type);
    return core::success();
  });
}

}  // namespace

void add_integer_layout_makers(IntegerMakerTable& table) {
  for (const auto* name : {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split", "Gather",
                           "GatherElements", "Identity", "Dropout", "Expand", "Tile", "DepthToSpace", "SpaceToDepth",
                           "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin"}) {
    table[name] = &make_move;
  }
  table["Concat"] = &make_concat;
  table["Min"] = &make_concat;
  table["Max"] = &make_concat;
  table["Where"] = &make_where;
  table["Pad"] = &make_pad;
  table["Resize"] = &make_resize;
  table["Upsample"] = &make_resize;
  table["Relu"] = &make_limit;
  table["Clip"] = &make_limit;
}

}  // namespace assay::embedded::engine
