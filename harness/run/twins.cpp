#include "harness/run/twins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "reference/executor.hpp"

namespace assay::run {
namespace {

using core::Tensor;
using core::TensorMap;
using model::Model;
using model::Node;
using Batches = std::vector<TensorMap>;

core::Error not_applicable(std::string reason) {
  return core::Error{core::ErrorKind::unsupported, std::move(reason), {}, {}, {}};
}

Twin same_data(Model model) {
  const auto same = [](const TensorMap& tensors) { return Batches{tensors}; };
  return {std::move(model), same, same, {}};
}

/// Values of the tensors of real type that `model` computes on `inputs`.
core::Result<TensorMap> real_tensors(const Model& model, const TensorMap& inputs) {
  TensorMap tensors;
  reference::RunOptions options;
  options.observe = [&](const std::string& name, const Tensor& value) {
    if (value.is_real()) {
      tensors.emplace(name, value);
    }
  };
  if (const core::Result<TensorMap> run = reference::execute(model, inputs, options); !run) {
    return run.error();
  }
  return tensors;
}

// ---- twice, inputs, nodes, names, identity ----

core::Result<Twin> convert_twice(const Model& model, const Batches& /*calibration*/) { return same_data(model); }

core::Result<Twin> permute_inputs(const Model& model, const Batches& /*calibration*/) {
  if (model.graph.inputs.size() < 2) {
    return not_applicable("the graph has fewer than two inputs");
  }
  Twin twin = same_data(model);
  std::reverse(twin.model.graph.inputs.begin(), twin.model.graph.inputs.end());
  return twin;
}

/// Nodes in the topological order that always takes the last one that is ready.
std::vector<std::size_t> latest_first_order(const model::Graph& graph) {
  const model::Wiring wiring(graph);
  std::vector<std::size_t> waiting_for(graph.nodes.size(), 0);
  std::vector<std::set<std::size_t>> readers(graph.nodes.size());
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    std::vector<std::string> reads = graph.nodes[index].inputs;
    const std::vector<std::string> captured = model::captured_names(graph.nodes[index]);
    reads.insert(reads.end(), captured.begin(), captured.end());
    for (const std::string& name : reads) {
      const std::optional<std::size_t> maker = wiring.producer(name);
      if (maker && readers[*maker].insert(index).second) {
        ++waiting_for[index];
      }
    }
  }
  std::set<std::size_t, std::greater<>> ready;
  for (std::size_t index = 0; index < waiting_for.size(); ++index) {
    if (waiting_for[index] == 0) {
      ready.insert(index);
    }
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(next);
    for (const std::size_t reader : readers[next]) {
      if (--waiting_for[reader] == 0) {
        ready.insert(reader);
      }
    }
  }
  return order;
}

core::Result<Twin> permute_nodes(const Model& model, const Batches& /*calibration*/) {
  const std::vector<std::size_t> order = latest_first_order(model.graph);
  if (std::is_sorted(order.begin(), order.end())) {
    return not_applicable("the nodes have only one order");
  }
  Twin twin = same_data(model);
  for (std::size_t place = 0; place < order.size(); ++place) {
    twin.model.graph.nodes[place] = model.graph.nodes[order[place]];
  }
  return twin;
}

/// New names, given so that the new ones sort the other way round.
class Renaming {
 public:
  void add(const std::string& name) {
    if (!name.empty()) {
      names_.emplace(name, "");
    }
  }
  void settle(char stem) {
    std::size_t number = names_.size();
    for (auto& [old_name, new_name] : names_) {
      new_name = fmt::format("{}{:05}", stem, --number);
    }
  }
  [[nodiscard]] const std::map<std::string, std::string>& all() const { return names_; }
  [[nodiscard]] std::string of(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? name : found->second;
  }
  [[nodiscard]] Batches of(const TensorMap& tensors) const {
    TensorMap renamed;
    for (const auto& [name, tensor] : tensors) {
      renamed.emplace(of(name), tensor);
    }
    return {std::move(renamed)};
  }

