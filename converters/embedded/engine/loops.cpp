#include "converters/embedded/engine/loops.hpp"

namespace assay::embedded::engine {

const Loops& loops() {
  static const Loops& chosen = avx2_loops() != nullptr ? *avx2_loops() : plain_loops();
  return chosen;
}

}  // namespace assay::embedded::engine
