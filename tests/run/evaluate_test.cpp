// Whose fault it is: a verdict of one case where something else than the conversion went wrong.
#include "harness/run/evaluate.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "converters/embedded/embedded.hpp"
#include "harness/core/files.hpp"
#include "harness/core/room.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::run {
namespace {

namespace fs = std::filesystem;
using converters::Outcome;
using judge::Verdict;
using testing::HasSubstr;

/// The embedded converter as a foreign one, with something done to its answers.
class Odd final : public converters::Converter {
 public:
  using Convert = std::function<void(const converters::ConvertRequest& request, converters::ConvertReply& reply)>;
  explicit Odd(Convert after = nullptr) : after_(std::move(after)) {}
  core::Result<converters::Description> describe() override { return embedded_->describe(); }
  converters::ConvertReply convert(const converters::ConvertRequest& request) override {
    converters::ConvertReply reply = embedded_->convert(request);
    if (after_) after_(request, reply);
    return reply;
  }
  converters::ExecuteReply execute(const converters::ExecuteRequest& request) override {
    return embedded_->execute(request);
  }

 private:
  std::unique_ptr<converters::Converter> embedded_ = embedded::make_embedded().value();
  Convert after_;
};

class Bench : public testing::Test {
 protected:
  Bench() : folder_(core::TemporaryFolder::create().value()) {}

  [[nodiscard]] std::unique_ptr<CaseBench> bench(const std::string& extra = "") {
    const fs::path file = folder_.path() / "mini.json";
    EXPECT_TRUE(core::write_file(file, R"json({
      "family": "mini", "title": "a plain Conv", "tags": ["Conv"],
      "graph": ["agraph (float[2,3,9,7] x) => (float[N,5,H,W] y) { y = Conv <kernel_shape=[3,2]> (x, w) }"],
      "initializers": { "w": { "shape": [5, 3, 3, 2] } }, "inputs": { "x": { "range": [-3, 2] } })json" +
                                           extra + "}")
                    .ok());
    cases_.push_back(std::make_unique<corpus::Case>(corpus::load_family(file).value().front()));
    return CaseBench::create(*cases_.back()).value();
  }
  static judge::Judgement judged(CaseBench& bench, converters::Converter& converter) {
    return bench.evaluate(converter, converter.describe().value(), "{}", 1).judgement;
  }

 private:
  core::TemporaryFolder folder_;
  std::vector<std::unique_ptr<corpus::Case>> cases_;
};

TEST_F(Bench, WhoWritesIntoItsModelIsNamedAndHarmsNobodyElse) {
  const auto shared = bench();
  Odd writer([](const converters::ConvertRequest& request, converters::ConvertReply&) {
    EXPECT_TRUE(core::write_file(request.model, "rewritten in place").ok());
    for (const auto& batch : fs::directory_iterator(request.calibration)) fs::remove_all(batch.path());
  });
  Odd neighbour;
  EXPECT_EQ(judged(*shared, neighbour).verdict, Verdict::pass);
  const judge::Judgement culprit = judged(*shared, writer);
  EXPECT_EQ(culprit.verdict, Verdict::crash);
  EXPECT_EQ(culprit.gate, judge::Gate::red);
  EXPECT_THAT(culprit.reason, HasSubstr("protocol: it wrote into the"));
  EXPECT_EQ(judged(*shared, neighbour).verdict, Verdict::pass);
}

TEST_F(Bench, AnArtifactBeyondOurOwnLimitIsNobodysFail) {
  Odd converter([](const converters::ConvertRequest&, converters::ConvertReply& reply) {
    model::Model artifact = model::load_model(reply.artifact).value();
    std::string from = artifact.graph.nodes.back().outputs.front();
    for (std::size_t index = 0; index <= model::LoadLimits().nodes; ++index) {
      model::Node node;
      node.op_type = "Identity";
      node.name = "n" + std::to_string(index);
      node.inputs = {from};
      node.outputs = {from = "t" + std::to_string(index)};
      artifact.graph.nodes.push_back(std::move(node));
    }
    EXPECT_TRUE(model::save_model(artifact, reply.artifact).ok());
  });
  const judge::Judgement judgement = judged(*bench(), converter);
  EXPECT_EQ(judgement.verdict, Verdict::unsupported) << judgement.reason;
  EXPECT_THAT(judgement.reason,
              HasSubstr(fmt::format("nodes, more than Assay's limit of {}", model::LoadLimits().nodes)));
  EXPECT_THAT(judgement.reason, testing::Not(HasSubstr("/out_"))) << "one cause, one text";
}

