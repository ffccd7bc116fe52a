#include "harness/corpus/expression.hpp"

#include <nlohmann/json.hpp>

#include "tests/fuzzers/target.hpp"

ASSAY_FUZZER(expression, {
  static const assay::corpus::Bindings bindings{{"a", 7}, {"b", 2.5}, {"c", "Relu"}, {"d", {1, 2, 3}}, {"zero", 0}};
  const auto value = assay::corpus::substitute(std::string(input), bindings);
  if (value) (void)assay::corpus::value_text(*value);
})
