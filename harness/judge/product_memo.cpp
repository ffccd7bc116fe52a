#include "harness/judge/product_memo.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "reference/executor.hpp"

namespace assay::judge {

using core::Tensor;
using core::TensorPtr;

bool ProductMemo::is(const Product& product, const model::Node& node, std::int64_t opset,
                     const std::vector<TensorPtr>& inputs) {
  const auto same = [](const TensorPtr& a, const TensorPtr& b) {
    return a == b || (a != nullptr && b != nullptr && *a == *b);
  };
  return product.node.op_type == node.op_type && product.opset == opset && product.node.domain == node.domain &&
         std::ranges::equal(product.inputs, inputs, same) && product.node.attributes == node.attributes;
}

core::Result<TensorPtr> ProductMemo::get(const model::Node& node, std::int64_t opset,
                                         const std::vector<TensorPtr>& inputs) {
  const auto known =
      std::ranges::find_if(kept_, [&](const Product& product) { return is(product, node, opset, inputs); });
  if (known != kept_.end()) {
    ++found_;
    kept_.splice(kept_.begin(), kept_, known);
    return known->result;
  }
  std::vector<const Tensor*> raw;
  std::size_t elements = 0;
  for (const TensorPtr& input : inputs) {
    raw.push_back(input.get());
    elements += input == nullptr ? 0 : static_cast<std::size_t>(input->size());
  }
  core::Result<std::vector<Tensor>> outputs = reference::execute_node(node, opset, raw);
  if (!outputs) {
    return outputs.error();
  }
  TensorPtr result = std::make_shared<const Tensor>(std::move(outputs->front()));
  elements += static_cast<std::size_t>(result->size());
  if (elements > most_elements_ / 4) {
    return result;
  }
  std::vector<TensorPtr> own;
  for (const TensorPtr& input : inputs) {
    // A pointer that owns nothing looks at a tensor of somebody else's, which may be gone by the next question.
    const bool lent = input != nullptr && input.use_count() == 0;
    own.push_back(lent ? std::make_shared<const Tensor>(*input) : input);
  }
  kept_.push_front({node, opset, std::move(own), result, elements});
  elements_ += elements;
  while (elements_ > most_elements_) {
    elements_ -= kept_.back().elements;
    kept_.pop_back();
  }
  return result;
}

}  // namespace assay::judge
