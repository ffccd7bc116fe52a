#include <algorithm>

#include "harness/fuzz/rows.hpp"

namespace assay::fuzz {
namespace {

using core::Shape;

/// A shape that broadcasts to `shape`: the same, per channel, a scalar, some extents 1, leading axes left out.
Shape broadcast_to(Draft& draft, const Shape& shape) {
  const double kind = draft.real(0, 1);
  Shape other = shape;
  if (kind < 0.25) return other;
  if (kind < 0.35) return {};
  if (kind < 0.4) return {1};
  if (kind < 0.6 && shape.size() > 2) {  // per channel
    std::ranges::fill(other, 1);
    other[1] = shape[1];
    if (draft.chance(0.5)) other.erase(other.begin());
    return other;
  }
  for (std::int64_t& extent : other) {
    if (draft.chance(0.4)) extent = 1;
  }
  if (!other.empty() && draft.chance(0.4)) {
    other.erase(other.begin(), other.begin() + draft.integer(0, static_cast<std::int64_t>(other.size()) - 1));
  }
  return other;
}

/// Two operands in either order.
void put(Draft& draft, const std::string& op, const std::string& a, const std::string& b, bool either_order) {
  if (either_order && draft.chance(0.35)) {
    draft.node(op, {b, a}, {});
  } else {
    draft.node(op, {a, b}, {});
  }
}

}  // namespace

bool draw_sum(Draft& draft, const std::string& op) {
  const Value a = draft.pick(0, 4);
  const double kind = draft.real(0, 1);
  if (kind < 0.4) {  // a residual, where there is another of this shape
    const Value other = draft.like(a);
    if (!other.name.empty()) {
      put(draft, op, a.name, other.name, true);
      return true;
    }
  }
  const Shape shape = broadcast_to(draft, a.shape);
  if (kind < 0.75) {
    put(draft, op, a.name, draft.constant(Constant::operand, shape), true);
  } else if (kind < 0.95 || op == "Sub") {
    put(draft, op, a.name, draft.input(shape).name, true);
  } else {
    draft.node(op, {a.name, a.name}, {});
  }
  return true;
}

bool draw_div(Draft& draft, const std::string& op) {
  const Value a = draft.pick(0, 4);
  const Shape shape = broadcast_to(draft, a.shape);
  const std::string divisor =
      draft.chance(0.85) ? draft.constant(Constant::divisor, shape) : draft.input(shape, true).name;
  draft.node(op, {a.name, divisor}, {});
  return true;
}

bool draw_extremum(Draft& draft, const std::string& op) {
  const Value a = draft.pick(0, 4);
  std::vector<std::string> inputs{a.name};
  const Value other = draft.like(a);
  if (!other.name.empty() && draft.chance(0.5)) inputs.push_back(other.name);
  if (inputs.size() == 1 || draft.chance(0.3)) {
    const Shape shape = broadcast_to(draft, a.shape);
    inputs.push_back(draft.chance(0.7) ? draft.constant(Constant::operand, shape) : draft.input(shape).name);
  }
  draft.node(op, inputs, {});
  return true;
}

bool draw_unary(Draft& draft, const std::string& op) {
  draft.node(op, {draft.pick(0, 4).name}, {});
  return true;
}

bool draw_sloped(Draft& draft, const std::string& op) {
  const Value x = draft.pick(0, 4);
  std::map<std::string, model::Attribute> attributes;
  if (draft.chance(0.6)) attributes["alpha"] = draft.number(0.05, 1.5);
  draft.node(op, {x.name}, attributes);
  return true;
}

bool draw_prelu(Draft& draft, const std::string& op) {
  const Value x = draft.pick(1, 4);
  Shape slope(x.shape.size() > 2 ? x.shape.size() - 1 : 1, 1);
  if (draft.chance(0.7)) slope.front() = x.shape.size() > 2 ? x.shape[1] : x.shape.back();
  if (draft.chance(0.1)) slope = x.shape;
  draft.node(op, {x.name, draft.constant(Constant::operand, slope)}, {});
  return true;
}

bool draw_clip(Draft& draft, const std::string& op) {
  const Value x = draft.pick(0, 4);
  const double low = draft.chance(0.4) ? 0.0 : draft.number(-2, 0.2);
  const double high = draft.chance(0.3) ? 6.0 : draft.number(0.3, 3);
  std::vector<std::string> inputs{x.name, "", ""};
  if (draft.chance(0.85)) inputs[1] = draft.scalar(low);
  if (draft.chance(0.85)) inputs[2] = draft.scalar(high);
  while (inputs.back().empty()) inputs.pop_back();
  draft.node(op, inputs, {});
  return true;
}

bool draw_hard_sigmoid(Draft& draft, const std::string& op) {
  const Value x = draft.pick(0, 4);
  std::map<std::string, model::Attribute> attributes;
  if (draft.chance(0.5)) attributes["alpha"] = draft.number(0.1, 0.6);
  if (draft.chance(0.3)) attributes["beta"] = draft.number(0.2, 0.7);
  draft.node(op, {x.name}, attributes);
  return true;
}

bool draw_softmax(Draft& draft, const std::string& op) {
  const Value x = draft.pick(2, 4);
  std::map<std::string, model::Attribute> attributes;
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  if (draft.chance(0.6)) {
    const std::int64_t axis = draft.integer(1, rank - 1);
    attributes["axis"] = draft.written_axis(axis, rank);
  }
  draft.node(op, {x.name}, attributes);
  return true;
}

}  // namespace assay::fuzz
