#include "harness/model/proto.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/quoted.hpp"

namespace assay::model::proto {
namespace {

namespace fs = std::filesystem;

// Some exporters name every extent they don't know "?"; that is no symbol whose uses must agree.
constexpr std::string_view kAnonymous = "?";
constexpr int kDeepestSubgraph = 8;
constexpr std::int64_t kOldestIr = 3;
constexpr std::int64_t kNewestIr = 14;
constexpr std::int64_t kNewestOpset = 28;

core::Error unsupported(std::string message, std::string node = {}, std::string op = {}, std::string tensor = {}) {
  return {core::ErrorKind::unsupported, std::move(message), std::move(node), std::move(op), std::move(tensor)};
}

std::string own_domain_as_empty(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

/// ONNX Runtime's QuantizeLinear and DequantizeLinear of its own domain came before ONNX's, and are the same for types
/// that both have (its ContribOperators.md): they are read as ONNX's. Types that only one of the two has are refused
/// where the operator runs.
std::string read_domain(const onnx::NodeProto& proto) {
  const bool quantizes = proto.op_type() == "QuantizeLinear" || proto.op_type() == "DequantizeLinear";
  return quantizes && proto.domain() == "com.microsoft" ? std::string() : own_domain_as_empty(proto.domain());
}

core::Result<Attribute> decode_attribute(const onnx::AttributeProto& proto, const fs::path& folder,
                                         const LoadLimits& limits, int depth) {
  using Kind = onnx::AttributeProto;
  switch (proto.type()) {
    case Kind::INT:
      return Attribute(std::int64_t{proto.i()});
    case Kind::FLOAT:
      return Attribute(static_cast<double>(proto.f()));
    case Kind::STRING:
      return Attribute(proto.s());
    case Kind::INTS:
      return Attribute(std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()));
    case Kind::FLOATS:
      return Attribute(std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case Kind::STRINGS:
      return Attribute(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case Kind::TENSOR: {
      core::Result<Tensor> tensor = decode_tensor(proto.t(), folder, limits);
      if (!tensor) {
        return tensor.error();
      }
      return Attribute(std::make_shared<const Tensor>(*std::move(tensor)));
    }
    case Kind::GRAPH: {
      core::Result<Graph> graph = decode_graph(proto.g(), folder, limits, depth + 1);
      if (!graph) {
        return graph.error();
      }
      return Attribute(std::make_shared<const Graph>(*std::move(graph)));
    }
    default:
      return unsupported(fmt::format("attribute \"{}\" has kind {}, which Assay doesn't read", proto.name(),
                                     static_cast<int>(proto.type())));
  }
}

core::Result<Node> decode_node(const onnx::NodeProto& proto, const fs::path& folder, const LoadLimits& limits,
                               int depth) {
  Node node;
  node.name = proto.name();
  node.op_type = proto.op_type();
  node.domain = read_domain(proto);
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  if (node.outputs.empty()) {
    return model_error(fmt::format("node \"{}\" ({}) has no outputs", node.name, node.op_type), node.name,
                       node.op_type);
  }
  node.unnamed = node.name.empty();
  if (node.unnamed) {
    node.name = node.outputs.front();
  }
  for (const onnx::AttributeProto& attribute : proto.attribute()) {
    core::Result<Attribute> value = decode_attribute(attribute, folder, limits, depth);
    if (!value) {
      core::Error error = value.error().within(fmt::format("node \"{}\" ({})", node.name, node.op_type));
      error.node = node.name;
      error.op = node.op_type;
      return error;
    }
    if (!node.attributes.emplace(attribute.name(), *std::move(value)).second) {
      return model_error(
          fmt::format("node \"{}\" ({}) has attribute \"{}\" twice", node.name, node.op_type, attribute.name()),
          node.name, node.op_type);
    }
  }
  return node;
}

core::Result<ValueInfo> decode_value_info(const onnx::ValueInfoProto& proto, const LoadLimits& limits) {
  ValueInfo info;
  info.name = proto.name();
  // PyTorch's exporter writes a type without a value for the outputs of some branches.
  if (!proto.has_type() || proto.type().value_case() == onnx::TypeProto::VALUE_NOT_SET) {
    return info;
  }
  if (!proto.type().has_tensor_type()) {
    return unsupported(fmt::format("\"{}\" is not a dense tensor (a sequence, map, optional or sparse tensor), which "
                                   "Assay doesn't read",
                                   info.name),
                       {}, {}, info.name);
  }
  const onnx::TypeProto::Tensor& type = proto.type().tensor_type();
  info.type = static_cast<DType>(type.elem_type());
  if (!type.has_shape()) {
    return info;
  }
  info.shape.emplace();
  std::int64_t count = 1;
  for (const onnx::TensorShapeProto::Dimension& dim : type.shape().dim()) {
    Dimension dimension;
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      dimension.value = dim.dim_value();
      if (__builtin_mul_overflow(count, dim.dim_value(), &count)) {
        return model_error(fmt::format("\"{}\" declares more elements than 64 bits count", info.name), {}, {},
                           info.name);
      }
      if (count > limits.tensor_elements) {
        return limit_error(fmt::format("\"{}\" declares {} elements", info.name, count),
                           static_cast<std::uintmax_t>(limits.tensor_elements), info.name);
      }
    } else if (dim.has_dim_value() && dim.dim_value() < -1) {
      return model_error(fmt::format("\"{}\" declares the extent {}", info.name, dim.dim_value()), {}, {}, info.name);
    } else if (dim.dim_param() != kAnonymous) {
      dimension.symbol = dim.dim_param();
    }
    info.shape->push_back(std::move(dimension));
  }
  return info;
}

core::Status decode_value_infos(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& protos,
                                const LoadLimits& limits, std::vector<ValueInfo>& infos) {
  for (const onnx::ValueInfoProto& proto : protos) {
    core::Result<ValueInfo> info = decode_value_info(proto, limits);
    if (!info) {
      return info.error();
    }
    infos.push_back(*std::move(info));
  }
  return core::success();
}

/// Protobuf's strings are UTF-8, which its parser doesn't check. A name that isn't couldn't be written to JSON.
core::Status check_names(const Graph& graph) {
  std::vector<const std::string*> names;
  for (const auto& [name, tensor] : graph.initializers) names.push_back(&name);
  for (const std::vector<ValueInfo>* infos : {&graph.inputs, &graph.outputs, &graph.value_info}) {
    for (const ValueInfo& info : *infos) {
      names.push_back(&info.name);
      for (const Dimension& dimension : info.shape.value_or(std::vector<Dimension>())) {
        if (!core::is_utf8(dimension.symbol)) {
          return model_error(fmt::format("\"{}\" has a symbol for an extent that is no UTF-8", info.name));
        }
      }
    }
  }
  for (const Node& node : graph.nodes) {
    for (const std::string* name : {&node.name, &node.op_type, &node.domain}) names.push_back(name);
    for (const std::vector<std::string>* tensors : {&node.inputs, &node.outputs}) {
      for (const std::string& name : *tensors) names.push_back(&name);
    }
    for (const auto& [name, attribute] : node.attributes) names.push_back(&name);
  }
  for (const std::string* name : names) {
    if (!core::is_utf8(*name))
      return model_error(fmt::format("the name \"{}\" is no UTF-8", core::visible_name(*name)));
  }
  return core::success();
}

void encode_graph(const Graph& graph, onnx::GraphProto& proto);

void encode_attribute(const std::string& name, const Attribute& attribute, onnx::AttributeProto& proto) {
  using Kind = onnx::AttributeProto;
  proto.set_name(name);
  if (const auto* integer = std::get_if<std::int64_t>(&attribute)) {
    proto.set_type(Kind::INT);
    proto.set_i(*integer);
  } else if (const auto* real = std::get_if<double>(&attribute)) {
    proto.set_type(Kind::FLOAT);
    proto.set_f(static_cast<float>(*real));
  } else if (const auto* text = std::get_if<std::string>(&attribute)) {
    proto.set_type(Kind::STRING);
    proto.set_s(*text);
  } else if (const auto* tensor = std::get_if<TensorPtr>(&attribute)) {
    proto.set_type(Kind::TENSOR);
    *proto.mutable_t() = encode_tensor("", **tensor);
  } else if (const auto* graph = std::get_if<GraphPtr>(&attribute)) {
    proto.set_type(Kind::GRAPH);
    encode_graph(**graph, *proto.mutable_g());
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute)) {
    proto.set_type(Kind::INTS);
    proto.mutable_ints()->Add(integers->begin(), integers->end());
  } else if (const auto* reals = std::get_if<std::vector<double>>(&attribute)) {
    proto.set_type(Kind::FLOATS);
    for (const double value : *reals) {
      proto.add_floats(static_cast<float>(value));
    }
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute)) {
    proto.set_type(Kind::STRINGS);
    for (const std::string& value : *texts) {
      proto.add_strings(value);
    }
  }
}

void encode_value_info(const ValueInfo& info, onnx::ValueInfoProto& proto) {
  proto.set_name(info.name);
  if (info.type == DType::undefined && !info.shape) {
    return;
  }
  onnx::TypeProto::Tensor& type = *proto.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<std::int32_t>(info.type));
  if (!info.shape) {
    return;
  }
  type.mutable_shape();
  for (const Dimension& dimension : *info.shape) {
    onnx::TensorShapeProto::Dimension& dim = *type.mutable_shape()->add_dim();
    if (dimension.value) {
      dim.set_dim_value(*dimension.value);
    } else if (!dimension.symbol.empty()) {
      dim.set_dim_param(dimension.symbol);
    }
  }
}

