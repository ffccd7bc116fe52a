#pragma once

#include <map>
#include <string>

#include "harness/core/result.hpp"
#include "harness/model/graph.hpp"

namespace assay::reference {

/// Type and shape of every tensor of the main graph, by the operators' own rules: graph inputs, initializers, what
/// nodes make. What a declaration (value_info, outputs) adds to the rules is taken over. Lists of integers are followed
/// through Shape, Gather, Concat and their like, so that a Reshape by them is known. Nodes that the reference does not
/// run (an operator, a version or a form) leave their outputs as declared.
/// Shapes   extents are numbers, symbols (equal where the symbol is) or unknown; no shape is an unknown rank.
/// Errors   invalid_model naming node and operator where a rule is broken, and the tensor where a declaration (of a
///          subgraph's tensors too) and what the rules give can't both hold.
[[nodiscard]] core::Result<std::map<std::string, model::ValueInfo>> infer_shapes(const model::Model& model);

/// What `model` declares of a tensor can hold beside what the rules give. A node whose rule is broken is left to who
/// runs it: a converter may have to refuse it by name.
/// Errors   invalid_model naming the tensor, what is declared and what the rules give.
[[nodiscard]] core::Status check_declarations(const model::Model& model);

}  // namespace assay::reference
