#include "harness/corpus/case.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(case_json, { (void)assay::corpus::parse_family(std::string(input), "/nowhere/family.json"); })
