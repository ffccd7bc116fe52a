#include "results/results_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/core/files.hpp"
#include "harness/core/quoted.hpp"
#include "results/database.hpp"
#include "results/gzip.hpp"
#include "results/interned.hpp"
#include "results/merge_database.hpp"
#include "results/migrations.hpp"

namespace assay::results {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorKind;
using core::Result;
using core::Status;

constexpr std::size_t kBlockBytes = std::size_t{1} << 18U;
/// A small file can claim to hold any amount of zeros.
constexpr std::uintmax_t kLimitBytes = std::uintmax_t{4} << 30U;
constexpr const char* kDatabaseName = "results.db";

Error unusable(const fs::path& file, std::string_view why) {
  return {ErrorKind::usage, fmt::format("results file {} {}; nothing is taken from it", file.string(), why), "", "",
          ""};
}

/// Writes the bytes of `from`, unpacked if they are packed, to `to`. "" or why that can't be done.
std::string unpack_file(const fs::path& from, const fs::path& to) {
  std::error_code code;
  if (!fs::is_regular_file(from, code)) return "is no file";  // opening a pipe would wait for whoever writes into it
  const Gzip in(gzopen(from.c_str(), "rb"));                  // hands on what isn't packed as it is
  if (!in) return "can't be opened";
  std::ofstream out(to, std::ios::binary);
  const auto write = [&](std::string_view block) {
    out.write(block.data(), static_cast<std::streamsize>(block.size()));
  };
  if (std::string why = unpack_blocks(in.get(), kLimitBytes, write); !why.empty()) return why;
  out.close();
  return out ? "" : fmt::format("can't be copied to {}", to.parent_path().string());
}

/// "" for a database whose pages and references are sound, before it is migrated; find_damage() has the rest.
std::string damage(const fs::path& file) {
  auto database = Database::open(file, Database::Mode::read_write);
  if (!database) return database.error().message;
  std::string found;
  const auto note = [&](std::string what) {
    if (found.empty()) found = std::move(what);
  };
  const auto unsound = [&](const Row& row) {
    if (row.text(0) != "ok") note(row.text(0));
  };
  const auto dangling = [&](const Row& row) {
    note(fmt::format("a row of table {} refers to one of {} that isn't there", row.text(0), row.text(2)));
  };
  if (const auto status = database->query("PRAGMA quick_check(1)", unsound); !status) {
    return status.error().message;
  }
  if (const auto status = database->query("PRAGMA foreign_key_check", dangling); !status) {
    return status.error().message;
  }
  return found;
}

/// "" where every text is one, has its own hash, and names are as this program writes them: a stranger's file is copied
/// by tables.
std::string foreign_text(const fs::path& file) {
  auto database = Database::open(file, Database::Mode::read_only);
  if (!database) return database.error().message;
  std::string found;
  const auto texts = [&](const Row& row) {
    if (!found.empty()) return;
    if (row.text(2) != "text")
      found = "a text is stored as something else";
    else if (text_hash(row.text(1)) != row.integer(0))
      found = "a text has another one's hash";
  };
  if (auto status = database->query("SELECT hash, text, typeof(text) FROM content", texts); !status) {
    return status.error().message;
  }
  constexpr const char* kNames =
      "SELECT id FROM run UNION ALL SELECT name FROM converter UNION ALL SELECT version FROM converter_version UNION "
      "ALL SELECT name FROM case_version UNION ALL SELECT case_name FROM open_job UNION ALL SELECT options FROM "
      "open_job";
  const auto names = [&](const Row& row) {
    if (found.empty() && core::visible_line(row.text(0)) != row.text(0))
      found = fmt::format("a name holds characters that can't be shown: {}", core::visible_line(row.text(0)));
  };
  if (auto status = database->query(kNames, names); !status) return status.error().message;
  return found;
}

/// What isn't taken to another machine; "" or why that can't be done.
Status strip(const fs::path& copy, Detail detail) {
  auto database = Database::open(copy, Database::Mode::read_write);
  if (!database) return database.error();
  // The copy is nobody's yet: what is written to it needs no log.
  constexpr const char* kNotTaken =
      "PRAGMA journal_mode = OFF; DELETE FROM change; DELETE FROM score; UPDATE run SET owner = '', beats = 0";
  if (auto status = database->execute(kNotTaken); !status) return status;
  if (detail == Detail::verdicts) {
    constexpr const char* kMeasured =
        "DELETE FROM detail; UPDATE verdict_more SET metrics = NULL, metric_values = NULL, parameters = NULL, attempts "
        "= NULL, attempt_seconds = NULL";
    if (auto status = database->execute(kMeasured); !status) return status;
  }
  if (auto status = drop_unused(*database); !status) return status;
  return database->execute("VACUUM");
}

Result<std::vector<HeldRun>> held_runs(const fs::path& file, const std::vector<RunInfo>& runs) {
  auto database = Database::open(file, Database::Mode::read_only);
  if (!database) return database.error();
  std::map<std::string, HeldRun> by_id;
  const auto status = database->query(
      "SELECT run.id, converter.name, version, count(*) FROM verdict JOIN run ON run.number = run JOIN "
      "converter_version ON converter_version.id = converter_version_id JOIN converter ON converter.id = converter_id "
      "GROUP BY run, "
      "converter_id, version",
      [&](const Row& row) {
        HeldRun& run = by_id[row.line(0)];
        const auto verdicts = static_cast<std::size_t>(row.integer(3));
        run.verdicts += verdicts;
        run.converters[row.line(1)][row.line(2)] += verdicts;
      });
  if (!status) return status.error();
  std::vector<HeldRun> held;
  for (const RunInfo& run : runs) {
    HeldRun& each = by_id[run.id];
    each.run = run;
    held.push_back(std::move(each));
  }
  return held;
}

}  // namespace

