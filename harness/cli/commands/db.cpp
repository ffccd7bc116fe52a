// The results database as a file: whole, copied, made smaller.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/counted.hpp"
#include "results/store.hpp"

namespace assay::cli {
namespace {

struct DbArguments {
  std::string database = ".assay/history.db", file;
  bool json = false;
};

int check_command(const DbArguments& arguments) {
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) return report_error(store.error());
  const auto damage = store->find_damage();
  if (!damage) return report_error(damage.error());
  if (arguments.json) {
    print("{}\n", nlohmann::ordered_json{{"sound", damage->empty()}, {"damage", *damage}}.dump());
  } else if (damage->empty()) {
    print("{} is sound\n", arguments.database);
  } else {
    for (const std::string& line : *damage) print("{}\n", line);
    print("{} is damaged; go on with a backup of it, or export what can still be read: {}export-results FILE --db {}\n",
          arguments.database, here("./assay "), shell_quoted(arguments.database));
  }
  return damage->empty() ? kExitOk : kExitOwnFault;
}

int backup_command(const DbArguments& arguments) {
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) return report_error(store.error());
  std::error_code code;
  if (std::filesystem::exists(arguments.file, code)) {
    return report_error(core::usage_error(fmt::format("\"{}\" is there already; name another file", arguments.file)));
  }
  if (const core::Status written = store->back_up(arguments.file); !written) return report_error(written.error());
  const std::size_t bytes = std::filesystem::file_size(arguments.file, code);
  if (arguments.json) {
    print("{}\n", nlohmann::ordered_json{{"file", arguments.file}, {"bytes", bytes}}.dump());
  } else {
    print("{}: {}\n", arguments.file, core::counted(bytes, "byte"));
  }
  return kExitOk;
}

int vacuum_command(const DbArguments& arguments) {
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) return report_error(store.error());
  const auto sizes = store->vacuum();
  if (!sizes) return report_error(sizes.error());
  if (arguments.json) {
    print("{}\n", nlohmann::ordered_json{{"bytes_before", sizes->before}, {"bytes", sizes->after}}.dump());
  } else {
    print("{}: {}, before {}\n", arguments.database, core::counted(sizes->after, "byte"), sizes->before);
  }
  return kExitOk;
}

}  // namespace

void register_db(Command app, Action& action) {
  const Command command = app.add_subcommand("db", "Check, copy or shrink the results database");
  command.require_subcommand();
  const auto add = [&](const char* name, const char* what, int (*act)(const DbArguments&)) {
    auto arguments = std::make_shared<DbArguments>();
    const Command sub = command.add_subcommand(name, what);
    if (act == &backup_command) {
      sub.add_option("file", arguments->file, "File to write, which isn't there yet").required();
    }
    sub.add_option("--db", arguments->database, "Results database");
    sub.add_flag("--json", arguments->json, "Print one JSON object");
    sub.callback([arguments, act, &action] { action = [arguments, act] { return act(*arguments); }; });
  };
  add("check", "Look for damage: pages, indexes, numbers that refer to nothing; exit code 3 where there is some",
      &check_command);
  add("backup", "Write the state that it has now as one file, also while a run writes to it", &backup_command);
  add("vacuum", "Give the space that nothing uses back, as after `assay prune`", &vacuum_command);
}

}  // namespace assay::cli
