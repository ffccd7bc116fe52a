#include "harness/fuzz/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "harness/model/rename.hpp"
#include "reference/infer.hpp"

namespace assay::fuzz {
namespace {

using core::DType;
using core::Shape;
using core::Tensor;

constexpr std::int64_t kFirstOpset = 11;
constexpr std::int64_t kLastOpset = 17;
/// Graphs are judged by the thousand: no tensor needs more to tell a layout, an axis or an arithmetic.
constexpr std::int64_t kLargestTensor = 4096;
constexpr std::size_t kMostInputs = 4;

model::ValueInfo declared(const std::string& name, DType type, const Shape& shape) {
  model::ValueInfo info{name, type, std::vector<model::Dimension>{}};
  for (const std::int64_t extent : shape) info.shape->push_back({extent, ""});
  return info;
}

}  // namespace

Draft::Draft(core::Rng rng) : rng_(rng), opset_(rng_.integer(kFirstOpset, kLastOpset)), data_seed_(rng_.next() >> 1U) {
  model_.graph.name = "fuzz";
  model_.opsets[""] = opset_;
  model_.producer = "assay";
}

double Draft::number(double low, double high) {
  constexpr double kParts = 64;  // a multiple of it is short, and exact in float32
  return std::round(real(low, high) * kParts) / kParts;
}

std::int64_t Draft::written_axis(std::int64_t axis, std::int64_t rank) { return chance(0.25) ? axis - rank : axis; }

std::vector<std::int64_t> Draft::some_axes(std::int64_t first, std::int64_t rank) {
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = first; axis < rank; ++axis) {
    if (chance(0.5)) axes.push_back(axis);
  }
  if (axes.empty() || (static_cast<std::int64_t>(axes.size()) == rank - first && rank - first > 1)) {
    axes = {integer(first, rank - 1)};
  }
  return axes;
}

std::string Draft::fresh(const char* stem) { return fmt::format("{}{}", stem, counter_++); }

Value Draft::choose_among(const std::vector<const Value*>& fitting, std::int64_t least_rank, std::int64_t most_rank) {
  if (fitting.empty() || (specs_.size() < kMostInputs && chance(0.1))) {
    return input(shape_of_rank(integer(least_rank, most_rank)));
  }
  if (chance(0.75)) return *fitting.back();
  return *choose(fitting);
}

Value Draft::pick(std::int64_t least_rank, std::int64_t most_rank) {
  if (pinned_) {
    Value value = *std::exchange(pinned_, std::nullopt);
    const auto rank = static_cast<std::int64_t>(value.shape.size());
    misfit_ = misfit_ || rank < least_rank || rank > most_rank;
    return value;
  }
  std::vector<const Value*> fitting;
  for (const Value& value : values_) {
    const auto rank = static_cast<std::int64_t>(value.shape.size());
    if (rank >= least_rank && rank <= most_rank) fitting.push_back(&value);
  }
  return choose_among(fitting, least_rank, most_rank);
}

Value Draft::pick_behind(const std::string& op, std::int64_t least_rank, std::int64_t most_rank) {
  if (pinned_) return pick(least_rank, most_rank);
  std::vector<Value> behind;
  for (const Value& value : values_) {
    const auto rank = static_cast<std::int64_t>(value.shape.size());
    if (value.made_by == op && rank >= least_rank && rank <= most_rank) behind.push_back(value);
  }
  return behind.empty() ? pick(least_rank, most_rank) : behind.back();
}

Value Draft::like(const Value& but) {
  std::vector<Value> alike;
  for (const Value& value : values_) {
    if (value.name != but.name && value.shape == but.shape) alike.push_back(value);
  }
  return alike.empty() ? Value{} : choose(alike);
}

Shape Draft::shape_of_rank(std::int64_t rank) {
  if (rank == 0) return {};
  if (rank == 1) return {integer(5, 40)};
  Shape shape;
  std::set<std::int64_t> taken;
  const auto distinct = [&](std::int64_t low, std::int64_t high) {
    std::int64_t extent = integer(low, high);
    while (!taken.insert(extent).second) extent = extent == high ? low : extent + 1;
    shape.push_back(extent);
  };
  if (rank == 2) {
    distinct(2, 9);
    distinct(5, 24);
    return shape;
  }
  distinct(1, 3);
  distinct(2, 9);
  for (std::int64_t axis = 2; axis < rank; ++axis) distinct(rank == 3 ? 6 : 4, rank == 3 ? 20 : 11);
  return shape;
}

