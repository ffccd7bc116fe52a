#include "converters/embedded/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "converters/embedded/engine/engine.hpp"
#include "harness/core/files.hpp"
#include "harness/model/onnx_io.hpp"
#include "tests/embedded/small_models.hpp"

namespace assay::embedded {
namespace {

/// A conversion before its passes, and what its artifact is run on.
struct Scenario {
  std::string name;
  State state;
  core::TensorMap inputs;
};

Scenario scenario(const std::string& name, const model::Model& model, const std::vector<core::TensorMap>& feed) {
  Scenario made{name, state_of(model, feed), {}};
  made.inputs = make_feed(model, 1, -4, 6)[0];
  return made;
}

Scenario network() {
  const auto model = make_model(R"(agraph (float[N,4,7,6] x) => (float[N,5,A,B] y, float[N,8,7,6] s) {
      c = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (x, w, b)
      n = BatchNormalization (c, g, be, mu, va)
      r = Relu (n)
      d = Conv <kernel_shape=[1,1]> (r, w2, b)
      e = Conv <kernel_shape=[3,3], pads=[1,1,1,1], group=8> (r, w3, b)
      s = Add (d, e)
      k = Concat <axis=1> (d, x)
      p = AveragePool <kernel_shape=[3,3], pads=[1,1,1,1]> (k)
      y = ConvTranspose <strides=[2,2], output_padding=[1,1]> (p, w4)
    })",
                                {{"w", drawn_spread({8, 4, 3, 3}, 0, 1)},
                                 {"b", drawn({8}, 2, 3)},
                                 {"g", floats({8}, {1, -2, 0.5, 1.5, 1, 2, 0.7, 1})},
                                 {"be", drawn({8}, 3)},
                                 {"mu", drawn({8}, 4)},
                                 {"va", floats({8}, {1, 2, 0.5, 3, 1, 1, 4, 1})},
                                 {"w2", drawn_spread({8, 8, 1, 1}, 0, 5)},
                                 {"w3", drawn_spread({8, 1, 3, 3}, 0, 6)},
                                 {"w4", drawn_spread({12, 5, 2, 2}, 1, 7)}});
  return scenario("network", model, make_feed(model, 3));
}

/// Everything that anybody could see of a conversion and of running its artifact.
std::string observed(Scenario made, const std::vector<std::string>& faults, const std::string& variant = "") {
  const auto machine = build_machine(faults, variant);
  EXPECT_TRUE(machine);
  const auto folder = core::TemporaryFolder::create();
  EXPECT_TRUE(folder);
  made.state.output = folder->path();
  std::string seen;
  const auto done = run_passes(machine->passes, made.state);
  for (const auto& entry : std::filesystem::directory_iterator(folder->path())) {
    if (!done) seen += "left " + entry.path().filename().string() + "\n";
  }
  if (!done) return seen + done.error().message + " @" + done.error().node;
  for (const auto& node : made.state.precision) seen += node.node + " " + node.got + "\n";
  seen += model::serialize_model(made.state.artifact);
  const auto outputs = engine::run_quantized(made.state.artifact, made.inputs, machine->policy);
  if (!outputs) return seen + outputs.error().message;
  for (const auto& [name, tensor] : *outputs) {
    seen += name + core::shape_text(tensor.shape());
    for (std::int64_t i = 0; i < tensor.size(); ++i) seen += std::to_string(tensor.as_real(i)) + " ";
  }
  return seen;
}

TEST(Faults, NamesAreUniqueAndDocumented) {
  std::set<std::string_view> names;
  const std::set<std::string_view> stages{"load",   "float", "simplify", "plan",  "calibrate", "assign",
                                          "encode", "emit",  "report",   "cache", "engine"};
  for (const auto& fault : fault_table()) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_TRUE(stages.contains(fault.stage)) << fault.name;
    EXPECT_TRUE(fault.url.starts_with("https://github.com/")) << fault.name;
    EXPECT_FALSE(fault.title.empty()) << fault.name;
  }
  EXPECT_GE(names.size(), 80U);
}

