#include "results/store.hpp"
#include "tests/fuzzers/plain_sqlite.hpp"
#include "tests/fuzzers/scratch.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(database, {
  static const assay::fuzzers::PlainSqlite sqlite(assay::fuzzers::PlainSqlite::Memory::plain);
  static const assay::fuzzers::Scratch scratch;
  for (const char* beside : {"h.db-wal", "h.db-shm", "h.db-journal"}) unlink((scratch.folder() / beside).c_str());
  auto store = assay::results::Store::open(scratch.write("h.db", input));
  if (!store) return;
  const auto rows = store->history("*");
  if (rows && !rows->empty()) (void)store->results(rows->front().run.id);
})
