#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "harness/core/rng.hpp"
#include "reference/executor.hpp"
#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

/// Attribute names of the operators' texts, each with the kind of its value.
enum class Kind { integer, real, text, integers, reals, tensor };
constexpr std::array<std::pair<std::string_view, Kind>, 72> kAttributes{{
    {"axis", Kind::integer},
    {"axes", Kind::integers},
    {"keepdims", Kind::integer},
    {"noop_with_empty_axes", Kind::integer},
    {"alpha", Kind::real},
    {"beta", Kind::real},
    {"gamma", Kind::real},
    {"epsilon", Kind::real},
    {"bias", Kind::real},
    {"size", Kind::integer},
    {"min", Kind::real},
    {"max", Kind::real},
    {"fmod", Kind::integer},
    {"direction", Kind::text},
    {"to", Kind::integer},
    {"dtype", Kind::integer},
    {"perm", Kind::integers},
    {"split", Kind::integers},
    {"num_outputs", Kind::integer},
    {"starts", Kind::integers},
    {"ends", Kind::integers},
    {"pads", Kind::integers},
    {"value", Kind::tensor},
    {"value_int", Kind::integer},
    {"value_ints", Kind::integers},
    {"value_floats", Kind::reals},
    {"mode", Kind::text},
    {"coordinate_transformation_mode", Kind::text},
    {"nearest_mode", Kind::text},
    {"keep_aspect_ratio_policy", Kind::text},
    {"cubic_coeff_a", Kind::real},
    {"exclude_outside", Kind::integer},
    {"extrapolation_value", Kind::real},
    {"antialias", Kind::integer},
    {"scales", Kind::reals},
    {"start", Kind::integer},
    {"end", Kind::integer},
    {"allowzero", Kind::integer},
    {"batch_dims", Kind::integer},
    {"reduction", Kind::text},
    {"select_last_index", Kind::integer},
    {"largest", Kind::integer},
    {"sorted", Kind::integer},
    {"k", Kind::integer},
    {"upper", Kind::integer},
    {"blocksize", Kind::integer},
    {"detect_negative", Kind::integer},
    {"kernel_shape", Kind::integers},
    {"strides", Kind::integers},
    {"dilations", Kind::integers},
    {"group", Kind::integer},
    {"auto_pad", Kind::text},
    {"output_padding", Kind::integers},
    {"output_shape", Kind::integers},
    {"ceil_mode", Kind::integer},
    {"count_include_pad", Kind::integer},
    {"storage_order", Kind::integer},
    {"transA", Kind::integer},
    {"transB", Kind::integer},
    {"exclusive", Kind::integer},
    {"reverse", Kind::integer},
    {"training_mode", Kind::integer},
    {"momentum", Kind::real},
    {"num_groups", Kind::integer},
    {"stash_type", Kind::integer},
    {"block_size", Kind::integer},
    {"output_dtype", Kind::integer},
    {"saturate", Kind::integer},
    {"num_scan_inputs", Kind::integer},
    {"p", Kind::integer},
    {"approximate", Kind::text},
    {"lambd", Kind::real},
}};

constexpr std::array<std::string_view, 28> kWords{"constant",      "reflect",
                                                  "edge",          "wrap",
                                                  "nearest",       "linear",
                                                  "cubic",         "half_pixel",
                                                  "align_corners", "ceil",
                                                  "floor",         "DCR",
                                                  "CRD",           "LEFT",
                                                  "RIGHT",         "SAME_UPPER",
                                                  "SAME_LOWER",    "VALID",
                                                  "NOTSET",        "add",
                                                  "mul",           "min",
                                                  "max",           "not_larger",
                                                  "tanh",          "tf_crop_and_resize",
                                                  "none",          "half_pixel_symmetric"};
constexpr std::array kTypes{DType::float32, DType::float16, DType::float64, DType::int8,   DType::uint8,
                            DType::int32,   DType::int64,   DType::boolean, DType::uint64, DType::int16};

