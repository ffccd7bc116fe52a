#include "harness/core/version.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace assay::core {
namespace {

/// One part of a version, in the order of comparison: number, released or not, rest.
std::tuple<long, bool, std::string_view> parsed(std::string_view part) {
  long number = 0;
  const auto end = std::from_chars(part.data(), part.data() + part.size(), number).ptr;
  const std::string_view rest = part.substr(static_cast<std::size_t>(end - part.data()));
  const bool letter = !rest.empty() && rest.front() >= 'a' && rest.front() <= 'z';
  return {number, !letter || rest.starts_with("post"), rest};
}

}  // namespace

bool version_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::size_t a_dot = std::min(a.find('.'), a.size()), b_dot = std::min(b.find('.'), b.size());
    const auto left = parsed(a.substr(0, a_dot)), right = parsed(b.substr(0, b_dot));
    if (left != right) return left < right;
    a.remove_prefix(std::min(a_dot + 1, a.size()));
    b.remove_prefix(std::min(b_dot + 1, b.size()));
  }
  return a.empty() && !b.empty();
}

}  // namespace assay::core
