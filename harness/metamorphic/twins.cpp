#include "harness/metamorphic/twins.hpp"

#include <algorithm>

#include "harness/metamorphic/twin_makers.hpp"
#include "reference/executor.hpp"

namespace assay::metamorphic {

core::Error not_applicable(std::string reason) {
  return core::Error{core::ErrorKind::unsupported, std::move(reason), {}, {}, {}};
}

core::Result<core::TensorMap> real_tensors(const model::Model& model, const core::TensorMap& inputs) {
  core::TensorMap tensors;
  reference::RunOptions options;
  options.observe = [&](const std::string& name, const core::Tensor& value) {
    if (value.is_real()) {
      tensors.emplace(name, value);
    }
  };
  if (const core::Result<core::TensorMap> run = reference::execute(model, inputs, options); !run) {
    return run.error();
  }
  return tensors;
}

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

}  // namespace assay::metamorphic
