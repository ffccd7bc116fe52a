// Reductions over axes, CumSum, ArgMax and TopK. Sums of floats run in float64, so their order hardly matters.
#include "converters/embedded/engine/reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace assay::embedded::engine {

ReductionAttributes read_reduction_attributes(const Node& node) {
  return {node.ints_or("axes"), node.int_or("keepdims", 1) != 0, node.int_or("noop_with_empty_axes", 0) != 0};
}

Result<Reduction> bind_reduction(const ReductionAttributes& attributes, const Call& call) {
  if (!call.has(0)) return invalid_model("input 0 is left out, but required");
  const Shape& shape = call.input(0).shape();
  const std::vector<std::int64_t> axes = call.has(1) ? call.input(1).to_integers() : attributes.axes;
  std::vector<bool> reduced(shape.size(), axes.empty() && !attributes.none_when_empty);
  for (const std::int64_t axis : axes) {
    const auto resolved = resolve_axis(axis, std::ssize(shape));
    if (!resolved) return resolved.error();
    reduced[static_cast<std::size_t>(*resolved)] = true;
  }
  Reduction reduction;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    reduction.kept.push_back(reduced[d] ? 1 : shape[d]);
    if (!reduced[d] || attributes.keeps) reduction.out_shape.push_back(reduction.kept.back());
    if (reduced[d]) reduction.group *= shape[d];
  }
  return reduction;
}

namespace {

/// How a reduction starts, takes one element and ends.
struct Fold {
  double start = 0;
  double (*step)(double, double) = nullptr;
  double (*end)(double sum, double count) = nullptr;
};

const std::map<std::string_view, Fold>& folds() {
  static constexpr auto kAdd = [](double sum, double x) { return sum + x; };
  static constexpr auto kKeep = [](double sum, double) { return sum; };
  static const std::map<std::string_view, Fold> table{
      {"ReduceSum", {0, kAdd, kKeep}},
      {"ReduceMean", {0, kAdd, [](double sum, double count) { return sum / count; }}},
      {"ReduceMax", {-HUGE_VAL, [](double best, double x) { return x > best || x != x ? x : best; }, kKeep}},
      {"ReduceMin", {HUGE_VAL, [](double best, double x) { return x < best || x != x ? x : best; }, kKeep}},
      {"ReduceProd", {1, [](double product, double x) { return product * x; }, kKeep}},
      {"ReduceL1", {0, [](double sum, double x) { return sum + std::abs(x); }, kKeep}},
      {"ReduceL2",
       {0, [](double sum, double x) { return sum + x * x; }, [](double sum, double) { return std::sqrt(sum); }}},
      {"ReduceSumSquare", {0, [](double sum, double x) { return sum + x * x; }, kKeep}},
  };
  return table;
}

Result<Kernel> make_reduce(const Binding& binding) {
  const Fold fold = folds().at(binding.node.op_type);  // the table of makers has these names only
  return Kernel([fold, attributes = read_reduction_attributes(binding.node)](const Call& call) -> Status {
    auto reduction = bind_reduction(attributes, call);
    if (!reduction) return reduction.error();
    const Buffer& x = call.input(0);
    call.outputs[0] = Buffer(x.type(), reduction->out_shape);
    std::vector<double> sums(static_cast<std::size_t>(call.outputs[0].size()), fold.start);
    with_element_type(x.type(), [&](auto element) {
      using Element = decltype(element);
      const auto* in = x.data<Element>();
      for_each_reduced(x.shape(), reduction->kept, [&](std::int64_t i, std::int64_t o) {
        double& sum = sums[static_cast<std::size_t>(o)];
        sum = fold.step(sum, static_cast<double>(in[i]));
      });
      auto* out = call.outputs[0].data<Element>();
      const auto count = static_cast<double>(reduction->group);
      for (const double sum : sums) *out++ = static_cast<Element>(fold.end(sum, count));
    });
    return core::success();
  });
}

/// One dimension of a tensor with the elements before and after it.
struct Line {
  std::int64_t outer = 1, extent = 1, inner = 1;
};
Result<Line> line_of(const Shape& shape, std::int64_t axis) {
  const auto resolved = resolve_axis(axis, std::ssize(shape));
  if (!resolved) return resolved.error();
  Line line;
  for (std::int64_t d = 0; d < std::ssize(shape); ++d) {
    const std::int64_t extent = shape[static_cast<std::size_t>(d)];
    (d < *resolved ? line.outer : d == *resolved ? line.extent : line.inner) *= extent;
  }
  return line;
}

Result<Kernel> make_cumsum(const Binding& binding) {
  const bool exclusive = binding.node.int_or("exclusive", 0) != 0;
  const bool reverse = binding.node.int_or("reverse", 0) != 0;
  return Kernel([exclusive, reverse](const Call& call) -> Status {
    if (!call.has(0) || !call.has(1) || call.input(1).size() != 1) return invalid_model("x and one axis are required");
    const Buffer& x = call.input(0);
    auto line = line_of(x.shape(), call.input(1).to_integers()[0]);
    if (!line) return line.error();
    call.outputs[0] = Buffer(x.type(), x.shape());
    with_element_type(x.type(), [&](auto element) {
      using Element = decltype(element);
      using Sum = std::conditional_t<std::is_floating_point_v<Element>, double, std::uint64_t>;
      for (std::int64_t i = 0; i < line->outer * line->inner; ++i) {
        const std::int64_t first = i / line->inner * line->extent * line->inner + i % line->inner;
        Sum sum{};
        for (std::int64_t k = 0; k < line->extent; ++k) {
          const std::int64_t at = first + (reverse ? line->extent - 1 - k : k) * line->inner;
          const auto value = static_cast<Sum>(x.data<Element>()[at]);
          if (exclusive) call.outputs[0].data<Element>()[at] = static_cast<Element>(sum);
          sum += value;
          if (!exclusive) call.outputs[0].data<Element>()[at] = static_cast<Element>(sum);
        }
      }
    });
    return core::success();
  });
}

Result<Kernel> make_arg(const Binding& binding) {
  const bool largest = binding.node.op_type == "ArgMax";
  const bool keeps = binding.node.int_or("keepdims", 1) != 0;
  const bool last = binding.node.int_or("select_last_index", 0) != 0;
  const std::int64_t axis = binding.node.int_or("axis", 0);
  return Kernel([largest, keeps, last, axis](const Call& call) -> Status {
    if (!call.has(0)) return invalid_model("input 0 is left out, but required");
    const Buffer& x = call.input(0);
    auto line = line_of(x.shape(), axis);
    if (!line) return line.error();
    if (line->extent == 0) return invalid_data("the extent along the axis is 0");
    Shape shape = x.shape();
    const auto d = static_cast<std::ptrdiff_t>(axis < 0 ? axis + x.rank() : axis);
    if (keeps) {
      shape[static_cast<std::size_t>(d)] = 1;
    } else {
      shape.erase(shape.begin() + d);
    }
    call.outputs[0] = Buffer(DType::int64, shape);
    with_element_type(x.type(), [&](auto element) {
      const auto* in = x.data<decltype(element)>();
      for (std::int64_t i = 0; i < line->outer * line->inner; ++i) {
        const std::int64_t first = i / line->inner * line->extent * line->inner + i % line->inner;
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < line->extent; ++k) {
          const auto candidate = in[first + k * line->inner];
          const auto holder = in[first + best * line->inner];
          if ((largest ? candidate > holder : candidate < holder) || (last && candidate == holder)) best = k;
        }
        call.outputs[0].data<std::int64_t>()[i] = best;
      }
    });
    return core::success();
  });
}