 private:
  std::map<std::string, std::string> names_;
};

core::Result<Twin> rename_everything(const Model& model, const Batches& /*calibration*/) {
  Renaming tensors;
  Renaming nodes;
  for (const model::ValueInfo& info : model.graph.inputs) {
    tensors.add(info.name);
  }
  for (const auto& [name, value] : model.graph.initializers) {
    tensors.add(name);
  }
  for (const Node& node : model.graph.nodes) {
    if (!model::captured_names(node).empty()) {
      return not_applicable(fmt::format("node \"{}\" has a subgraph that reads names from outside", node.name));
    }
    nodes.add(node.name);
    for (const std::string& name : node.outputs) {
      tensors.add(name);
    }
  }
  tensors.settle('t');
  nodes.settle('n');
  const auto renamed = [tensors](const TensorMap& data) { return tensors.of(data); };
  Twin twin{model, renamed, renamed, nodes.all()};
  model::Graph& graph = twin.model.graph;
  for (std::vector<model::ValueInfo>* list : {&graph.inputs, &graph.outputs, &graph.value_info}) {
    for (model::ValueInfo& info : *list) {
      info.name = tensors.of(info.name);
    }
  }
  graph.initializers.clear();
  for (const auto& [name, value] : model.graph.initializers) {
    graph.initializers.emplace(tensors.of(name), value);
  }
  for (Node& node : graph.nodes) {
    node.name = nodes.of(node.name);
    for (std::vector<std::string>* list : {&node.inputs, &node.outputs}) {
      for (std::string& name : *list) {
        name = tensors.of(name);
      }
    }
  }
  return twin;
}

core::Result<Twin> insert_identities(const Model& model, const Batches& calibration) {
  const core::Result<TensorMap> tensors = real_tensors(model, calibration.front());
  if (!tensors) {
    return tensors.error();
  }
  Twin twin = same_data(model);
  model::Graph& graph = twin.model.graph;
  std::map<std::string, std::string> behind;  // tensor → the Identity's output
  std::vector<Node> nodes;
  const auto pass_on = [&](const std::string& name) {
    if (!tensors->contains(name) || model::Wiring(model.graph).consumers(name).empty()) {
      return;
    }
    const std::string copy = model::fresh_name(graph, name + "_copy");
    behind.emplace(name, copy);
    nodes.push_back({copy, "Identity", "", {name}, {copy}, {}});
  };
  for (const model::ValueInfo& info : graph.inputs) {
    pass_on(info.name);
  }
  for (Node node : graph.nodes) {
    for (std::string& name : node.inputs) {
      if (const auto found = behind.find(name); found != behind.end()) {
        name = found->second;
      }
    }
    nodes.push_back(node);
    for (const std::string& name : node.outputs) {
      pass_on(name);
    }
  }
  if (behind.empty()) {
    return not_applicable("no real tensor is read by a node");
  }
  graph.nodes = std::move(nodes);
  return twin;
}

// ---- batch, scale ----

/// Row `index` of every tensor, as a batch of one.
TensorMap row(const TensorMap& tensors, std::int64_t index) {
  TensorMap rows;
  for (const auto& [name, tensor] : tensors) {
    core::Shape shape = tensor.shape();
    const std::int64_t size = tensor.size() / shape[0];
    shape[0] = 1;
    const auto cut = [&, type = tensor.type()](const auto& values) {
      const auto begin = values.begin() + index * size;
      return Tensor(type, shape, std::vector(begin, begin + size));
    };
    rows.emplace(name, tensor.is_real() ? cut(tensor.reals()) : cut(tensor.integers()));
  }
  return rows;
}

std::optional<std::int64_t> common_batch(const TensorMap& tensors) {
  std::optional<std::int64_t> batch;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.rank() == 0 || (batch && *batch != tensor.shape()[0])) {
      return std::nullopt;
    }
    batch = tensor.shape()[0];
  }
  return batch;
}

core::Result<Twin> split_batch(const Model& model, const Batches& calibration) {
  for (const TensorMap& batch : calibration) {
    if (common_batch(batch).value_or(1) < 2) {
      return not_applicable("the inputs have no batch of two or more in common");
    }
  }
  const auto split = [](const TensorMap& tensors) {
    Batches rows;
    for (std::int64_t index = 0; index < common_batch(tensors).value_or(0); ++index) {
      rows.push_back(row(tensors, index));
    }
    return rows;
  };
  Twin twin{model, split, split, {}};
  twin.model.graph.value_info.clear();
  for (std::vector<model::ValueInfo>* list : {&twin.model.graph.inputs, &twin.model.graph.outputs}) {
    for (model::ValueInfo& info : *list) {
      if (info.shape && !info.shape->empty() && info.shape->front().value) {
        info.shape->front().value = 1;
      }
    }
  }
  return twin;
}

