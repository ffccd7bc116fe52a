#include <memory>

#include "converters/embedded/embedded.hpp"
#include "converters/protocol/server.hpp"
#include "converters/veiled.hpp"
#include "harness/cli/common.hpp"

namespace assay::cli {
namespace {

struct WorkerArguments {
  std::vector<std::string> faults;
  std::string variant;
  std::string artifact_kind = "qdq";
};

int worker_command(const WorkerArguments& arguments) {
  const core::Result<converters::ArtifactKind> kind = converters::artifact_kind(arguments.artifact_kind);
  if (!kind) {
    return report_error(kind.error());
  }
  core::Result<std::unique_ptr<converters::Converter>> converter =
      embedded::make_embedded(arguments.faults, arguments.variant);
  if (!converter) {
    return report_error(converter.error());
  }
  return protocol::serve(*converters::make_veiled(*std::move(converter), *kind));
}

}  // namespace

void register_worker(Command app, Action& action) {
  auto arguments = std::make_shared<WorkerArguments>();
  const Command command = app.add_subcommand("worker", "Serve the embedded converter over protocol 1 (internal)");
  command.internal();
  command.add_option("--fault", arguments->faults, "Switch a fault on; may be repeated").allow_extra_args(false);
  command.add_option("--variant", arguments->variant, "Run as one of the correct variants");
  command.add_option("--artifact-kind", arguments->artifact_kind, "What the judge may see: qdq, scales or opaque");
  command.callback([arguments, &action] { action = [arguments] { return worker_command(*arguments); }; });
}

}  // namespace assay::cli
