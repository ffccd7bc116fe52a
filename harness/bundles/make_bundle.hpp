#pragma once

#include <filesystem>
#include <string>

#include "harness/bundles/bundle.hpp"
#include "harness/core/result.hpp"
#include "harness/programs/converter_spec.hpp"
#include "harness/run/runner.hpp"
#include "results/store.hpp"

namespace assay::bundles {

/// What is run once and kept.
struct BundleRequest {
  corpus::Case test_case;
  corpus::OptionSet options;
  std::optional<data::UserData> data;
  programs::ConverterSpec converter;
  AskedConverter asked;
  std::filesystem::path artifact;  ///< judge this Q/DQ model, with no converter; empty: convert
  bool options_stated = true;
  double timeout_s = 60;
  std::string command;  ///< the command line, for the record
};

/// Converts, executes and judges as run() does, and writes a bundle as `folder`. Returns the verdict.
/// Errors   what keeps the converter from being asked (see run::explain); usage, where `folder` is taken; io. Nothing
/// is
///          left behind then.
[[nodiscard]] core::Result<results::ResultRow> make_bundle(const BundleRequest& request,
                                                           const std::filesystem::path& folder);

}  // namespace assay::bundles
