#include "converters/embedded/pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/files.hpp"
#include "harness/model/onnx_io.hpp"
#include "tests/embedded/small_models.hpp"

namespace assay::embedded {
namespace {

model::Model small_network() {
  return make_model(R"(agraph (float[2,3,8,7] x) => (float[2,5] y) {
      c = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (x, w, b)
      r = Relu (c)
      m = MaxPool <kernel_shape=[2,2], strides=[2,2]> (r)
      d = Conv <kernel_shape=[1,1]> (m, w2)
      a = Add (d, m)
      f = Flatten (a)
      y = Gemm <transB=1> (f, w3, b3)
    })",
                    {{"w", drawn_spread({6, 3, 3, 3}, 0, 1)},
                     {"b", drawn({6}, 2)},
                     {"w2", drawn_spread({6, 6, 1, 1}, 0, 3)},
                     {"w3", drawn_spread({5, 72}, 0, 4)},
                     {"b3", drawn({5}, 5)}});
}

TEST(Pipeline, ASmallNetworkRunsOnIntegersFromEndToEnd) {
  const auto model = small_network();
  const auto feed = make_feed(model);
  const auto conversion = converted(model, feed);
  for (const auto* node : {"c", "r", "m", "d", "a", "f", "y"}) EXPECT_EQ(got(conversion, node), "int8") << node;
  EXPECT_GT(sqnr_of(model, conversion.artifact, feed[0]), 25);
}

TEST(Pipeline, TheArtifactIsAValidModelWithTheOriginalsNames) {
  const auto model = small_network();
  const auto conversion = converted(model, make_feed(model));
  const auto folder = core::TemporaryFolder::create();
  ASSERT_TRUE(folder);
  const auto path = folder->path() / "model.onnx";
  ASSERT_TRUE(model::save_model(conversion.artifact, path));
  const auto loaded = model::load_model(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->graph.outputs.front().name, "y");
  EXPECT_EQ(loaded->graph.inputs.front().name, "x");
}

TEST(Pipeline, PoolsAndReshapesCarryTheirInputsParameters) {
  const auto model = small_network();
  const auto conversion = converted(model, make_feed(model));
  ASSERT_NE(params_of(conversion, "r"), nullptr);
  EXPECT_EQ(*params_of(conversion, "m"), *params_of(conversion, "r"));
  EXPECT_EQ(*params_of(conversion, "f"), *params_of(conversion, "a"));
  EXPECT_EQ(params_of(conversion, "c"), nullptr) << "between Conv and Relu nothing is quantized";
}

TEST(Pipeline, TheSameConversionGivesTheSameBytes) {
  const auto model = small_network();
  const auto feed = make_feed(model);
  EXPECT_EQ(model::serialize_model(converted(model, feed).artifact),
            model::serialize_model(converted(model, feed).artifact));
}

}  // namespace
}  // namespace assay::embedded
