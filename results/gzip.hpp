#pragma once

#include <zlib.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace assay::results {

struct CloseGzip {
  void operator()(gzFile_s* file) const { gzclose(file); }
};
/// A file that zlib packs or unpacks.
using Gzip = std::unique_ptr<gzFile_s, CloseGzip>;

/// Hands on what `in` unpacks to, in blocks; what isn't packed as it is. "", or why it isn't whole: it is damaged, or
/// unpacks to more than `limit_bytes`, since a small file can claim to hold any amount.
[[nodiscard]] std::string unpack_blocks(gzFile_s* in, std::uintmax_t limit_bytes,
                                        const std::function<void(std::string_view block)>& take);

}  // namespace assay::results
