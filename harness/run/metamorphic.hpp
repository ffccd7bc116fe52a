#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"
#include "harness/judge/judge.hpp"

namespace assay::run {

/// What came of the relations that were asked for.
struct RelationReport {
  std::vector<judge::Finding> findings;     ///< of layer L3, one for each relation that does not hold
  std::vector<std::string> held, broken;    ///< names
  std::vector<std::string> not_applicable;  ///< "name: reason"
};

/// Converts and executes the twin of each named relation and compares its outputs with those in `evidence`, bit for
/// bit, over all data sets that ran. `folder` is where twins are written; it exists.
/// Errors   io; a converter that fails on a twin is a finding.
[[nodiscard]] core::Result<RelationReport> check_relations(converters::Converter& converter,
                                                           const judge::Evidence& evidence,
                                                           const std::vector<std::string>& names,
                                                           const std::filesystem::path& folder);

}  // namespace assay::run
