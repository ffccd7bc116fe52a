#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "harness/core/files.hpp"
#include "harness/localize/bisect.hpp"
#include "harness/localize/precision_search.hpp"
#include "harness/localize/reduce.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/programs/converter_spec.hpp"

namespace assay::localize {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// The slices along the first axis differ in size: of a weight, a scale that belongs to another shows.
core::TensorPtr drawn(const core::Shape& shape, std::uint64_t seed) {
  std::size_t size = 1;
  for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
  std::vector<double> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t slice = i * static_cast<std::size_t>(shape.front()) / size;
    const double spread = std::pow(5.0, static_cast<double>(slice % 3));
    values[i] =
        static_cast<double>(static_cast<float>(spread * std::sin(static_cast<double>((i + 1) * (seed * 7 + 3)))));
  }
  return std::make_shared<const core::Tensor>(core::DType::float32, shape, std::move(values));
}

/// Two branches, three convolutions, and a shape that is computed.
Candidate network() {
  auto parsed = model::parse_graph_text(R"(agraph (float[2,5,9,8] x) => (float[2,E] y) {
      a = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (x, wa, ba)
      r = Relu (a)
      p = Conv <kernel_shape=[1,1]> (r, wp)
      q = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (r, wq)
      s = Add (p, q)
      n = Shape (s)
      f = Gather (n, zero)
      t = Unsqueeze (f, zero_axis)
      u = Concat <axis=0> (t, rest)
      y = Reshape (s, u)
  })",
                                        {{"", 13}});
  EXPECT_TRUE(parsed) << parsed.error().message;
  Candidate whole{*std::move(parsed), {}, {}};
  auto& initializers = whole.model.graph.initializers;
  initializers["wa"] = drawn({7, 5, 3, 3}, 1);
  initializers["ba"] = drawn({7}, 2);
  initializers["wp"] = drawn({6, 7, 1, 1}, 3);
  initializers["wq"] = drawn({6, 7, 3, 3}, 4);
  const auto integers = [](const core::Shape& shape, std::int64_t value) {
    return std::make_shared<const core::Tensor>(core::DType::int64, shape, std::vector<std::int64_t>{value});
  };
  initializers["zero"] = integers({}, 0);
  initializers["zero_axis"] = integers({1}, 0);
  initializers["rest"] = integers({1}, -1);
  EXPECT_TRUE(model::normalize(whole.model.graph));
  for (std::uint64_t i = 0; i < 3; ++i) whole.calibration.push_back({{"x", *drawn({2, 5, 9, 8}, 10 + i)}});
  for (std::uint64_t i = 0; i < 2; ++i) whole.inputs.push_back({{"x", *drawn({2, 5, 9, 8}, 10 + i)}});
  return whole;
}

std::shared_ptr<const Judge> judge_of(const std::string& converter, const std::vector<std::string>& faults) {
  const auto specs = programs::parse_converter(converter, ASSAY_PROGRAM, faults, "");
  EXPECT_TRUE(specs);
  auto judge = Judge::make(specs->front(), "{}", 60);
  EXPECT_TRUE(judge) << (judge ? "" : judge.error().message);
  return *std::move(judge);
}

std::vector<std::string> names(const Candidate& candidate) {
  std::vector<std::string> all;
  for (const model::Node& node : candidate.model.graph.nodes) all.push_back(node.name);
  return all;
}

TEST(Ddmin, FindsTheSmallestSetThatHolds) {
  Items all;
  for (std::size_t i = 0; i < 20; ++i) all.insert(i);
  std::size_t asked = 0;
  const Items found = ddmin(all, [&](const std::vector<Items>& sets) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      ++asked;
      if (sets[i].contains(3) && sets[i].contains(16)) return i;
    }
    return std::nullopt;
  });
  EXPECT_EQ(found, Items({3, 16}));
  EXPECT_LT(asked, 120U);
}

