// Pad: constant, reflect, edge and wrap; it takes any element type, so the integer form uses it too.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "converters/embedded/engine/geometry.hpp"

namespace assay::embedded::engine {
namespace {

enum class PadMode { constant, reflect, edge, wrap };

/// The input index that position `at` (before the input where negative) shows, or -1 for the constant.
std::int64_t padded_source(std::int64_t at, std::int64_t extent, PadMode mode) {
  if (at >= 0 && at < extent) return at;
  switch (mode) {
    case PadMode::constant:
      return -1;
    case PadMode::edge:
      return std::clamp<std::int64_t>(at, 0, extent - 1);
    case PadMode::wrap:
      return ((at % extent) + extent) % extent;
    case PadMode::reflect:
      break;
  }
  if (extent == 1) return 0;
  const std::int64_t period = 2 * (extent - 1);
  const std::int64_t within = ((at % period) + period) % period;
  return within < extent ? within : period - within;
}

template <typename Element>
void pad_elements(const Buffer& x, std::span<const std::int64_t> before, PadMode mode, Element value, Buffer& out) {
  // Along each dimension the source of every output index is looked up once.
  const std::size_t rank = x.shape().size();
  std::vector<std::vector<std::int64_t>> sources(rank);
  const auto strides = row_major_strides(x.shape());
  for (std::size_t d = 0; d < rank; ++d) {
    for (std::int64_t i = 0; i < out.shape()[d]; ++i) {
      const std::int64_t source = padded_source(i - before[d], x.shape()[d], mode);
      sources[d].push_back(source < 0 ? -1 : source * strides[d]);
    }
  }
  const auto* in = x.data<Element>();
  auto* target = out.data<Element>();
  std::vector<std::size_t> position(rank, 0);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    std::int64_t offset = 0;
    bool inside = true;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t source = sources[d][position[d]];
      inside = inside && source >= 0;
      offset += source;
    }
    target[i] = inside ? in[offset] : value;
    for (std::size_t d = rank; d-- > 0;) {
      if (++position[d] < sources[d].size()) break;
      position[d] = 0;
    }
  }
}

Result<Kernel> make_pad(const Binding& binding) {
  const Node& node = binding.node;
  const std::string mode_name = node.string_or("mode", "constant");
  const std::map<std::string, PadMode> modes{
      {"constant", PadMode::constant}, {"reflect", PadMode::reflect}, {"edge", PadMode::edge}, {"wrap", PadMode::wrap}};
  const auto mode = modes.find(mode_name);
  if (mode == modes.end()) return invalid_model(fmt::format("mode \"{}\" is not a mode of Pad", mode_name));
  return Kernel([mode = mode->second, listed = node.ints_or("pads"),
                 value = static_cast<float>(node.float_or("value", 0))](const Call& call) -> Status {
    if (!call.has(0)) return invalid_model("input 0 is left out, but required");
    const Buffer& x = call.input(0);
    auto pads = list_operand(call, 1, listed);
    auto axes = list_operand(call, 3, {});
    if (!pads) return pads.error();
    if (!axes) return axes.error();
    if (axes->empty()) {
      axes->resize(x.shape().size());
      std::iota(axes->begin(), axes->end(), 0);
    }
    if (pads->size() != 2 * axes->size()) {
      return invalid_data(fmt::format("{} pads for {} dimensions", pads->size(), axes->size()));
    }
    std::vector<std::int64_t> before(x.shape().size(), 0);
    Shape shape = x.shape();
    for (std::size_t i = 0; i < axes->size(); ++i) {
      const auto resolved = resolve_axis((*axes)[i], x.rank());
      if (!resolved) return resolved.error();
      const auto d = static_cast<std::size_t>(*resolved);
      before[d] = (*pads)[i];
      shape[d] += (*pads)[i] + (*pads)[axes->size() + i];
      const bool nothing_to_repeat = mode != PadMode::constant && x.shape()[d] == 0 && shape[d] > 0;
      if (shape[d] < 0 || nothing_to_repeat) {
        return invalid_data(fmt::format("pads leave {} with an extent of {}", core::shape_text(x.shape()), shape[d]));
      }
    }
    if (call.has(2) && (call.input(2).size() != 1 || call.input(2).type() != x.type())) {
      return invalid_data("the pad value must be a scalar of the input's type");
    }
    call.outputs[0] = Buffer(x.type(), shape);
    with_element_type(x.type(), [&](auto element) {
      using Element = decltype(element);
      const Element fill = call.has(2) ? *call.input(2).data<Element>() : static_cast<Element>(value);
      pad_elements<Element>(x, before, mode, fill, call.outputs[0]);
    });
    return core::success();
  });
}

}  // namespace

void add_pad_makers(MakerTable& table) { table["Pad"] = &make_pad; }

}  // namespace assay::embedded::engine
