// Retention: which recorded verdicts stay.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/terminal.hpp"
#include "harness/core/counted.hpp"
#include "results/store.hpp"

namespace assay::cli {
namespace {

struct PruneArguments {
  int runs = 0, versions = 0;
  std::string database = ".assay/history.db";
  bool dry_run = false, json = false;
};

int prune_command(const PruneArguments& arguments) {
  if (arguments.runs == 0 && arguments.versions == 0) {
    return report_error(core::usage_error(
        "what is to stay? --keep N keeps the newest N runs of each selection and converter, --keep-versions N the "
        "newest N versions of each converter; --dry-run says what would go"));
  }
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) return report_error(store.error());
  const auto some = [](int number) {
    return number > 0 ? std::optional(static_cast<std::size_t>(number)) : std::nullopt;
  };
  const results::Retention retention{some(arguments.runs), some(arguments.versions)};
  Progress line(Terminal::of(stderr));
  const core::Result<results::Pruned> pruned =
      arguments.dry_run
          ? store->plan_prune(retention)
          : store->prune(retention, [&](std::size_t done, std::size_t all) { line.step(done, all, "pruning runs"); });
  line.clear();
  if (!pruned) return report_error(pruned.error());
  if (arguments.json) {
    print("{}\n", nlohmann::ordered_json{{"dry_run", arguments.dry_run},
                                         {"runs", pruned->runs},
                                         {"verdicts", pruned->verdicts},
                                         {"kept_runs", pruned->kept_runs},
                                         {"kept_verdicts", pruned->kept_verdicts},
                                         {"bytes", pruned->bytes}}
                      .dump());
    return kExitOk;
  }
  print("{}: {} {} and {}, {}{}; {} and {} stay\n", arguments.database, core::counted(pruned->verdicts, "verdict"),
        arguments.dry_run ? "would go" : "went", core::counted(pruned->runs, "whole run"),
        arguments.dry_run ? "about " : "", core::counted(pruned->bytes, "byte"),
        core::counted(pruned->kept_verdicts, "verdict"), core::counted(pruned->kept_runs, "run"));
  if (!arguments.dry_run && pruned->verdicts > 0) {
    print("the file keeps its size and new verdicts fill it; {}db vacuum --db {} makes it smaller\n", here("./assay "),
          shell_quoted(arguments.database));
  }
  return kExitOk;
}

}  // namespace

void register_prune(Command app, Action& action) {
  auto arguments = std::make_shared<PruneArguments>();
  const Command command = app.add_subcommand(
      "prune", "Delete old verdicts; anchors, what differs from them, and the newest of each series stay");
  command.add_option("--keep", arguments->runs, "Keep the newest N runs of each selection and converter")
      .check_range(1, 1e6);
  command.add_option("--keep-versions", arguments->versions, "Keep the newest N versions of each converter")
      .check_range(1, 1e6);
  command.add_flag("--dry-run", arguments->dry_run, "Only say what would go");
  command.add_option("--db", arguments->database, "Results database");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] { action = [arguments] { return prune_command(*arguments); }; });
}

}  // namespace assay::cli
