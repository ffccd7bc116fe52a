#include <fmt/format.h>
#include <onnx/defs/parser.h>

#include "harness/model/proto.hpp"

namespace assay::model {

namespace {

/// The text has no names of nodes: each is called as its first output.
void name_nodes(onnx::GraphProto& graph) {
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (node.name().empty() && node.output_size() > 0) node.set_name(node.output(0));
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) name_nodes(*attribute.mutable_g());
    }
  }
}

}  // namespace

core::Result<Model> parse_graph_text(const std::string& text, const std::map<std::string, std::int64_t>& opsets) {
  onnx::ModelProto proto;
  try {
    const onnx::Common::Status status = onnx::OnnxParser::Parse(*proto.mutable_graph(), text.c_str());
    if (!status.IsOK()) {
      return proto::model_error(fmt::format("the graph's text can't be parsed: {}", status.ErrorMessage()));
    }
  } catch (const std::exception& error) {
    return proto::model_error(fmt::format("the graph's text can't be parsed: {}", error.what()));
  }
  name_nodes(*proto.mutable_graph());
  constexpr std::int64_t kIrOfTextualModels = 8;  // the newest that libonnx 1.12 checks
  proto.set_ir_version(kIrOfTextualModels);
  for (const auto& [domain, version] : opsets) {
    onnx::OperatorSetIdProto& opset = *proto.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }
  return proto::decode_model(proto, {}, {});
}

}  // namespace assay::model