Status write_results_file(Store& store, const fs::path& file, Detail detail) {
  const auto folder = core::TemporaryFolder::create();
  if (!folder) return folder.error();
  const fs::path copy = folder->path() / kDatabaseName;
  if (auto status = store.back_up(copy); !status) return status;
  if (auto status = strip(copy, detail); !status) return status;
  const fs::path packed = folder->path() / "packed";
  {
    const Gzip out(gzopen(packed.c_str(), "wb6"));
    std::ifstream in(copy, std::ios::binary);
    std::array<char, kBlockBytes> block{};
    while (in && out) {
      in.read(block.data(), static_cast<std::streamsize>(block.size()));
      const auto count = static_cast<unsigned>(in.gcount());
      if (count > 0 && gzwrite(out.get(), block.data(), count) != static_cast<int>(count)) {
        return Error{ErrorKind::io, fmt::format("{} can't be written", packed.string()), "", "", ""};
      }
    }
  }
  const auto bytes = core::read_file(packed);
  return bytes ? core::write_file(file, *bytes) : Status(bytes.error());
}

Result<ResultsCopy> read_results_file(const fs::path& file) {
  std::error_code code;
  if (!fs::is_regular_file(file, code)) return unusable(file, "is no file that can be read");
  auto folder = core::TemporaryFolder::create();
  if (!folder) return folder.error();
  const fs::path copy = folder->path() / kDatabaseName;
  for (const char* log : {"", "-wal"}) {
    const fs::path from = file.string() + log;
    if (!fs::exists(from, code)) continue;
    if (const std::string why = unpack_file(from, copy.string() + log); !why.empty()) return unusable(file, why);
  }
  if (const std::string why = file_fault(copy); !why.empty()) return unusable(file, why);
  if (const std::string why = damage(copy); !why.empty()) return unusable(file, "is damaged (" + why + ")");
  std::vector<RunInfo> runs;
  {
    auto store = Store::open(copy);
    if (!store) return store.error().within(file.string());
    auto found = store->runs();
    if (!found) return found.error().within(file.string());
    runs = *std::move(found);
    const auto dangling = store->find_damage();
    if (!dangling) return dangling.error().within(file.string());
    if (!dangling->empty()) return unusable(file, "is damaged (" + dangling->front() + ")");
  }
  if (const std::string why = foreign_text(copy); !why.empty()) return unusable(file, "is damaged (" + why + ")");
  if (runs.empty()) return unusable(file, "holds no run");
  auto held = held_runs(copy, runs);
  if (!held) return held.error().within(file.string());
  return ResultsCopy(*std::move(folder), copy, *std::move(held));
}

}  // namespace assay::results