/// Mostly small; now and then the ends of the type.
std::int64_t any_integer(core::Rng& rng) {
  constexpr std::int64_t kOften = 24;
  const std::int64_t choice = rng.integer(0, kOften);
  if (choice == 0) return std::numeric_limits<std::int64_t>::min();
  if (choice == 1) return std::numeric_limits<std::int64_t>::max();
  if (choice == 2) return std::int64_t{1} << 40U;
  return rng.integer(-3, 4);
}

double any_real(core::Rng& rng) {
  constexpr std::int64_t kOften = 24;
  const std::int64_t choice = rng.integer(0, kOften);
  if (choice == 0) return std::numeric_limits<double>::infinity();
  if (choice == 1) return std::nan("");
  if (choice == 2) return -1e300;
  if (choice == 3) return 1e-300;
  return rng.uniform(-3.0, 3.0);
}

std::vector<std::int64_t> any_integers(core::Rng& rng) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(rng.integer(0, 5)));
  for (std::int64_t& value : values) value = any_integer(rng);
  return values;
}

Tensor any_tensor(core::Rng& rng) {
  Shape shape(static_cast<std::size_t>(rng.integer(0, 4)));
  for (std::int64_t& extent : shape) extent = rng.integer(0, 9) == 0 ? 0 : rng.integer(1, 3);
  // Half of the tensors are lists or of int64: the arguments of most operators.
  if (rng.integer(0, 2) == 0) shape = {rng.integer(0, 4)};
  const DType type =
      rng.integer(0, 2) == 0 ? DType::int64 : kTypes[static_cast<std::size_t>(rng.integer(0, kTypes.size() - 1))];
  const auto count = static_cast<std::size_t>(core::element_count(shape));
  if (core::is_real(type)) {
    std::vector<double> values(count);
    for (double& value : values) value = any_real(rng);
    return {type, shape, std::move(values)};
  }
  const core::IntegerLimits limits = core::integer_limits(type);
  std::vector<std::int64_t> values(count);
  for (std::int64_t& value : values) value = std::clamp(any_integer(rng), limits.low, limits.high);
  return {type, shape, std::move(values)};
}

model::Attribute any_attribute(core::Rng& rng, Kind kind) {
  switch (kind) {
    case Kind::integer:
      return any_integer(rng);
    case Kind::real:
      return any_real(rng);
    case Kind::text:
      return std::string(kWords[static_cast<std::size_t>(rng.integer(0, kWords.size() - 1))]);
    case Kind::integers:
      return any_integers(rng);
    case Kind::reals: {
      std::vector<double> values(static_cast<std::size_t>(rng.integer(0, 4)));
      for (double& value : values) value = any_real(rng);
      return values;
    }
    case Kind::tensor:
      break;
  }
  return std::make_shared<const Tensor>(any_tensor(rng));
}

/// `facts` with some of it taken away. A value that is known has a type and a shape.
TensorFacts blurred(TensorFacts facts, core::Rng& rng) {
  const auto lost = [&] { return rng.integer(0, 2) == 0; };
  if (!lost()) return facts;
  facts.value = nullptr;
  if (lost()) facts.type = DType::undefined;
  const bool all = rng.integer(0, 7) == 0;
  for (Dimension& dim : *facts.shape) {
    if (all || lost()) dim = {};
  }
  if (lost()) facts.shape = std::nullopt;
  return facts;
}

