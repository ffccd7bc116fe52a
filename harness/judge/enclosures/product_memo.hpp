#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// Products of the reference that were computed not long ago. Walks of one artifact under several styles, the local
/// bounds behind them and the option sets of one case sum the same products again. Found by content: the node's
/// operator and attributes and every element of its inputs. Not for use from two threads.
class ProductMemo {
 public:
  /// `most_elements`: of inputs and results, over all that is kept; what alone has more than a quarter is not kept.
  explicit ProductMemo(std::size_t most_elements = std::size_t{1} << 20U) : most_elements_(most_elements) {}

  /// The first output of `node` on `inputs` (null where one is left out). Errors   those of the reference.
  [[nodiscard]] core::Result<core::TensorPtr> get(const model::Node& node, std::int64_t opset,
                                                  const std::vector<core::TensorPtr>& inputs);

  [[nodiscard]] std::size_t found() const { return found_; }

 private:
  struct Product {
    std::size_t hint;
    model::Node node;
    std::int64_t opset;
    std::vector<core::TensorPtr> inputs;
    core::TensorPtr result;
    std::size_t elements;
  };
  /// Equal for equal products, cheap, and different for most others.
  static std::size_t hint(const model::Node& node, const std::vector<core::TensorPtr>& inputs);
  static bool is(const Product& product, const model::Node& node, std::int64_t opset,
                 const std::vector<core::TensorPtr>& inputs);

  std::list<Product> kept_;  ///< newest use first
  std::size_t elements_ = 0, most_elements_, found_ = 0;
};

}  // namespace assay::judge
