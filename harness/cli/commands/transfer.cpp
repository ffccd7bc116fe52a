// Results between machines: export-results and import-results.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/terminal.hpp"
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

std::string converters_of(const results::Store::RecordedRun& run) {
  std::map<std::string, std::set<std::string, core::VersionLess>> versions;
  std::map<std::string, std::size_t> counts;
  for (const results::ResultRow& row : run.results) {
    versions[row.key.converter].insert(row.key.version);
    ++counts[row.key.converter];
  }
  std::vector<std::string> words;
  for (const auto& [name, all] : versions) {
    const std::string which = all.size() == 1 ? "@" + *all.begin()
                                              : fmt::format(" {} to {} ({})", *all.begin(), *all.rbegin(),
                                                            core::counted(all.size(), "version"));
    words.push_back(fmt::format("{} of {}{}", core::counted(counts[name], "verdict"), name, which));
  }
  return core::join(words, ", ");
}

nlohmann::ordered_json run_json(const results::Store::RecordedRun& run) {
  const results::Machine& machine = run.run.machine;
  return {{"run", run.run.id},
          {"suite", run.run.suite},
          {"started_at", run.run.started_at},
          {"finished_at", run.run.finished_at},
          {"verdicts", run.results.size()},
          {"planned", run.run.planned},
          {"machine",
           {{"cpu", machine.cpu},
            {"features", machine.features},
            {"cores", machine.cores},
            {"system", machine.system},
            {"accelerators", machine.accelerators}}}};
}

/// Says how far an import is: a line that is drawn again on a terminal; elsewhere, where nobody should wonder whether
/// it goes on, one line every ten seconds.
class ImportProgress {
 public:
  explicit ImportProgress(std::string what) : what_(std::move(what)) {}
  ~ImportProgress() { line_.clear(); }
  ImportProgress(const ImportProgress&) = delete;
  ImportProgress& operator=(const ImportProgress&) = delete;
  ImportProgress(ImportProgress&&) = delete;
  ImportProgress& operator=(ImportProgress&&) = delete;

  void step(std::size_t done, std::size_t all) {
    line_.step(done, all, what_);
    const Clock::time_point now = Clock::now();
    if (terminal_.live || now - said_ < std::chrono::seconds(10)) return;
    said_ = now;
    print(stderr, "assay: {}: {} of {}\n", what_, done, core::counted(all, "verdict"));
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  Terminal terminal_ = Terminal::of(stderr);
  Progress line_{terminal_};
  Clock::time_point said_ = Clock::now();
};

/// Whether reading and adding take so long that each wants a line of its own.
bool takes_long(const std::string& file) {
  constexpr std::uintmax_t kMebibyte = std::uintmax_t{1} << 20U;
  std::error_code code;
  const std::uintmax_t size = std::filesystem::file_size(file, code);
  return !code && size > kMebibyte;
}

core::Result<std::vector<results::Store::RecordedRun>> read_runs(const std::string& file) {
  if (takes_long(file)) print(stderr, "assay: reading {}\n", file);
  ImportProgress progress("reading " + file);
  return results::read_results_file(file, [&](std::size_t done, std::size_t all) { progress.step(done, all); });
}

int import_command(const TransferArguments& arguments) {
  const auto runs = read_runs(arguments.file);
  if (!runs) return report_error(runs.error());
  core::Result<results::Store> store = results::Store::open(arguments.database);
  if (!store) return report_error(store.error());
  if (takes_long(arguments.file)) print(stderr, "assay: adding to {}\n", arguments.database);
  const auto merged = store->merge(*runs);
  if (!merged) return report_error(merged.error().within(arguments.file));
  std::size_t verdicts = 0;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const results::Store::RecordedRun& run : *runs) {
    verdicts += run.results.size();
    list.push_back(run_json(run));
  }
  if (arguments.json) {
    print("{}\n",
          nlohmann::ordered_json{
              {"runs", list}, {"new_runs", merged->runs}, {"verdicts", verdicts}, {"new_verdicts", merged->results}}
              .dump());
    return kExitOk;
  }
  for (const results::Store::RecordedRun& run : *runs) {
    const results::RunInfo& info = run.run;
    print("run {} of {} ({}): {}\n  on {}{}{}\n", info.id, info.suite,
          info.finished_at.empty()
              ? fmt::format("not complete, {} of {}", run.results.size(), core::counted(info.planned, "verdict"))
              : info.started_at,
          converters_of(run), info.machine.cpu, info.machine.accelerators.empty() ? "" : "; ",
          info.machine.accelerators);
  }
  print("{}, {} new; {}, {} new in {}\n", core::counted(runs->size(), "run"), merged->runs,
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