TEST(Cutter, FeedsAPartWithWhatTheReferenceHasBeforeIt) {
  const Candidate whole = network();
  const auto cutter = Cutter::make(whole);
  ASSERT_TRUE(cutter);
  const auto part = cutter->cut({3});
  ASSERT_TRUE(part);
  EXPECT_THAT(names(*part), ElementsAre("q"));
  ASSERT_EQ(part->model.graph.inputs.size(), 1U);
  EXPECT_EQ(part->model.graph.inputs[0].name, "r");
  ASSERT_EQ(part->calibration.size(), 3U);
  ASSERT_EQ(part->inputs.size(), 2U);
  for (const double value : part->calibration[1].at("r").reals()) EXPECT_GE(value, 0);
  EXPECT_EQ(part->calibration[0].at("r").shape(), core::Shape({2, 7, 9, 8}));
}

TEST(Cutter, FeedsAPartWithWhatAFileOfItHolds) {
  const Candidate whole = network();
  const auto cutter = Cutter::make(whole);
  ASSERT_TRUE(cutter);
  const auto part = cutter->cut({3});
  ASSERT_TRUE(part);
  for (const double value : part->calibration[1].at("r").reals()) {
    ASSERT_EQ(value, static_cast<double>(static_cast<float>(value)));
  }
}

TEST(Cutter, TakesShapesForConstants) {
  const Candidate whole = network();
  const auto cutter = Cutter::make(whole);
  ASSERT_TRUE(cutter);
  const auto part = cutter->cut({9});
  ASSERT_TRUE(part);
  ASSERT_TRUE(part->model.graph.initializers.contains("u"));
  EXPECT_THAT(part->model.graph.initializers.at("u")->integers(), ElementsAre(2, -1));
  EXPECT_FALSE(cutter->cut({}));
}

TEST(ArtifactSlicer, TakesNoSliceThatReadsSomethingElse) {
  // The artifact clips by the quantizer of "k": it has nothing that stands for "r" alone.
  auto original = model::parse_graph_text(R"(agraph (float[1,2,5] x) => (float[1,2,5] y) {
      n = BatchNormalization (x, one, one, one, one)
      r = Relu (n)
      k = Clip (r, low, high)
      y = Mul (k, x)
  })",
                                          {{"", 13}});
  auto artifact = model::parse_graph_text(R"(agraph (float[1,2,5] x) => (float[1,2,5] y) {
      xq = QuantizeLinear (x, xs, zp)
      xd = DequantizeLinear (xq, xs, zp)
      k = BatchNormalization (xd, one, one, one, one)
      kq = QuantizeLinear (k, ks, zp)
      kd = DequantizeLinear (kq, ks, zp)
      y = Mul (kd, xd)
  })",
                                          {{"", 13}});
  ASSERT_TRUE(original.ok() && artifact.ok());
  const auto real = [](const core::Shape& shape, std::vector<double> values) {
    return std::make_shared<const core::Tensor>(core::DType::float32, shape, std::move(values));
  };
  const auto zero_point =
      std::make_shared<const core::Tensor>(core::DType::int8, core::Shape{}, std::vector<std::int64_t>{-128});
  original->graph.initializers = {{"one", real({2}, {1, 1})}, {"low", real({}, {0})}, {"high", real({}, {6})}};
  artifact->graph.initializers = {
      {"one", real({2}, {1, 1})}, {"xs", real({}, {0.03125})}, {"ks", real({}, {0.0234375})}, {"zp", zero_point}};
  Candidate whole{*original, {}, {}};
  whole.artifact = std::make_shared<const model::Model>(*artifact);
  whole.inputs = {{{"x", *drawn({1, 2, 5}, 3)}}};
  const core::Result<Cutter> cutter = Cutter::make(whole);
  ASSERT_TRUE(cutter) << cutter.error().message;
  const auto sliced = [&](const Nodes& nodes) {
    const core::Result<Candidate> part = cutter->cut(nodes);
    auto tidy = part ? tidied(*part) : std::nullopt;
    return tidy && cutter->with_slice(*std::move(tidy)).has_value();
  };
  EXPECT_TRUE(sliced({0, 1, 2}));  // from quantizer to quantizer
  EXPECT_FALSE(sliced({2, 3}));    // "k" would come from "x", which the part has too, and not from "r"
  EXPECT_TRUE(sliced({0, 1, 2, 3}));
}

