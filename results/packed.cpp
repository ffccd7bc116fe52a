#include "results/packed.hpp"

#include <fmt/format.h>
#include <zlib.h>

namespace assay::results {
namespace {

/// zlib's bytes are unsigned.
Bytef* to(std::string& bytes) { return reinterpret_cast<Bytef*>(bytes.data()); }  // NOLINT(*-reinterpret-cast)
const Bytef* from(std::string_view bytes) {
  return reinterpret_cast<const Bytef*>(bytes.data());  // NOLINT(*-reinterpret-cast)
}

}  // namespace

core::Result<std::string> pack(std::string_view bytes) {
  uLong size = compressBound(bytes.size());
  std::string stream(size, '\0');
  const int code = compress2(to(stream), &size, from(bytes), bytes.size(), Z_DEFAULT_COMPRESSION);
  if (code != Z_OK) {
    return core::Error{core::ErrorKind::internal, fmt::format("zlib can't pack {} bytes: code {}", bytes.size(), code),
                       "", "", ""};
  }
  stream.resize(size);
  return stream;
}

core::Result<std::string> unpack(std::string_view stream, std::size_t size) {
  constexpr std::size_t kMostPerByte = 1032;  // zlib's
  if (size / kMostPerByte > stream.size()) {
    return core::Error{core::ErrorKind::invalid_data, fmt::format("{} packed bytes can't hold {}", stream.size(), size),
                       "", "", ""};
  }
  std::string bytes(size, '\0');
  uLong got = size;
  const int code = uncompress(to(bytes), &got, from(stream), stream.size());
  if (code != Z_OK || got != size) {
    return core::Error{core::ErrorKind::invalid_data,
                       fmt::format("{} packed bytes can't be read as {}: code {}", stream.size(), size, code), "", "",
                       ""};
  }
  return bytes;
}

}  // namespace assay::results
