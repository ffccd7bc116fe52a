#include "results/results_file.hpp"
#include "tests/fuzzers/plain_sqlite.hpp"
#include "tests/fuzzers/scratch.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(results_file, {
  static const assay::fuzzers::PlainSqlite sqlite(assay::fuzzers::PlainSqlite::Memory::sanitized);
  static const assay::fuzzers::Scratch scratch;
  (void)assay::results::read_results_file(scratch.write("results.db.gz", input));
})
