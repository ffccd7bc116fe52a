// Layer L3: every relation holds for the float network, and a converter that breaks it is found out.
#include "harness/metamorphic/metamorphic.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "harness/core/files.hpp"
#include "harness/core/rng.hpp"
#include "harness/metamorphic/twins.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"

namespace assay::metamorphic {
namespace {

using core::Tensor;
using core::TensorMap;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Tensor drawn(const core::Shape& shape, std::uint64_t seed) {
  core::Rng rng(seed);
  std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
  for (double& value : values) {
    value = core::round_to_type(rng.uniform(-1, 2), core::DType::float32);
  }
  return {core::DType::float32, shape, std::move(values)};
}

model::Model parse(const std::string& text, const std::map<std::string, core::Shape>& constants) {
  model::Model model = *model::parse_graph_text(text, {{"", 13}});
  std::uint64_t seed = 100;
  for (const auto& [name, shape] : constants) {
    model.graph.initializers[name] = std::make_shared<const Tensor>(drawn(shape, seed++));
  }
  EXPECT_TRUE(model::normalize(model.graph));
  return model;
}

/// Two branches of a Conv each, joined: more than one order of nodes, two inputs, a batch of three.
model::Model two_branches() {
  return parse(
      "agraph (float[3,2,5,4] a, float[3,2,5,4] b) => (float[3,6,5,4] y) {"
      "  c = Conv <kernel_shape=[1,1]> (a, w, v)  d = Conv <kernel_shape=[1,1]> (b, w, v)"
      "  e = Relu (c)  y = Concat <axis=1> (e, d) }",
      {{"w", {3, 2, 1, 1}}, {"v", {3}}});
}

/// A Conv 1x1 with an activation, which is also a Gemm.
model::Model one_layer() {
  return parse(
      "agraph (float[3,2,5,4] a) => (float[3,4,5,4] y) {"
      "  c = Conv <kernel_shape=[1,1]> (a, w, v)  y = Relu (c) }",
      {{"w", {4, 2, 1, 1}}, {"v", {4}}});
}

/// Converts to the model itself and runs it in float64; `defect` is what it gets wrong.
class FloatConverter : public converters::Converter {
 public:
  using Defect = std::function<void(const model::Model& model, const TensorMap& inputs, TensorMap& outputs)>;
  explicit FloatConverter(Defect defect, converters::Outcome conversions = converters::Outcome::ok)
      : defect_(std::move(defect)), conversions_(conversions) {}

  core::Result<converters::Description> describe() override {
    converters::Description description;
    description.policy.arithmetic = converters::EngineArithmetic::integer;
    return description;
  }
  converters::ConvertReply convert(const converters::ConvertRequest& request) override {
    converters::ConvertReply reply;
    reply.outcome = conversions_;
    reply.reason = conversions_ == converters::Outcome::ok ? "" : "signal 9 (SIGKILL)";
    reply.artifact = request.model;
    return reply;
  }
  converters::ExecuteReply execute(const converters::ExecuteRequest& request) override {
    const model::Model model = *model::load_model(request.artifact);
    const TensorMap inputs = *model::load_tensors(request.inputs, "input");
    TensorMap outputs = *reference::execute(model, inputs);
    if (defect_) {
      defect_(model, inputs, outputs);
    }
    EXPECT_TRUE(model::save_tensors(outputs, request.output, "output"));
    converters::ExecuteReply reply;
    reply.outcome = converters::Outcome::ok;
    return reply;
  }

 private:
  Defect defect_;
  converters::Outcome conversions_;
};

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Relation& relation : relations()) {
    names.emplace_back(relation.name);
  }
  return names;
}

