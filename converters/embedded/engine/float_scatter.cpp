// GatherElements and ScatterElements: one element for each index.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "converters/embedded/engine/geometry.hpp"

namespace assay::embedded::engine {
namespace {

/// For each element of input 1, the indices, the place in `data` that it names along `axis`, its other coordinates
/// being its own.
Result<std::vector<std::int64_t>> named_places(const Call& call, std::int64_t axis) {
  for (const std::size_t index : {0U, 1U}) {
    if (!call.has(index)) return invalid_model(fmt::format("input {} is left out, but required", index));
  }
  const Buffer& data = call.input(0);
  const Buffer& indices = call.input(1);
  if (!core::is_integer(indices.type())) return invalid_data("the indices must be of an integer type");
  const auto resolved = resolve_axis(axis, data.rank());
  if (!resolved) return resolved.error();
  const auto along = static_cast<std::size_t>(*resolved);
  bool fits = indices.rank() == data.rank();
  for (std::size_t d = 0; fits && d < data.shape().size(); ++d) {
    fits = d == along || indices.shape()[d] <= data.shape()[d];
  }
  if (!fits) {
    return invalid_data(fmt::format("indices {} don't fit data {} along axis {}", core::shape_text(indices.shape()),
                                    core::shape_text(data.shape()), axis));
  }
  std::vector<std::int64_t> places = indices.to_integers();
  const auto strides = row_major_strides(data.shape());
  const std::int64_t extent = data.shape()[along];
  std::vector<std::int64_t> position(data.shape().size(), 0);
  for (std::int64_t& place : places) {
    if (place < -extent || place >= extent) {
      return invalid_data(fmt::format("index {} is outside an extent of {}", place, extent));
    }
    std::int64_t at = (place < 0 ? place + extent : place) * strides[along];
    for (std::size_t d = 0; d < position.size(); ++d) {
      if (d != along) at += position[d] * strides[d];
    }
    place = at;
    for (std::size_t d = position.size(); d-- > 0;) {
      if (++position[d] < indices.shape()[d]) break;
      position[d] = 0;
    }
  }
  return places;
}

// ONNX GatherElements-13.
Result<Kernel> make_gather_elements(const Binding& binding) {
  return Kernel([axis = binding.node.int_or("axis", 0)](const Call& call) -> Status {
    const auto places = named_places(call, axis);
    if (!places) return places.error();
    const Buffer& data = call.input(0);
    call.outputs[0] = Buffer(data.type(), call.input(1).shape());
    with_element_width(data.type(), [&](auto element) {
      using Element = decltype(element);
      const auto* in = data.data<Element>();
      auto* out = call.outputs[0].data<Element>();
      for (const std::int64_t place : *places) *out++ = in[place];
    });
    return core::success();
  });
}

enum class Reduction { none, add, mul, max, min };

Result<Reduction> reduction_of(const Node& node) {
  const std::string name = node.string_or("reduction", "none");
  if (name == "none") return Reduction::none;
  if (name == "add") return Reduction::add;
  if (name == "mul") return Reduction::mul;
  if (name == "max") return Reduction::max;
  if (name == "min") return Reduction::min;
  return invalid_model(fmt::format("reduction \"{}\" is none of ONNX's", name));
}

template <typename Element>
Element reduced(Reduction reduction, Element before, Element update) {
  switch (reduction) {
    case Reduction::add:
      return static_cast<Element>(before + update);
    case Reduction::mul:
      return static_cast<Element>(before * update);
    case Reduction::max:
      return std::max(before, update);
    case Reduction::min:
      return std::min(before, update);
    case Reduction::none:
      break;
  }
  return update;
}

// ONNX ScatterElements-18; where two indices name one place, the last update stays.
Result<Kernel> make_scatter_elements(const Binding& binding) {
  const auto reduction = reduction_of(binding.node);
  if (!reduction) return reduction.error();
  return Kernel([axis = binding.node.int_or("axis", 0), reduction = *reduction](const Call& call) -> Status {
    const auto places = named_places(call, axis);
    if (!places) return places.error();
    const Buffer& data = call.input(0);
    if (!call.has(2) || call.input(2).type() != data.type() || call.input(2).shape() != call.input(1).shape()) {
      return invalid_data("the updates must have the data's type and the indices' shape");
    }
    call.outputs[0] = Buffer(data.type(), data.shape());
    with_element_type(data.type(), [&](auto element) {
      using Element = decltype(element);
      auto* out = call.outputs[0].data<Element>();
      std::copy_n(data.data<Element>(), data.size(), out);
      const auto* updates = call.input(2).data<Element>();
      for (const std::int64_t place : *places) {
        out[place] = reduced(reduction, out[place], *updates);
        ++updates;
      }
    });
    return core::success();
  });
}

}  // namespace

void add_scatter_makers(MakerTable& table) {
  table["GatherElements"] = &make_gather_elements;
  table["ScatterElements"] = &make_scatter_elements;
}

}  // namespace assay::embedded::engine
