#include "harness/model/onnx_io.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <fstream>

#include "harness/core/files.hpp"

namespace assay::model {
namespace {

using testing::HasSubstr;

/// A small valid model: y = x + w.
onnx::ModelProto small_model() {
  onnx::ModelProto proto;
  proto.set_ir_version(8);
  proto.add_opset_import()->set_version(13);
  onnx::GraphProto& graph = *proto.mutable_graph();
  graph.set_name("g");
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("Add");
  node.add_input("x");
  node.add_input("w");
  node.add_output("y");
  for (const auto& [name, list] : {std::pair("x", graph.mutable_input()), std::pair("y", graph.mutable_output())}) {
    onnx::ValueInfoProto& info = *list->Add();
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_value(2);
  }
  onnx::TensorProto& weight = *graph.add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(2);
  weight.add_float_data(1.5F);
  weight.add_float_data(-2.0F);
  return proto;
}

core::Result<Model> load(const onnx::ModelProto& proto) { return load_model_bytes(proto.SerializeAsString(), "", {}); }

std::string refusal(const onnx::ModelProto& proto) {
  const core::Result<Model> model = load(proto);
  return model ? "accepted" : model.error().message;
}

TEST(LoadModel, ReadsInitializersByName) {
  const core::Result<Model> model = load(small_model());
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_NE(model->graph.initializer("w"), nullptr);
  EXPECT_EQ(model->graph.initializer("w")->as_real(1), -2.0);
}

TEST(LoadModel, ComesBackTheSameAfterSaving) {
  const core::Result<Model> first = load(small_model());
  ASSERT_TRUE(first.ok());
  const std::string bytes = serialize_model(*first);
  const core::Result<Model> second = load_model_bytes(bytes, "", {});
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(serialize_model(*second), bytes);
}

TEST(LoadModel, LeavesANodeWithoutANameWithoutOne) {
  onnx::ModelProto proto = small_model();
  const std::string output = proto.graph().node(0).output(0);
  const auto written = [](const Model& model) {
    onnx::ModelProto again;
    EXPECT_TRUE(again.ParseFromString(serialize_model(model)));
    return again.graph().node(0).name();
  };
  proto.mutable_graph()->mutable_node(0)->clear_name();
  core::Result<Model> model = load(proto);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->graph.nodes[0].name, output);
  EXPECT_EQ(written(*model), "");
  model->graph.nodes[0].name = "made of it";  // as a pass does that makes another node of this one
  EXPECT_EQ(written(*model), "made of it");
  proto.mutable_graph()->mutable_node(0)->set_name(output);
  model = load(proto);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(written(*model), output);
}

TEST(LoadModel, TakesInitializersOutOfTheInputs) {
  onnx::ModelProto proto = small_model();
  proto.set_ir_version(3);
  onnx::ValueInfoProto& info = *proto.mutable_graph()->add_input();
  info = proto.graph().input(0);
  info.set_name("w");
  const core::Result<Model> model = load(proto);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->graph.inputs.size(), 1U);
}

// PyTorch's exporter writes such types for outputs of branches.
TEST(LoadModel, TakesATypeWithoutAValueForNone) {
  onnx::ModelProto proto = small_model();
  onnx::ValueInfoProto& info = *proto.mutable_graph()->add_value_info();
  info.set_name("y");
  info.mutable_type();
  const core::Result<Model> model = load(proto);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->graph.value_info.size(), 1U);
  EXPECT_EQ(model->graph.value_info.front().type, core::DType::undefined);
}

TEST(LoadModel, RefusesEveryTruncation) {
  const std::string bytes = small_model().SerializeAsString();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const core::Result<Model> model = load_model_bytes(std::string_view(bytes).substr(0, length), "", {});
    // A cut between two fields leaves a readable file; what is missing then is named.
    EXPECT_TRUE(!model || !model->graph.outputs.empty()) << length;
  }
}

TEST(LoadModel, RefusesANodeWithoutAnInputThatItNeedsAlsoAboveTheChecker) {
  for (const std::int64_t opset : {13, 21}) {
    onnx::ModelProto proto = small_model();
    proto.set_ir_version(opset == 21 ? 10 : 7);
    proto.mutable_opset_import(0)->set_version(opset);
    proto.mutable_graph()->mutable_node(0)->set_input(0, "");
    EXPECT_FALSE(load(proto).ok()) << opset;
  }
}

TEST(LoadModel, RefusesANodeWithoutOutputs) {
  for (const char* op : {"Identity", "QuantizeLinear"}) {
    onnx::ModelProto proto = small_model();
    proto.set_ir_version(10);  // above the checker
    proto.mutable_opset_import(0)->set_version(21);
    onnx::NodeProto& node = *proto.mutable_graph()->add_node();
    node.set_name("lost");
    node.set_op_type(op);
    node.add_input("w");
    EXPECT_THAT(refusal(proto), HasSubstr(std::string("\"lost\" (") + op + ") has no outputs"));
  }
}

TEST(LoadModel, NamesATensorThatLiesAboutItsSize) {
  onnx::ModelProto proto = small_model();
  proto.mutable_graph()->mutable_initializer(0)->set_dims(0, 3);
  EXPECT_THAT(refusal(proto), HasSubstr("\"w\""));
  proto.mutable_graph()->mutable_initializer(0)->set_dims(0, std::int64_t{1} << 60U);
  EXPECT_THAT(refusal(proto), HasSubstr("holds less than"));
  proto.mutable_graph()->mutable_initializer(0)->set_dims(0, -1);
  EXPECT_THAT(refusal(proto), HasSubstr("negative"));
}

