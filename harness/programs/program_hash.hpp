#pragma once

#include <filesystem>
#include <string>

#include "harness/programs/converter_spec.hpp"

namespace assay::programs {

/// What a converter's command runs, as SHA-256: the bytes of every word that is a file (the program is looked up in
/// PATH) and the other words as they stand, so that the same program in another folder is the same. Of a converter
/// whose artifacts another one runs, both. "" where there is no command. What a program loads by itself is not in it: a
/// script's modules, libraries.
[[nodiscard]] std::string program_hash(const ConverterSpec& spec);

/// Of this program itself.
[[nodiscard]] std::string own_hash();

/// As people read it: the first digits.
[[nodiscard]] std::string short_hash(const std::string& hash);

}  // namespace assay::programs
