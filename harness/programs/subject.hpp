#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "converters/converter.hpp"
#include "converters/protocol/client.hpp"
#include "harness/core/result.hpp"
#include "harness/corpus/case.hpp"
#include "harness/programs/converter_spec.hpp"

namespace assay::programs {

/// One converter as a run sees it: described once, before anything is planned.
struct Subject {
  ConverterSpec spec;
  std::shared_ptr<converters::Converter> executor;  ///< of a ready artifact, instead of a converter
  converters::Description description;
  std::string broken;  ///< why it could not be described, "" where it was
  /// How it fell then, which is what every case ends with: crash, timeout or oom.
  converters::Outcome broken_as = converters::Outcome::crash;
  std::unique_ptr<protocol::Client> client;  ///< the process that described itself, to be asked further
  std::string hash = {};                     ///< program_hash() of `spec`; "" where no program is behind it

  /// Why nothing can be asked of it on this machine, or "".
  [[nodiscard]] const std::string& unavailable() const {
    return spec.unavailable.empty() ? description.unavailable : spec.unavailable;
  }
  /// Stored cases are the reference's, all others are not.
  [[nodiscard]] bool runs(const corpus::Case& test_case) const;
};

/// How long a converter may take for one answer, and how much of the address space it may have (0: all).
struct ClientLimits {
  double timeout_s = 60;
  std::uint64_t memory_bytes = 0;
};
/// The one place where a converter's process is made: confined (confinement.hpp).
[[nodiscard]] std::unique_ptr<protocol::Client> start_client(const ConverterSpec& spec, const ClientLimits& limits);

/// Asks the converter what it is.
[[nodiscard]] Subject describe(const ConverterSpec& spec, const ClientLimits& limits);
/// A ready artifact, run by the reference executor.
[[nodiscard]] core::Result<Subject> artifact_subject();

}  // namespace assay::programs
