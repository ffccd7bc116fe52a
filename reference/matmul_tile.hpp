#pragma once

#include <cstdint>

#include "reference/matmul_kernel.hpp"

namespace assay::reference {

/// Rows and columns of one tile of a matrix product, the unit that stays in registers.
inline constexpr std::int64_t kTileRows = 4;
inline constexpr std::int64_t kTileColumns = 8;

/// c += a · panel for up to kTileRows rows and exactly kTileColumns columns; panel is depth × kTileColumns, dense.
/// Every version multiplies and then adds in the order of the depth, so that all give the same bytes.
using MatmulTile = void (*)(std::int64_t rows, std::int64_t depth, MatrixView a, const double* panel,
                            MutableMatrixView c);

/// The one for this processor.
[[nodiscard]] MatmulTile matmul_tile();

/// Each compiled version, for the test that they agree; null where the processor or the compiler lacks it.
[[nodiscard]] MatmulTile plain_matmul_tile();
[[nodiscard]] MatmulTile avx2_matmul_tile();
[[nodiscard]] MatmulTile avx512_matmul_tile();

}  // namespace assay::reference
