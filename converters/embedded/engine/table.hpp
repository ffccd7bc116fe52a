#pragma once

#include "converters/embedded/engine/integer_kernel.hpp"

namespace assay::embedded::engine {

/// A binary operator with one quantized operand and one constant: a table of 256 codes for each element of the
/// constant. An empty kernel where neither operand is constant or the constant is too large for tables.
[[nodiscard]] Result<Kernel> make_constant_operand_table(const IntegerBinding& binding);

}  // namespace assay::embedded::engine
