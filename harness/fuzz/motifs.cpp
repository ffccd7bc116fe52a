#include "harness/fuzz/motifs.hpp"

#include <algorithm>

#include "harness/fuzz/rows.hpp"
#include "harness/fuzz/window.hpp"

namespace assay::fuzz {
namespace {

using Attributes = std::map<std::string, model::Attribute>;
using core::Shape;
using core::Status;
using Drawn = core::Result<Value>;

core::Error unfit() { return {core::ErrorKind::invalid_data, "nothing fits", {}, {}, {}}; }

/// What the node that was drawn last makes.
Drawn settled(Draft& draft) {
  if (const Status done = draft.settle(); !done) return done.error();
  return draft.values().back();
}

/// A node as `op`'s row draws it, reading `x`.
Drawn behind(Draft& draft, const Value& x, const std::string& op) {
  const auto row = std::ranges::find(rows(), op, &Row::op);
  if (row == rows().end() || draft.opset() < row->since) return unfit();
  draft.pin(x);
  if (!row->draw(draft, op)) return unfit();
  return settled(draft);
}

/// A node with `inputs`.
Drawn made(Draft& draft, const std::string& op, std::vector<std::string> inputs, Attributes attributes = {}) {
  draft.node(op, std::move(inputs), std::move(attributes));
  return settled(draft);
}

Status done(const Drawn& drawn) { return drawn ? core::success() : Status(drawn.error()); }

/// One of `ops` behind `x`, now and then; else `x` itself.
Drawn maybe_behind(Draft& draft, const Value& x, double probability, const std::vector<std::string>& ops) {
  if (!draft.chance(probability)) return x;
  return behind(draft, x, draft.choose(ops));
}

Value picture(Draft& draft) {
  return draft.chance(0.5) ? draft.pick(3, 4) : draft.input(draft.shape_of_rank(draft.integer(3, 4)));
}

/// A weight of a Conv with `outputs` channels over `x`, with a window that fits.
Shape conv_weight(const Window& window, const Value& x, std::int64_t outputs) {
  Shape shape{outputs, x.shape[1]};
  shape.insert(shape.end(), window.kernel.begin(), window.kernel.end());
  return shape;
}

Drawn conv(Draft& draft, const Value& x, const Window& window, const std::string& weight, const std::string& bias) {
  std::vector<std::string> inputs{x.name, weight};
  if (!bias.empty()) inputs.push_back(bias);
  return made(draft, "Conv", inputs, window.attributes(draft, true));
}

constexpr std::int64_t kLargestKernel = 3;

Status draw_folded_normalization(Draft& draft) {
  const auto op = draft.choose<std::string>({"Conv", "Conv", "ConvTranspose"});
  const Drawn product = behind(draft, picture(draft), op);
  if (!product) return product.error();
  const Drawn normal = behind(draft, *product, "BatchNormalization");
  if (!normal) return normal.error();
  return done(maybe_behind(draft, *normal, 0.4, {"Relu", "Clip"}));
}

Status draw_residual(Draft& draft) {
  const Value x = draft.chance(0.5) ? draft.pick(2, 4) : draft.input(draft.shape_of_rank(draft.integer(2, 4)));
  const std::vector<std::string> keeping{"Relu", "Clip", "Sigmoid", "LeakyRelu", "Tanh"};
  const Drawn one = maybe_behind(draft, x, 0.5, keeping);
  if (!one) return one.error();
  const Drawn other = behind(draft, *one, draft.choose(keeping));
  if (!other) return other.error();
  const auto op = draft.choose<std::string>({"Add", "Add", "Sub", "Mul"});
  const bool swapped = draft.chance(0.4);
  const Drawn sum = made(draft, op, {swapped ? other->name : one->name, swapped ? one->name : other->name});
  if (!sum) return sum.error();
  draft.wish(op, "int8");
  return done(maybe_behind(draft, *sum, 0.3, {"Relu", "Clip"}));
}

/// Two convolutions of one weight or one bias that read tensors of unlike scales.
Status draw_shared_constant(Draft& draft) {
  const Value x = picture(draft);
  const Value other = draft.chance(0.5) ? draft.input(x.shape) : draft.input(draft.shape_of_rank(4));
  const bool one_weight = other.shape == x.shape;
  const bool one_bias = !one_weight || draft.chance(0.5);
  const std::int64_t outputs = draft.integer(2, 8);
  const Window window = draw_window(draft, x.shape, kLargestKernel, true);
  const Window window_2 = one_weight ? window : draw_window(draft, other.shape, kLargestKernel, true);
  const std::string weight = draft.constant(Constant::weight, conv_weight(window, x, outputs));
  const std::string weight_2 =
      one_weight ? weight : draft.constant(Constant::weight, conv_weight(window_2, other, outputs));
  const std::string bias = draft.constant(Constant::bias, {outputs});
  if (const Drawn first = conv(draft, x, window, weight, bias); !first) return first.error();
  return done(conv(draft, other, window_2, weight_2, one_bias ? bias : ""));
}

/// A Concat of tensors that pass through pools, rearrangements and the like, and what reads them.
Status draw_joined(Draft& draft) {
  const Value x = picture(draft);
  const Value other = draft.input(x.shape);
  const std::string third = draft.chance(0.3) ? draft.constant(Constant::operand, x.shape) : "";
  std::vector<std::string> inputs{x.name, other.name};
  if (!third.empty()) inputs.push_back(third);
  const Drawn joined = made(draft, "Concat", inputs, {{"axis", std::int64_t{1}}});
  if (!joined) return joined.error();
  if (draft.chance(0.4)) draft.wish("Concat", "int8");
  if (!third.empty() && draft.chance(0.4)) return done(made(draft, "Add", {x.name, third}));  // it has two readers
  const Drawn pooled = behind(draft, *joined, draft.choose<std::string>({"MaxPool", "AveragePool", "GlobalMaxPool"}));
  if (!pooled) return pooled.error();
  return done(maybe_behind(draft, *pooled, 0.5, {"Conv", "Relu", "Transpose"}));
}

/// A product in front of whose activation somebody else stands, or a graph output.
Status draw_read_before_activation(Draft& draft) {
  const Drawn product = behind(draft, picture(draft), draft.choose<std::string>({"Conv", "ConvTranspose", "MatMul"}));
  if (!product) return product.error();
  if (const Drawn cut = behind(draft, *product, draft.choose<std::string>({"Relu", "Clip"})); !cut) return cut.error();
  if (draft.chance(0.5)) {
    draft.show(*product);
    return core::success();
  }
  return done(behind(draft, *product, draft.choose<std::string>({"Sigmoid", "MaxPool", "LeakyRelu"})));
}

/// What moves codes between a tensor and a product with a bias.
Status draw_moved(Draft& draft) {
  const Drawn first = maybe_behind(draft, picture(draft), 0.5, {"Conv", "Relu", "HardSwish", "Sigmoid"});
  if (!first) return first.error();
  const Drawn moved = behind(draft, *first, draft.choose<std::string>({"MaxPool", "Slice", "Transpose", "Pad"}));
  if (!moved) return moved.error();
  return done(behind(draft, *moved, "Conv"));
}

/// Extents that are computed: Shape, Gather, Concat, Reshape.
Status draw_computed_extents(Draft& draft) {
  const Value x = draft.pick(2, 4);
  draft.node("Shape", {x.name}, {});
  const std::string extents = draft.graph().nodes.back().outputs.front();
  draft.node("Gather", {extents, draft.integers({0})}, {{"axis", std::int64_t{0}}});
  const std::string first = draft.graph().nodes.back().outputs.front();
  draft.node("Concat", {first, draft.integers({-1})}, {{"axis", std::int64_t{0}}});
  const std::string wanted = draft.graph().nodes.back().outputs.front();
  return done(made(draft, "Reshape", {x.name, wanted}));
}

/// More output channels than a byte counts.
Status draw_wide_product(Draft& draft) {
  const std::int64_t channels = draft.integer(257, 300);
  if (draft.chance(0.5)) {
    const Value x = draft.input({1, draft.integer(2, 5), 2, 3});
    return done(made(draft, "Conv", {x.name, draft.constant(Constant::weight, {channels, x.shape[1], 1, 1})}));
  }
  const Value x = draft.input({draft.integer(2, 5), draft.integer(6, 9)});
  return done(made(draft, "MatMul", {x.name, draft.constant(Constant::weight, {x.shape[1], channels}, 1)}));
}

/// A bias beyond 32 bits of its product's steps.
Status draw_large_bias(Draft& draft) {
  const std::int64_t outputs = draft.integer(2, 9);
  const std::string bias = draft.constant(Constant::bias, {outputs});
  if (draft.chance(0.5)) {
    const Value x = draft.pick(2, 2);
    return done(made(draft, "Gemm", {x.name, draft.constant(Constant::faint, {x.shape[1], outputs}, 1), bias}));
  }
  const Value x = picture(draft);
  const Window window = draw_window(draft, x.shape, kLargestKernel, true);
  return done(conv(draft, x, window, draft.constant(Constant::faint, conv_weight(window, x, outputs)), bias));
}

/// A weight that is rearranged, or given as a part, before it is read.
Status draw_rearranged_weight(Draft& draft) {
  const Value x = draft.pick(2, 4);
  const std::int64_t columns = draft.integer(2, 14);
  const std::string stored = draft.constant(Constant::weight, {columns, x.shape.back()});
  const Drawn weight = made(draft, "Transpose", {stored}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  if (!weight) return weight.error();
  return done(made(draft, "MatMul", {x.name, weight->name}));
}

Status draw_written_hard_swish(Draft& draft) {
  const Value x = picture(draft);
  const Drawn gate = made(draft, "HardSigmoid", {x.name}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
  if (!gate) return gate.error();
  return done(made(draft, "Mul", {x.name, gate->name}));
}

/// A product, what is added to it, an activation.
Status draw_product_and_addend(Draft& draft) {
  const Drawn product = behind(draft, draft.pick(3, 4), draft.choose<std::string>({"MatMul", "Conv", "ConvTranspose"}));
  if (!product) return product.error();
  if (product->shape.size() < 2) return unfit();
  const bool channels = product->made_by != "MatMul";
  Shape shape{channels ? product->shape[1] : product->shape.back()};
  if (channels) shape.resize(product->shape.size() - 1, 1);
  const std::string addend = draft.constant(Constant::bias, shape);
  const bool swapped = draft.chance(0.4);
  const Drawn sum = made(draft, "Add", {swapped ? addend : product->name, swapped ? product->name : addend});
  if (!sum) return sum.error();
  if (draft.chance(0.2)) draft.wish("Add", "fp32");
  return done(maybe_behind(draft, *sum, 0.4, {"Relu", "Clip", "BatchNormalization"}));
}

/// Products of activations with a Softmax between them.
Status draw_attention(Draft& draft) {
  const std::int64_t heads = draft.integer(1, 3), steps = draft.integer(3, 6), width = draft.integer(4, 9);
  const Value q = draft.input({heads, steps, width});
  const Value k = draft.input({heads, width, steps});
  const Value v = draft.input({heads, steps, width});
  const Drawn scores = made(draft, "MatMul", {q.name, k.name});
  if (!scores) return scores.error();
  const Drawn weights = made(draft, "Softmax", {scores->name}, {{"axis", std::int64_t{2}}});
  if (!weights) return weights.error();
  return done(made(draft, "MatMul", {weights->name, v.name}));
}

}  // namespace

const std::vector<Motif>& motifs() {
  static const std::vector<Motif> table{
      {"attention", 2, {"MatMul", "Softmax"}, draw_attention},
      {"computed_extents", 2, {"Shape", "Gather", "Concat", "Reshape"}, draw_computed_extents},
      {"folded_normalization",
       6,
       {"Conv", "ConvTranspose", "BatchNormalization", "Relu", "Clip"},
       draw_folded_normalization},
      {"joined",
       4,
       {"Concat", "Add", "MaxPool", "AveragePool", "GlobalMaxPool", "Conv", "Relu", "Transpose"},
       draw_joined},
      {"large_bias", 2, {"Conv", "Gemm"}, draw_large_bias},
      {"moved", 4, {"Conv", "Relu", "HardSwish", "Sigmoid", "MaxPool", "Slice", "Transpose", "Pad"}, draw_moved},
      {"product_and_addend",
       4,
       {"MatMul", "Conv", "ConvTranspose", "Add", "Relu", "Clip", "BatchNormalization"},
       draw_product_and_addend},
      {"read_before_activation",
       3,
       {"Conv", "ConvTranspose", "MatMul", "Relu", "Clip", "Sigmoid", "MaxPool", "LeakyRelu"},
       draw_read_before_activation},
      {"rearranged_weight", 1, {"Transpose", "MatMul"}, draw_rearranged_weight},
      {"residual", 5, {"Add", "Sub", "Mul", "Relu", "Clip", "Sigmoid", "LeakyRelu", "Tanh"}, draw_residual},
      {"shared_constant", 4, {"Conv"}, draw_shared_constant},
      {"wide_product", 1, {"Conv", "MatMul"}, draw_wide_product},
      {"written_hard_swish", 1, {"HardSigmoid", "Mul"}, draw_written_hard_swish},
  };
  return table;
}

}  // namespace assay::fuzz
