#include "converters/veiled.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::converters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Told final : public Converter {
 public:
  core::Result<Description> describe() override {
    Description description;
    description.name = "told";
    description.supports.reports = {"tensors", "precision", "cache"};
    return description;
  }
  ConvertReply convert(const ConvertRequest&) override {
    ConvertReply reply;
    reply.outcome = Outcome::ok;
    reply.artifact = "out/model.onnx";
    reply.tensors = {{"x", {}}};
    reply.precision = {{"c", "Conv", "int8"}};
    return reply;
  }
  ExecuteReply execute(const ExecuteRequest&) override { return {Outcome::ok, {}, {}, {}, {}}; }
};

TEST(Veiled, ScalesHidesTheArtifactAlone) {
  const auto converter = make_veiled(std::make_unique<Told>(), ArtifactKind::scales);
  const Description description = *converter->describe();
  EXPECT_EQ(description.name, "told:scales");
  EXPECT_EQ(description.supports.artifact, ArtifactKind::scales);
  EXPECT_THAT(description.supports.reports, ElementsAre("tensors", "precision", "cache"));
  EXPECT_THAT(converter->convert({}).tensors, SizeIs(1));
}

TEST(Veiled, OpaqueHidesParametersAndPrecisionToo) {
  const auto converter = make_veiled(std::make_unique<Told>(), ArtifactKind::opaque);
  EXPECT_EQ(converter->describe()->supports.artifact, ArtifactKind::opaque);
  EXPECT_THAT(converter->describe()->supports.reports, ElementsAre("cache"));
  const ConvertReply reply = converter->convert({});
  EXPECT_THAT(reply.tensors, IsEmpty());
  EXPECT_THAT(reply.precision, IsEmpty());
  EXPECT_FALSE(reply.artifact.empty()) << "the executor needs it";
}

TEST(Veiled, QdqHidesNothing) {
  EXPECT_EQ(make_veiled(std::make_unique<Told>(), ArtifactKind::qdq)->describe()->name, "told");
}

TEST(Veiled, AnUnknownKindIsNamedWithTheChoices) {
  EXPECT_EQ(*artifact_kind("opaque"), ArtifactKind::opaque);
  EXPECT_THAT(artifact_kind("open").error().message, HasSubstr("\"open\"; there are: qdq, scales, opaque"));
}

}  // namespace
}  // namespace assay::converters
