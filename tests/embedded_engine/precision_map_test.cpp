// No float shortcut: what the converter reports as INT8 and its artifact still holds runs on integers, over all cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "converters/embedded/embedded.hpp"
#include "converters/embedded/engine/engine.hpp"
#include "converters/embedded/scales.hpp"
#include "harness/corpus/case.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::embedded::engine::test {
namespace {

/// Nodes of one converted case whose report and whose execution differ; counts what was compared.
std::vector<std::string> untrue_reports(const corpus::Case& test_case, std::size_t& compared) {
  const auto options = converters::options_from_json(test_case.options_json);
  const auto batches = corpus::calibration_batches(test_case, test_case.calibration);
  // Between codes of 16 bits and of float8, and of ranges that each inference finds, the engine computes in float32,
  // and the map says what stands between quantizers.
  const auto wide = [](DType type) { return core::is_real(type) || core::element_size_bits(type) > 8; };
  if (options && (options->dynamic || wide(options->activation) || wide(options->weight))) {
    return {};
  }
  if (!options || !batches) return {};
  const auto conversion = convert_in_memory(*test_case.model, *batches, *options);
  if (!conversion || conversion->reply.outcome != converters::Outcome::ok) return {};
  const auto on_integers = integer_nodes(with_plain_weights(conversion->artifact));
  if (!on_integers) return {on_integers.error().message};
  std::set<std::string> held;
  for (const auto& node : conversion->artifact.graph.nodes) held.insert(node.name);
  std::vector<std::string> untrue;
  for (const auto& report : conversion->reply.precision) {
    if (!held.contains(report.node)) continue;  // folded into another node
    ++compared;
    const bool is_integer = std::ranges::find(*on_integers, report.node) != on_integers->end();
    if (is_integer != (report.got == "int8")) untrue.push_back(report.node + " is reported as " + report.got);
  }
  return untrue;
}

TEST(PrecisionMap, TellsWhatTheEngineRunsOnIntegers) {
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(assay::test::source_tree() / "cases")) {
    if (entry.path().extension() != ".json") continue;
    const auto family = corpus::load_family(entry.path());
    ASSERT_TRUE(family) << family.error().message;
    for (const auto& test_case : *family) {
      if (!test_case.model) continue;
      const auto untrue = untrue_reports(test_case, compared);
      EXPECT_TRUE(untrue.empty()) << test_case.name << ": " << untrue.front();
    }
  }
  EXPECT_GT(compared, 400U);
}

}  // namespace
}  // namespace assay::embedded::engine::test
