#include <algorithm>
#include <numeric>

#include "harness/fuzz/rows.hpp"

namespace assay::fuzz {
namespace {

using Attributes = std::map<std::string, model::Attribute>;
using core::Shape;
using Integers = std::vector<std::int64_t>;

/// From this opset on axes of Squeeze and Unsqueeze and the parts of Split are an input.
constexpr std::int64_t kListsAreInputs = 13;
/// Until then Resize has to be given a region of interest, if only an empty one.
constexpr std::int64_t kRoiIsOptional = 13;

std::int64_t rank_of(const Value& value) { return static_cast<std::int64_t>(value.shape.size()); }

/// `list` as the operator takes it at this opset.
void put_list(Draft& draft, const char* name, const Integers& list, std::vector<std::string>& inputs,
              Attributes& attributes) {
  if (draft.opset() < kListsAreInputs) {
    attributes[name] = list;
  } else {
    inputs.push_back(draft.integers(list));
  }
}

Integers positive_divisors(std::int64_t number) {
  Integers all;
  for (std::int64_t d = 2; d <= number; ++d) {
    if (number % d == 0) all.push_back(d);
  }
  return all;
}

}  // namespace

bool draw_concat(Draft& draft, const std::string& op) {
  const Value a = draft.pick(1, 4);
  const std::int64_t axis = draft.chance(0.6) && a.shape.size() > 1 ? 1 : draft.integer(0, rank_of(a) - 1);
  std::vector<std::string> inputs{a.name};
  const std::int64_t more = draft.integer(1, 2);
  for (std::int64_t i = 0; i < more; ++i) {
    const double kind = draft.real(0, 1);
    Shape shape = a.shape;
    shape[static_cast<std::size_t>(axis)] = draft.integer(1, 6);
    const Value other = draft.like(a);
    if (kind < 0.15) {
      inputs.push_back(a.name);
    } else if (kind < 0.3) {
      inputs.push_back(draft.constant(Constant::operand, shape));
    } else if (kind < 0.75 && !other.name.empty()) {
      inputs.push_back(other.name);
    } else {
      inputs.push_back(draft.input(shape).name);
    }
  }
  if (draft.chance(0.3)) std::swap(inputs.front(), inputs.back());
  draft.node(op, inputs, {{"axis", draft.written_axis(axis, rank_of(a))}});
  return true;
}

bool draw_reshape(Draft& draft, const std::string& op) {
  const Value x = draft.pick(1, 4);
  Shape shape = x.shape;
  const double kind = draft.real(0, 1);
  if (kind < 0.4 && shape.size() > 1) {  // two neighbours become one
    const std::int64_t at = draft.integer(0, rank_of(x) - 2);
    shape[static_cast<std::size_t>(at)] *= shape[static_cast<std::size_t>(at) + 1];
    shape.erase(shape.begin() + at + 1);
  } else if (kind < 0.7) {  // one becomes two
    const std::int64_t at = draft.integer(0, rank_of(x) - 1);
    const Integers factors = positive_divisors(shape[static_cast<std::size_t>(at)]);
    if (factors.empty() || shape.size() > 3) return false;
    const std::int64_t factor = draft.choose(factors);
    shape[static_cast<std::size_t>(at)] /= factor;
    shape.insert(shape.begin() + at + 1, factor);
  } else {
    std::ranges::reverse(shape);
  }
  Integers wanted = shape;
  const bool keeps_first = !shape.empty() && shape.front() == x.shape.front();
  if (keeps_first && draft.chance(0.3)) wanted.front() = 0;
  if (draft.chance(0.4)) wanted.back() = wanted.back() == 0 ? 0 : -1;
  draft.node(op, {x.name, draft.integers(wanted)}, {});
  return true;
}

bool draw_flatten(Draft& draft, const std::string& op) {
  const Value x = draft.pick(2, 4);
  Attributes attributes;
  const std::int64_t axis = draft.integer(1, rank_of(x) - 1);
  if (draft.chance(0.4)) attributes["axis"] = draft.written_axis(axis, rank_of(x));
  draft.node(op, {x.name}, attributes);
  return true;
}

bool draw_squeeze(Draft& draft, const std::string& op) {
  const Value* last = nullptr;
  for (const Value& value : draft.values()) {
    if (std::ranges::find(value.shape, 1) != value.shape.end()) last = &value;
  }
  Shape shape;
  if (last == nullptr) {
    shape = draft.shape_of_rank(3);
    shape[1] = 1;
  }
  const Value x = last != nullptr ? *last : draft.input(shape);
  std::vector<std::string> inputs{x.name};
  Attributes attributes;
  if (draft.chance(0.8)) {
    Integers axes;
    for (std::int64_t axis = 0; axis < rank_of(x); ++axis) {
      if (x.shape[static_cast<std::size_t>(axis)] == 1) axes.push_back(axis);
    }
    const std::int64_t axis = draft.choose(axes);
    put_list(draft, "axes", {draft.written_axis(axis, rank_of(x))}, inputs, attributes);
  }
  draft.node(op, inputs, attributes);
  return true;
}

bool draw_unsqueeze(Draft& draft, const std::string& op) {
  const Value x = draft.pick(1, 3);
  const std::int64_t axis = draft.integer(0, rank_of(x));
  std::vector<std::string> inputs{x.name};
  Attributes attributes;
  put_list(draft, "axes", {draft.written_axis(axis, rank_of(x) + 1)}, inputs, attributes);
  draft.node(op, inputs, attributes);
  return true;
}

bool draw_transpose(Draft& draft, const std::string& op) {
  const Value x = draft.pick(2, 4);
  Attributes attributes;
  if (draft.chance(0.85)) {
    Integers order(x.shape.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(draft.integer(0, static_cast<std::int64_t>(i) - 1))]);
    }
    attributes["perm"] = order;
  }
  draft.node(op, {x.name}, attributes);
  return true;
}