TEST(Reduce, ComesDownToTheNodeThatFails) {
  std::string kept;
  for (const std::size_t jobs : {1U, 2U}) {
    const auto judge = judge_of("embedded", {"per_axis_rolled@q"});
    const judge::Judgement judgement = judge->judge(network(), judge::Depth::gate);
    ASSERT_EQ(judgement.gate, judge::Gate::red);
    std::vector<Criterion> workers;
    for (std::size_t i = 0; i < jobs; ++i) {
      workers.push_back(same_signature(judge_of("embedded", {"per_axis_rolled@q"}), signature_of(judgement)));
    }
    Trials trials(workers, "");
    const auto smallest = reduce(network(), {judgement.node}, trials);
    ASSERT_TRUE(smallest);
    EXPECT_THAT(names(*smallest), ElementsAre("q"));
    EXPECT_LT(smallest->bytes(), 300U);
    EXPECT_EQ(smallest->calibration.size(), 1U);
    EXPECT_TRUE(trials.holds(*smallest));
    if (kept.empty()) kept = smallest->hash();
    EXPECT_EQ(smallest->hash(), kept) << "on " << jobs << " threads";
  }
}

TEST(Reduce, NeedsNoSuspects) {
  const auto judge = judge_of("embedded", {"per_axis_rolled@p"});
  const std::string signature = signature_of(judge->judge(network(), judge::Depth::gate));
  Trials trials({same_signature(judge, signature)}, "");
  const auto smallest = reduce(network(), {}, trials);
  ASSERT_TRUE(smallest);
  EXPECT_THAT(names(*smallest), ElementsAre("p"));
}

TEST(Reduce, GoesOnWhereItWasKilled) {
  const auto folder = core::TemporaryFolder::create();
  ASSERT_TRUE(folder);
  const auto ledger = folder->path() / "checks.txt";
  const Criterion has_add = [](const Candidate& candidate) {
    return std::ranges::any_of(candidate.model.graph.nodes,
                               [](const model::Node& node) { return node.op_type == "Add"; });
  };
  Trials first({has_add}, ledger);
  const auto smallest = reduce(network(), {}, first);
  ASSERT_TRUE(smallest);
  EXPECT_THAT(names(*smallest), ElementsAre("s"));
  EXPECT_GT(first.checks(), 5U);
  // The last line of a killed run may be half written.
  const std::string text = core::read_file(ledger).value();
  ASSERT_TRUE(core::write_file(ledger, text.substr(0, text.size() - 20)));
  Trials second({has_add}, ledger);
  const auto again = reduce(network(), {}, second);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->hash(), smallest->hash());
  EXPECT_EQ(second.checks(), 1U);
}

TEST(Reduce, TakesAnyCommandForCriterion) {
  const Criterion holds = command_succeeds("grep -q Gather {} && test -d $(dirname {})/calibration/0000", 10);
  EXPECT_TRUE(holds(network()));
  Trials trials({holds}, "");
  const auto smallest = reduce(network(), {}, trials);
  ASSERT_TRUE(smallest);
  EXPECT_THAT(names(*smallest), ElementsAre("f"));
  EXPECT_FALSE(command_succeeds("sleep 5; true", 0.2)(network()));
  EXPECT_FALSE(command_succeeds("exit 3", 10)(network()));
}

TEST(Reduce, ACommandTakesAPathOfAnyNameAsOneWord) {
  const auto parent = core::TemporaryFolder::create();
  ASSERT_TRUE(parent);
  const auto odd = parent->path() / "it's; touch $(pwd) `x`";
  ASSERT_TRUE(std::filesystem::create_directory(odd));
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ASSERT_EQ(::setenv("TMPDIR", odd.c_str(), 1), 0);
  const bool holds = command_succeeds("test -f {} && grep -q Gather {}", 10)(network());
  const bool appended = command_succeeds("grep -q Gather", 10)(network());
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_TRUE(holds);
  EXPECT_TRUE(appended);
}

