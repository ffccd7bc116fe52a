#pragma once

#include <map>
#include <string>

#include "harness/model/graph.hpp"

namespace assay::embedded {

/// Graph inputs and outputs of 16 bits (float16, bfloat16), with their types.
using HalfEnds = std::map<std::string, core::DType>;

/// Makes a model of 16-bit floats one of float32 with the same constants, whose nodes compute without its roundings;
/// gives the ends that had 16 bits. Without any the model stays as it is.
HalfEnds widen_halves(model::Model& model);

/// Gives the graph's ends their types back: a Cast behind each such input, and one before each such output.
void put_half_ends(model::Model& artifact, const HalfEnds& ends);

}  // namespace assay::embedded