void Draft::draw_range(corpus::InputSpec& spec, bool positive) {
  const double size = choose({1.0, 1.0, 1.0, 2.5, 2.5, 30.0, 1e-3});
  const double kind = positive ? 0.7 : rng_.uniform();
  const double low = size * number(0.2, 1.2);
  const double high = size * number(0.2, 1.2);
  const auto as_float = [](double value) { return static_cast<double>(static_cast<float>(value)); };
  if (kind < 0.65) {
    spec.low = as_float(-low);
    spec.high = as_float(high * 1.5);
  } else if (kind < 0.75) {  // above zero, and more often than not at some distance
    spec.low = as_float(positive ? low : 0);
    spec.high = as_float(spec.low + high);
  } else if (kind < 0.85) {  // far from zero
    spec.low = as_float(size * 4);
    spec.high = as_float(size * 4 + high);
  } else {
    spec.low = as_float(-low - high);
    spec.high = as_float(kind < 0.92 ? -low : 0);
  }
}

Value Draft::input(const Shape& shape, bool positive) {
  const std::string name = fresh("x");
  corpus::InputSpec spec;
  draw_range(spec, positive);
  spec.kind = chance(0.3) ? "uniform" : "normal";
  if (chance(0.03)) spec.kind = "constant";
  if (shape.size() > 1 && chance(0.15)) spec.ratio = choose({5.0, 50.0});
  if (!positive && chance(0.05)) spec.outlier = static_cast<double>(static_cast<float>(3 * spec.high));
  spec.data_sets = {"typical"};
  for (const char* set : {"ties", "saturate", "one_hot", "small_integers", "extremes", "alternating", "wide",
                          "every_code", "constant", "zeros", "witness"}) {
    if (chance(0.2)) spec.data_sets.emplace_back(set);
  }
  model_.graph.inputs.push_back(declared(name, DType::float32, shape));
  specs_[name] = std::move(spec);
  values_.push_back({name, shape, "", positive});
  return values_.back();
}

std::string Draft::index_input(const Shape& shape, std::int64_t most) {
  std::string name = fresh("i");
  corpus::InputSpec spec;
  spec.kind = "uniform";
  spec.low = 0;
  spec.high = static_cast<double>(most);
  spec.data_sets = {"typical"};
  model_.graph.inputs.push_back(declared(name, DType::int64, shape));
  specs_[name] = std::move(spec);
  return name;
}

std::string Draft::keep(const std::string& name, Tensor tensor) {
  model_.graph.initializers[name] = std::make_shared<const Tensor>(std::move(tensor));
  return name;
}

std::string Draft::constant(Constant kind, const Shape& shape, std::int64_t axis) {
  const bool weight = kind == Constant::weight || kind == Constant::faint;
  const char* stem = weight ? "w" : kind == Constant::bias ? "b" : "c";
  // Two nodes may read one weight or one bias.
  if ((kind == Constant::weight && chance(0.1)) || (kind == Constant::bias && chance(0.3))) {
    for (const auto& [name, tensor] : model_.graph.initializers) {
      if (name.front() == *stem && tensor->shape() == shape) return name;
    }
  }
  corpus::TensorSpec spec;
  spec.shape = shape;
  spec.axis = axis;
  const double drawn = rng_.uniform();
  switch (kind) {
    case Constant::weight:
      if (drawn < 0.25) spec.ratio = choose({8.0, 50.0});
      if (drawn > 0.9 && axis < static_cast<std::int64_t>(shape.size())) spec.zero_channels = {0};
      if (drawn > 0.8 && drawn < 0.85) spec.outlier = 4;
      if (drawn > 0.85 && drawn < 0.9) {  // one sign alone
        spec.low = 0.1;
        spec.high = 0.9;
      }
      break;
    case Constant::faint:
      spec.std_dev = 1e-8;
      break;
    case Constant::bias:
      spec.std_dev = drawn < 0.8 ? 0.3 : 4.0;
      break;
    case Constant::operand:
      spec.mean = drawn < 0.7 ? 0.0 : 1.5;
      spec.std_dev = drawn < 0.9 ? 0.7 : 0.02;
      break;
    case Constant::divisor:
      spec.kind = "uniform";
      spec.low = drawn < 0.7 ? 0.5 : -3.0;
      spec.high = drawn < 0.7 ? 3.0 : -0.5;
      break;
    case Constant::positive:
      spec.kind = "uniform";
      spec.low = 0.5;
      spec.high = 1.5;
      break;
  }
  const std::string name = fresh(stem);
  return keep(name, corpus::generate(spec, data_seed_, name));
}

std::string Draft::scalar(double value) { return keep(fresh("c"), Tensor::scalar(DType::float32, value)); }

std::string Draft::integers(const std::vector<std::int64_t>& values) {
  return integer_tensor({static_cast<std::int64_t>(values.size())}, values);
}

std::string Draft::integer_tensor(const Shape& shape, std::vector<std::int64_t> values) {
  return keep(fresh("n"), Tensor(DType::int64, shape, std::move(values)));
}

std::string Draft::reals(const std::vector<double>& values) {
  return keep(fresh("c"), Tensor(DType::float32, {static_cast<std::int64_t>(values.size())}, values));
}

