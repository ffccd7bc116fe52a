// Red verdicts that are one.
#include "harness/fuzz/find.hpp"

#include <gmock/gmock.h>

namespace assay::fuzz {
namespace {

/// x → Relu → y, and what is red about it.
Find find_on(const std::string& input, const std::string& output, const std::string& reason, std::uint64_t index) {
  Find find;
  model::Graph& graph = find.sample.candidate.model.graph;
  graph.inputs = {{input, core::DType::float32, std::nullopt}};
  graph.nodes = {{output, "Relu", "", {input}, {output}, {}}};
  find.judgement.reason = reason;
  find.first_index = find.kept_index = index;
  find.nodes = 1;
  find.bytes = 100;
  return find;
}

TEST(Find, NamesOfTheGraphAreNoPartOfASignature) {
  const Find find = find_on("x0", "t12", "", 0);
  const model::Graph& graph = find.sample.candidate.model.graph;
  EXPECT_EQ(without_names("tensor \"t12\" reads x0_q, t12 and x05", graph),
            "tensor \"<name>\" reads <name>_q, <name> and x05");
  EXPECT_EQ(without_names("", graph), "");
}

TEST(Find, SignaturesThatDifferInNamesAloneAreOne) {
  std::vector<Find> finds;
  EXPECT_TRUE(add(finds, find_on("x0", "t1", "tensor \"t1_q\" is odd", 7)));
  EXPECT_FALSE(add(finds, find_on("a", "out", "tensor \"out_q\" is odd", 3)));
  EXPECT_FALSE(add(finds, find_on("/in", "/block.1/conv", "tensor \"/block.1/conv_q\" is odd", 5))) << "like a path";
  EXPECT_TRUE(add(finds, find_on("x0", "t1", "another tensor \"t1\"", 4)));
  ASSERT_EQ(finds.size(), 2U);
  EXPECT_EQ(finds[0].count, 3U);
  EXPECT_EQ(finds[0].first_index, 3U);
}

TEST(Find, TheSmallestSampleIsKeptWhateverTheOrder) {
  const auto kept = [](bool small_first) {
    Find small = find_on("x0", "t1", "tensor \"t1\"", 9), large = find_on("x0", "t1", "tensor \"t1\"", 2);
    large.nodes = 4;
    std::vector<Find> finds;
    add(finds, small_first ? small : large);
    add(finds, small_first ? large : small);
    return std::pair(finds.front().kept_index, finds.front().first_index);
  };
  EXPECT_EQ(kept(true), (std::pair<std::uint64_t, std::uint64_t>(9, 2)));
  EXPECT_EQ(kept(true), kept(false));
}

TEST(Find, AGraphIsToldInLines) {
  const Find find = find_on("x0", "t1", "", 0);
  EXPECT_THAT(graph_text(find.sample.candidate.model), testing::HasSubstr("  t1 = Relu (x0"));
}

}  // namespace
}  // namespace assay::fuzz
