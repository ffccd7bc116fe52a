#pragma once

#include <string>
#include <vector>

#include "harness/metamorphic/twins.hpp"

namespace assay::metamorphic {

using Batches = std::vector<core::TensorMap>;

/// What a relation answers where it says nothing about the model.
[[nodiscard]] core::Error not_applicable(std::string reason);

/// Values of the tensors of real type that `model` computes on `inputs`.
[[nodiscard]] core::Result<core::TensorMap> real_tensors(const model::Model& model, const core::TensorMap& inputs);

// The same network, written otherwise (twins_writing.cpp).
core::Result<Twin> convert_twice(const model::Model& model, const Batches& calibration);
core::Result<Twin> permute_inputs(const model::Model& model, const Batches& calibration);
core::Result<Twin> permute_nodes(const model::Model& model, const Batches& calibration);
core::Result<Twin> rename_everything(const model::Model& model, const Batches& calibration);
core::Result<Twin> insert_identities(const model::Model& model, const Batches& calibration);

// Other data (twins_data.cpp).
core::Result<Twin> split_batch(const model::Model& model, const Batches& calibration);
core::Result<Twin> scale_values(const model::Model& model, const Batches& calibration);

// Another layer (twins_layers.cpp).
core::Result<Twin> permute_channels(const model::Model& model, const Batches& calibration);
core::Result<Twin> conv_as_gemm(const model::Model& model, const Batches& calibration);

}  // namespace assay::metamorphic
