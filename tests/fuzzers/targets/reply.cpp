#include "converters/protocol/messages.hpp"
#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(reply, {
  (void)assay::protocol::read_description(1, input);
  (void)assay::protocol::read_convert_reply(1, input, {}, "/nowhere");
  (void)assay::protocol::read_execute_reply(1, input);
  (void)assay::protocol::read_policy(input);
})