TEST_F(Bench, AReadyArtifactWithAnUnreadHalfIsJudgedAsWithout) {
  const auto shared = bench();
  Odd converter;
  converters::Description description = converter.describe().value();
  description.supports.reports.clear();  // a file tells nothing beside itself
  const fs::path made = shared->attempt(converter, description, "{}").evidence.conversion.artifact;
  const auto verdict = [&] { return shared->evaluate_artifact(converter, description, made, "{}", 1).judgement; };
  EXPECT_EQ(verdict().verdict, Verdict::unjudged) << "nobody knows its calibration data";
  model::Model artifact = model::load_model(made).value();
  artifact.graph.initializers["half"] =
      std::make_shared<const core::Tensor>(core::Tensor::scalar(core::DType::float16, 0.5));
  ASSERT_TRUE(model::save_model(artifact, made).ok());
  EXPECT_EQ(verdict().verdict, Verdict::unjudged);
  EXPECT_THAT(verdict().reason, HasSubstr("not known (--calibration)"));
}

TEST_F(Bench, AnArtifactThatOnlyClaimsToBeLargeIsAFail) {
  Odd converter([](const converters::ConvertRequest&, converters::ConvertReply& reply) {
    EXPECT_TRUE(core::write_file(reply.artifact, "more than Assay's limit of 5").ok());
  });
  EXPECT_EQ(judged(*bench(), converter).verdict, Verdict::fail);
}

TEST_F(Bench, AnOutputBeyondOurOwnLimitIsNobodysFail) {
  class Large final : public converters::Converter {
   public:
    core::Result<converters::Description> describe() override { return embedded_->describe(); }
    converters::ConvertReply convert(const converters::ConvertRequest& request) override {
      return embedded_->convert(request);
    }
    converters::ExecuteReply execute(const converters::ExecuteRequest& request) override {
      EXPECT_TRUE(core::write_file(request.output / "output_0.pb", "").ok());
      fs::resize_file(request.output / "output_0.pb", model::LoadLimits().file_bytes + 1);  // sparse: it takes no room
      converters::ExecuteReply reply;
      reply.outcome = Outcome::ok;
      return reply;
    }

   private:
    std::unique_ptr<converters::Converter> embedded_ = embedded::make_embedded().value();
  } large;
  const judge::Judgement judgement = judged(*bench(), large);
  EXPECT_EQ(judgement.verdict, Verdict::unsupported) << judgement.reason;
  EXPECT_THAT(judgement.reason, HasSubstr("bytes, more than Assay's limit of"));
}

TEST_F(Bench, AFullFileSystemIsNotTheConvertersFail) {
  Odd converter([](const converters::ConvertRequest& request, converters::ConvertReply& reply) {
    reply = {};
    reply.outcome = Outcome::error;
    reply.reason = "can't write " + request.output.string() + ": No space left on device";
  });
  const judge::Judgement judgement = judged(*bench(), converter);
  EXPECT_EQ(judgement.verdict, Verdict::harness_error);
  EXPECT_THAT(judgement.reason, HasSubstr("No space left on device"));
  EXPECT_THAT(judgement.reason, HasSubstr("says nothing about the converter"));
}

TEST_F(Bench, AFullFileSystemIsNotTheFailOfAReadyArtifactNorOfAnyOtherJudgement) {
  class Full final : public converters::Converter {
   public:
    core::Result<converters::Description> describe() override { return embedded::make_embedded().value()->describe(); }
    converters::ConvertReply convert(const converters::ConvertRequest& request) override {
      return embedded::make_embedded().value()->convert(request);
    }
    converters::ExecuteReply execute(const converters::ExecuteRequest&) override {
      converters::ExecuteReply reply;
      reply.outcome = Outcome::error;
      reply.reason = "write failed: No space left on device";
      return reply;
    }
  } full;
  const converters::Description description = full.describe().value();
  const auto mini = bench();
  Trial trial = mini->attempt(full, description, "{}");
  const fs::path artifact = trial.evidence.conversion.artifact;
  EXPECT_EQ(mini->judge(trial, 1).verdict, Verdict::harness_error) << "as reduce, bisect, fuzz and score judge";
  EXPECT_EQ(mini->explain(std::move(trial), 1).judgement.verdict, Verdict::harness_error);
  EXPECT_EQ(mini->evaluate_artifact(full, description, artifact, "{}", 1).judgement.verdict, Verdict::harness_error);
}

TEST_F(Bench, AnyOtherErrorStaysTheConvertersFail) {
  Odd converter([](const converters::ConvertRequest&, converters::ConvertReply& reply) {
    reply = {};
    reply.outcome = Outcome::error;
    reply.reason = "no kernel left";
  });
  EXPECT_EQ(judged(*bench(), converter).verdict, Verdict::fail);
}

TEST_F(Bench, ACacheAloneIsJudgedByTheDataThatItWasMadeFrom) {
  const auto alone = bench(R"(, "steps": [ { "do": "convert" },
      { "do": "convert", "cache": "previous", "calibration": { "batches": 0 } } ])");
  std::vector<bool> empty;
  Odd right([&](const converters::ConvertRequest& request, converters::ConvertReply&) {
    empty.push_back(fs::is_empty(request.calibration));
  });
  const judge::Judgement judgement = judged(*alone, right);
  EXPECT_EQ(judgement.verdict, Verdict::pass) << judgement.reason;
  EXPECT_EQ(empty, (std::vector<bool>{false, true}));
  Odd wrong([](const converters::ConvertRequest&, converters::ConvertReply& reply) {
    for (converters::TensorScale& tensor : reply.tensors) tensor.params.scale.front() *= 2;
  });
  EXPECT_EQ(judged(*alone, wrong).verdict, Verdict::fail);
}