TEST(LoadModel, RefusesProductsThatOverflow) {
  onnx::ModelProto proto = small_model();
  onnx::TensorProto& weight = *proto.mutable_graph()->mutable_initializer(0);
  weight.clear_dims();
  for (int i = 0; i < 4; ++i) {
    weight.add_dims(std::int64_t{1} << 32U);
  }
  EXPECT_THAT(refusal(proto), HasSubstr("more elements than 64 bits count"));
}

TEST(LoadModel, RefusesFunctionsByName) {
  onnx::ModelProto proto = small_model();
  proto.add_functions()->set_name("Twice");
  EXPECT_THAT(refusal(proto), HasSubstr("\"Twice\""));
}

TEST(LoadModel, RefusesVersionsItDoesNotKnow) {
  onnx::ModelProto proto = small_model();
  proto.mutable_opset_import(0)->set_version(99);
  EXPECT_THAT(refusal(proto), HasSubstr("opset 99"));
  proto = small_model();
  proto.set_ir_version(42);
  EXPECT_THAT(refusal(proto), HasSubstr("IR version 42"));
}

TEST(LoadModel, RefusesWhatTheCheckerRefuses) {
  onnx::ModelProto proto = small_model();
  proto.mutable_graph()->mutable_node(0)->set_op_type("Addd");
  EXPECT_THAT(refusal(proto), HasSubstr("Addd"));
}

TEST(LoadModel, KeepsCustomDomainsThatAreImported) {
  onnx::ModelProto proto = small_model();
  proto.mutable_graph()->mutable_node(0)->set_domain("my.domain");
  EXPECT_THAT(refusal(proto), HasSubstr("my.domain"));
  onnx::OperatorSetIdProto& opset = *proto.add_opset_import();
  opset.set_domain("my.domain");
  opset.set_version(1);
  EXPECT_TRUE(load(proto).ok());
}

TEST(LoadModel, ReadsOnnxRuntimesOwnQuantizersAsOnnxs) {
  for (const auto& [op, domain] : {std::pair("QuantizeLinear", ""), std::pair("Add", "com.microsoft")}) {
    onnx::ModelProto proto = small_model();
    proto.mutable_graph()->mutable_node(0)->set_op_type(op);
    proto.mutable_graph()->mutable_node(0)->set_domain("com.microsoft");
    onnx::OperatorSetIdProto& opset = *proto.add_opset_import();
    opset.set_domain("com.microsoft");
    opset.set_version(1);
    const core::Result<Model> model = load(proto);
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model->graph.nodes.front().domain, domain);
  }
}

TEST(LoadModel, SurvivesDamagedBytes) {
  const std::string bytes = small_model().SerializeAsString();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ flip);
      const core::Result<Model> model = load_model_bytes(damaged, "", {});
      EXPECT_TRUE(model.ok() || !model.error().message.empty());
    }
  }
}

class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
    std::filesystem::create_directory(folder_->path() / "model");
    const std::vector<float> values = {9.0F, 1.5F, -2.0F};
    for (const char* place : {"model/weights.bin", "outside.bin"}) {
      std::ofstream stream(folder_->path() / place, std::ios::binary);
      stream.write(reinterpret_cast<const char*>(values.data()), 12);
    }
  }

  /// The small model with its weight at `location`, `offset`.
  [[nodiscard]] core::Result<Model> load_with(const std::string& location, const std::string& offset) const {
    onnx::ModelProto proto = small_model();
    onnx::TensorProto& weight = *proto.mutable_graph()->mutable_initializer(0);
    weight.clear_float_data();
    weight.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair(std::string("location"), location), {"offset", offset}}) {
      auto& entry = *weight.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return load_model_bytes(proto.SerializeAsString(), folder_->path() / "model", {});
  }

  std::optional<core::TemporaryFolder> folder_;
};

TEST_F(ExternalData, IsReadAtItsOffset) {
  const core::Result<Model> model = load_with("weights.bin", "4");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->graph.initializer("w")->as_real(0), 1.5);
}

TEST_F(ExternalData, IsConfinedToTheModelsFolder) {
  for (const std::string& location : {std::string("../outside.bin"), std::string("/etc/hostname"),
                                      std::string("a/../../outside.bin"), std::string()}) {
    const core::Result<Model> model = load_with(location, "0");
    ASSERT_FALSE(model.ok()) << location;
    EXPECT_THAT(model.error().message, HasSubstr("inside the model's folder")) << location;
  }
}

TEST_F(ExternalData, IsConfinedThroughLinksToo) {
  std::filesystem::create_symlink(folder_->path() / "outside.bin", folder_->path() / "model" / "link.bin");
  EXPECT_FALSE(load_with("link.bin", "0").ok());
}

TEST_F(ExternalData, MustHoldAllBytes) {
  EXPECT_FALSE(load_with("weights.bin", "8").ok());
  EXPECT_FALSE(load_with("weights.bin", "18446744073709551615").ok());
  EXPECT_FALSE(load_with("weights.bin", "-4").ok());
}

TEST(ParseGraphText, GivesThePositionOfAnError) {
  const core::Result<Model> model = parse_graph_text("g (float[2] x) => (float[2] y) { y = }", {{"", 13}});
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.error().message, HasSubstr("can't be parsed"));
}

}  // namespace
}  // namespace assay::model
