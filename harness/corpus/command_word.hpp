#pragma once

#include <filesystem>
#include <string>

namespace assay::corpus {

/// How this program is started again: ASSAY_PROGRAM where it is set, since a program that was started through a loader
/// of its own (a pack's) is not the file that the system names; else its own file.
[[nodiscard]] std::filesystem::path own_program();

/// How commands that are shown begin: ASSAY_COMMAND where it is set; "./assay" of a source tree; of an installation
/// "assay" where PATH finds this program so, else its path.
[[nodiscard]] std::string command_word();

}  // namespace assay::corpus
