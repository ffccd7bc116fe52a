// `assay import`.
#include <gmock/gmock.h>

#include "harness/model/onnx_io.hpp"
#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;

class Import : public HomeTest {
 protected:
  void SetUp() override {
    HomeTest::SetUp();
    ASSERT_EQ(run({"bundle", "mini/stride=1", "kept"}).code, 0);
    ASSERT_TRUE(core::make_folder(path("net/test_data_set_0")));
    std::filesystem::copy(path("kept/model.onnx"), path("net/model.onnx"));
    std::filesystem::copy(path("kept/inputs/typical/input_0.pb"), path("net/test_data_set_0/input_0.pb"));
    ASSERT_EQ(
        run({"exec", "net/model.onnx", "--inputs", "net/test_data_set_0", "--output", "net/test_data_set_0"}).code, 0);
  }
  [[nodiscard]] bool holds(const std::string& name) const { return std::filesystem::exists(path(name)); }
};

TEST_F(Import, TakesAnOnnxTestFolder) {
  const Call call = run({"import", "net"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_TRUE(holds("cases/imported/net/test_data_set_0/input_0.pb"));
  const Call judged = run({"run", "cases/imported/*", "--json"});
  EXPECT_EQ(judged.code, 0) << judged.out << judged.err;
  EXPECT_EQ(judged.json()["planned"], 1);
  EXPECT_EQ(judged.json()["results"][0]["case"], "net");
}

TEST_F(Import, TakesAFolderOfSuchFolders) {
  ASSERT_TRUE(core::make_folder(path("many")));
  std::filesystem::copy(path("net"), path("many/one"), std::filesystem::copy_options::recursive);
  std::filesystem::copy(path("net"), path("many/two"), std::filesystem::copy_options::recursive);
  ASSERT_EQ(run({"import", "many"}).code, 0);
  EXPECT_EQ(run({"run", "cases/imported/*", "--json"}).json()["planned"], 2);
}

TEST_F(Import, TakesAQdqExportWithItsOriginal) {
  const Call call = run({"import", "kept/artifact/model.onnx", "--float", "kept/model.onnx", "--name", "exported"});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("exported.float.onnx --artifact"));
  EXPECT_TRUE(holds("cases/imported/exported.float.onnx"));
  const Call judged = run({"run", "cases/imported/*"});
  EXPECT_EQ(judged.code, 0) << judged.out << judged.err;
  EXPECT_EQ(run({"import", "kept/model.onnx", "--float", "kept/model.onnx", "--name", "plain"}).code, 2);
}

TEST_F(Import, TakesWhatPolygraphySaved) {
  // polygraphy run two.onnx --onnxrt --data-loader-script … --save-inputs inputs.json, Polygraphy 0.49.9
  const std::filesystem::path saved = source_tree() / "tests/data/polygraphy";
  const Call call = run({"import", (saved / "two.onnx").string(), "--load-inputs", (saved / "inputs.json").string()});
  ASSERT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_TRUE(holds("cases/imported/two/test_data_set_1/input_1.pb"));
  EXPECT_EQ(run({"run", "cases/imported/*"}).code, 0);
}

TEST_F(Import, LeavesNothingBehindWhereSomethingIsWrong) {
  EXPECT_EQ(run({"import", "absent"}).code, 2);
  EXPECT_EQ(run({"import", "suites"}).code, 2);
  const auto outputs = model::load_tensors(path("net/test_data_set_0"), "output");
  ASSERT_TRUE(outputs);
  core::TensorMap wrong = *outputs;
  wrong.at("y").reals()[0] += 1;
  ASSERT_TRUE(model::save_tensors(wrong, path("net/test_data_set_0"), "output"));
  const Call call = run({"import", "net"});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, HasSubstr("the stored outputs are not those of the model"));
  write("inputs.json", R"([{"other": {"array": "AAAA"}}])");
  EXPECT_EQ(run({"import", "net/model.onnx", "--load-inputs", "inputs.json"}).code, 2);
  EXPECT_FALSE(holds("cases/imported"));
}

TEST_F(Import, RefusesANameThatTheCorpusHas) {
  ASSERT_EQ(run({"import", "net"}).code, 0);
  const Call again = run({"import", "net"});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("there is a case \"net\" already"));
}

}  // namespace
}  // namespace assay::test
