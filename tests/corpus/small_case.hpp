#pragma once

#include <gtest/gtest.h>

#include <string>

#include "harness/corpus/case.hpp"

namespace assay::corpus {

/// A family whose JSON is `extra` laid over a Relu on one input, expanded; the test fails where it does not load.
inline std::vector<Case> relu_family(const std::string& extra, const std::string& input) {
  const std::string json =
      R"j({"family":"f","title":"t","graph":["agraph (float[2,3,5] x) => (float[2,3,5] y) {","y = Relu (x)","}"],)j"
      R"j("inputs":{"x":)j" +
      input + "}" + extra + "}";
  auto cases = parse_family(json, "f.json");
  EXPECT_TRUE(cases) << (cases ? "" : cases.error().message);
  return cases ? std::move(*cases) : std::vector<Case>(1);
}

}  // namespace assay::corpus
