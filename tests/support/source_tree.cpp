#include "tests/support/source_tree.hpp"

namespace assay::test {

std::filesystem::path source_tree() { return ASSAY_SOURCE_DIR; }

std::filesystem::path test_data() { return source_tree() / "tests" / "data"; }

}  // namespace assay::test
