#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::fuzzers {

/// A reader under attack.
struct Target {
  std::string name;                      ///< that of its source, and of its folder in corpus/
  void (*read)(std::string_view input);  ///< whatever the bytes are, it returns
};

/// Those that this program was linked of.
inline std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}

struct Registered {
  Registered(std::string name, void (*read)(std::string_view)) { targets().push_back({std::move(name), read}); }
};

/// What libFuzzer gives, as text.
inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
}

}  // namespace assay::fuzzers

/// A target: its name, and its body in braces, which sees the bytes as `input`, a std::string_view.
#define ASSAY_FUZZER(NAME, ...) \
  static const assay::fuzzers::Registered fuzzer_##NAME(#NAME, [](const std::string_view input) __VA_ARGS__);
