#include "harness/cli/run_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/cli/common.hpp"
#include "harness/cli/recorded.hpp"
#include "harness/core/files.hpp"
#include "harness/core/text.hpp"
#include "harness/report/changes.hpp"
#include "harness/report/junit.hpp"
#include "harness/report/repeat.hpp"
#include "harness/report/sarif.hpp"

namespace assay::cli {
namespace {

struct RecordedRows {
  results::RunInfo run;
  std::vector<results::ResultRow> rows;
};

core::Result<RecordedRows> rows_of(results::Store& store, const RunFiles& files) {
  const core::Result<results::RunInfo> run =
      find_run(store, files.database, files.run, files.converters.size() == 1 ? files.converters.front() : "");
  if (!run) {
    return run.error();
  }
  core::Result<std::vector<results::ResultRow>> rows = store.results(run->id);
  if (!rows) {
    return rows.error();
  }
  std::set<std::string> names;
  for (const results::ResultRow& row : *rows) names.insert(row.key.converter + "@" + row.key.version);
  std::erase_if(*rows, [&](const results::ResultRow& row) {
    return !files.converters.empty() && std::ranges::none_of(files.converters, [&](const std::string& converter) {
      return by_converter(row.key, converter);
    });
  });
  if (rows->empty()) {
    const std::vector<std::string> known(names.begin(), names.end());
    return core::usage_error(fmt::format("run {} has no verdicts of {}; it has: {}", run->id,
                                         core::join(files.converters, ", "), core::join(known, ", ")));
  }
  return RecordedRows{*run, *std::move(rows)};
}

/// What "--against" names, for the one converter that the verdicts are of.
core::Result<report::Comparison> comparison_of(results::Store& store, const RunFiles& files,
                                               const RecordedRows& recorded) {
  std::set<std::string> names, versions;
  for (const results::ResultRow& row : recorded.rows) {
    names.insert(row.key.converter);
    versions.insert(row.key.version);
  }
  std::string converter = *names.begin(), version = files.against;
  if (const std::size_t at = version.find('@'); at != std::string::npos) {
    converter = version.substr(0, at);
    version = version.substr(at + 1);
  }
  if (names.size() > 1 || versions.size() > 1) {
    std::vector<std::string> all;
    for (const std::string& name : names) {
      for (const std::string& each : versions) all.push_back(name + "@" + each);
    }
    return core::usage_error(
        fmt::format("run {} judged several converters: say with --converter NAME@VERSION which one is to be "
                    "compared; of {}",
                    recorded.run.id, core::join(all, ", ")));
  }
  if (converter != *names.begin()) {
    return core::usage_error(
        fmt::format("--against {}: the verdicts are {}'s; compare them to a version of it, or to \"anchor\"",
                    files.against, *names.begin()));
  }
  const bool anchors = version == "anchor" || version == "anchors" || version == "ANCHOR";
  if (!anchors && version == *versions.begin()) {
    return core::usage_error(
        fmt::format("--against {}: the verdicts are of that version; name another one, or \"anchor\" for what "
                    "was accepted",
                    files.against));
  }
  core::Result<std::vector<results::AnchorRow>> before =
      baseline(store, files.database, converter, anchors ? "" : version);
  if (!before) {
    return before.error();
  }
  if (before->empty()) {
    return core::usage_error(
        fmt::format("\"{}\" has no accepted anchor of {}; `assay accept --reason TEXT` accepts a run",
                    files.database.string(), converter));
  }
  return report::Comparison{converter + " " + *versions.begin(),
                            anchors ? "its accepted anchors" : converter + " " + version, *std::move(before),
                            recorded.rows};
}

core::Status write_named(const std::string& file, const std::string& text) {
  return file.empty() ? core::success() : core::write_file(file, text);
}

}  // namespace

core::Status write_run_files(const RunFiles& files) {
  core::Result<results::Store> store = open_existing(files.database);
  if (!store) {
    return store.error();
  }
  const core::Result<RecordedRows> recorded = rows_of(*store, files);
  if (!recorded) {
    return recorded.error();
  }
  std::string changes;
  if (!files.markdown.empty()) {
    const core::Result<report::Comparison> comparison = comparison_of(*store, files, *recorded);
    if (!comparison) {
      return comparison.error();
    }
    changes = report::changes_page(*comparison, recorded->run.command);
  }
  const std::string junit = files.junit.empty() ? "" : report::junit_xml(recorded->run, recorded->rows);
  std::string sarif;
  if (!files.sarif.empty()) {
    std::vector<std::string> own = report::run_words(recorded->run.command).selection;
    std::erase_if(own, [](const std::string& word) { return !report::is_case_file(word); });
    std::error_code code;
    sarif = report::sarif_json(recorded->run, recorded->rows,
                               corpus::CasePlaces::read(std::filesystem::current_path(code), own));
  }
  for (const auto& [file, text] : {std::pair(files.junit, junit), {files.sarif, sarif}, {files.markdown, changes}}) {
    if (core::Status written = write_named(file, text); !written) {
      return written;
    }
  }
  return core::success();
}

}  // namespace assay::cli
