#include "harness/core/build_info.hpp"

#include "assay_commit.hpp"

namespace assay::core {

const char* version() { return ASSAY_VERSION; }

const char* commit() { return ASSAY_COMMIT; }

}  // namespace assay::core
