#include "harness/localize/submodel.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "reference/executor.hpp"

namespace assay::localize {
namespace {

using core::Tensor;
using core::TensorMap;
using model::Node;

/// Extents that differ among `values` get a name of their own.
std::vector<model::Dimension> common_shape(const std::string& tensor, const std::vector<const Tensor*>& values) {
  std::vector<model::Dimension> shape;
  for (std::size_t axis = 0; axis < values.front()->shape().size(); ++axis) {
    const std::int64_t extent = values.front()->shape()[axis];
    const bool same = std::ranges::all_of(values, [&](const Tensor* value) { return value->shape()[axis] == extent; });
    shape.push_back(same ? model::Dimension{extent, ""} : model::Dimension{{}, tensor + "_" + std::to_string(axis)});
  }
  return shape;
}

}  // namespace

std::vector<std::string> reads(const Node& node) {
  std::vector<std::string> names = node.inputs;
  std::ranges::move(model::captured_names(node), std::back_inserter(names));
  std::erase(names, "");
  return names;
}

core::Result<Cutter> Cutter::make(const Candidate& whole) {
  Cutter cutter(whole);
  if (core::Status status = cutter.trace(whole.calibration, cutter.calibration_); !status) {
    return status.error();
  }
  if (core::Status status = cutter.trace(whole.inputs, cutter.inputs_); !status) {
    return status.error();
  }
  cutter.find_constants();
  if (whole.artifact != nullptr) {
    core::Result<ArtifactSlicer> slicer = ArtifactSlicer::make(whole.artifact, whole.model);
    if (!slicer) return slicer.error();
    cutter.slicer_.emplace(*std::move(slicer));
  }
  return cutter;
}

std::optional<Candidate> Cutter::with_slice(Candidate part) const {
  if (!slicer_) return part;
  std::optional<model::Model> slice = slicer_->slice(part.model.graph);
  if (!slice) return std::nullopt;
  part.artifact = std::make_shared<const model::Model>(*std::move(slice));
  slicer_->align_calibration(part);
  return part;
}

core::Status Cutter::trace(const std::vector<TensorMap>& batches, std::vector<TensorMap>& traces) {
  for (const TensorMap& batch : batches) {
    TensorMap& kept = traces.emplace_back();
    reference::RunOptions options;
    options.observe = [&](const std::string& name, const Tensor& value) {
      // As a file holds it: what is judged here is what `assay check` judges of the saved part.
      if (graph().initializer(name) == nullptr) {
        kept.insert_or_assign(name, core::rounded_to_type(value));
      }
    };
    if (const auto outputs = reference::execute(whole_->model, batch, options); !outputs) {
      return outputs.error();
    }
  }
  return core::success();
}

void Cutter::find_constants() {
  for (const auto& [name, tensor] : graph().initializers) {
    constants_.insert(name);
  }
  for (const Node& node : graph().nodes) {
    const bool random = node.op_type.starts_with("Random") || node.op_type == "Bernoulli";
    const auto names = reads(node);
    if (!random && std::ranges::all_of(names, [&](const std::string& name) { return constants_.contains(name); })) {
      constants_.insert(node.outputs.begin(), node.outputs.end());
    }
  }
}

std::vector<const Tensor*> Cutter::values(const std::string& tensor) const {
  std::vector<const Tensor*> all;
  for (const std::vector<TensorMap>* traces : {&calibration_, &inputs_}) {
    for (const TensorMap& trace : *traces) {
      const auto found = trace.find(tensor);
      if (found == trace.end()) {
        return {};
      }
      all.push_back(&found->second);
    }
  }
  return all;
}

bool Cutter::is_constant(const std::string& tensor, const std::vector<const Tensor*>& values) const {
  return constants_.contains(tensor) ||
         (!values.front()->is_real() &&
          std::ranges::all_of(values, [&](const Tensor* value) { return *value == *values.front(); }));
}

void Cutter::add_input(Candidate& part, const std::string& tensor) const {
  model::Graph& graph = part.model.graph;
  const std::vector<const Tensor*> all = values(tensor);
  if (all.empty()) {
    return;  // the checker will say that nothing makes it
  }
  if (is_constant(tensor, all)) {
    graph.initializers[tensor] = std::make_shared<const Tensor>(*all.front());
    return;
  }
  graph.inputs.push_back({tensor, all.front()->type(), common_shape(tensor, all)});
  std::size_t next = 0;
  for (std::vector<TensorMap>* batches : {&part.calibration, &part.inputs}) {
    for (TensorMap& batch : *batches) {
      batch.emplace(tensor, *all[next++]);
    }
  }
}

void Cutter::add_output(Candidate& part, const std::string& tensor) const {
  const std::vector<const Tensor*> all = values(tensor);
  if (all.empty()) {
    return;
  }
  part.model.graph.outputs.push_back({tensor, all.front()->type(), common_shape(tensor, all)});
}

core::Result<Candidate> Cutter::cut(const Nodes& nodes) const {
  if (nodes.empty()) {
    return core::Error{core::ErrorKind::invalid_model, "a submodel of no nodes", {}, {}, {}};
  }
  Candidate part;
  part.model.opsets = whole_->model.opsets;
  part.model.ir_version = whole_->model.ir_version;
  part.model.graph.name = "g";
  part.calibration.resize(calibration_.size());
  part.inputs.resize(inputs_.size());
  part.calibrated = whole_->calibrated;
  std::set<std::string> made, read;
  for (const std::size_t index : nodes) {
    const Node& node = graph().nodes[index];
    part.model.graph.nodes.push_back(node);
    made.insert(node.outputs.begin(), node.outputs.end());
    for (const std::string& name : reads(node)) {
      read.insert(name);
    }
  }
  for (const std::string& name : read) {
    if (made.contains(name)) {
      continue;
    }
    const auto initializer = graph().initializers.find(name);
    if (initializer != graph().initializers.end()) {
      part.model.graph.initializers.insert(*initializer);
    } else {
      add_input(part, name);
    }
  }
  for (const std::size_t index : nodes) {
    for (const std::string& name : graph().nodes[index].outputs) {
      const bool used = wiring_.is_output(name) || !wiring_.consumers(name).empty();
      if (!name.empty() && used && !read.contains(name)) {
        add_output(part, name);
      }
    }
  }
  return part;
}

}  // namespace assay::localize
