#include "harness/fuzz/window.hpp"

#include <algorithm>

namespace assay::fuzz {

std::map<std::string, model::Attribute> Window::attributes(Draft& draft, bool with_dilations) const {
  std::map<std::string, model::Attribute> attributes;
  const auto put = [&](const char* name, const std::vector<std::int64_t>& list, std::int64_t fallback) {
    const bool plain = std::ranges::all_of(list, [&](std::int64_t n) { return n == fallback; });
    if (!plain || draft.chance(0.3)) attributes[name] = list;
  };
  put("strides", strides, 1);
  if (with_dilations) put("dilations", dilations, 1);
  if (auto_pad != "NOTSET") {
    attributes["auto_pad"] = auto_pad;
  } else {
    std::vector<std::int64_t> pads = begins;
    pads.insert(pads.end(), ends.begin(), ends.end());
    put("pads", pads, 0);
  }
  return attributes;
}

Window draw_window(Draft& draft, const core::Shape& shape, std::int64_t largest_kernel, bool with_dilations) {
  Window window;
  if (draft.chance(0.2)) window.auto_pad = draft.choose<std::string>({"SAME_UPPER", "SAME_LOWER", "VALID"});
  const bool pointwise = draft.chance(0.15);
  const bool strided = draft.chance(0.4);
  const bool padded = draft.chance(0.5);
  for (std::size_t axis = 2; axis < shape.size(); ++axis) {
    const std::int64_t extent = shape[axis];
    const std::int64_t kernel = pointwise ? 1 : draft.integer(1, std::min(largest_kernel, extent));
    const bool room = (kernel - 1) * 2 + 1 <= extent;
    const std::int64_t dilation = with_dilations && room && draft.chance(0.2) ? 2 : 1;
    window.kernel.push_back(kernel);
    window.dilations.push_back(dilation);
    window.strides.push_back(strided ? draft.integer(1, 3) : 1);
    window.begins.push_back(padded ? draft.integer(0, kernel - 1) : 0);
    window.ends.push_back(padded ? draft.integer(0, kernel - 1) : 0);
  }
  return window;
}

}  // namespace assay::fuzz
