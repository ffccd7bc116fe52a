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
#include "results/database.hpp"
#include "results/gzip.hpp"
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

/// "" for a database whose pages, indices and references are sound.
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
  if (const auto status = database->query("PRAGMA integrity_check(1)", unsound); !status) {
    return status.error().message;
  }
  if (const auto status = database->query("PRAGMA foreign_key_check", dangling); !status) {
    return status.error().message;
  }
  return found;
}

}  // namespace

Status write_results_file(Store& store, const fs::path& file, Detail detail) {
  const auto folder = core::TemporaryFolder::create();
  if (!folder) return folder.error();
  const fs::path copy = folder->path() / kDatabaseName;
  {
    const auto runs = store.runs();
    if (!runs) return runs.error();
    auto compact = Store::open(copy);
    if (!compact) return compact.error();
    std::vector<Store::RecordedRun> accepted;  // at the end, in their order over all runs
    for (const RunInfo& run : *runs) {
      auto recorded = store.recorded(run);
      if (!recorded) return recorded.error();
      accepted.push_back({run, {}, {}, std::exchange(recorded->accepted, {})});
      for (ResultRow& row : recorded->results) {
        if (detail == Detail::everything) break;
        row.metrics.clear();
        row.parameters.clear();
        row.attempts.clear();
        row.detail.clear();
      }
      if (const auto merged = compact->merge({*recorded}); !merged) return merged.error();
    }
    if (const auto merged = compact->merge(accepted); !merged) return merged.error();
  }  // closing it brings its log into the one file
  const fs::path packed = folder->path() / "packed";
  {
    const Gzip out(gzopen(packed.c_str(), "wb9"));
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

Result<std::vector<Store::RecordedRun>> read_results_file(
    const fs::path& file, const std::function<void(std::size_t done, std::size_t all)>& step) {
  std::error_code code;
  if (!fs::is_regular_file(file, code)) return unusable(file, "is no file that can be read");
  const auto folder = core::TemporaryFolder::create();
  if (!folder) return folder.error();
  const fs::path copy = folder->path() / kDatabaseName;
  for (const char* log : {"", "-wal"}) {
    const fs::path from = file.string() + log;
    if (!fs::exists(from, code)) continue;
    if (const std::string why = unpack_file(from, copy.string() + log); !why.empty()) return unusable(file, why);
  }
  if (const std::string why = file_fault(copy); !why.empty()) return unusable(file, why);
  if (const std::string why = damage(copy); !why.empty()) return unusable(file, "is damaged (" + why + ")");
  auto store = Store::open(copy);
  if (!store) return store.error().within(file.string());
  const auto runs = store->runs();
  if (!runs) return runs.error().within(file.string());
  if (runs->empty()) return unusable(file, "holds no run");
  std::vector<Store::RecordedRun> recorded;
  std::size_t done = 0, all = 0;
  for (const RunInfo& run : *runs) {
    const auto progress = store->progress(run.id);
    if (progress) all += progress->done.size();
  }
  for (const RunInfo& run : *runs) {
    auto jobs = store->progress(run.id);
    if (!jobs) return jobs.error().within(file.string());
    auto acceptances = store->accepted(run.id);
    if (!acceptances) return acceptances.error().within(file.string());
    Store::RecordedRun each{run, *std::move(jobs), {}, *std::move(acceptances)};
    const auto read = store->each_result(run.id, [&](std::int64_t /*id*/, ResultRow row) {
      each.results.push_back(std::move(row));
      if (step) step(++done, all);
    });
    if (!read) return read.error().within(file.string());
    recorded.push_back(std::move(each));
  }
  return recorded;
}

}  // namespace assay::results
