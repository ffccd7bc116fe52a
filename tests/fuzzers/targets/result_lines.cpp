#include <sstream>

#include "results/exchange.hpp"
#include "tests/fuzzers/scratch.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(result_lines, {
  static const assay::fuzzers::Scratch scratch;
  std::filesystem::remove(scratch.folder() / "history.db");
  auto store = assay::results::Store::open(scratch.folder() / "history.db");
  if (!store) std::abort();
  std::istringstream lines{std::string(input)};
  (void)assay::results::import_lines(*store, lines);
})
