#pragma once

#include <string>

#include "harness/run/made_by.hpp"

namespace assay::run {

/// "NAME@VERSION" of the converter whose stated policy settle_maker() chose for `evidence` out of `made_by`, the first
/// where several state the same; "" for the rules that hold for all.
[[nodiscard]] std::string settled_maker(const judge::Evidence& evidence, const MadeBy& made_by);

}  // namespace assay::run
