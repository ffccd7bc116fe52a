#include "results/store.hpp"
#include "tests/fuzzers/scratch.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(database, {
  static const assay::fuzzers::Scratch scratch;
  for (const char* beside : {"h.db-wal", "h.db-shm", "h.db-journal"})
    std::filesystem::remove(scratch.folder() / beside);
  auto store = assay::results::Store::open(scratch.write("h.db", input));
  if (!store) return;
  const auto rows = store->history("*");
  if (rows && !rows->empty()) (void)store->results(rows->front().run.id);
})
