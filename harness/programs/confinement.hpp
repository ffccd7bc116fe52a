#pragma once

#include "harness/core/process.hpp"
#include "harness/core/result.hpp"
#include "harness/programs/converter_spec.hpp"

namespace assay::programs {

/// `process`, which is to run `converter`'s command, within the limits of every converter
/// (harness/core/supervised.hpp), and in a sandbox (harness/core/sandbox.hpp) unless its rights are the user's. There
/// it writes into core::process_folder() alone, in which it has a home and temporary folder of its own. Of homes it
/// reads what its words name (a file's folder, unless that is a home itself, and what `-m` names in the working
/// folder), the Python environment of its program, Assay's own files and environments, the folders of PYTHONPATH and
/// LD_LIBRARY_PATH, and what its rights name. Errors   io, for a program that is missing too.
[[nodiscard]] core::Status confine(const ConverterSpec& converter, core::SpawnOptions& process);

}  // namespace assay::programs
