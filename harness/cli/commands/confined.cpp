#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/program.hpp"
#include "harness/core/sandbox.hpp"
#include "harness/core/supervised.hpp"

namespace assay::cli {
namespace {

struct ConfinedArguments {
  std::string job, home;
  std::vector<std::string> writable, readable, hidden, command;
  bool gpu = false;
};

/// Only returns where it can't; the exit code then.
int become(ConfinedArguments& arguments) {
  constexpr int kCantRun = 127;  // as a shell says it
  core::limit_files();
  if (!arguments.job.empty()) {
    core::Sandbox sandbox;
    sandbox.job = arguments.job;
    sandbox.home = arguments.home;
    sandbox.writable.assign(arguments.writable.begin(), arguments.writable.end());
    sandbox.readable.assign(arguments.readable.begin(), arguments.readable.end());
    sandbox.hidden.insert(arguments.hidden.begin(), arguments.hidden.end());
    sandbox.gpu = arguments.gpu;
    // Where the system can't, that was said already, once for all converters.
    if (const core::Status confined = core::confine(sandbox); !confined && core::can_confine()) {
      report_error(confined.error());
      return kCantRun;
    }
  }
  const std::vector<char*> words = core::pointers(arguments.command);
  ::execvp(words.front(), words.data());
  print(stderr, "assay: can't run \"{}\": {}\n", arguments.command.front(), std::generic_category().message(errno));
  return kCantRun;
}

}  // namespace

void register_confined(Command app, Action& action) {
  auto arguments = std::make_shared<ConfinedArguments>();
  const Command command = app.add_subcommand("confined", "Run a program within limits, in a sandbox (internal)");
  command.internal();
  command.add_option("--job", arguments->job,
                     "Folder to write into, but not to make links in; left out: any, without a sandbox");
  command.add_option("--home", arguments->home, "Another one, where links may be made");
  command.add_option("--write", arguments->writable, "Another folder to write into; may be repeated")
      .allow_extra_args(false);
  command.add_option("--read", arguments->readable, "File or folder of a home to read; may be repeated")
      .allow_extra_args(false);
  command.add_option("--hide", arguments->hidden, "Folder that can't be read; may be repeated").allow_extra_args(false);
  command.add_flag("--gpu", arguments->gpu, "GPUs may be used");
  command.add_option("command", arguments->command, "Program and arguments, after --").required();
  command.callback([arguments, &action] {
    action = [arguments]() -> int { core::end_as(core::supervise([&] { return become(*arguments); })); };
  });
}

}  // namespace assay::cli