RelationReport report(const model::Model& model, const FloatConverter::Defect& defect = nullptr,
                      const std::vector<std::string>& names = all_names(),
                      converters::Outcome conversions = converters::Outcome::ok) {
  FloatConverter converter(defect, conversions);
  programs::GivenFiles given;
  std::vector<TensorMap> batches(2);
  for (std::size_t index = 0; index < batches.size(); ++index) {
    std::uint64_t seed = index;
    for (const model::ValueInfo& info : model.graph.inputs) {
      batches[index].emplace(info.name, drawn({3, 2, 5, 4}, seed += 10));
    }
  }
  const core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
  judge::Evidence evidence;
  evidence.model = &model;
  evidence.calibration = &batches;
  evidence.converter = *converter.describe();
  judge::Execution execution;
  execution.data_set = "typical";
  execution.inputs = batches.front();
  // What the converter gives for the model itself, through the same files.
  EXPECT_TRUE(model::save_model(model, folder->path() / "original.onnx"));
  for (const char* name : {"in", "out"}) {
    EXPECT_TRUE(core::make_folder(folder->path() / name));
  }
  EXPECT_TRUE(model::save_tensors(execution.inputs, folder->path() / "in", "input"));
  EXPECT_EQ(
      converter.execute({folder->path() / "original.onnx", folder->path() / "in", folder->path() / "out"}).outcome,
      converters::Outcome::ok);
  execution.outputs = *model::load_tensors(folder->path() / "out", "output");
  execution.reply.outcome = converters::Outcome::ok;
  evidence.executions.push_back(std::move(execution));
  core::Result<RelationReport> result = Twins(folder->path()).check(converter, given, evidence, names);
  EXPECT_TRUE(result);
  return *result;
}

std::string broken(const RelationReport& report) {
  return report.findings.empty() ? "" : report.findings.front().message;
}

TEST(Metamorphic, AConverterThatFallsOnATwinHasBrokenNoRelation) {
  using converters::Outcome;
  for (const auto& [outcome, verdict] : {std::pair(Outcome::crash, judge::Verdict::crash),
                                         {Outcome::timeout, judge::Verdict::timeout},
                                         {Outcome::oom, judge::Verdict::oom}}) {
    const RelationReport fell = report(two_branches(), nullptr, {"twice", "rename"}, outcome);
    EXPECT_THAT(fell.findings, IsEmpty());
    EXPECT_THAT(fell.broken, IsEmpty());
    ASSERT_TRUE(fell.fallen.has_value());
    EXPECT_EQ(fell.fallen->verdict, verdict);
    EXPECT_EQ(fell.fallen->stage, judge::Stage::convert);
    EXPECT_THAT(fell.fallen->reason, HasSubstr("metamorphic relation \"twice\": the model's twin ended with"));
    EXPECT_THAT(fell.fallen->reason, HasSubstr("signal 9 (SIGKILL)"));
  }
  const RelationReport refused = report(two_branches(), nullptr, {"twice"}, Outcome::refused);
  EXPECT_FALSE(refused.fallen.has_value());
  EXPECT_THAT(refused.broken, ElementsAre("twice")) << "an answer is an answer";
}

TEST(Metamorphic, AllRelationsHoldForTheFloatNetwork) {
  const RelationReport branches = report(two_branches());
  EXPECT_THAT(branches.findings, IsEmpty());
  EXPECT_THAT(branches.held, ElementsAre("twice", "inputs", "nodes", "names", "identity", "batch", "scale"));
  const RelationReport layer = report(one_layer());
  EXPECT_THAT(layer.findings, IsEmpty());
  EXPECT_THAT(layer.held, ElementsAre("twice", "names", "identity", "batch", "scale", "channels", "gemm"));
}

TEST(Metamorphic, ScaleSaysNothingAboutANetworkThatIsNotHomogeneous) {
  const model::Model model =
      parse("agraph (float[3,2,5,4] a) => (float[3,2,5,4] y) { c = Relu (a)  y = Sigmoid (c) }", {});
  const RelationReport result = report(model, nullptr, {"scale"});
  EXPECT_THAT(result.held, IsEmpty());
  EXPECT_THAT(result.not_applicable, ElementsAre(HasSubstr("float network itself")));
}

TEST(Metamorphic, ScaleSaysNothingWhereFloat32Underflows) {
  model::Model model = one_layer();
  Tensor tiny = *model.graph.initializers["w"];
  for (double& value : tiny.reals()) {
    value *= 0x1p-120;
  }
  model.graph.initializers["w"] = std::make_shared<const Tensor>(tiny);
  EXPECT_THAT(report(model, nullptr, {"scale"}).not_applicable, ElementsAre(HasSubstr("does not scale exactly")));
}

