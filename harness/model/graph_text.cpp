#include <fmt/format.h>
#include <onnx/defs/parser.h>

#include "harness/model/proto.hpp"

namespace assay::model {

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