Result<Kernel> make_top_k(const Binding& binding) {
  const bool largest = binding.node.int_or("largest", 1) != 0;
  const std::int64_t axis = binding.node.int_or("axis", -1);
  return Kernel([largest, axis](const Call& call) -> Status {
    if (!call.has(0) || !call.has(1) || call.input(1).size() != 1) return invalid_model("x and k are required");
    const Buffer& x = call.input(0);
    auto line = line_of(x.shape(), axis);
    if (!line) return line.error();
    const std::int64_t k = call.input(1).to_integers()[0];
    if (k < 0 || k > line->extent) return invalid_data(fmt::format("k is {}, the extent {}", k, line->extent));
    Shape shape = x.shape();
    shape[static_cast<std::size_t>(axis < 0 ? axis + x.rank() : axis)] = k;
    call.outputs[0] = Buffer(x.type(), shape);
    if (call.outputs.size() > 1) call.outputs[1] = Buffer(DType::int64, shape);
    with_element_type(x.type(), [&](auto element) {
      using Element = decltype(element);
      const auto* in = x.data<Element>();
      std::vector<std::int64_t> order(static_cast<std::size_t>(line->extent));
      for (std::int64_t i = 0; i < line->outer * line->inner; ++i) {
        const std::int64_t first = i / line->inner * line->extent * line->inner + i % line->inner;
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
          const Element left = in[first + a * line->inner];
          const Element right = in[first + b * line->inner];
          return largest ? left > right : left < right;
        });
        const std::int64_t target = i / line->inner * k * line->inner + i % line->inner;
        for (std::int64_t j = 0; j < k; ++j) {
          const std::int64_t source = order[static_cast<std::size_t>(j)];
          call.outputs[0].data<Element>()[target + j * line->inner] = in[first + source * line->inner];
          if (call.outputs.size() > 1) call.outputs[1].data<std::int64_t>()[target + j * line->inner] = source;
        }
      }
    });
    return core::success();
  });
}

}  // namespace

void add_reduce_makers(MakerTable& table) {
  for (const auto& [name, fold] : folds()) table[name] = &make_reduce;
  table["CumSum"] = &make_cumsum;
  table["ArgMax"] = &make_arg;
  table["ArgMin"] = &make_arg;
  table["TopK"] = &make_top_k;
}

}  // namespace assay::embedded::engine