bool draw_slice(Draft& draft, const std::string& op) {
  const Value x = draft.pick(1, 4);
  Integers axes = draft.some_axes(0, rank_of(x)), starts, ends, steps;
  bool stepped = false;
  for (std::int64_t& axis : axes) {
    const std::int64_t extent = x.shape[static_cast<std::size_t>(axis)];
    const std::int64_t first = draft.integer(0, (extent - 1) / 2);
    const std::int64_t end = draft.integer(first + 1, extent);
    const std::int64_t step = draft.chance(0.2) ? 2 : 1;
    if (draft.chance(0.1)) {  // backwards, down to `first`
      starts.push_back(draft.chance(0.5) ? extent - 1 : -1);
      ends.push_back(first - extent - 1);
      steps.push_back(-step);
    } else {
      starts.push_back(draft.chance(0.2) ? first - extent : first);
      ends.push_back(end == extent && draft.chance(0.5) ? std::int64_t{1} << 40U : end);
      steps.push_back(step);
    }
    stepped = stepped || steps.back() != 1;
    axis = draft.written_axis(axis, rank_of(x));
  }
  const std::string from = draft.integers(starts);
  const std::string to = draft.integers(ends);
  std::vector<std::string> inputs{x.name, from, to, draft.integers(axes)};
  if (stepped || draft.chance(0.2)) inputs.push_back(draft.integers(steps));
  draft.node(op, inputs, {});
  return true;
}

bool draw_split(Draft& draft, const std::string& op) {
  const Value x = draft.pick(1, 4);
  const std::int64_t axis = draft.integer(0, rank_of(x) - 1);
  const std::int64_t extent = x.shape[static_cast<std::size_t>(axis)];
  if (extent < 2) return false;
  const std::int64_t first = draft.integer(1, extent - 1);
  Integers parts{first, extent - first};
  if (parts[1] > 2 && draft.chance(0.3)) parts = {first, 1, extent - first - 1};
  std::vector<std::string> inputs{x.name};
  Attributes attributes;
  if (axis != 0 || draft.chance(0.3)) attributes["axis"] = draft.written_axis(axis, rank_of(x));
  if (extent % 2 == 0 && draft.chance(0.3)) {
    parts = {extent / 2, extent / 2};
  } else {
    put_list(draft, "split", parts, inputs, attributes);
  }
  draft.node(op, inputs, attributes, parts.size());
  return true;
}

bool draw_pad(Draft& draft, const std::string& op) {
  const Value x = draft.pick(1, 4);
  const auto mode = draft.choose<std::string>({"constant", "constant", "reflect", "edge"});
  Integers begins(x.shape.size(), 0), ends = begins;
  for (std::size_t axis = x.shape.size() > 2 ? 2 : 0; axis < x.shape.size(); ++axis) {
    const std::int64_t most = std::min<std::int64_t>(2, x.shape[axis] - 1);
    begins[axis] = draft.integer(0, most);
    ends[axis] = draft.integer(0, most);
  }
  Integers pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  std::vector<std::string> inputs{x.name, draft.integers(pads)};
  if (mode == "constant" && draft.chance(0.5)) {
    inputs.push_back(draft.scalar(draft.chance(0.5) ? 0.0 : draft.number(-2, 2)));
  }
  Attributes attributes;
  if (mode != "constant" || draft.chance(0.3)) attributes["mode"] = mode;
  draft.node(op, inputs, attributes);
  return true;
}