void encode_graph(const Graph& graph, onnx::GraphProto& proto) {
  proto.set_name(graph.name.empty() ? "graph" : graph.name);
  for (const Node& node : graph.nodes) {
    onnx::NodeProto& out = *proto.add_node();
    const bool without_name = node.unnamed && !node.outputs.empty() && node.name == node.outputs.front();
    if (!without_name) out.set_name(node.name);
    out.set_op_type(node.op_type);
    out.set_domain(node.domain);
    for (const std::string& input : node.inputs) {
      out.add_input(input);
    }
    for (const std::string& output : node.outputs) {
      out.add_output(output);
    }
    for (const auto& [name, attribute] : node.attributes) {
      encode_attribute(name, attribute, *out.add_attribute());
    }
  }
  for (const auto& [name, tensor] : graph.initializers) {
    *proto.add_initializer() = encode_tensor(name, *tensor);
  }
  for (const ValueInfo& info : graph.inputs) {
    encode_value_info(info, *proto.add_input());
  }
  for (const ValueInfo& info : graph.outputs) {
    encode_value_info(info, *proto.add_output());
  }
  for (const ValueInfo& info : graph.value_info) {
    encode_value_info(info, *proto.add_value_info());
  }
}

}  // namespace

core::Error model_error(std::string message, std::string node, std::string op, std::string tensor) {
  return {core::ErrorKind::invalid_model, std::move(message), std::move(node), std::move(op), std::move(tensor)};
}

