#pragma once

#include <filesystem>
#include <string_view>

#include "harness/core/process.hpp"
#include "harness/core/result.hpp"
#include "harness/programs/converter_spec.hpp"

namespace assay::programs {

/// The program with the command `confined` (harness/cli/commands/confined.cpp), which starts converters from now on.
/// Before that confine() changes nothing: a program that isn't Assay, such as a unit test, can't do it.
void set_confining_program(std::filesystem::path program);

/// For whoever may have been denied something.
inline constexpr std::string_view kSandboxHint =
    "it runs in a sandbox (docs/runs.md): --reads PATH and --writes PATH let it reach more, --no-sandbox leaves it out";

/// `process`, which is to run `converter`'s command, within the limits of every converter
/// (harness/core/supervised.hpp), and in a sandbox (harness/core/sandbox.hpp) unless its rights are the user's. There
/// it writes into core::process_folder() and a home of its own in core::process_homes() alone. Of homes it
/// reads what it needs (needed_files.hpp), Assay's own files and environments, the folders of PYTHONPATH and
/// LD_LIBRARY_PATH, and what its rights name. Errors   io, for a program that is missing too.
[[nodiscard]] core::Status confine(const ConverterSpec& converter, core::SpawnOptions& process);

}  // namespace assay::programs
