// Results between machines: export-results and import-results.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/core/version.hpp"
#include "results/results_file.hpp"

namespace assay::cli {
namespace {

struct TransferArguments {
  std::string file;
  std::string database = ".assay/history.db";
  bool verdicts = false;
  bool json = false;
};

int export_command(const TransferArguments& arguments) {
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) return report_error(store.error());
  const core::Status written = results::write_results_file(
      *store, arguments.file, arguments.verdicts ? results::Detail::verdicts : results::Detail::everything);
  if (!written) return report_error(written.error());
  std::error_code code;
  print("{}: {}\n", arguments.file, core::counted(std::filesystem::file_size(arguments.file, code), "byte"));
  return kExitOk;
}

std::string converters_of(const results::HeldRun& run) {
  std::vector<std::string> words;
  for (const auto& [name, versions] : run.converters) {
    std::vector<std::string> sorted;
    std::size_t count = 0;
    for (const auto& [version, verdicts] : versions) {
      sorted.push_back(version);
      count += verdicts;
    }
    std::ranges::sort(sorted, core::version_less);
    const std::string which = sorted.size() == 1 ? "@" + sorted.front()
                                                 : fmt::format(" {} to {} ({})", sorted.front(), sorted.back(),
                                                               core::counted(sorted.size(), "version"));
    words.push_back(fmt::format("{} of {}{}", core::counted(count, "verdict"), name, which));
  }
  return core::join(words, ", ");
}

nlohmann::ordered_json run_json(const results::HeldRun& run) {
  const results::Machine& machine = run.run.machine;
  return {{"run", run.run.id},
          {"suite", run.run.suite},
          {"started_at", run.run.started_at},
          {"finished_at", run.run.finished_at},
          {"verdicts", run.verdicts},
          {"planned", run.run.planned},
          {"machine",
           {{"cpu", machine.cpu},
            {"features", machine.features},
            {"cores", machine.cores},
            {"system", machine.system},
            {"accelerators", machine.accelerators}}}};
}

/// Whether reading and adding take so long that each wants a line of its own.
bool takes_long(const std::string& file) {
  constexpr std::uintmax_t kBytes = std::uintmax_t{8} << 20U;
  std::error_code code;
  const std::uintmax_t size = std::filesystem::file_size(file, code);
  return !code && size > kBytes;
}

int import_command(const TransferArguments& arguments) {
  if (takes_long(arguments.file)) print(stderr, "assay: reading {}\n", arguments.file);
  const auto copy = results::read_results_file(arguments.file);
  if (!copy) return report_error(copy.error());
  core::Result<results::Store> store = results::Store::open(arguments.database);
  if (!store) return report_error(store.error());
  if (takes_long(arguments.file)) print(stderr, "assay: adding to {}\n", arguments.database);
  const auto merged = store->merge_database(copy->database());
  if (!merged) return report_error(merged.error().within(arguments.file));
  std::size_t verdicts = 0;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const results::HeldRun& run : copy->runs()) {
    verdicts += run.verdicts;
    list.push_back(run_json(run));
  }
  if (arguments.json) {
    print("{}\n",
          nlohmann::ordered_json{
              {"runs", list}, {"new_runs", merged->runs}, {"verdicts", verdicts}, {"new_verdicts", merged->results}}
              .dump());
    return kExitOk;
  }
  for (const results::HeldRun& run : copy->runs()) {
    const results::RunInfo& info = run.run;
    print("run {} of {} ({}): {}\n  on {}{}{}\n", info.id, info.suite,
          info.finished_at.empty()
              ? fmt::format("not complete, {} of {}", run.verdicts, core::counted(info.planned, "verdict"))
              : info.started_at,
          converters_of(run), info.machine.cpu, info.machine.accelerators.empty() ? "" : "; ",
          info.machine.accelerators);
  }
  print("{}, {} new; {}, {} new in {}\n", core::counted(copy->runs().size(), "run"), merged->runs,
        core::counted(verdicts, "verdict"), merged->results, arguments.database);
  return kExitOk;
}

void add_export(Command app, Action& action) {
  auto arguments = std::make_shared<TransferArguments>();
  const Command command =
      app.add_subcommand("export-results", "Write all recorded runs into one file, for import-results elsewhere");
  command.add_option("file", arguments->file, "File to write, a compressed results database").required();
  command.add_option("--db", arguments->database, "Results database");
  command.add_flag("--verdicts", arguments->verdicts,
                   "Verdicts with their findings only: what a report shows, a tenth of the size; drift needs the rest");
  command.callback([arguments, &action] { action = [arguments] { return export_command(*arguments); }; });
}

void add_import(Command app, Action& action) {
  auto arguments = std::make_shared<TransferArguments>();
  const Command command = app.add_subcommand(
      "import-results", "Add the runs of another machine's results file; what is recorded here stays as it is");
  command.add_option("file", arguments->file, "What export-results or a pack's run.sh wrote, or a results database")
      .required();
  command.add_option("--db", arguments->database, "Results database to add to; made where there is none");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] { action = [arguments] { return import_command(*arguments); }; });
}

}  // namespace

void register_transfer(Command app, Action& action) {
  add_export(app, action);
  add_import(app, action);
}

}  // namespace assay::cli
