#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/core/result.hpp"

namespace assay::core {

/// The absolute path of `program`, by `path` (written as PATH is) where it has no slash. Links stay: a Python
/// environment is found by its link.
/// Errors   io, for a program that is missing or can't be run.
[[nodiscard]] Result<std::string> find_program(const std::string& program, const std::string& path);

/// Our environment with what is `added`, as "NAME=VALUE".
[[nodiscard]] std::vector<std::string> child_environment(const std::map<std::string, std::string>& added);
/// The PATH in it.
[[nodiscard]] std::string child_path(const std::map<std::string, std::string>& added);

/// `words` as exec takes them, null at the end; they point into `words`.
[[nodiscard]] std::vector<char*> pointers(std::vector<std::string>& words);

}  // namespace assay::core
