#include "harness/report/html/encoded.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace assay::report {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr unsigned kSextet = 6, kSextetMask = 63, kByteBits = 8;

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    unsigned group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << kByteBits | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text.push_back(i <= count ? kDigits[group >> (kSextet * (3 - i)) & kSextetMask] : '=');
    }
  }
  return text;
}

core::Result<std::string> packed(std::string_view bytes) {
  auto size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  // zlib's bytes are unsigned.
  auto* const to = reinterpret_cast<Bytef*>(out.data());                  // NOLINT(*-reinterpret-cast)
  const auto* const from = reinterpret_cast<const Bytef*>(bytes.data());  // NOLINT(*-reinterpret-cast)
  const int code = compress2(to, &size, from, static_cast<uLong>(bytes.size()), Z_DEFAULT_COMPRESSION);
  if (code != Z_OK) {
    return core::Error{core::ErrorKind::internal, fmt::format("zlib can't pack {} bytes: code {}", bytes.size(), code),
                       "", "", ""};
  }
  out.resize(size);
  return base64(out);
}

std::string for_script_element(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else if (c == '>') {
      text += "\\u003e";
    } else if (c == '&') {
      text += "\\u0026";
    } else {
      text.push_back(c);
    }
  }
  return text;
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double value) {
  if (std::isnan(value)) return "null";
  if (std::isinf(value)) return value < 0 ? "-1e999" : "1e999";
  return fmt::format("{:.6g}", value);
}

}  // namespace assay::report
