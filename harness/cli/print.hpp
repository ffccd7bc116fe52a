#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "harness/core/quoted.hpp"

namespace assay::cli {

/// Text with colours of our own, which a terminal is to obey. Terminal makes it.
struct Painted {
  std::string text;
};

namespace printing {

template <typename T>
[[nodiscard]] auto shown(const T& value) {
  if constexpr (std::is_same_v<T, Painted>) {
    return std::string_view(value.text);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return core::visible_text(std::string_view(value));
  } else {
    return value;
  }
}

template <typename T>
using Shown = decltype(shown(std::declval<const T&>()));

}  // namespace printing

/// The one way on which text goes to a terminal: fmt::print, with every text in `values` as core::visible_text shows
/// it.
template <typename... Values>
void print(std::FILE* stream, fmt::format_string<printing::Shown<Values>...> form, const Values&... values) {
  fmt::print(stream, form, printing::shown(values)...);
}
template <typename... Values>
void print(fmt::format_string<printing::Shown<Values>...> form, const Values&... values) {
  fmt::print(stdout, form, printing::shown(values)...);
}

}  // namespace assay::cli