void Draft::node(const std::string& op, std::vector<std::string> inputs,
                 std::map<std::string, model::Attribute> attributes, std::size_t outputs) {
  model::Node node;
  model::set_operator(node, op);
  model_.opsets.emplace(node.domain, 1);  // ONNX's own is there
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (auto& [key, value] : node.attributes) {  // a file holds float32
    if (auto* number = std::get_if<double>(&value)) *number = static_cast<double>(static_cast<float>(*number));
  }
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(fresh("t"));
  node.name = node.outputs.front();
  model_.graph.nodes.push_back(std::move(node));
}

core::Status Draft::settle() {
  if (misfit_) return core::Error{core::ErrorKind::invalid_data, "what was pinned doesn't fit", {}, {}, {}};
  const auto shapes = reference::infer_shapes(model_);
  if (!shapes) return shapes.error();
  for (; settled_ < model_.graph.nodes.size(); ++settled_) {
    const model::Node& node = model_.graph.nodes[settled_];
    for (const std::string& output : node.outputs) {
      const auto unfit = [&](const char* why) {
        return core::Error{core::ErrorKind::invalid_data, why, node.name, node.op_type, output};
      };
      const auto found = shapes->find(output);
      if (found != shapes->end() && core::is_integer(found->second.type)) continue;  // indices and extents
      if (found == shapes->end() || !found->second.shape) return unfit("its shape is unknown");
      Shape shape;
      for (const model::Dimension& dimension : *found->second.shape) {
        if (!dimension.value) return unfit("its shape is unknown");
        shape.push_back(*dimension.value);
      }
      const std::int64_t count = core::element_count(shape);
      if (count < 1) return unfit("it is empty");
      if (count > kLargestTensor) return unfit("it is larger than needed");
      values_.push_back({output, shape, model::operator_name(node), false});
    }
  }
  return core::success();
}

void Draft::finish() {
  const model::Wiring wiring(model_.graph);
  for (const Value& value : values_) {
    if (value.made_by.empty()) continue;
    const bool read = !wiring.consumers(value.name).empty();
    if (!read || shown_.contains(value.name) || chance(0.08)) {
      model_.graph.outputs.push_back(declared(value.name, DType::float32, value.shape));
    }
  }
  if (chance(0.06)) free_batch();
  if (chance(0.1)) draw_names();
}

/// The first extent of the first input, wherever an input begins with it, becomes the symbol "batch". Not where a rule
/// asks for the number.
void Draft::free_batch() {
  model::Model freed = model_;
  std::map<std::string, corpus::InputSpec> specs = specs_;
  std::optional<std::int64_t> batch;
  for (model::ValueInfo& input : freed.graph.inputs) {
    if (input.shape->size() < 2 || (batch && input.shape->front().value != batch)) continue;
    batch = input.shape->front().value;
    specs[input.name].shape.emplace();
    for (const model::Dimension& dimension : *input.shape) specs[input.name].shape->push_back(*dimension.value);
    input.shape->front() = {std::nullopt, "batch"};
  }
  for (model::ValueInfo& output : freed.graph.outputs) output.shape.reset();
  const auto shapes = reference::infer_shapes(freed);
  if (!batch || !shapes) return;
  for (model::ValueInfo& output : freed.graph.outputs) {
    output.shape = shapes->at(output.name).shape;
    if (!output.shape) return;  // not even its rank is known
  }
  model_ = std::move(freed);
  specs_ = std::move(specs);
  batch_is_free_ = true;
}

/// Names that a converter has to keep apart and to keep: long ones with one beginning, ones with characters that no
/// identifier has, ones that it makes for tensors of its own.
void Draft::draw_names() {
  std::vector<std::string> all;
  for (const model::ValueInfo& input : model_.graph.inputs) all.push_back(input.name);
  for (const auto& [name, tensor] : model_.graph.initializers) all.push_back(name);
  for (const model::Node& node : model_.graph.nodes) {
    all.insert(all.end(), node.outputs.begin(), node.outputs.end());
  }
  std::map<std::string, std::string> names;
  const auto style = integer(0, 3);
  if (style == 3) {  // one tensor is called as something that belongs to another one
    const std::string taken = choose(all);
    const std::string other = choose(all);
    if (taken != other) {
      names[taken] =
          other + choose<std::string>({"_scale", "_zero_point", "_quantized", "_QuantizeLinear_Output", "_bias"});
    }
  } else {
    for (const std::string& name : all) {
      if (style == 0) names[name] = "/model/encoder/layer.0/" + name;
      if (style == 1) names[name] = "net/" + name + ":0";
      if (style == 2)
        names[name] = std::string(name.front() == 'x' ? "input." : "onnx::op_") + name.substr(1) + name[0];
    }
  }
  model::rename_tensors(model_.graph, names);
  std::map<std::string, corpus::InputSpec> specs;
  for (auto& [name, spec] : specs_) {
    const auto found = names.find(name);
    specs[found == names.end() ? name : found->second] = std::move(spec);
  }
  specs_ = std::move(specs);
}

}  // namespace assay::fuzz