core::Error limit_error(const std::string& what, std::uintmax_t limit, std::string tensor) {
  return {core::ErrorKind::unsupported,
          fmt::format("{}, more than Assay's limit of {}", what, limit),
          {},
          {},
          std::move(tensor)};
}

core::Result<Graph> decode_graph(const onnx::GraphProto& proto, const fs::path& folder, const LoadLimits& limits,
                                 int depth) {
  if (depth > kDeepestSubgraph) {
    return limit_error(fmt::format("subgraphs nest {} deep", depth), kDeepestSubgraph);
  }
  if (static_cast<std::size_t>(proto.node_size()) > limits.nodes) {
    return limit_error(fmt::format("the graph has {} nodes", proto.node_size()), limits.nodes);
  }
  if (proto.sparse_initializer_size() > 0) {
    return unsupported(fmt::format("initializer \"{}\" is sparse, which Assay doesn't read",
                                   proto.sparse_initializer(0).values().name()));
  }
  Graph graph;
  graph.name = core::utf8_text(proto.name());
  for (const onnx::TensorProto& initializer : proto.initializer()) {
    if (initializer.name().empty()) {
      return model_error("an initializer has no name");
    }
    core::Result<Tensor> tensor = decode_tensor(initializer, folder, limits);
    if (!tensor) {
      return tensor.error();
    }
    if (!graph.initializers.emplace(initializer.name(), std::make_shared<const Tensor>(*std::move(tensor))).second) {
      return model_error(fmt::format("initializer \"{}\" stands twice", initializer.name()), {}, {},
                         initializer.name());
    }
  }
  for (const onnx::NodeProto& node_proto : proto.node()) {
    core::Result<Node> node = decode_node(node_proto, folder, limits, depth);
    if (!node) {
      return node.error();
    }
    graph.nodes.push_back(*std::move(node));
  }
  for (const auto& [protos, infos] :
       {std::pair(&proto.input(), &graph.inputs), std::pair(&proto.output(), &graph.outputs),
        std::pair(&proto.value_info(), &graph.value_info)}) {
    if (core::Status status = decode_value_infos(*protos, limits, *infos); !status) {
      return status.error();
    }
  }
  if (core::Status status = check_names(graph); !status) {
    return status.error();
  }
  // Up to IR 3 every initializer is listed among the inputs as well.
  std::erase_if(graph.inputs, [&](const ValueInfo& info) { return graph.initializers.contains(info.name); });
  return graph;
}

