#pragma once

#include <zlib.h>

#include <memory>

namespace assay::results {

struct CloseGzip {
  void operator()(gzFile_s* file) const { gzclose(file); }
};
/// A file that zlib packs or unpacks.
using Gzip = std::unique_ptr<gzFile_s, CloseGzip>;

}  // namespace assay::results
