#pragma once

#include <string>

namespace assay::core {

/// What tells this process from every other that may write the same database or temporary folder: system start, process
/// namespace, number and start time. A later process with the same number has another text.
[[nodiscard]] std::string this_process();

/// The same as part of a file's name: letters, digits and hyphens.
[[nodiscard]] std::string process_tag();

enum class ProcessState {
  runs,       ///< on this system, and not ended
  ended,      ///< likewise
  elsewhere,  ///< on another machine or in another container: nobody here can tell
};
/// Of the process that this_process() gave `owner`; "" has ended.
[[nodiscard]] ProcessState process_state(const std::string& owner);
/// Of the process that process_tag() gave `tag`.
[[nodiscard]] ProcessState tagged_process_state(const std::string& tag);

/// "process 4711", with where it runs if that isn't here.
[[nodiscard]] std::string owner_name(const std::string& owner);

}  // namespace assay::core
