#include "harness/model/survey.hpp"

#include <fmt/format.h>

#include "harness/core/files.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/model/proto.hpp"

namespace assay::model {
namespace {

std::string own_domain_as_empty(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

void survey_tensor(const onnx::TensorProto& tensor, ModelSurvey& survey) {
  survey.has_strings |= tensor.data_type() == onnx::TensorProto::STRING;
}

void survey_type(const onnx::TypeProto& type, ModelSurvey& survey) {
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
      survey.has_strings |= type.tensor_type().elem_type() == onnx::TensorProto::STRING;
      break;
    case onnx::TypeProto::kSparseTensorType:
      survey.has_sparse = true;
      break;
    case onnx::TypeProto::VALUE_NOT_SET:
      break;
    default:
      survey.has_containers = true;
  }
}

void survey_graph(const onnx::GraphProto& graph, ModelSurvey& survey);

template <typename Nodes>
void survey_nodes(const Nodes& nodes, ModelSurvey& survey) {
  for (const onnx::NodeProto& node : nodes) {
    survey.operators.emplace(own_domain_as_empty(node.domain()), node.op_type());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      survey_tensor(attribute.t(), survey);
      survey.has_sparse |= attribute.has_sparse_tensor();
      if (attribute.has_g()) {
        survey_graph(attribute.g(), survey);
      }
    }
  }
}

void survey_graph(const onnx::GraphProto& graph, ModelSurvey& survey) {
  for (const auto* infos : {&graph.input(), &graph.output()}) {
    for (const onnx::ValueInfoProto& info : *infos) {
      survey_type(info.type(), survey);
    }
  }
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    survey_tensor(tensor, survey);
  }
  survey.has_sparse |= graph.sparse_initializer_size() > 0;
  survey_nodes(graph.node(), survey);
}

}  // namespace

core::Result<ModelSurvey> survey_model(const std::filesystem::path& path) {
  const core::Result<std::string> bytes = core::read_file(path, LoadLimits().file_bytes);
  if (!bytes) {
    return bytes.error();
  }
  onnx::ModelProto proto;
  if (!proto.ParseFromString(*bytes)) {
    return proto::model_error(fmt::format("\"{}\" is not an ONNX model: truncated or another format", path.string()));
  }
  ModelSurvey survey;
  for (const onnx::OperatorSetIdProto& opset : proto.opset_import()) {
    survey.opsets[own_domain_as_empty(opset.domain())] = opset.version();
  }
  survey_graph(proto.graph(), survey);
  for (const onnx::FunctionProto& function : proto.functions()) {
    survey_nodes(function.node(), survey);
  }
  return survey;
}

}  // namespace assay::model
