#include "harness/corpus/case.hpp"
#include "tests/fuzzers/scratch.hpp"

ASSAY_FUZZER({ (void)assay::corpus::parse_family(std::string(input), "/nowhere/family.json"); })
