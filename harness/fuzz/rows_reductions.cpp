#include <algorithm>

#include "harness/fuzz/rows.hpp"
#include "harness/fuzz/window.hpp"

namespace assay::fuzz {
namespace {

using Attributes = std::map<std::string, model::Attribute>;
using core::Shape;

constexpr std::int64_t kLargestPoolKernel = 4;

bool draw_pool(Draft& draft, const std::string& op, bool with_dilations, Attributes more) {
  const Value x = draft.pick(3, 4);
  const Window window = draw_window(draft, x.shape, kLargestPoolKernel, with_dilations);
  Attributes attributes = window.attributes(draft, with_dilations);
  attributes["kernel_shape"] = window.kernel;
  if (window.auto_pad == "NOTSET" && draft.chance(0.2)) attributes["ceil_mode"] = std::int64_t{1};
  attributes.merge(more);
  draft.node(op, {x.name}, attributes);
  return true;
}

std::vector<std::int64_t> written(Draft& draft, std::vector<std::int64_t> axes, std::int64_t rank) {
  for (std::int64_t& axis : axes) axis = draft.written_axis(axis, rank);
  return axes;
}

}  // namespace

bool draw_max_pool(Draft& draft, const std::string& op) { return draw_pool(draft, op, true, {}); }

bool draw_average_pool(Draft& draft, const std::string& op) {
  Attributes attributes;
  if (draft.chance(0.4)) attributes["count_include_pad"] = std::int64_t{1};
  return draw_pool(draft, op, false, attributes);
}

bool draw_global_pool(Draft& draft, const std::string& op) {
  draft.node(op, {draft.pick(3, 4).name}, {});
  return true;
}

bool draw_reduce(Draft& draft, const std::string& op) {
  const Value x = draft.pick(1, 4);
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  Attributes attributes;
  if (draft.chance(0.9)) {
    std::vector<std::int64_t> axes = draft.some_axes(0, rank);
    attributes["axes"] = written(draft, std::move(axes), rank);
  }
  if (draft.chance(0.5)) attributes["keepdims"] = draft.integer(0, 1);
  draft.node(op, {x.name}, attributes);
  return true;
}

bool draw_reduce_sum(Draft& draft, const std::string& op) {
  constexpr std::int64_t kAxesAreAnInput = 13;
  if (draft.opset() < kAxesAreAnInput) return draw_reduce(draft, op);
  const Value x = draft.pick(1, 4);
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  std::vector<std::string> inputs{x.name};
  Attributes attributes;
  if (draft.chance(0.9)) {
    std::vector<std::int64_t> axes = draft.some_axes(0, rank);
    inputs.push_back(draft.integers(written(draft, std::move(axes), rank)));
  } else if (draft.chance(0.3)) {
    attributes["noop_with_empty_axes"] = std::int64_t{1};
  }
  if (draft.chance(0.5)) attributes["keepdims"] = draft.integer(0, 1);
  draft.node(op, inputs, attributes);
  return true;
}

bool draw_batch_normalization(Draft& draft, const std::string& op) {
  const auto before = draft.choose<std::string>({"Conv", "Conv", "Conv", "ConvTranspose", "Gemm", ""});
  const Value x = before.empty() ? draft.pick(2, 4) : draft.pick_behind(before, 2, 4);
  const Shape channels{x.shape[1]};
  const std::string scale = draft.constant(draft.chance(0.8) ? Constant::positive : Constant::operand, channels);
  const std::string bias = draft.constant(Constant::bias, channels);
  const std::string mean = draft.constant(Constant::bias, channels);
  const std::string variance = draft.constant(Constant::positive, channels);
  Attributes attributes;
  if (draft.chance(0.3)) attributes["epsilon"] = draft.choose({1e-3, 0.1});
  draft.node(op, {x.name, scale, bias, mean, variance}, attributes);
  return true;
}

bool draw_instance_normalization(Draft& draft, const std::string& op) {
  const Value x = draft.pick(3, 4);
  if (core::element_count(x.shape) / (x.shape[0] * x.shape[1]) < 4) return false;  // a spread needs values
  const std::string scale = draft.constant(Constant::positive, {x.shape[1]});
  const std::string bias = draft.constant(Constant::bias, {x.shape[1]});
  draft.node(op, {x.name, scale, bias}, {});
  return true;
}

bool draw_layer_normalization(Draft& draft, const std::string& op) {
  const Value x = draft.pick(2, 4);
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  const std::int64_t axis = draft.chance(0.7) ? rank - 1 : draft.integer(1, rank - 1);
  const Shape shape(x.shape.begin() + axis, x.shape.end());
  if (core::element_count(shape) < 4) return false;  // a spread needs values
  Attributes attributes;
  if (axis != rank - 1 || draft.chance(0.5)) attributes["axis"] = draft.written_axis(axis, rank);
  if (draft.chance(0.3)) attributes["epsilon"] = draft.choose({1e-3, 0.1});
  std::vector<std::string> inputs{x.name, draft.constant(Constant::positive, shape)};
  if (draft.chance(0.8)) inputs.push_back(draft.constant(Constant::bias, shape));
  draft.node(op, inputs, attributes);
  return true;
}

}  // namespace assay::fuzz
