// What converters are given stays as it is, or the one that changed it is named.
#include "harness/programs/given_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "harness/core/files.hpp"

namespace assay::programs {
namespace {

namespace fs = std::filesystem;
using converters::Outcome;
using testing::HasSubstr;

/// Does something to the files that it is given, and answers ok.
class Doing final : public converters::Converter {
 public:
  using Deed = std::function<void(const fs::path& given)>;
  explicit Doing(Deed deed, bool ours = false) : deed_(std::move(deed)), ours_(ours) {}
  core::Result<converters::Description> describe() override { return converters::Description(); }
  converters::ConvertReply convert(const converters::ConvertRequest& request) override {
    deed_(request.model.parent_path());
    converters::ConvertReply reply;
    reply.outcome = Outcome::ok;
    return reply;
  }
  converters::ExecuteReply execute(const converters::ExecuteRequest& request) override {
    deed_(request.inputs);
    converters::ExecuteReply reply;
    reply.outcome = Outcome::ok;
    return reply;
  }
  [[nodiscard]] bool hands_over() const override { return ours_; }

 private:
  Deed deed_;
  bool ours_;
};

class Given : public testing::Test {
 protected:
  Given() : folder_(core::TemporaryFolder::create().value()) {
    fs::create_directories(path("calibration/0000"));
    write("model.onnx", "model");
    write("calibration/0000/input_0.pb", "first");
    write("calibration/0000/input_1.pb", "second");
  }
  [[nodiscard]] fs::path path(const std::string& name) const { return folder_.path() / name; }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(core::write_file(path(name), text).ok());
  }
  converters::ConvertReply convert(const Doing::Deed& deed) {
    Doing converter(deed);
    return given_.convert(converter, {path("model.onnx"), path("calibration"), {}, path("out")});
  }

  core::TemporaryFolder folder_;
  GivenFiles given_;
};

TEST_F(Given, LeavesWhoOnlyReadsAlone) {
  const auto reply = convert([](const fs::path& folder) { (void)core::read_file(folder / "model.onnx"); });
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.reason;
  EXPECT_FALSE(given_.spoiled());
}

TEST_F(Given, NamesEveryKindOfChange) {
  const std::vector<std::pair<Doing::Deed, std::string>> deeds{
      {[](const fs::path& at) { (void)core::write_file(at / "model.onnx", "modem"); }, "\"model.onnx\" has changed"},
      {[](const fs::path& at) { fs::remove(at / "model.onnx"); }, "\"model.onnx\" has changed"},
      {[](const fs::path& at) { (void)core::write_file(at / "calibration/0000/input_1.pb", ""); },
       "\"calibration/0000/input_1.pb\" has changed"},
      {[](const fs::path& at) { fs::remove(at / "calibration/0000/input_0.pb"); },
       "\"calibration/0000/input_0.pb\" is gone"},
      {[](const fs::path& at) { (void)core::write_file(at / "calibration/0000/cache", ""); },
       "\"calibration/0000/cache\" is new"},
      {[](const fs::path& at) { fs::create_directory(at / "calibration/0001"); }, "\"calibration/0001\" is new"},
      {[](const fs::path& at) {
         fs::rename(at / "calibration/0000/input_0.pb", at / "moved");
         fs::create_symlink(at / "moved", at / "calibration/0000/input_0.pb");
       },
       "\"calibration/0000/input_0.pb\" has changed"},
  };
  for (const auto& [deed, words] : deeds) {
    write("model.onnx", "model");
    write("calibration/0000/input_0.pb", "first");
    const auto reply = convert(deed);
    EXPECT_EQ(reply.outcome, Outcome::crash) << words;
    EXPECT_THAT(reply.reason, HasSubstr("protocol: it wrote into the"));
    EXPECT_THAT(reply.reason, HasSubstr(words));
    EXPECT_TRUE(given_.spoiled());
    given_.forget();
  }
}

TEST_F(Given, IsNotDeceivedByAFilesTime) {
  const auto reply = convert([](const fs::path& at) {
    const fs::path file = at / "model.onnx";
    const auto before = fs::last_write_time(file);
    std::FILE* out = std::fopen(file.c_str(), "r+");
    std::fputs("modem", out);
    std::fclose(out);
    fs::last_write_time(file, before);
  });
  EXPECT_EQ(reply.outcome, Outcome::crash);
}

TEST_F(Given, SaysWhatWasAnsweredMeanwhile) {
  EXPECT_THAT(convert([](const fs::path& at) { fs::remove(at / "model.onnx"); }).reason, HasSubstr("it answered ok"));
}

TEST_F(Given, LooksAfterInputsToo) {
  Doing converter([](const fs::path& at) { (void)core::write_file(at / "input_0.pb", "other"); });
  const auto reply = given_.execute(converter, {path("artifact"), path("calibration/0000"), path("out")});
  EXPECT_EQ(reply.outcome, Outcome::crash);
  EXPECT_THAT(reply.reason, HasSubstr("it wrote into the inputs that it was given: \"0000/input_0.pb\""));
}

}  // namespace
}  // namespace assay::programs
