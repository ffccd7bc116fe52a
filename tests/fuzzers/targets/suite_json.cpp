#include "harness/corpus/suite.hpp"
#include "tests/fuzzers/scratch.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(suite_json, {
  static const assay::fuzzers::Scratch scratch = [] {
    assay::fuzzers::Scratch made;
    std::filesystem::create_directories(made.folder() / "cases");
    setenv("ASSAY_HOME", made.folder().c_str(), 1);
    return made;
  }();
  (void)assay::corpus::parse_suite("s", std::string(input));
})
