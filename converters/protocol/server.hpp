#pragma once

#include "converters/converter.hpp"

namespace assay::protocol {

/// Answers protocol 1 with `converter` until quit or the end of input. Returns the program's exit status.
///
/// Call it first thing in main(): it keeps a private copy of standard input and output, points 1 at 2 and 0 at nothing,
/// so that whatever a library prints or reads can't break the protocol. A request that can't be understood is answered
/// with `error`; memory that runs out ends the program with status 137 and a line on standard error that says so.
[[nodiscard]] int serve(converters::Converter& converter);

}  // namespace assay::protocol
