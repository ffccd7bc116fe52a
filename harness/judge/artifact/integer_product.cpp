#include "harness/judge/artifact/integer_product.hpp"

#include <algorithm>
#include <utility>

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

class ProductReader {
 public:
  ProductReader(const model::Graph& graph, const model::Wiring& wiring, const Constants& constants)
      : graph_(graph), wiring_(wiring), constants_(constants) {}

  std::optional<IntegerProduct> read(std::size_t index) {
    const Node& node = graph_.nodes[index];
    if (node.domain == "com.microsoft") return read_whole(node, index);
    const bool conv = node.op_type == "ConvInteger";
    if (!node.domain.empty() || (!conv && node.op_type != "MatMulInteger") || node.outputs.size() != 1) return {};
    product_.op = conv ? "Conv" : "MatMul";
    const auto take = [&](std::size_t data, std::size_t weight) {
      product_.codes = node.input(data);
      product_.zero_point = node.input(data + 2);
      product_.weight = node.input(weight);
      product_.weight_zero_point = node.input(weight + 2);
      return is_known();
    };
    product_.mirrored = !take(0, 1);
    if (product_.mirrored && (conv || !take(1, 0))) return {};
    dynamic_ = find_scale();
    product_.behind = conv ? find_constant(constants_, product_.weight)->rank() - 2 : 0;
    if (!follow(index)) return {};
    if (!dynamic_) {
      const TensorPtr zero_point = find_constant(constants_, product_.zero_point);
      const auto left = left_factor();
      if ((*left)->size() != 1 || (zero_point == nullptr && !product_.zero_point.empty())) return {};
      product_.left_scale = *left;
      factors_.erase(left);
    }
    product_.weight_scale = scale_of_factors();
    return product_.weight_scale == nullptr ? std::nullopt : std::optional(std::move(product_));
  }

 private:
  /// An operator that quantizes, multiplies and scales, or does the last two of these.
  std::optional<IntegerProduct> read_whole(const Node& node, std::size_t index) {
    const bool quantizes = node.op_type == "DynamicQuantizeMatMul";
    if ((!quantizes && node.op_type != "MatMulIntegerToFloat") || node.outputs.size() != 1) return {};
    product_.op = "MatMul";
    (quantizes ? product_.real : product_.codes) = node.input(0);
    product_.weight = node.input(1);
    const std::size_t scale = quantizes ? 2 : 3;
    if (!quantizes) product_.zero_point = node.input(4);
    product_.weight_zero_point = node.input(quantizes ? 3 : 5);
    product_.addend = node.input(quantizes ? 4 : 6);
    product_.last = index;
    product_.weight_scale = find_constant(constants_, node.input(scale));
    if (!quantizes && (!find_scale() || node.input(2) != product_.scale)) return {};
    return is_known() && product_.weight_scale != nullptr ? std::optional(std::move(product_)) : std::nullopt;
  }

  bool is_known() const {
    return find_constant(constants_, product_.weight) != nullptr &&
           (product_.weight_zero_point.empty() || find_constant(constants_, product_.weight_zero_point) != nullptr);
  }

  bool find_scale() {
    const auto made = dynamic_codes_behind(product_.codes, wiring_, graph_);
    if (!made || product_.zero_point != made->zero_point) return false;
    product_.scale = made->scale;
    return true;
  }

  std::optional<std::size_t> only_reader(std::string_view tensor) const {
    const std::vector<std::size_t>& readers = wiring_.consumers(tensor);
    return readers.size() == 1 && !wiring_.is_output(tensor) ? std::optional(readers.front()) : std::nullopt;
  }

  /// From the sums over a Cast and Mul after Mul, until both scales are in. Where both are constants the left one
  /// stands first.
  bool follow(std::size_t index) {
    bool cast = false;
    for (std::size_t at = index;;) {
      const auto next = only_reader(graph_.nodes[at].outputs.front());
      if (!next) return false;
      const Node& node = graph_.nodes[*next];
      const bool casts =
          node.op_type == "Cast" && !cast && node.int_or("to", 0) == static_cast<std::int64_t>(core::DType::float32);
      if (!casts && (node.op_type != "Mul" || !cast || node.inputs.size() != 2)) return false;
      cast = true;
      if (!casts) {
        const std::string& before = graph_.nodes[at].outputs.front();
        if (!take_factor(node.inputs[node.inputs[0] == before ? 1 : 0])) return false;
      }
      if (dynamic_ ? scaled_ && !factors_.empty() : factors_.size() > 1) {
        product_.last = *next;
        return true;
      }
      product_.between.push_back(*next);
      at = *next;
    }
  }

  /// A factor of the sums: the left operand's scale, a constant, or a product of these.
  bool take_factor(const std::string& name) {
    if (dynamic_ && name == product_.scale) return !std::exchange(scaled_, true);
    const auto maker = wiring_.producer(name);
    if (maker && graph_.nodes[*maker].op_type == "Mul") {
      return std::ranges::all_of(graph_.nodes[*maker].inputs,
                                 [&](const std::string& each) { return take_factor(each); });
    }
    TensorPtr constant = find_constant(constants_, name);
    if (constant == nullptr || !constant->is_real()) return false;
    factors_.push_back(std::move(constant));
    return true;
  }

  /// The left operand's scale among the constant factors: that of the QuantizeLinear that makes its codes, else the
  /// first one.
  std::vector<TensorPtr>::iterator left_factor() {
    const auto maker = wiring_.producer(product_.codes);
    const bool quantized = maker && graph_.nodes[*maker].op_type == "QuantizeLinear";
    const TensorPtr own = quantized ? find_constant(constants_, graph_.nodes[*maker].input(1)) : nullptr;
    const auto found = std::ranges::find_if(
        factors_, [&](const TensorPtr& factor) { return own != nullptr && (factor == own || *factor == *own); });
    return found == factors_.end() ? factors_.begin() : found;
  }

  /// The product of the constants, which lie along the output channels, or are one.
  TensorPtr scale_of_factors() const {
    std::vector<double> scale{1.0};
    for (const TensorPtr& factor : factors_) {
      const std::vector<double> values = factor->to_reals();
      if (values.size() != 1) {
        if (product_.mirrored || !lies_along_channels(*factor, product_.behind) ||
            (scale.size() != 1 && scale.size() != values.size()))
          return nullptr;
        scale.resize(values.size(), scale.front());
      }
      for (std::size_t i = 0; i < scale.size(); ++i) scale[i] *= values[values.size() == 1 ? 0 : i];
    }
    const core::Shape shape = scale.size() == 1 ? core::Shape{} : core::Shape{static_cast<std::int64_t>(scale.size())};
    return std::make_shared<const Tensor>(core::rounded_to_type(Tensor(core::DType::float32, shape, std::move(scale))));
  }

  const model::Graph& graph_;
  const model::Wiring& wiring_;
  const Constants& constants_;
  IntegerProduct product_;
  std::vector<TensorPtr> factors_;
  bool scaled_ = false, dynamic_ = false;
};

}  // namespace

bool lies_along_channels(const Tensor& tensor, std::int64_t behind) {
  const std::int64_t axis = tensor.rank() - 1 - behind;
  return axis >= 0 && tensor.shape()[static_cast<std::size_t>(axis)] == tensor.size();
}

std::optional<IntegerProduct> integer_product(const model::Graph& graph, const model::Wiring& wiring,
                                              const Constants& constants, std::size_t index) {
  return ProductReader(graph, wiring, constants).read(index);
}

}  // namespace assay::judge
