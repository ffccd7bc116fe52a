#include "harness/report/operators_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace assay::report {
namespace {

// What the reference has no tensors for, or no one result.
constexpr std::array kRandom{"Bernoulli",        "Multinomial",   "RandomNormal",
                             "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
constexpr std::array kContainers{"ConcatFromSequence", "Optional",          "OptionalGetElement", "OptionalHasElement",
                                 "SequenceAt",         "SequenceConstruct", "SequenceEmpty",      "SequenceErase",
                                 "SequenceInsert",     "SequenceLength",    "SequenceMap",        "SplitToSequence"};
constexpr std::array kText{"ImageDecoder", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"};

std::string tests_text(const conformance::NodeTests& tests) {
  return tests.all == 0 ? "" : fmt::format("{} of {}", tests.passed, tests.all);
}

}  // namespace

std::string operators_page(const conformance::OperatorTable& table) {
  std::string text = fmt::format(
      R"(# Operators of the reference

Made by `./assay doctor --operators`; a test fails when this file says something else than that command. {} operators.

- **opsets**: the versions of its domain whose text the kernel follows, from the oldest to the newest.
- **float**: takes real tensors (float16, bfloat16, float32 and float64, all computed in float64).
- **quantized**: takes or makes codes of these types, exactly in integers; by the operator's own shape and type rule.
- **INT8 form**: what the embedded converter does with codes: it *multiplies* them with a weight, *computes* a result with
  parameters of its own, or *moves* values that keep theirs. Whether a certain node has one may depend on its attributes.
- **node tests**: those that pass of ONNX's own that use the operator, of Debian's `libonnx-testdata` (ONNX 1.12), {} in
  all. What keeps the others from passing, and the tests of the newest `onnx` package, stand in
  [conformance.md](conformance.md).

ONNX's own operators that are not here, so that a model with one is `unsupported`:

| they | operators |
| --- | --- |
| draw random numbers | {} |
| hold sequences or optional values | {} |
| hold text or files | {} |

| operator | opsets | float | quantized | INT8 form | node tests |
| --- | --- | --- | --- | --- | ---: |
)",
      table.rows.size(), tests_text(table.stored), fmt::join(kRandom, ", "), fmt::join(kContainers, ", "),
      fmt::join(kText, ", "));
  for (const conformance::OperatorRow& row : table.rows) {
    const bool one = row.first_opset == row.last_opset;
    const std::string opsets =
        one ? fmt::format("{}", row.last_opset) : fmt::format("{}–{}", row.first_opset, row.last_opset);
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", row.name, opsets, row.takes_reals ? "yes" : "",
                        fmt::join(row.code_types, ", "), row.int8_form, tests_text(row.stored));
  }
  return text;
}

}  // namespace assay::report
