#pragma once

#include <memory>

#include "harness/model/graph.hpp"

namespace assay::judge {

/// The artifact with the original's types at the graph's inputs and outputs, where it takes or gives codes, or other
/// floats, for what the original has in floats: QuantizeLinear of an input by the parameters of who reads its codes,
/// DequantizeLinear of an output by those of who makes them, also where they are moved in between, and Casts. The same
/// object where nothing differs or no parameters are found.
[[nodiscard]] std::shared_ptr<const model::Model> with_float_ports(std::shared_ptr<const model::Model> artifact,
                                                                   const model::Graph& original);

}  // namespace assay::judge
