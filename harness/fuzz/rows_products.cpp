#include <algorithm>

#include "harness/fuzz/rows.hpp"
#include "harness/fuzz/window.hpp"

namespace assay::fuzz {
namespace {

using Attributes = std::map<std::string, model::Attribute>;
using core::Shape;

constexpr std::int64_t kLargestProductKernel = 5;

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= number; ++d) {
    if (number % d == 0) all.push_back(d);
  }
  return all;
}

/// One in three convolutions has groups.
std::int64_t draw_groups(Draft& draft, std::int64_t channels) {
  return draft.chance(0.35) ? draft.choose(divisors(channels)) : 1;
}

/// Output channels that mostly differ from `other` where they can.
std::int64_t draw_outputs(Draft& draft, std::int64_t groups, std::int64_t other) {
  if (draft.chance(0.1)) return other % groups == 0 ? other : groups;
  const std::int64_t each = draft.integer(1, std::max<std::int64_t>(1, 10 / groups));
  return groups * each == other && each > 1 ? groups * (each - 1) : groups * each;
}

}  // namespace

bool draw_conv(Draft& draft, const std::string& op) {
  const Value x = draft.pick(3, 4);
  const std::int64_t channels = x.shape[1];
  const std::int64_t groups = draw_groups(draft, channels);
  const std::int64_t outputs = draw_outputs(draft, groups, channels);
  const Window window = draw_window(draft, x.shape, kLargestProductKernel, true);
  Attributes attributes = window.attributes(draft, true);
  if (groups > 1 || draft.chance(0.3)) attributes["group"] = groups;
  if (draft.chance(0.7)) attributes["kernel_shape"] = window.kernel;
  Shape shape{outputs, channels / groups};
  shape.insert(shape.end(), window.kernel.begin(), window.kernel.end());
  std::vector<std::string> inputs{x.name, draft.constant(Constant::weight, shape)};
  if (draft.chance(0.6)) inputs.push_back(draft.constant(Constant::bias, {outputs}));
  draft.node(op, inputs, attributes);
  return true;
}

bool draw_conv_transpose(Draft& draft, const std::string& op) {
  const Value x = draft.pick(3, 4);
  const std::int64_t channels = x.shape[1];
  const std::int64_t groups = draw_groups(draft, channels);
  const std::int64_t outputs = draw_outputs(draft, groups, channels);
  Window window = draw_window(draft, x.shape, 4, true);
  std::vector<std::int64_t> more(window.kernel.size(), 0);
  bool same = true;  // SAME needs a kernel that covers the stride
  for (std::size_t i = 0; i < more.size(); ++i) {
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    same = same && reach >= window.strides[i];
    const std::int64_t most = std::max(window.strides[i], window.dilations[i]) - 1;
    if (most > 0 && draft.chance(0.3)) more[i] = draft.integer(0, most);
  }
  if (window.auto_pad.starts_with("SAME") && !same) window.auto_pad = "VALID";
  Attributes attributes = window.attributes(draft, true);
  if (window.auto_pad == "NOTSET" && std::ranges::any_of(more, [](std::int64_t n) { return n > 0; })) {
    attributes["output_padding"] = more;
  }
  if (groups > 1 || draft.chance(0.3)) attributes["group"] = groups;
  if (draft.chance(0.7)) attributes["kernel_shape"] = window.kernel;
  Shape shape{channels, outputs / groups};
  shape.insert(shape.end(), window.kernel.begin(), window.kernel.end());
  std::vector<std::string> inputs{x.name, draft.constant(Constant::weight, shape, 1)};
  if (draft.chance(0.6)) inputs.push_back(draft.constant(Constant::bias, {outputs}));
  draft.node(op, inputs, attributes);
  return true;
}

bool draw_gemm(Draft& draft, const std::string& op) {
  const Value a = draft.pick(2, 2);
  const bool trans_a = draft.chance(0.25);
  const bool trans_b = draft.chance(0.5);
  const std::int64_t rows = a.shape[trans_a ? 1 : 0];
  const std::int64_t summed = a.shape[trans_a ? 0 : 1];
  const std::int64_t columns = draft.integer(2, 14);
  const Shape shape = trans_b ? Shape{columns, summed} : Shape{summed, columns};
  std::vector<std::string> inputs{a.name};
  inputs.push_back(draft.chance(0.1) ? draft.input(shape).name
                                     : draft.constant(Constant::weight, shape, trans_b ? 0 : 1));
  if (draft.chance(0.7)) {
    const auto bias = draft.choose<Shape>({{columns}, {columns}, {1, columns}, {1}, {}, {rows, columns}, {rows, 1}});
    inputs.push_back(draft.constant(Constant::bias, bias));
  }
  Attributes attributes;
  if (trans_a || draft.chance(0.2)) attributes["transA"] = std::int64_t{trans_a};
  if (trans_b || draft.chance(0.2)) attributes["transB"] = std::int64_t{trans_b};
  if (draft.chance(0.25)) attributes["alpha"] = draft.choose({0.25, 0.5, 1.0, 2.0});
  if (draft.chance(0.25)) attributes["beta"] = draft.choose({0.5, 1.0, 3.0});
  draft.node(op, inputs, attributes);
  return true;
}

bool draw_matmul(Draft& draft, const std::string& op) {
  const Value a = draft.pick(1, 4);
  const auto rank = static_cast<std::int64_t>(a.shape.size());
  const std::int64_t summed = a.shape.back();
  const std::int64_t columns = draft.integer(2, 14);
  const double kind = draft.real(0, 1);
  Shape batch = rank > 2 ? Shape(a.shape.begin(), a.shape.end() - 2) : Shape{};
  if (kind < 0.15 && rank >= 2) {  // the weight on the left
    Shape left{draft.integer(2, 9), a.shape[a.shape.size() - 2]};
    draft.node(op, {draft.constant(Constant::weight, left), a.name}, {});
    return true;
  }
  Shape right = draft.chance(0.06) ? Shape{summed} : Shape{summed, columns};
  if (kind < 0.35 && right.size() == 2) {  // of activations, with the same batch, one of its own, or none
    if (draft.chance(0.6)) {
      if (!batch.empty() && draft.chance(0.3)) batch.front() = 1;
      right.insert(right.begin(), batch.begin(), batch.end());
    }
    draft.node(op, {a.name, draft.input(right).name}, {});
    return true;
  }
  if (kind > 0.9 && right.size() == 2) right.insert(right.begin(), batch.begin(), batch.end());
  const auto axis = static_cast<std::int64_t>(right.size()) - 1;
  draft.node(op, {a.name, draft.constant(Constant::weight, right, axis)}, {});
  return true;
}

}  // namespace assay::fuzz
