// The generator: the same seed, the same graphs; every graph valid; every row of the table drawn.
#include "harness/fuzz/generate.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/fuzz/motifs.hpp"
#include "harness/fuzz/rows.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/infer.hpp"

namespace assay::fuzz {
namespace {

Plan plan_of(std::vector<std::string> operators, std::uint64_t seed = 1) {
  Plan plan;
  plan.seed = seed;
  plan.operators = std::move(operators);
  return plan;
}
Plan whole_plan(std::uint64_t seed = 1) { return plan_of(drawn_operators({}), seed); }

TEST(Generate, SeedAndIndexDecideEverything) {
  for (std::uint64_t index = 0; index < 30; ++index) {
    const auto once = sample(whole_plan(), index);
    const auto again = sample(whole_plan(), index);
    ASSERT_EQ(once.ok(), again.ok());
    if (!once) continue;
    EXPECT_EQ(once->candidate.hash(), again->candidate.hash()) << index;
    EXPECT_EQ(once->options_json, again->options_json);
  }
  const auto one = sample(whole_plan(1), 3), other = sample(whole_plan(2), 3);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE(one->candidate.hash(), other->candidate.hash());
}

/// What ONNX says of `candidate`, written and read as a converter sees it.
void expect_valid(const localize::Candidate& candidate, std::uint64_t index) {
  const auto read = model::load_model_bytes(model::serialize_model(candidate.model), {});
  ASSERT_TRUE(read.ok()) << index << ": " << read.error().message;
  EXPECT_TRUE(reference::check_declarations(*read).ok()) << index;
  EXPECT_GE(candidate.nodes(), 1U);
  EXPECT_LE(candidate.nodes(), 6U);
  EXPECT_FALSE(candidate.model.graph.inputs.empty()) << index;
  EXPECT_FALSE(candidate.model.graph.outputs.empty()) << index;
  EXPECT_GE(candidate.calibration.size(), 3U);
  EXPECT_FALSE(candidate.inputs.empty());
  const model::Wiring wiring(candidate.model.graph);
  for (const model::ValueInfo& input : candidate.model.graph.inputs) {
    EXPECT_FALSE(wiring.consumers(input.name).empty()) << index << ": nobody reads " << input.name;
  }
}

TEST(Generate, TwoThousandGraphsAreValidAndHoldEveryOperator) {
  constexpr std::uint64_t kGraphs = 2000;
  std::uint64_t discarded = 0;
  std::map<std::string, int> drawn;
  std::set<std::int64_t> opsets;
  for (std::uint64_t index = 0; index < kGraphs; ++index) {
    const auto made = sample(whole_plan(), index);
    if (!made) {
      ASSERT_EQ(made.error().kind, core::ErrorKind::invalid_data) << index << ": " << made.error().message;
      ++discarded;
      continue;
    }
    expect_valid(made->candidate, index);
    opsets.insert(made->candidate.model.opset());
    for (const model::Node& node : made->candidate.model.graph.nodes) ++drawn[model::operator_name(node)];
  }
  EXPECT_LT(discarded, kGraphs / 50);
  EXPECT_EQ(opsets, (std::set<std::int64_t>{11, 12, 13, 14, 15, 16, 17}));
  for (const Row& row : rows()) EXPECT_GE(drawn[row.op], 5) << row.op;
}

TEST(Generate, EveryRowDrawsItsOperatorByItself) {
  for (const Row& row : rows()) {
    int seen = 0;
    for (std::uint64_t index = 0; index < 40; ++index) {
      const auto made = sample(plan_of({row.op}), index);
      // An opset without the operator has no row at all.
      if (!made) continue;
      for (const model::Node& node : made->candidate.model.graph.nodes) {
        EXPECT_EQ(model::operator_name(node), row.op);
        ++seen;
      }
    }
    EXPECT_GT(seen, 0) << row.op;
  }
}

TEST(Generate, OperatorOfAnotherDomainComesWithItsImport) {
  Draft draft{core::Rng(1)};
  ASSERT_TRUE(draw_unary(draft, "com.microsoft.QuickGelu"));
  ASSERT_TRUE(draft.settle());
  draft.finish();
  const model::Model& made = draft.model();
  EXPECT_EQ(model::operator_name(made.graph.nodes.back()), "com.microsoft.QuickGelu");
  EXPECT_EQ(made.opsets.at("com.microsoft"), 1);
  EXPECT_TRUE(model::load_model_bytes(model::serialize_model(made), {}));
}

TEST(Generate, EveryMotifFitsAtEveryOpset) {
  for (const Motif& motif : motifs()) {
    std::set<std::int64_t> opsets;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      Draft draft{core::Rng(seed)};
      const core::Status drawn = motif.draw(draft);
      if (!drawn) {
        ASSERT_EQ(drawn.error().kind, core::ErrorKind::invalid_data) << motif.name << ": " << drawn.error().message;
        continue;
      }
      opsets.insert(draft.opset());
      EXPECT_LE(draft.graph().nodes.size(), 4U) << motif.name;
      for (const model::Node& node : draft.graph().nodes) {
        EXPECT_THAT(motif.operators, testing::Contains(node.op_type)) << motif.name;
      }
      draft.finish();
      for (const model::ValueInfo& output : draft.graph().outputs) EXPECT_TRUE(output.shape) << motif.name;
      for (const model::Node& node : draft.graph().nodes) {
        for (const auto& [key, value] : node.attributes) {
          const auto* number = std::get_if<double>(&value);
          if (number != nullptr) {
            EXPECT_EQ(*number, static_cast<double>(static_cast<float>(*number))) << "as a file has it";
          }
        }
      }
    }
    EXPECT_EQ(opsets.size(), 7U) << motif.name;
  }
  EXPECT_TRUE(std::ranges::is_sorted(motifs(), std::less<>(), &Motif::name));
}

TEST(Generate, RowsStandInOrderOnce) {
  EXPECT_TRUE(std::ranges::is_sorted(rows(), std::less<>(), &Row::op));
  EXPECT_EQ(std::ranges::adjacent_find(rows(), std::equal_to<>(), &Row::op), rows().end());
}

TEST(Generate, OnlyDeclaredOperatorsAreDrawn) {
  converters::Supports supports;
  supports.operators = {"Relu", "CumSum", "Add"};
  EXPECT_EQ(drawn_operators(supports), (std::vector<std::string>{"Add", "Relu"}));
}

TEST(Generate, OptionsTakeTurnsOrAreThoseAskedFor) {
  std::set<std::string> seen;
  for (std::uint64_t index = 0; index < 300; ++index) {
    const auto made = sample(whole_plan(), index);
    if (made) seen.insert(made->options_json);
  }
  EXPECT_THAT(seen, testing::IsSupersetOf({"{}", R"({"activation":"uint8"})", R"({"symmetric":true})"}));
  Plan asked = whole_plan();
  asked.options_json = R"({"method":"entropy"})";
  const auto made = sample(asked, 5);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->options_json, R"({"method":"entropy"})");
}

