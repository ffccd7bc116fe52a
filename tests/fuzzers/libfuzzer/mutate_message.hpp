#pragma once

#include <google/protobuf/message.h>

#include <random>

namespace assay::fuzzers {

/// One change somewhere in `message`: a field that is lost or set to an odd value, an element that is doubled, removed
/// or swapped with another, a text or a part that comes from another place of the same kind.
void mutate(google::protobuf::Message& message, std::minstd_rand& random);

}  // namespace assay::fuzzers