core::Result<Model> decode_model(const onnx::ModelProto& proto, const fs::path& folder, const LoadLimits& limits) {
  if (!proto.has_graph()) {
    return model_error("the file holds no graph; is it an ONNX model?");
  }
  if (proto.ir_version() < kOldestIr || proto.ir_version() > kNewestIr) {
    return unsupported(fmt::format("IR version {} is outside {} to {}", proto.ir_version(), kOldestIr, kNewestIr));
  }
  if (proto.functions_size() > 0) {
    return unsupported(fmt::format("the model defines function \"{}\"; inline functions before judging it",
                                   proto.functions(0).name()));
  }
  Model model;
  // Initializers no longer stand among our inputs, which IR 3 demands: from here on the model is IR 4.
  constexpr std::int64_t kFreeInitializers = 4;
  model.ir_version = std::max<std::int64_t>(proto.ir_version(), kFreeInitializers);
  model.producer = core::utf8_text(proto.producer_name());
  for (const onnx::OperatorSetIdProto& opset : proto.opset_import()) {
    const auto [entry, added] =
        model.opsets.emplace(core::utf8_text(own_domain_as_empty(opset.domain())), opset.version());
    if (!added && entry->second != opset.version()) {
      return model_error(fmt::format("domain \"{}\" is imported twice, as versions {} and {}", opset.domain(),
                                     entry->second, opset.version()));
    }
  }
  const auto own = model.opsets.find("");
  if (own != model.opsets.end() && (own->second < limits.oldest_opset || own->second > kNewestOpset)) {
    return unsupported(fmt::format("opset {} is outside {} to {}", own->second, limits.oldest_opset, kNewestOpset));
  }
  for (const onnx::StringStringEntryProto& entry : proto.metadata_props()) {
    model.metadata[core::utf8_text(entry.key())] = core::utf8_text(entry.value());
  }
  core::Result<Graph> graph = decode_graph(proto.graph(), folder, limits);
  if (!graph) {
    return graph.error();
  }
  model.graph = *std::move(graph);
  return model;
}

onnx::ModelProto encode_model(const Model& model) {
  onnx::ModelProto proto;
  proto.set_ir_version(model.ir_version);
  proto.set_producer_name(model.producer);
  for (const auto& [domain, version] : model.opsets) {
    onnx::OperatorSetIdProto& opset = *proto.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }
  for (const auto& [key, value] : model.metadata) {
    onnx::StringStringEntryProto& entry = *proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  encode_graph(model.graph, *proto.mutable_graph());
  return proto;
}

}  // namespace assay::model::proto
