#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>

#include "results/exchange.hpp"
#include "tests/fuzzers/plain_sqlite.hpp"
#include "tests/fuzzers/scratch.hpp"
#include "tests/fuzzers/target.hpp"

namespace {

/// A store without runs. Making one costs more than all else here, so that each is a copy of the first.
std::unique_ptr<assay::results::Store> empty_store(const std::filesystem::path& folder) {
  const std::filesystem::path first = folder / "empty.db";
  if (!std::filesystem::exists(first) && !assay::results::Store::open(first)) std::abort();
  for (const char* each : {"history.db", "history.db-wal", "history.db-shm"}) std::filesystem::remove(folder / each);
  std::filesystem::copy_file(first, folder / "history.db");
  auto store = assay::results::Store::open(folder / "history.db");
  if (!store) std::abort();
  return std::make_unique<assay::results::Store>(*std::move(store));
}

}  // namespace

ASSAY_FUZZER(result_lines, {
  static const assay::fuzzers::PlainSqlite sqlite(assay::fuzzers::PlainSqlite::Memory::sanitized);
  static const assay::fuzzers::Scratch scratch;
  static std::unique_ptr<assay::results::Store> store = empty_store(scratch.folder());
  std::istringstream lines{std::string(input)};
  const auto merged = assay::results::import_lines(*store, lines);
  if (!merged || merged->runs == 0) return;  // nothing was added
  store.reset();
  store = empty_store(scratch.folder());
})