TEST(Bisect, FindsEveryWrongNodeOfAConverterThatShowsNothing) {
  const auto judge = judge_of("embedded:opaque", {"per_axis_rolled"});
  const auto parts = wrong_parts(network(), *judge, 3);
  ASSERT_TRUE(parts);
  std::vector<std::vector<std::string>> found;
  for (const WrongPart& part : *parts) found.push_back(part.nodes);
  EXPECT_THAT(found, ElementsAre(ElementsAre("a"), ElementsAre("p"), ElementsAre("q")));
  const auto right = wrong_parts(network(), *judge_of("embedded:opaque", {}), 3);
  ASSERT_TRUE(right);
  EXPECT_THAT(*right, IsEmpty());
}

TEST(Bisect, ShowsTheJudgedBuildsOwnNodes) {
  const Candidate whole = network();
  const Judged judged = judge_of("embedded", {"per_axis_rolled@p"})->ask(whole, judge::Depth::every_node, "{}");
  std::vector<std::string> wrong;
  for (const NodeRow& row :
       node_table(whole.model.graph, judged.judgement.metrics, judged.precision, judged.judgement.findings)) {
    if (is_wrong(row)) wrong.push_back(row.node);
    if (row.node == "q") {
      EXPECT_EQ(row.precision, "int8");
      ASSERT_TRUE(row.margin && row.local_db && row.sqnr_db);
      EXPECT_LE(*row.margin, 1);
      EXPECT_GT(*row.local_db, 20);
    }
  }
  EXPECT_THAT(wrong, ElementsAre("p"));
}

TEST(Bisect, FindsTheBatchThatItTakes) {
  Candidate whole = network();
  whole.calibration[1].at("x").reals()[5] = NAN;
  const auto judge = judge_of("embedded", {});
  const judge::Judgement judgement = judge->judge(whole, judge::Depth::gate);
  ASSERT_EQ(judgement.gate, judge::Gate::red);
  EXPECT_EQ(needed_batches(whole, *judge, signature_of(judgement)), Items({1}));
}

TEST(PrecisionSearch, KeepsTheWrongNodesGroupInFloat) {
  const PrecisionSearch found = search_precision(network(), *judge_of("embedded", {"per_axis_rolled@a"}), {}, 50);
  EXPECT_TRUE(found.needed);
  EXPECT_TRUE(found.possible);
  EXPECT_TRUE(found.minimal);
  EXPECT_TRUE(found.reused_cache);
  EXPECT_THAT(found.nodes, ElementsAre("a", "r"));
  EXPECT_EQ(found.after.gate, judge::Gate::green);
}

TEST(PrecisionSearch, ReachesAnSqnr) {
  const PrecisionSearch plain = search_precision(network(), *judge_of("embedded", {}), {}, 50);
  EXPECT_FALSE(plain.needed);
  ASSERT_TRUE(plain.before.sqnr_db);
  const double asked = *plain.before.sqnr_db + 1;
  const PrecisionSearch better = search_precision(network(), *judge_of("embedded", {}), asked, 50);
  EXPECT_TRUE(better.possible);
  EXPECT_FALSE(better.nodes.empty());
  EXPECT_GE(better.after.sqnr_db.value_or(0), asked);
  const PrecisionSearch impossible = search_precision(network(), *judge_of("embedded", {}), 400, 50);
  EXPECT_FALSE(impossible.possible);
  EXPECT_THAT(impossible.ignored, IsEmpty());
}

TEST(PrecisionSearch, SaysWhichNodesAConverterDidNotLeaveInFloat) {
  const PrecisionSearch found = search_precision(network(), *judge_of("embedded", {"float_wish_ignored"}), 400, 50);
  EXPECT_TRUE(found.needed);
  EXPECT_FALSE(found.possible);
  EXPECT_THAT(found.ignored, Contains("a"));
  EXPECT_THAT(found.nodes, IsEmpty());
}

TEST(FusionGroups, JoinAnActivationToWhatItAloneReads) {
  const auto groups = fusion_groups(network().model.graph);
  EXPECT_EQ(groups.front(), Items({0, 1}));
  EXPECT_EQ(groups[1], Items({2}));
}

}  // namespace
}  // namespace assay::localize
