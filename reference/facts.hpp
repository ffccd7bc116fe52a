#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

// What is known of tensors before anything runs, and arithmetic on extents of which some are not known.

namespace assay::reference {

/// The most elements one tensor may have; larger outputs are refused before anything is allocated.
inline constexpr std::int64_t kElementLimit = std::int64_t{1} << 30U;

using model::Dimension;
/// Extents of a tensor: each a number, a name (the same name is the same number), or unknown.
using Dims = std::vector<Dimension>;

[[nodiscard]] Dimension known(std::int64_t value);
[[nodiscard]] Dims dims_of(std::span<const std::int64_t> shape);
/// The extents as numbers, or nothing while one of them is not known.
[[nodiscard]] std::optional<core::Shape> sizes(const Dims& dims);
/// A shape of `rank` extents that are not known.
[[nodiscard]] Dims unknown_dims(std::size_t rank);

/// "8", "N" or "?"; "[N,3,?]".
[[nodiscard]] std::string dim_text(const Dimension& dim);
[[nodiscard]] std::string dims_text(const Dims& dims);

/// False where both are numbers and differ.
[[nodiscard]] bool may_equal(const Dimension& a, const Dimension& b);
[[nodiscard]] bool may_equal(const Dims& a, const Dims& b);
/// Both known to be the same number.
[[nodiscard]] bool surely_equal(const Dimension& a, const Dimension& b);
/// Of two descriptions of one extent the one that says more: a number, else a name.
[[nodiscard]] Dimension sharper(const Dimension& a, const Dimension& b);
/// What holds of both: the extent if they are surely equal, else nothing.
[[nodiscard]] Dimension common(const Dimension& a, const Dimension& b);

/// The product, as far as it is known: factors of one name and ones give that name.
[[nodiscard]] Dimension product(std::span<const Dimension> dims);
/// The sum: known where every term is, or where all but one name are zero.
[[nodiscard]] Dimension sum(std::span<const Dimension> dims);

/// What is known of one tensor.
struct TensorFacts {
  core::DType type = core::DType::undefined;  ///< undefined: not known
  std::optional<Dims> shape;                  ///< nothing: not even the rank
  core::TensorPtr value;                      ///< the tensor itself where it is constant (type and shape are its own)
  std::optional<Dims> elements;               ///< of a list or scalar of integers whose values are partly known

  /// The elements of a list or scalar of integers, from `value` or `elements`; nothing where none is known.
  [[nodiscard]] std::optional<Dims> integers() const;
  [[nodiscard]] std::optional<std::int64_t> rank() const;
  /// Elements in all, as far as known.
  [[nodiscard]] Dimension size() const;
};

/// A tensor that is there: everything is known of it. `tensor` must outlive the facts.
[[nodiscard]] TensorFacts facts_of(const core::Tensor& tensor);
[[nodiscard]] TensorFacts facts_of(const core::TensorPtr& tensor);
/// What a declaration says.
[[nodiscard]] TensorFacts facts_of(const model::ValueInfo& declared);
/// "float[N,3,?]"; "?" for an unknown type, "float, rank unknown".
[[nodiscard]] std::string facts_text(const TensorFacts& facts);
/// What holds of both, as of the results of two branches.
[[nodiscard]] TensorFacts common(const TensorFacts& a, const TensorFacts& b);

/// Infers a subgraph (If, Loop, Scan) with `bound` added to the names visible outside. Results in the graph's order.
using SubgraphInference = std::function<core::Result<std::vector<TensorFacts>>(
    const model::Graph&, const std::map<std::string, TensorFacts>&)>;

/// What an operator's shape rule sees: as OpCall, but of each input only what is known.
struct ShapeCall {
  const model::Node& node;
  std::int64_t opset = 0;
  std::span<const TensorFacts* const> inputs;  ///< null where left out
  const SubgraphInference* infer_subgraph = nullptr;

  [[nodiscard]] bool has_input(std::size_t index) const { return index < inputs.size() && inputs[index] != nullptr; }
  [[nodiscard]] const TensorFacts& in(std::size_t index) const { return *inputs[index]; }
  [[nodiscard]] const TensorFacts* optional_in(std::size_t index) const {
    return has_input(index) ? inputs[index] : nullptr;
  }
};

/// Types and shapes of an operator's outputs, as far as the inputs determine them. Like a kernel it checks what it can
/// see; errors are the kernel's own (invalid_model; unsupported for a form that the reference does not run).
using ShapeRule = core::Result<std::vector<TensorFacts>> (*)(const ShapeCall& call);

}  // namespace assay::reference