TEST_F(Bench, AForeignCacheIsOfANetworkWithOtherNames) {
  std::vector<std::string> inputs;
  Odd converter([&](const converters::ConvertRequest& request, converters::ConvertReply&) {
    const model::Model model = model::load_model(request.model).value();
    inputs.push_back(model.graph.inputs.front().name);
    EXPECT_EQ(model::load_tensors(request.calibration / "0000", "input").value().begin()->first, inputs.back());
  });
  const auto foreign = bench(R"(, "steps": [ { "do": "convert", "cache": "foreign" } ],
      "expect": { "status": "refused", "refused": { "reason": "model" } })");
  const judge::Judgement judgement = judged(*foreign, converter);
  EXPECT_EQ(judgement.verdict, Verdict::pass) << judgement.reason;
  ASSERT_EQ(inputs.size(), 2U);
  EXPECT_EQ(inputs[1], "x");
  EXPECT_THAT(inputs[0], testing::StartsWith("foreign_"));
}

TEST_F(Bench, AMissingCacheAndAnEditedOneAreRefused) {
  Odd converter;
  const auto missing = bench(R"(, "steps": [ { "do": "convert", "cache": "missing" } ],
      "expect": { "status": "refused", "refused": { "reason": "not_there\\.cache" } })");
  EXPECT_EQ(judged(*missing, converter).verdict, Verdict::pass) << judged(*missing, converter).reason;
  for (const std::string word : {"version", "method"}) {
    const auto edited =
        bench(R"(, "steps": [ { "do": "convert" }, { "do": "convert", "cache": "previous", "edit": ")" + word +
              R"(" } ], "expect": { "status": "refused", "refused": { "reason": ")" + word + R"(" } })");
    EXPECT_EQ(judged(*edited, converter).verdict, Verdict::pass) << judged(*edited, converter).reason;
  }
}

TEST_F(Bench, AFeedOfAnotherTypeLiesInTheFilesAlone) {
  const auto other = bench(R"(, "calibration": { "types": { "x": "float64" }, "shapes": { "x": [4] },
      "extra": ["z"], "order": ["z"] })");
  Odd converter([](const converters::ConvertRequest& request, converters::ConvertReply&) {
    const auto fed = model::load_tensors(request.calibration / "0000", "input").value();
    EXPECT_EQ(fed.at("x").type(), core::DType::float64);
    EXPECT_EQ(fed.at("x").shape(), core::Shape{4});
    EXPECT_EQ(fed.at("z").shape(), (core::Shape{2, 3, 9, 7}));
    EXPECT_EQ(model::load_tensor(request.calibration / "0000" / "input_0.pb").value().name, "z");
  });
  const judge::Judgement judgement = judged(*other, converter);
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_THAT(judgement.reason, HasSubstr("input \"x\": type double where the model declares float"));
}

TEST_F(Bench, WhatATypeOfTheFeedCutsOffIsGone) {
  const auto cut = bench(R"(, "calibration": { "batches": 1, "types": { "x": "int32" } })");
  const data::Feeds feeds = cut->feeds().value();
  const core::Tensor& x = feeds.begin()->second.batches.front().at("x");
  EXPECT_EQ(x.type(), core::DType::float32);
  EXPECT_TRUE(std::ranges::all_of(x.reals(), [](double value) { return value == std::trunc(value); }));
}

TEST_F(Bench, AFallWhileAStaleCacheIsMadeIsTheVerdict) {
  int conversions = 0;
  Odd converter([&](const converters::ConvertRequest&, converters::ConvertReply& reply) {
    if (++conversions == 1) {
      reply = {};
      reply.outcome = Outcome::crash;
      reply.reason = "signal 9 (SIGKILL)";
    }
  });
  const auto stale = bench(R"(, "steps": [ { "do": "convert", "cache": "stale" } ])");
  const judge::Judgement judgement = judged(*stale, converter);
  EXPECT_EQ(judgement.verdict, Verdict::crash) << judgement.reason;
  EXPECT_THAT(judgement.reason, HasSubstr("while it made a calibration cache from other data: signal 9"));
}

TEST(Room, IsMeasuredAndMissed) {
  const core::TemporaryFolder folder = core::TemporaryFolder::create().value();
  EXPECT_TRUE(core::check_room(folder.path(), 1).ok());
  EXPECT_TRUE(fs::is_empty(folder.path())) << "nothing is left behind";
  const core::Status none = core::check_room(folder.path(), std::uintmax_t{1} << 62U);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("is full"));
  EXPECT_FALSE(core::check_room(folder.path() / "gone", 1).ok());
}

}  // namespace
}  // namespace assay::run
