#include "tests/cli/program.hpp"

namespace assay::test {

Call finished(const core::SpawnOptions& options) {
  Call call;
  core::Result<core::Process> process = core::Process::spawn(options);
  if (!process) {
    call.err = process.error().message;
    return call;
  }
  process->close_stdin();
  const auto deadline = core::Process::Clock::now() + std::chrono::minutes(5);
  for (;;) {
    const core::Process::Line line = process->read_line(deadline);
    call.out += line.text;
    if (line.end != core::Process::ReadEnd::line) {
      break;
    }
    call.out += '\n';
  }
  const std::optional<core::ExitState> state = process->wait(deadline);
  if (state && state->code) {
    call.code = *state->code;
  }
  call.err = process->stderr_tail();
  return call;
}

Call assay(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
           const std::map<std::string, std::string>& environment) {
  core::SpawnOptions options;
  options.arguments = {ASSAY_PROGRAM};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.working_folder = folder.string();
  options.environment = environment;
  return finished(options);
}

}  // namespace assay::test
