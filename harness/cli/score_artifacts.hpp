#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converters/converter.hpp"

namespace assay::cli {

/// `assay score --artifacts …`: what the command line says.
struct ArtifactArguments {
  std::vector<std::string> converters;  ///< --artifacts
  std::vector<std::string> folders;     ///< --folder
  std::string made_by;                  ///< --made-by
  std::vector<std::string> words;       ///< suites and patterns
  std::string options;
  converters::ArtifactKind kind = converters::ArtifactKind::qdq;  ///< --artifact-kind
  bool falsify = false;
  std::size_t mutants = 26;
  std::uint64_t seed = 1;
  std::optional<std::size_t> only;
  std::string keep;
  double timeout_s = 60;
  int jobs = 0;
  bool json = false;
  bool no_sandbox = false;
};
int score_artifacts_command(const ArtifactArguments& arguments);

}  // namespace assay::cli