TEST(Metamorphic, FindsWhatChangesFromConversionToConversion) {
  int calls = 0;
  const auto defect = [&](const model::Model&, const TensorMap&, TensorMap& outputs) {
    outputs["y"].reals()[7] += ++calls;
  };
  EXPECT_THAT(broken(report(two_branches(), defect, {"twice"})),
              HasSubstr("1 of 360 elements differ, first element 7"));
}

TEST(Metamorphic, FindsInputsBoundByPosition) {
  const auto defect = [](const model::Model& model, const TensorMap&, TensorMap& outputs) {
    outputs["y"].reals()[0] += model.graph.inputs.front().name == "a" ? 1 : 2;
  };
  EXPECT_THAT(broken(report(two_branches(), defect, {"inputs"})), HasSubstr("bound by their position"));
}

TEST(Metamorphic, FindsDependenceOnTheOrderOfNodes) {
  const auto defect = [](const model::Model& model, const TensorMap&, TensorMap& outputs) {
    outputs["y"].reals()[0] += model.graph.nodes.front().name == "c" ? 1 : 2;
  };
  EXPECT_THAT(broken(report(two_branches(), defect, {"nodes"})), HasSubstr("order in which"));
}

TEST(Metamorphic, FindsDependenceOnNames) {
  const auto defect = [](const model::Model& model, const TensorMap&, TensorMap& outputs) {
    outputs.begin()->second.reals()[0] += model.graph.nodes.front().name == "c" ? 1 : 2;
  };
  EXPECT_THAT(broken(report(two_branches(), defect, {"names"})), HasSubstr("are called"));
}

TEST(Metamorphic, FindsAnIdentityThatChangesTheResult) {
  const auto defect = [](const model::Model& model, const TensorMap&, TensorMap& outputs) {
    outputs["y"].reals()[0] += static_cast<double>(model.graph.nodes.size());
  };
  EXPECT_THAT(broken(report(two_branches(), defect, {"identity"})), HasSubstr("Identity"));
}

TEST(Metamorphic, FindsImagesThatDependOnTheirBatch) {
  const auto defect = [](const model::Model&, const TensorMap& inputs, TensorMap& outputs) {
    outputs["y"].reals()[0] += static_cast<double>(inputs.begin()->second.shape()[0]);
  };
  EXPECT_THAT(broken(report(one_layer(), defect, {"batch"})), HasSubstr("others of its batch"));
}

TEST(Metamorphic, FindsOutputsThatDoNotScale) {
  const auto defect = [](const model::Model&, const TensorMap&, TensorMap& outputs) { outputs["y"].reals()[0] += 1; };
  EXPECT_THAT(broken(report(one_layer(), defect, {"scale"})), HasSubstr("power of two"));
}

TEST(Metamorphic, FindsChannelsThatDoNotKeepTheirParameters) {
  const auto defect = [](const model::Model&, const TensorMap&, TensorMap& outputs) {
    outputs["y"].reals()[0] += 1;  // of the first channel, whichever that is
  };
  EXPECT_THAT(broken(report(one_layer(), defect, {"channels"})), HasSubstr("keep their own"));
}

TEST(Metamorphic, FindsAGemmThatIsNotItsConv) {
  const auto defect = [](const model::Model& model, const TensorMap&, TensorMap& outputs) {
    outputs["y"].reals()[0] += model.graph.nodes.front().op_type == "Gemm" ? 1 : 0;
  };
  EXPECT_THAT(broken(report(one_layer(), defect, {"gemm"})), HasSubstr("Gemm"));
}

TEST(Metamorphic, AnUnknownRelationIsAnError) {
  FloatConverter converter(nullptr);
  const judge::Evidence evidence;
  programs::GivenFiles given;
  const core::Result<RelationReport> result = Twins(".").check(converter, given, evidence, {"mirror"});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("mirror"));
}

}  // namespace
}  // namespace assay::metamorphic
