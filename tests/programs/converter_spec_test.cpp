#include "harness/programs/converter_spec.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "harness/core/files.hpp"

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

/// A folder of environments, empty at first.
class ConverterRelease : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = core::TemporaryFolder::create();
    ASSERT_TRUE(folder);
    folder_.emplace(*std::move(folder));
    setenv("ASSAY_VENVS", folder_->path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe): no other thread
    default_ = find_adapter("onnxruntime").value().default_version;
    ASSERT_FALSE(default_.empty());
  }
  void TearDown() override { unsetenv("ASSAY_VENVS"); }  // NOLINT(concurrency-mt-unsafe): no other thread

  void install(const std::string& version) const {
    const std::filesystem::path place = folder_->path() / ("onnxruntime-" + version);
    std::filesystem::create_directories(place);
    ASSERT_TRUE(core::write_file(place / "packages.txt", "onnxruntime==" + version + "\n"));
  }
  static ConverterSpec taken(const std::string& text) { return parse_converter(text, {}, {}, "").value().front(); }

  std::string default_;

 private:
  std::optional<core::TemporaryFolder> folder_;
};

TEST_F(ConverterRelease, IsTheDefaultOneWhateverElseIsInstalled) {
  install("0.1");
  install(default_);
  install("99.0");
  EXPECT_EQ(taken("onnxruntime").version, default_);
  EXPECT_EQ(taken("onnxruntime:optimized").version, default_);
  EXPECT_EQ(taken("onnxruntime").note, "");
}

TEST_F(ConverterRelease, IsTheNewestInstalledWhereTheDefaultOneIsNotAndThatIsSaid) {
  install("98.0");
  install("99.0");
  EXPECT_EQ(taken("onnxruntime").version, "99.0");
  const std::string note = taken("onnxruntime").note;
  EXPECT_NE(note.find("onnxruntime 99.0 is taken, the newest that is installed; the default is " + default_),
            std::string::npos)
      << note;
}

TEST_F(ConverterRelease, ThatIsAskedForIsTakenWithoutANote) {
  install(default_);
  install("99.0");
  EXPECT_EQ(taken("onnxruntime@99.0").version, "99.0");
  EXPECT_EQ(taken("onnxruntime@99.0").note, "");
  EXPECT_NE(taken("onnxruntime@98.0").unavailable, "");
}

TEST_F(ConverterRelease, IsNoneWhereNoneIsInstalled) {
  EXPECT_EQ(taken("onnxruntime").version, "");
  EXPECT_NE(taken("onnxruntime").unavailable, "");
  EXPECT_EQ(taken("onnxruntime").note, "");
}

TEST(AnAdapter, PinsADefaultVersion) {
  for (const Adapter& adapter : list_adapters()) EXPECT_NE(adapter.default_version, "") << adapter.name;
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
