#include "harness/programs/subject.hpp"

#include <utility>

#include "harness/conformance/conform.hpp"
#include "harness/core/process.hpp"
#include "harness/programs/confinement.hpp"
#include "harness/programs/executed_elsewhere.hpp"
#include "harness/programs/reference_executor.hpp"

namespace assay::programs {

bool Subject::runs(const corpus::Case& test_case) const {
  return spec.is_reference() == test_case.stored_case.has_value();
}

std::unique_ptr<protocol::Client> start_client(const ConverterSpec& spec, const ClientLimits& limits) {
  protocol::ClientOptions options;
  options.command = spec.command;
  options.prepare = [spec](core::SpawnOptions& process) { return confine(spec, process); };
  if (spec.rights.confined) options.hint_when_denied = std::string(kSandboxHint);
  options.timeout_s = limits.timeout_s;
  options.memory_limit_bytes = limits.memory_bytes;
  auto client = protocol::make_client(options);
  if (spec.executor == nullptr) {
    return client;
  }
  return std::make_unique<ExecutedElsewhere>(std::move(client), start_client(*spec.executor, limits));
}

Subject describe(const ConverterSpec& spec, const ClientLimits& limits) {
  Subject subject;
  subject.spec = spec;
  subject.description.name = spec.name;
  subject.description.version = spec.version.empty() ? "unknown" : spec.version;
  if (spec.is_reference()) {
    subject.description.version = conformance::kReferenceVersion;
  }
  if (!spec.unavailable.empty() || spec.is_reference()) {
    return subject;
  }
  std::unique_ptr<protocol::Client> client = start_client(spec, limits);
  core::Result<converters::Description> description = client->describe();
  if (description) {
    subject.description = *std::move(description);
    subject.client = std::move(client);
  } else {
    subject.broken = description.error().message;
    if (!client->attempts().empty()) {
      subject.broken_as = client->attempts().back().outcome;
    }
  }
  return subject;
}

core::Result<Subject> artifact_subject() {
  Subject subject;
  subject.executor = make_reference_executor();
  core::Result<converters::Description> description = subject.executor->describe();
  if (!description) {
    return description.error();
  }
  subject.description = *std::move(description);
  return subject;
}

}  // namespace assay::programs