TEST(Faults, MayBeCombined) {
  const auto one = observed(network(), {"bias_dropped"});
  const auto two = observed(network(), {"bias_dropped", "scale_doubled"});
  EXPECT_NE(one, two);
  EXPECT_NE(two, observed(network(), {"scale_doubled"}));
}

TEST(Faults, AreConfinedToANode) {
  const auto one = observed(network(), {"per_axis_rolled@d"});
  EXPECT_NE(one, observed(network(), {}));
  EXPECT_NE(one, observed(network(), {"per_axis_rolled"}));
  EXPECT_NE(one, observed(network(), {"per_axis_rolled@e"}));
  EXPECT_EQ(observed(network(), {"per_axis_rolled@nobody"}), observed(network(), {}));
  for (const char* fault : {"pads_swapped@c", "rounds_down@c", "error_without_node@c"}) {
    const auto machine = build_machine({fault}, "");
    ASSERT_FALSE(machine) << fault;
    EXPECT_THAT(machine.error().message, testing::HasSubstr("can't be confined to node \"c\"")) << fault;
  }
}

TEST(Faults, SayWhichPassesAreTheirs) {
  const auto theirs = [](const std::string& fault) {
    const auto machine = build_machine({fault}, "");
    return machine ? std::ranges::count_if(machine->passes,
                                           [](const Pass& pass) { return pass.origin != Pass::Origin::standard; })
                   : -1;
  };
  EXPECT_EQ(theirs("per_axis_rolled"), 1);
  EXPECT_EQ(theirs("pads_swapped"), 0);
  EXPECT_EQ(theirs("error_without_node"), std::ssize(standard_passes()));  // wraps every pass
  EXPECT_TRUE(changes_execution("pads_swapped"));
  EXPECT_FALSE(changes_execution("per_axis_rolled"));
}

TEST(Faults, GiveTheSameArtifactWithAndWithoutSharedWork) {
  const auto folder = core::TemporaryFolder::create();
  ASSERT_TRUE(folder);
  const auto made = network();
  const auto model = folder->path() / "original.onnx";
  ASSERT_TRUE(model::save_model(made.state.original, model));
  for (std::size_t i = 0; i < made.state.feed.size(); ++i) {
    const auto batch = folder->path() / "calibration" / std::to_string(i);
    std::filesystem::create_directories(batch);
    ASSERT_TRUE(model::save_tensors(made.state.feed[i], batch, "input"));
  }
  const auto shared = make_shared_work();
  for (const std::string name : {"", "scale_doubled", "first_batch_only", "per_axis_rolled", "float_stage_skipped"}) {
    const std::vector<std::string> faults = name.empty() ? std::vector<std::string>{} : std::vector{name};
    std::vector<std::string> artifacts;
    for (const auto& work : {shared, std::shared_ptr<SharedWork>()}) {
      const auto output = folder->path() / (name + (work ? "_shared" : "_alone"));
      std::filesystem::create_directories(output);
      const auto converter = make_embedded(faults, "", work);
      ASSERT_TRUE(converter);
      const auto reply = (*converter)->convert({model, folder->path() / "calibration", {}, output});
      ASSERT_EQ(reply.outcome, converters::Outcome::ok) << name << reply.reason;
      artifacts.push_back(*core::read_file(reply.artifact));
    }
    EXPECT_EQ(artifacts[0], artifacts[1]) << name;
  }
}

TEST(Variants, ConvertAlikeAndStayWithinAStepOfEachOther) {
  const auto made = network();
  auto state = made.state;
  ASSERT_TRUE(run_passes(standard_passes(), state));
  const auto usual = run_artifact(state.artifact, made.inputs);
  ASSERT_TRUE(usual);
  for (const auto& variant : variant_table()) {
    const auto machine = build_machine({}, std::string(variant.name));
    ASSERT_TRUE(machine) << variant.name;
    EXPECT_NE(machine->policy == engine::ArithmeticPolicy{}, variant.options_json == "{}") << variant.name;
    const auto outputs = run_artifact(state.artifact, made.inputs, std::string(variant.name));
    ASSERT_TRUE(outputs) << variant.name;
    EXPECT_GT(sqnr_db(*usual, *outputs), 35) << variant.name;
  }
}

}  // namespace
}  // namespace assay::embedded
