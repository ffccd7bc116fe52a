#include "converters/calibration_table.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(cache, {
  const std::string bytes(input);
  const auto table = assay::converters::parse_calibration_table(bytes);
  if (!table) return;
  for (const auto& [tensor, range] : table->ranges) (void)assay::converters::without_entry(bytes, tensor);
})
