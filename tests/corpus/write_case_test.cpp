#include "harness/corpus/write_case.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace assay::corpus {
namespace {

/// Every key that a case may have, beside the graph's.
constexpr const char* kGraph = R"("graph": "agraph (float[2,3] a, float[2,3] b) => (float[2,3] y) { y = Add(a, b) }")";
constexpr const char* kRest = R"json(
  "family": "all", "title": "costs $$5",
  "origin": [{ "url": "https://example.org/1", "reported_against": "X 1", "defect": "$$ and more",
               "upstream": ["https://example.org/2"] }],
  "tags": ["one", "two"], "seed": 5,
  "inputs": { "a": { "data": ["typical", "ties"], "range": [-3, 0.1], "spread": 4, "outlier": 20 },
              "b": { "kind": "uniform", "range": [0, 1] } },
  "calibration": { "batches": 3, "seed": 11, "drop": ["b"], "batch": 4, "last_batch": 1, "stop_after": 2, "widths": [1, 0.25],
                   "order": ["b", "a", "c"], "poison": { "a": "NaN", "b": "-Infinity" }, "extra": ["c"],
                   "types": { "a": "float64" }, "shapes": { "b": [3, 2] } },
  "options": { "per_axis": false, "precision": { "Add": "int8" } },
  "steps": [ { "do": "convert" }, { "do": "convert", "options": { "symmetric": true }, "cache": "stale",
               "calibration": { "batches": 2 } }, { "do": "convert", "cache": "previous", "forget": ["a"],
               "edit": "method" } ],
  "expect": { "status": "refused", "refused": { "node": "y", "operator": "Add", "reason": "no .*$$" },
              "precision": { "y": "fp32" }, "scales": { "a": { "axis": 0, "count": 2, "scale": 0.1, "scale_at_least": 0.05,
              "zero_point": 3 } },
              "same_scale_as": { "y": ["a"], "a": [] },
              "shape": { "y": [2, 3] }, "dtype": { "y": "float" }, "outputs": ["y"], "diagnostics": ["warned"],
              "order": ["b", "a"] },
  "kills": ["deconv_axis_zero"], "metamorphic": ["twice"])json";

Case parsed(const std::string& json) {
  auto cases = parse_family(json, "all.json");
  EXPECT_TRUE(cases.ok()) << (cases.ok() ? "" : cases.error().message);
  return cases && cases->size() == 1 ? cases->front() : Case{};
}

TEST(WriteCase, ReadsBackWithEveryKey) {
  const Case original = parsed(std::string("{") + kRest + "," + kGraph + "}");
  nlohmann::ordered_json json = case_json(original);
  EXPECT_EQ(json["title"], "costs $$5");
  json.update(nlohmann::ordered_json::parse(std::string("{") + kGraph + "}"));
  const Case copy = parsed(json.dump());
  EXPECT_EQ(case_json(copy), case_json(original));
  EXPECT_EQ(copy.title, "costs $5");
  EXPECT_EQ(copy.expect.refused_reason, "no .*$");
  EXPECT_EQ(copy.origins.at(0).upstream.value(), std::vector<std::string>{"https://example.org/2"});
  ASSERT_EQ(copy.steps.size(), 3U);
  EXPECT_EQ(copy.steps[1].feed.batches, 2);
  EXPECT_EQ(copy.steps[1].feed.cache, "stale");
  EXPECT_EQ(copy.steps[2].feed.forget, std::vector<std::string>{"a"});
  EXPECT_EQ(copy.steps[2].feed.edit, "method");
  EXPECT_EQ(copy.calibration.types.at("a"), "float64");
  EXPECT_EQ(copy.calibration.shapes.at("b"), (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(copy.calibration.extra, std::vector<std::string>{"c"});
  EXPECT_EQ(copy.expect.same_scale_as, original.expect.same_scale_as);
  EXPECT_EQ(copy.steps[1].options_json, original.steps[1].options_json);
  EXPECT_EQ(copy.inputs.at("a").low, original.inputs.at("a").low);
}

TEST(WriteCase, LeavesOutWhatIsTheDefault) {
  const Case plain =
      parsed(std::string(R"({"family": "f", "title": "t", "inputs": {"a": {}, "b": {}}, )") + kGraph + "}");
  const nlohmann::ordered_json json = case_json(plain);
  for (const char* key : {"calibration", "options", "steps", "expect", "kills", "metamorphic", "seed", "origin"}) {
    EXPECT_FALSE(json.contains(key)) << key;
  }
}

}  // namespace
}  // namespace assay::corpus
