#include "converters/protocol/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "converters/protocol/client.hpp"
#include "harness/core/files.hpp"
#include "harness/core/process.hpp"
#include "harness/model/onnx_io.hpp"

// The server is tested as programs meet it: through the example adapter, which is built on it.
namespace assay::protocol {
namespace {

using converters::Outcome;
using core::Process;
using testing::HasSubstr;

Process::Clock::time_point soon() { return Process::Clock::now() + std::chrono::seconds(20); }

class Server : public testing::Test {
 protected:
  Server() {
    core::SpawnOptions options;
    options.arguments = {ASSAY_EXAMPLE_ADAPTER};
    process_ = std::make_unique<Process>(Process::spawn(options).value());
  }
  [[nodiscard]] nlohmann::json ask(const std::string& line) const {
    EXPECT_TRUE(process_->write(line + "\n", soon()));
    return nlohmann::json::parse(process_->read_line(soon()).text, nullptr, false);
  }
  [[nodiscard]] Process& process() const { return *process_; }

 private:
  std::unique_ptr<Process> process_;
};

TEST_F(Server, DescribesItself) {
  const auto answer = ask(R"({"protocol":1,"id":1,"do":"describe"})");
  EXPECT_EQ(answer["id"], 1);
  EXPECT_EQ(answer["status"], "ok");
  EXPECT_EQ(answer["name"], "passthrough");
}

TEST_F(Server, AnswersNonsenseWithAnErrorAndLivesOn) {
  EXPECT_THAT(ask("nonsense")["reason"], HasSubstr("protocol: "));
  EXPECT_EQ(ask(R"({"protocol":1,"id":9,"do":"sing"})")["id"], 9);
  EXPECT_EQ(ask(R"({"protocol":1,"id":10,"do":"convert"})")["status"], "error");
  EXPECT_EQ(ask(R"({"protocol":1,"id":11,"do":"describe"})")["status"], "ok");
}

TEST_F(Server, EndsWithQuitAndWithTheEndOfInput) {
  ASSERT_TRUE(process().write("{\"protocol\":1,\"id\":1,\"do\":\"quit\"}\n", soon()));
  auto end = process().wait(soon());
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code, 0);
  core::SpawnOptions options;
  options.arguments = {ASSAY_EXAMPLE_ADAPTER};
  auto second = Process::spawn(options).value();
  second.close_stdin();
  end = second.wait(soon());
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code, 0);
}

class ExampleAdapter : public testing::Test {
 protected:
  ExampleAdapter() : folder_(core::TemporaryFolder::create().value()) {
    for (const char* name : {"calibration", "inputs", "out", "outputs"}) {
      std::filesystem::create_directories(folder_.path() / name);
    }
    ClientOptions options;
    options.command = {ASSAY_EXAMPLE_ADAPTER};
    client_ = make_client(options);
  }
  [[nodiscard]] std::filesystem::path path(const char* name) const { return folder_.path() / name; }
  [[nodiscard]] Client& client() const { return *client_; }

 private:
  core::TemporaryFolder folder_;
  std::unique_ptr<Client> client_;
};

TEST_F(ExampleAdapter, HandsTheFloatModelBackAndSaysSo) {
  const auto model = model::parse_graph_text("agraph (float[2,3] x) => (float[2,3] y) { y = Relu (x) }", {{"", 13}});
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_TRUE(model::save_model(*model, path("model.onnx")).ok());
  const auto reply = client().convert({path("model.onnx"), path("calibration"), {}, path("out")});
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.reason;
  ASSERT_EQ(reply.precision.size(), 1U);
  EXPECT_EQ(reply.precision[0].node, "y");
  EXPECT_EQ(reply.precision[0].got, "fp32");
  EXPECT_TRUE(reply.tensors.empty());

  const core::Tensor x(core::DType::float32, {2, 3}, std::vector<double>{-2, -1, 0, 1, 2, 3});
  ASSERT_TRUE(model::save_tensors({{"x", x}}, path("inputs"), "input").ok());
  const auto executed = client().execute({reply.artifact, path("inputs"), path("outputs")});
  ASSERT_EQ(executed.outcome, Outcome::ok) << executed.reason;
  const auto outputs = model::load_tensors(path("outputs"), "output");
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT(outputs->at("y").reals(), testing::ElementsAre(0, 0, 0, 1, 2, 3));
}

TEST_F(ExampleAdapter, SaysWhatIsWrongWithAModel) {
  ASSERT_TRUE(core::write_file(path("model.onnx"), "no model").ok());
  const auto reply = client().convert({path("model.onnx"), path("calibration"), {}, path("out")});
  EXPECT_EQ(reply.outcome, Outcome::error);
  EXPECT_FALSE(reply.reason.empty());
}

}  // namespace
}  // namespace assay::protocol
