#include "harness/judge/enclosures/product_memo.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "harness/judge/evidence/owned.hpp"
#include "reference/executor.hpp"

namespace assay::judge {

using core::Tensor;
using core::TensorPtr;

std::size_t ProductMemo::hint(const model::Node& node, const std::vector<TensorPtr>& inputs) {
  std::size_t hash = std::hash<std::string>()(node.op_type);
  const auto add = [&hash](double value) { hash = hash * 0x9E3779B97F4A7C15U + std::hash<double>()(value); };
  for (const TensorPtr& input : inputs) {
    const std::int64_t size = input == nullptr ? 0 : input->size();
    add(static_cast<double>(size));
    for (const std::int64_t at : {size / 5, size / 2, size - 1}) {
      if (size > 0) add(input->as_real(at));
    }
  }
  return hash;
}

namespace {

/// Bit for bit.
bool same(const TensorPtr& a, const TensorPtr& b) {
  if (a == b || a == nullptr || b == nullptr) {
    return a == b;
  }
  const auto same_bits = [](const auto& x, const auto& y) {
    return x.empty() || std::memcmp(x.data(), y.data(), x.size_bytes()) == 0;
  };
  return a->type() == b->type() && a->shape() == b->shape() &&
         (a->is_real() ? same_bits(a->reals(), b->reals()) : same_bits(a->integers(), b->integers()));
}

}  // namespace

bool ProductMemo::is(const Product& product, const model::Node& node, std::int64_t opset,
                     const std::vector<TensorPtr>& inputs) {
  return product.node.op_type == node.op_type && product.opset == opset && product.node.domain == node.domain &&
         std::ranges::equal(product.inputs, inputs, same) && product.node.attributes == node.attributes;
}

core::Result<TensorPtr> ProductMemo::get(const model::Node& node, std::int64_t opset,
                                         const std::vector<TensorPtr>& inputs) {
  const std::size_t own_hint = hint(node, inputs);
  const auto known = std::ranges::find_if(
      kept_, [&](const Product& product) { return product.hint == own_hint && is(product, node, opset, inputs); });
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
  own.reserve(inputs.size());
  for (const TensorPtr& input : inputs) {
    own.push_back(owned(input));
  }
  kept_.push_front({own_hint, node, opset, std::move(own), result, elements});
  elements_ += elements;
  while (elements_ > most_elements_) {
    elements_ -= kept_.back().elements;
    kept_.pop_back();
  }
  return result;
}

}  // namespace assay::judge
