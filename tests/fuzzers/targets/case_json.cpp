#include <cstdlib>

#include "harness/corpus/case.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(case_json, {
  static const int nowhere = setenv("ASSAY_HOME", "/nowhere", 1);  // stored cases are looked for there, and not here
  (void)nowhere;
  (void)assay::corpus::parse_family(std::string(input), "/nowhere/family.json");
})
