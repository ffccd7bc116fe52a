// libFuzzer's way into the one target of a program.
#include "tests/fuzzers/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto read = assay::fuzzers::targets().front().read;
  read(assay::fuzzers::text_of(data, size));
  return 0;
}