/// A power of two scales every float32 without a rounding, unless it leaves the normal range.
constexpr int kScaleExponent = 3;

Tensor scaled(const Tensor& tensor) {
  Tensor copy = tensor;
  for (double& value : copy.reals()) {
    value = std::ldexp(value, kScaleExponent);
  }
  return copy;
}

TensorMap scaled(const TensorMap& tensors) {
  TensorMap copies;
  for (const auto& [name, tensor] : tensors) {
    copies.emplace(name, tensor.is_real() ? scaled(tensor) : tensor);
  }
  return copies;
}

/// Indices of the inputs of `node` that are values of the network and no factors: they scale with its inputs.
std::vector<std::size_t> additive_inputs(const Node& node) {
  if (node.op_type == "Conv" || node.op_type == "ConvTranspose" || node.op_type == "Gemm") {
    return {2};
  }
  if (node.op_type == "Add" || node.op_type == "Sub" || node.op_type == "Sum" || node.op_type == "Concat" ||
      node.op_type == "Min" || node.op_type == "Max") {
    std::vector<std::size_t> all(node.inputs.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  if (node.op_type == "BatchNormalization") {
    return {2, 3};  // bias and mean
  }
  if (node.op_type == "Clip") {
    return {1, 2};
  }
  return {};
}

/// Largest magnitude of each real tensor that depends on data, over all batches.
core::Result<std::map<std::string, double>> extremes(const Model& model, const Batches& calibration) {
  std::map<std::string, double> extremes;
  for (const TensorMap& batch : calibration) {
    const core::Result<TensorMap> tensors = real_tensors(model, batch);
    if (!tensors) {
      return tensors.error();
    }
    for (const auto& [name, tensor] : *tensors) {
      if (model.graph.initializer(name) == nullptr) {
        double& extreme = extremes[name];
        for (const double value : tensor.reals()) {
          extreme = std::max(extreme, std::abs(value));
        }
      }
    }
  }
  return extremes;
}

/// Smallest magnitude of the real initializers, zeros left out; 1 at most.
double least_factor(const model::Graph& graph) {
  double least = 1;
  for (const auto& [name, value] : graph.initializers) {
    for (const double element : value->is_real() ? value->reals() : std::span<const double>()) {
      least = element != 0 ? std::min(least, std::abs(element)) : least;
    }
  }
  return least;
}

core::Result<Twin> scale_values(const Model& model, const Batches& calibration) {
  const core::Result<std::map<std::string, double>> ranges = extremes(model, calibration);
  if (!ranges) {
    return ranges.error();
  }
  // Scales, and products of a tensor's scale with a weight's, must be normal float32 on both sides. Any positive scale
  // is right for a tensor that is zero throughout, so that nothing exact follows from it.
  constexpr double kCodes = 255;
  constexpr double kLeastFloat = 0x1p-126;
  constexpr double kLargestFloat = 0x1p127;
  const double least = least_factor(model.graph) / (kCodes * kCodes);
  for (const auto& [name, extreme] : *ranges) {
    if (extreme * least < kLeastFloat || std::ldexp(extreme, kScaleExponent) > kLargestFloat) {
      return not_applicable(
          fmt::format("tensor \"{}\" reaches {} at most, where float32 does not scale exactly", name, extreme));
    }
  }
  const auto scale = [](const TensorMap& tensors) { return Batches{scaled(tensors)}; };
  Twin twin{model, scale, scale, {}};
  model::Graph& graph = twin.model.graph;
  for (Node& node : graph.nodes) {
    for (const std::size_t index : additive_inputs(node)) {
      const Tensor* constant = model.graph.initializer(node.input(index));
      if (constant == nullptr || !constant->is_real()) {
        continue;
      }
      // A copy of its own: the same constant may be a factor elsewhere.
      const std::string copy = model::fresh_name(graph, node.inputs[index] + "_scaled");
      graph.initializers.emplace(copy, std::make_shared<const Tensor>(scaled(*constant)));
      node.inputs[index] = copy;
    }
  }
  return twin;
}

// ---- channels, gemm ----

/// Operators that treat every channel (axis 1) alike and alone, with one input that is no constant.
bool keeps_channels(const Node& node) {
  static const std::set<std::string> kOperators = {
      "Relu",     "LeakyRelu",   "Sigmoid",  "HardSigmoid",       "Tanh",         "Clip", "HardSwish",
      "MaxPool",  "AveragePool", "Identity", "Dropout",           "Erf",          "Elu",  "Selu",
      "Softplus", "Abs",         "Neg",      "GlobalAveragePool", "GlobalMaxPool"};
  return node.domain.empty() && kOperators.contains(node.op_type);
}

/// The node that alone makes the graph's only output, through operators that keep channels apart; nothing where there
/// is no such chain.
std::optional<std::size_t> layer_behind_output(const model::Graph& graph) {
  if (graph.outputs.size() != 1) {
    return std::nullopt;
  }
  const model::Wiring wiring(graph);
  std::string tensor = graph.outputs.front().name;
  while (true) {
    const std::optional<std::size_t> maker = wiring.producer(tensor);
    const bool read_once = maker && wiring.consumers(tensor).size() == (wiring.is_output(tensor) ? 0U : 1U);
    if (!maker || !read_once || graph.nodes[*maker].outputs.size() != 1) {
      return std::nullopt;
    }
    if (!keeps_channels(graph.nodes[*maker])) {
      return maker;
    }
    tensor = graph.nodes[*maker].inputs.front();
  }
}

/// Slices of `tensor` along `axis` in the order of `from`.
Tensor reordered(const Tensor& tensor, std::size_t axis, const std::vector<std::int64_t>& from) {
  const core::Shape& shape = tensor.shape();
  const auto here = static_cast<std::ptrdiff_t>(axis);
  const std::int64_t outer = core::element_count(std::span(shape).first(axis));
  const std::int64_t inner = core::element_count(std::span(shape).subspan(axis + 1));
  const std::int64_t extent = *(shape.begin() + here);
  Tensor copy = tensor;
  for (std::int64_t block = 0; block < outer; ++block) {
    for (std::int64_t slice = 0; slice < extent; ++slice) {
      const std::int64_t source = (block * extent + from[static_cast<std::size_t>(slice)]) * inner;
      const auto begin = tensor.reals().begin() + source;
      std::copy(begin, begin + inner, copy.reals().begin() + (block * extent + slice) * inner);
    }
  }
  return copy;
}

core::Result<Twin> permute_channels(const Model& model, const Batches& /*calibration*/) {
  const std::optional<std::size_t> layer = layer_behind_output(model.graph);
  if (!layer || model.graph.nodes[*layer].op_type != "Conv") {
    return not_applicable("no Conv makes the only output through operators that keep channels apart");
  }
  const Node& node = model.graph.nodes[*layer];
  const Tensor* weight = model.graph.initializer(node.input(1));
  const Tensor* bias = model.graph.initializer(node.input(2));
  if (weight == nullptr || !weight->is_real() || (!node.input(2).empty() && bias == nullptr)) {
    return not_applicable(fmt::format("the weight or bias of \"{}\" is no initializer", node.name));
  }
  const std::int64_t groups = node.int_or("group", 1);
  const std::int64_t channels = weight->shape()[0];
  const std::int64_t size = channels / groups;
  if (size < 2) {
    return not_applicable(fmt::format("\"{}\" has one output channel in a group", node.name));
  }
  std::vector<std::int64_t> from;  // the channels of each group the other way round
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    from.push_back(channel / size * size + (size - 1 - channel % size));
  }
  const auto permuted = [from](const TensorMap& outputs) {
    TensorMap copies;
    for (const auto& [name, tensor] : outputs) {
      copies.emplace(name, reordered(tensor, 1, from));
    }
    return Batches{std::move(copies)};
  };
  Twin twin{model, [](const TensorMap& inputs) { return Batches{inputs}; }, permuted, {}};
  model::Graph& graph = twin.model.graph;
  const auto replace = [&](std::size_t index, const Tensor& value) {
    // A copy of its own: another node may share the constant.
    const std::string copy = model::fresh_name(graph, node.inputs[index] + "_permuted");
    graph.initializers.emplace(copy, std::make_shared<const Tensor>(reordered(value, 0, from)));
    graph.nodes[*layer].inputs[index] = copy;
  };
  replace(1, *weight);
  if (bias != nullptr) {
    replace(2, *bias);
  }
  return twin;
}

/// [N, C, …] as rows of C: [N·…, C].
Tensor as_rows(const Tensor& tensor) {
  const core::Shape& shape = tensor.shape();
  const std::int64_t channels = shape[1];
  const std::int64_t pixels = core::element_count(std::span(shape).subspan(2));
  std::vector<double> values(tensor.reals().size());
  for (std::int64_t index = 0; index < tensor.size(); ++index) {
    const std::int64_t pixel = index % pixels;
    const std::int64_t channel = index / pixels % channels;
    const std::int64_t image = index / pixels / channels;
    values[static_cast<std::size_t>((image * pixels + pixel) * channels + channel)] =
        tensor.reals()[static_cast<std::size_t>(index)];
  }
  return {tensor.type(), {shape[0] * pixels, channels}, std::move(values)};
}

core::Result<Twin> conv_as_gemm(const Model& model, const Batches& /*calibration*/) {
  const model::Graph& original = model.graph;
  const core::Error other = not_applicable("the graph is not one Conv 1x1 with elementwise operators behind it");
  if (original.inputs.size() != 1 || original.outputs.size() != 1 || original.nodes.empty() ||
      original.nodes.front().op_type != "Conv") {
    return other;
  }
  const Node& conv = original.nodes.front();
  const Tensor* weight = original.initializer(conv.input(1));
  const Tensor* bias = original.initializer(conv.input(2));
  const auto all_are = [&](std::string_view attribute, std::int64_t value) {
    const std::vector<std::int64_t> values = conv.ints_or(attribute);
    return std::all_of(values.begin(), values.end(), [&](std::int64_t each) { return each == value; });
  };
  if (weight == nullptr || !weight->is_real() || (!conv.input(2).empty() && bias == nullptr) ||
      core::element_count(std::span(weight->shape()).subspan(2)) != 1 || conv.int_or("group", 1) != 1 ||
      !all_are("strides", 1) || !all_are("pads", 0)) {
    return other;
  }
  const std::set<std::string> elementwise = {"Relu", "LeakyRelu", "Sigmoid",  "HardSigmoid",
                                             "Tanh", "Clip",      "HardSwish"};
  std::string tensor = conv.outputs.front();
  for (std::size_t index = 1; index < original.nodes.size(); ++index) {
    const Node& node = original.nodes[index];
    if (!elementwise.contains(node.op_type) || node.inputs.front() != tensor) {
      return other;
    }
    tensor = node.outputs.front();
  }
  const auto rows = [](const TensorMap& tensors) {
    TensorMap copies;
    for (const auto& [name, value] : tensors) {
      copies.emplace(name, as_rows(value));
    }
    return Batches{std::move(copies)};
  };
  Twin twin{model, rows, rows, {}};
  model::Graph& graph = twin.model.graph;
  const std::string copy = model::fresh_name(graph, conv.inputs[1] + "_matrix");
  graph.initializers.erase(conv.inputs[1]);
  graph.initializers.emplace(
      copy, std::make_shared<const Tensor>(weight->reshaped({weight->shape()[0], weight->shape()[1]})));
  Node& gemm = graph.nodes.front();
  gemm.op_type = "Gemm";
  gemm.inputs[1] = copy;
  gemm.attributes = {{"transB", std::int64_t{1}}};
  graph.value_info.clear();
  const model::Dimension any{std::nullopt, "rows"};
  graph.inputs.front().shape = {any, {weight->shape()[1], ""}};
  graph.outputs.front().shape = {any, {weight->shape()[0], ""}};
  return twin;
}

}  // namespace

const std::vector<Relation>& relations() {
  static const std::vector<Relation> kRelations = {
      {"twice", "a second conversion of the same model and data gives something else", false, false, convert_twice},
      {"inputs", "inputs are bound by their position and not by name", false, false, permute_inputs},
      {"nodes", "the result depends on the order in which independent nodes are listed", false, false, permute_nodes},
      {"names", "the result depends on what tensors and nodes are called", false, false, rename_everything},
      {"identity", "an Identity between two nodes changes the result", false, false, insert_identities},
      {"batch", "what one image gives depends on the others of its batch", true, true, split_batch},
      {"scale", "scaling inputs and biases by a power of two does not scale the outputs", false, true, scale_values},
      {"channels", "output channels do not keep their own weights, scales and biases", true, false, permute_channels},
      {"gemm", "a Conv 1x1 and the Gemm that it is give different results", true, false, conv_as_gemm},
  };
  return kRelations;
}

const Relation* find_relation(std::string_view name) {
  const std::vector<Relation>& all = relations();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Relation& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace assay::run
