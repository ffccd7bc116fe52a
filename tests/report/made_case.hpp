#pragma once

#include <string>
#include <utility>

#include "harness/corpus/case.hpp"

namespace assay::report {

/// A case that somebody reported; its family stands before the "/" of its name.
inline corpus::Case made_case(const std::string& name, corpus::Origin origin) {
  corpus::Case made;
  made.name = name;
  made.family = name.substr(0, name.find('/'));
  made.origins = {std::move(origin)};
  return made;
}

}  // namespace assay::report
