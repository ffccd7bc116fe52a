#include "converters/protocol/messages.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(request, {
  (void)assay::protocol::read_id(input);
  const auto request = assay::protocol::read_request(input);
  if (request) (void)assay::protocol::write_request(*request);
})
