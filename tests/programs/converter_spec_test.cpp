#include "harness/programs/converter_spec.hpp"

#include <gtest/gtest.h>

namespace assay::programs {
namespace {

TEST(ConverterSpec, OfACommandIsNeverTheEmbeddedOneWhateverTheProgramIsCalled) {
  const ConverterSpec own = parse_converter("embedded", "/bin/assay", {}, "").value().front();
  EXPECT_TRUE(own.is_embedded());
  const ConverterSpec foreign = parse_converter_command("/elsewhere/embedded worker").value();
  EXPECT_EQ(foreign.name, "embedded");
  EXPECT_FALSE(foreign.is_embedded());
}

TEST(ConverterSpec, OfAVariantRunsTheSameCommandWithItsName) {
  const ConverterSpec plain = parse_converter("onnxruntime@0.0", {}, {}, "").value().front();
  const ConverterSpec variant = parse_converter("onnxruntime:optimized@0.0", {}, {}, "").value().front();
  EXPECT_EQ(variant.name, "onnxruntime:optimized");
  EXPECT_EQ(variant.version, "0.0");
  EXPECT_EQ(variant.unavailable, plain.unavailable) << "one environment, installed by the converter's name";
  const auto unknown = parse_converter("onnxruntime:optimised", {}, {}, "");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("onnxruntime has no variant \"optimised\"; there are: onnxruntime:"),
            std::string::npos)
      << unknown.error().message;
}

TEST(FloatForm, NamesTheNodesAsTheConverterTakesThem) {
  EXPECT_EQ(written_as({"nodes_to_exclude=[NODES]"}, {"a", "b/c"}), R"(nodes_to_exclude=["a", "b/c"])");
  EXPECT_EQ(written_as({"--layer-precisions NODES", "NODE:float32", " "}, {"a", "b"}),
            "--layer-precisions a:float32 b:float32");
  EXPECT_EQ(written_as({}, {"a"}), "");
}

TEST(FloatForm, IsReadFromTheAdaptersFolder) {
  const auto found = find_adapter("onnxruntime");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(written_as(found->in_float, {"conv"}), R"(nodes_to_exclude=["conv"])");
}

}  // namespace
}  // namespace assay::programs
