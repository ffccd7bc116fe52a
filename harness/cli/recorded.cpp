#include "harness/cli/recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/core/text.hpp"

namespace assay::cli {
namespace {

using results::JobKey;

}  // namespace

bool by_converter(const JobKey& key, const std::string& converter) {
  return converter.empty() || converter == key.converter || converter == key.converter + "@" + key.version;
}

core::Result<results::RunInfo> find_run(results::Store& store, const std::filesystem::path& database,
                                        const std::string& wanted, const std::string& converter) {
  core::Result<std::vector<results::RunInfo>> runs = store.runs();
  if (!runs) {
    return runs.error();
  }
  std::reverse(runs->begin(), runs->end());
  for (const results::RunInfo& run : *runs) {
    if (!wanted.empty() && run.id != wanted) {
      continue;
    }
    if (run.finished_at.empty()) {
      if (wanted.empty()) {
        continue;
      }
      return core::usage_error(fmt::format("run {} (\"{}\") is not complete; `assay {} --resume` finishes it", run.id,
                                           run.command, run.command));
    }
    const core::Result<results::Store::Progress> progress = store.progress(run.id);
    if (!progress) {
      return progress.error();
    }
    if (std::any_of(progress->done.begin(), progress->done.end(),
                    [&](const JobKey& key) { return by_converter(key, converter); })) {
      return run;
    }
  }
  const std::string of = converter.empty() ? "" : " of converter \"" + converter + "\"";
  return core::usage_error(wanted.empty()
                               ? fmt::format("\"{}\" has no complete run with verdicts{}", database.string(), of)
                               : fmt::format("\"{}\" has no run {} with verdicts{}", database.string(), wanted, of));
}

core::Result<std::optional<LastVerdict>> last_verdict(const std::filesystem::path& database,
                                                      const std::string& case_name, const std::string& options) {
  std::error_code code;
  if (!std::filesystem::exists(database, code)) return std::optional<LastVerdict>();
  core::Result<results::Store> store = results::Store::open(database);
  if (!store) return store.error();
  core::Result<std::vector<results::Store::HistoryRow>> rows = store->history(case_name);
  if (!rows) return rows.error();
  std::erase_if(*rows, [&](const auto& row) {
    return row.result.key.case_name != case_name || (!options.empty() && row.result.key.options != options);
  });
  if (rows->empty()) return std::optional<LastVerdict>();
  const std::string run = rows->back().run.id;
  const auto red =
      std::ranges::find_if(*rows, [&](const auto& row) { return row.run.id == run && row.result.gate == "red"; });
  LastVerdict found{red == rows->end() ? rows->back() : *red, {}};
  const auto named = [](const JobKey& key) { return key.converter + "@" + key.version; };
  for (const results::Store::HistoryRow& row : *rows) found.others[named(row.result.key)] = row.result.verdict;
  found.others.erase(named(found.last.result.key));
  return std::optional(std::move(found));
}

core::Status check_version(const std::string& version, const std::filesystem::path& database,
                           const std::string& converter, const std::vector<std::string>& known) {
  if (std::ranges::find(known, version) != known.end()) {
    return core::success();
  }
  return core::usage_error(fmt::format("\"{}\" has no verdicts of {} {}; it has: {}", database.string(), converter,
                                       version, core::join(known, ", ")));
}

core::Result<std::vector<results::AnchorRow>> baseline(results::Store& store, const std::filesystem::path& database,
                                                       const std::string& converter, const std::string& version) {
  if (!version.empty()) {
    const core::Result<std::vector<std::string>> known = store.versions(converter);
    if (!known) {
      return known.error();
    }
    if (core::Status status = check_version(version, database, converter, *known); !status) {
      return status.error();
    }
    return store.anchors_of_version(converter, version);
  }
  core::Result<std::vector<results::AnchorRow>> anchors = store.anchors();
  if (anchors) {
    std::erase_if(*anchors, [&](const auto& each) { return each.result.key.converter != converter; });
  }
  return anchors;
}

}  // namespace assay::cli