TEST(Generate, NoOptionIsDrawnThatTheConverterDoesNotTake) {
  Plan plan = whole_plan();
  plan.supports.activation = {{"uint8"}};
  plan.supports.symmetric = {{true}};
  plan.supports.per_axis = {{false}};
  plan.supports.method = {{"entropy"}};
  for (std::uint64_t index = 0; index < 100; ++index) {
    const auto made = sample(plan, index);
    if (!made) continue;
    const auto options = converters::options_from_json(made->options_json);
    ASSERT_TRUE(options.ok());
    EXPECT_TRUE(options->activation == core::DType::uint8 && options->symmetric && !options->per_axis &&
                options->method == converters::Method::entropy)
        << made->options_json;
  }
}

TEST(Generate, AFreeBatchIsFedAnotherExtentNowAndThen) {
  int free = 0, larger = 0;
  for (std::uint64_t index = 0; index < 600; ++index) {
    const auto made = sample(whole_plan(), index);
    if (!made) continue;
    const localize::Candidate& candidate = made->candidate;
    const model::ValueInfo& input = candidate.model.graph.inputs.front();
    if (!input.shape || input.shape->empty() || input.shape->front().value) continue;
    ++free;
    const core::Shape& calibrated = candidate.calibration.front().at(input.name).shape();
    if (candidate.inputs.back().at(input.name).shape() != calibrated) ++larger;
  }
  EXPECT_GT(free, 10);
  EXPECT_GT(larger, 5);
}

}  // namespace
}  // namespace assay::fuzz
