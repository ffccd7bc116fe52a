#include <memory>

#include "harness/cli/common.hpp"
#include "harness/cli/guard.hpp"
#include "harness/cli/script.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/corpus/suite.hpp"

namespace assay::cli {
namespace {

struct KitsArguments {
  std::string folder;
  std::vector<std::string> converters, only;
  bool resume = false;
  int jobs = 1;
};

int kits_command(const KitsArguments& arguments) {
  std::vector<std::string> words{"python3", (corpus::home() / "converters" / "adapters" / "kit" / "kits.py").string(),
                                 corpus::own_program().string(), arguments.folder};
  words.insert(words.end(), arguments.converters.begin(), arguments.converters.end());
  for (const std::string& pattern : arguments.only) {
    words.emplace_back("--only");
    words.push_back(pattern);
  }
  if (arguments.resume) {
    words.emplace_back("--resume");
  }
  words.insert(words.end(), {"--jobs", std::to_string(arguments.jobs)});
  return run_script(words);
}

}  // namespace

void register_kits(Command app, Action& action) {
  auto arguments = std::make_shared<KitsArguments>();
  const Command command = app.add_subcommand(
      "kits",
      "Make a kit of every found defect (cases/found) for the makers of each converter, with an index, the gravest "
      "first; a kit is kept where its repro.py shows the defect on the installed release");
  command.add_option("folder", arguments->folder, "Where kits, README.md and kits.json go; what is there is kept")
      .required();
  command.add_option("converter", arguments->converters,
                     "NAME[@VERSION] of a converter; left out: every one that a suite judges, in the newest release "
                     "that is installed");
  command.add_option("--only", arguments->only,
                     "Of the cases, only those that this pattern matches (left out: cases/found/*). May be repeated");
  command.add_flag("--resume", arguments->resume,
                   "Keep the rows of kits.json that are of the same release, and go on behind them");
  command.add_option("--jobs", arguments->jobs, "Kits made at a time; 1 unless given").check(Check::positive);
  command.callback([arguments, &action] { action = guarded([arguments] { return kits_command(*arguments); }); });
}

}  // namespace assay::cli
