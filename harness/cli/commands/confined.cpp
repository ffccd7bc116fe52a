#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/program.hpp"
#include "harness/core/sandbox.hpp"

namespace assay::cli {
namespace {

struct ConfinedArguments {
  std::vector<std::string> writable, readable, command;
};

int confined_command(ConfinedArguments arguments) {
  constexpr int kCantRun = 127;  // as a shell says it
  core::Sandbox sandbox;
  sandbox.writable.assign(arguments.writable.begin(), arguments.writable.end());
  sandbox.readable.assign(arguments.readable.begin(), arguments.readable.end());
  if (const core::Status confined = core::confine(sandbox); !confined) {
    report_error(confined.error());
    return kCantRun;
  }
  const std::vector<char*> words = core::pointers(arguments.command);
  ::execvp(words.front(), words.data());
  print(stderr, "assay: can't run \"{}\" in its sandbox: {}\n", arguments.command.front(),
        std::generic_category().message(errno));
  return kCantRun;
}

}  // namespace

void register_confined(Command app, Action& action) {
  auto arguments = std::make_shared<ConfinedArguments>();
  const Command command = app.add_subcommand("confined", "Become a program in a sandbox (internal)");
  command.internal();
  command.add_option("--write", arguments->writable, "Folder to write into; may be repeated").allow_extra_args(false);
  command.add_option("--read", arguments->readable, "File or folder of a home to read; may be repeated")
      .allow_extra_args(false);
  command.add_option("command", arguments->command, "Program and arguments, after --").required();
  command.callback([arguments, &action] { action = [arguments] { return confined_command(*arguments); }; });
}

}  // namespace assay::cli
