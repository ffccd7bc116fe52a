#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::conformance {

/// Half the distance from 1 to the next value: the relative error of one rounding to `type`. Float64 counts as float32,
/// since ONNX's expectations of that type were partly computed in float32.
[[nodiscard]] double unit_roundoff(core::DType type);

/// How far a stored expectation may lie from the exact value by its own rounding alone.
[[nodiscard]] double storage_limit(double expected, core::DType type);

/// How far each element of each graph output may lie from the reference's when every float operation of `model` is
/// rounded with relative error `unit`, in any order of summation: the judge's enclosures (docs/oracle_numerics.md),
/// from exact inputs. What is not finite has no neighbourhood and counts as 0.
/// Errors   unsupported, naming the first node for which no such bound is known.
[[nodiscard]] core::Result<std::map<std::string, std::vector<double>>> arithmetic_limits(const model::Model& model,
                                                                                         const core::TensorMap& inputs,
                                                                                         double unit);

/// The limit where no bound is known for a node of the model. The result is taken for a sum of `terms` terms of the
/// size of the largest value that goes in or comes out, each with an independent rounding error: |e| <=
/// t·u·sqrt(terms)·scale fails by chance in one of 10^6 tensors of `elements` elements, t = sqrt(2
/// ln(2·elements·10^6)).
[[nodiscard]] double statistical_limit(double unit, double terms, double elements, double scale);

}  // namespace assay::conformance