/// The operator's rule comes back, and what the kernel made fits what it says, however little it was told.
void check_rule(const OpDef& op, const ShapeCall& call, const Result<std::vector<Tensor>>& made, core::Rng& rng) {
  constexpr int kBlurs = 4;
  for (int i = 0; i < kBlurs; ++i) {
    std::vector<TensorFacts> facts;
    facts.reserve(call.inputs.size());
    std::vector<const TensorFacts*> inputs;
    for (const TensorFacts* input : call.inputs) {
      const bool told = i == 0 || input == nullptr;
      inputs.push_back(told ? input : &facts.emplace_back(blurred(*input, rng)));
    }
    const auto outputs = op.infer({.node = call.node, .opset = call.opset, .inputs = inputs});
    if (!made) continue;
    std::string told;
    for (const TensorFacts* input : inputs) told += input == nullptr ? " none" : " " + facts_text(*input);
    if (!outputs) {
      EXPECT_EQ(outputs.error().kind, core::ErrorKind::unsupported) << outputs.error().message << ";" << told;
      continue;
    }
    for (std::size_t k = 0; k < std::min(made->size(), outputs->size()); ++k) {
      const TensorFacts& rule = (*outputs)[k];
      const Tensor& tensor = (*made)[k];
      const bool type_fits = rule.type == DType::undefined || rule.type == tensor.type();
      const bool shape_fits = !rule.shape || may_equal(*rule.shape, dims_of(tensor.shape()));
      EXPECT_TRUE(type_fits && shape_fits)
          << "output " << k << " is " << facts_text(facts_of(tensor)) << ", the rule says " << facts_text(rule) << " of"
          << told << " at opset " << call.opset;
    }
  }
}

/// One node of `op` with arbitrary inputs and attributes. Whether it gives tensors or an error, it must come back: the
/// sanitizers watch. What it gives must hold as many values as its shape says.
bool survives(const OpDef& op, core::Rng& rng) {
  constexpr std::size_t kMostInputs = 5;
  // Few attributes or many: what is left out takes its default, which is more often legal.
  const std::int64_t attribute_often = rng.integer(0, 1) == 0 ? 8 : 2;
  Node node;
  node.name = "n";
  node.op_type = op.name;
  node.domain = op.domain;
  for (const auto& [name, kind] : kAttributes) {
    if (rng.integer(0, attribute_often) == 0) node.attributes[std::string(name)] = any_attribute(rng, kind);
  }
  std::vector<Tensor> tensors;
  const auto count = static_cast<std::size_t>(
      rng.integer(static_cast<std::int64_t>(op.min_inputs),
                  static_cast<std::int64_t>(std::min(op.max_inputs, kMostInputs + op.min_inputs))));
  for (std::size_t i = 0; i < count; ++i) {
    // Operators of several inputs mostly want one type.
    const bool like_first = i > 0 && rng.integer(0, 2) == 0;
    tensors.push_back(like_first ? tensors[0] : any_tensor(rng));
  }
  std::vector<const Tensor*> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    const bool left_out = i >= op.min_inputs && rng.integer(0, 3) == 0;
    inputs.push_back(left_out ? nullptr : &tensors[i]);
    node.inputs.push_back(left_out ? "" : "in" + std::to_string(i));
  }
  for (std::int64_t i = rng.integer(1, 3); i > 0; --i) node.outputs.push_back("out" + std::to_string(i));
  const std::int64_t opset =
      rng.integer(std::min(std::max<std::int64_t>(op.first_opset, 7), op.last_opset), op.last_opset);
  const auto outputs = execute_node(node, opset, inputs);
  std::vector<TensorFacts> facts;
  facts.reserve(count);
  std::vector<const TensorFacts*> told;
  for (const Tensor* input : inputs) told.push_back(input == nullptr ? nullptr : &facts.emplace_back(facts_of(*input)));
  check_rule(op, {.node = node, .opset = opset, .inputs = told}, outputs, rng);
  if (!outputs) return false;
  for (const Tensor& output : *outputs) {
    const auto values = output.is_real() ? output.reals().size() : output.integers().size();
    EXPECT_EQ(values, static_cast<std::size_t>(core::element_count(output.shape()))) << op.name;
  }
  return true;
}

TEST(AllOperators, SurviveArbitraryInputsAndAttributes) {
  constexpr std::uint64_t kSeed = 2026;
  constexpr int kNodes = 1500;
  for (const OpDef* op : all_operators()) {
    SCOPED_TRACE(std::string(op->name));
    core::Rng rng(kSeed, op->name);
    int succeeded = 0;
    for (int i = 0; i < kNodes; ++i) succeeded += survives(*op, rng) ? 1 : 0;
    RecordProperty(std::string(op->name), succeeded);
  }
}

}  // namespace
}  // namespace assay::reference