bool draw_gather(Draft& draft, const std::string& op) {
  const bool table = draft.chance(0.15);  // an embedding: constant data, indices that come from outside
  const Shape rows = draft.shape_of_rank(2);
  Value x;
  if (table) {
    x = {draft.constant(Constant::weight, rows), rows, "", false};
  } else {
    x = draft.pick(1, 4);
  }
  const std::int64_t axis = table ? 0 : draft.integer(0, rank_of(x) - 1);
  const std::int64_t extent = x.shape[static_cast<std::size_t>(axis)];
  const auto shape = draft.choose<Shape>({{}, {draft.integer(1, 5)}, {2, 3}});
  std::string indices;
  if (table || draft.chance(0.2)) {
    indices = draft.index_input(shape, extent - 1);
  } else {
    Integers values(static_cast<std::size_t>(core::element_count(shape)));
    for (std::int64_t& value : values) {
      value = draft.integer(0, extent - 1);
      if (draft.chance(0.15)) value -= extent;
    }
    indices = draft.integer_tensor(shape, values);
  }
  Attributes attributes;
  if (axis != 0 || draft.chance(0.3)) attributes["axis"] = draft.written_axis(axis, rank_of(x));
  draft.node(op, {x.name, indices}, attributes);
  return true;
}

bool draw_expand(Draft& draft, const std::string& op) {
  const Value x = draft.pick(1, 3);
  Shape wanted = x.shape;
  for (std::int64_t& extent : wanted) {
    if (extent == 1) extent = draft.integer(2, 4);
  }
  if (draft.chance(0.5)) wanted.insert(wanted.begin(), draft.integer(2, 3));
  draft.node(op, {x.name, draft.integers(wanted)}, {});
  return true;
}

bool draw_tile(Draft& draft, const std::string& op) {
  const Value x = draft.pick(1, 4);
  Integers repeats(x.shape.size(), 1);
  repeats[static_cast<std::size_t>(draft.integer(0, rank_of(x) - 1))] = draft.integer(2, 3);
  draft.node(op, {x.name, draft.integers(repeats)}, {});
  return true;
}

bool draw_resize(Draft& draft, const std::string& op) {
  const Value x = draft.pick(3, 4);
  const bool linear = draft.chance(0.4);
  Attributes attributes{{"mode", std::string(linear ? "linear" : "nearest")}};
  if (draft.chance(0.6)) {
    attributes["coordinate_transformation_mode"] =
        draft.choose<std::string>({"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"});
  }
  if (!linear && draft.chance(0.5)) {
    attributes["nearest_mode"] =
        draft.choose<std::string>({"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"});
  }
  const std::string roi = draft.opset() < kRoiIsOptional ? draft.empty_reals() : "";
  std::vector<double> scales(x.shape.size(), 1);
  Integers sizes = x.shape;
  for (std::size_t axis = 2; axis < x.shape.size(); ++axis) {
    scales[axis] = draft.choose({2.0, 2.0, 3.0, 1.5, 0.5});
    sizes[axis] = draft.integer(2, 2 * x.shape[axis]);
  }
  if (draft.chance(0.7)) {
    draft.node(op, {x.name, roi, draft.reals(scales)}, attributes);
  } else {
    const std::string none = draft.opset() < kRoiIsOptional ? draft.empty_reals() : "";
    draft.node(op, {x.name, roi, none, draft.integers(sizes)}, attributes);
  }
  return true;
}

bool draw_depth_to_space(Draft& draft, const std::string& op) {
  Shape shape = draft.shape_of_rank(4);
  shape[1] = draft.choose<std::int64_t>({4, 8});
  Value x;
  for (const Value& value : draft.values()) {
    if (value.shape.size() == 4 && value.shape[1] % 4 == 0) x = value;
  }
  if (x.name.empty()) x = draft.input(shape);
  Attributes attributes{{"blocksize", std::int64_t{2}}};
  if (draft.chance(0.6)) attributes["mode"] = draft.choose<std::string>({"DCR", "CRD"});
  draft.node(op, {x.name}, attributes);
  return true;
}

bool draw_space_to_depth(Draft& draft, const std::string& op) {
  Shape shape = draft.shape_of_rank(4);
  shape[2] = 4;
  shape[3] = 6;
  Value x;
  for (const Value& value : draft.values()) {
    if (value.shape.size() == 4 && value.shape[2] % 2 == 0 && value.shape[3] % 2 == 0) x = value;
  }
  if (x.name.empty()) x = draft.input(shape);
  draft.node(op, {x.name}, {{"blocksize", std::int64_t{2}}});
  return true;
}

}  // namespace assay::fuzz
