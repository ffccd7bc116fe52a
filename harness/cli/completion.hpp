#pragma once

#include <string>
#include <vector>

#include "harness/cli/command_line.hpp"

namespace assay::cli {

/// The shells that completions are made for.
[[nodiscard]] const std::vector<std::string>& shells();

/// A script that completes the commands and options of `program` in one of shells(), to be read by it. Names of cases,
/// converters and faults are asked of the program itself (`words`) when they are needed.
[[nodiscard]] std::string completion_script(const CommandText& program, const std::string& shell);

/// What a value of an option, or a word by its place, may be: "cases", "converters", "faults", "variants", "suites",
/// "files", a list of words with blanks between, or "" for anything.
[[nodiscard]] std::string values_of(const OptionText& option);

/// The manual page of `program`, in roff.
[[nodiscard]] std::string manual_page(const CommandText& program, const std::string& version);

}  // namespace assay::cli
