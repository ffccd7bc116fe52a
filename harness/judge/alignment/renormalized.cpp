#include "harness/judge/alignment/renormalized.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/alignment/alignment.hpp"
#include "harness/judge/alignment/forward_error.hpp"
#include "harness/judge/alignment/original_form.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

constexpr double kDefaultEpsilon = 1e-5;

/// gamma, beta, mean and variance, in the order of the operator's inputs from the second on.
using Numbers = std::array<TensorPtr, 4>;

bool are_alike(const Numbers& numbers) {
  for (const TensorPtr& each : numbers) {
    if (each == nullptr || !each->is_real() || each->size() != numbers.front()->size()) return false;
  }
  return true;
}

double epsilon_of(const Node& node) { return node.float_or("epsilon", kDefaultEpsilon); }

/// What each channel is multiplied by, and what is added then: with a mean of 0, a variance of 1 and no epsilon these
/// are gamma and beta.
struct ChannelAffine {
  std::vector<double> slope, offset;
  double largest = 0;  ///< of the terms that an offset is the sum of
};
ChannelAffine affine_of(const Numbers& numbers, double epsilon) {
  ChannelAffine out;
  for (std::size_t i = 0; i < numbers[0]->reals().size(); ++i) {
    out.slope.push_back(numbers[0]->reals()[i] / std::sqrt(numbers[3]->reals()[i] + epsilon));
    const double beta = numbers[1]->reals()[i], shift = numbers[2]->reals()[i] * out.slope.back();
    out.offset.push_back(beta - shift);
    out.largest = std::max(out.largest, std::abs(beta) + std::abs(shift));
  }
  return out;
}

/// In how many channels gamma and beta are those of `made`, as far as quantized values of 8 bits can tell.
std::size_t alike(const Numbers& made, std::span<const double> gamma, std::span<const double> beta) {
  constexpr double kAlike = 0.02;  // of the largest
  const double gammas = kAlike * largest_magnitude(gamma), betas = kAlike * largest_magnitude(beta);
  std::size_t count = 0;
  for (std::size_t i = 0; i < gamma.size(); ++i) {
    const bool both =
        std::abs(made[0]->reals()[i] - gamma[i]) <= gammas && std::abs(made[1]->reals()[i] - beta[i]) <= betas;
    count += both ? 1U : 0U;
  }
  return count;
}

/// The original's numbers with the artifact's mean and variance; nothing where the artifact's gamma and beta aren't
/// what these ask for in most channels.
std::optional<Numbers> in_its_form(const Numbers& own, double epsilon, const Numbers& made, double made_epsilon) {
  auto [gamma, beta, largest] = affine_of(own, epsilon);
  for (std::size_t i = 0; i < gamma.size(); ++i) {
    beta[i] += gamma[i] * made[2]->reals()[i];
    gamma[i] *= std::sqrt(made[3]->reals()[i] + made_epsilon);
  }
  const std::size_t asked = alike(made, gamma, beta);
  if (2 * asked <= gamma.size() || asked < alike(made, own[0]->reals(), own[1]->reals())) return std::nullopt;
  const auto tensor = [&](std::vector<double> values) {
    return std::make_shared<const Tensor>(own.front()->type(), own.front()->shape(), std::move(values));
  };
  return Numbers{tensor(std::move(gamma)), tensor(std::move(beta)), made[2], made[3]};
}

/// `unit`: of the 16-bit floats that hold `made`, or 0.
bool same(const Tensor& own, const Tensor& made, double unit) {
  return std::ranges::equal(own.reals(), made.reals(),
                            [unit](double a, double b) { return std::abs(a - b) <= half_error(unit, a); });
}

class Renormalization {
 public:
  Renormalization(const model::Model& original, const ArtifactView& view) : aligned_(original, &view), view_(view) {}

  std::shared_ptr<const OriginalForm> run() {
    for (const ArtifactNode& made : view_.nodes()) {
      const auto index = normalization_of(made);
      if (!index) continue;
      Numbers own;
      for (std::size_t i = 0; i < own.size(); ++i) {
        const auto found = aligned_.constants.find(aligned_.original->graph.nodes[*index].input(i + 1));
        if (found != aligned_.constants.end()) own[i] = found->second;
      }
      if (!are_alike(own)) continue;
      if (made.original) {
        take_numbers(*index, made, own);
      } else {
        take_convolution(*index, made, own);
      }
    }
    return std::move(form_);
  }

 private:
  /// The original's BatchNormalization that `made` is, or, as a Conv, has its name or output of.
  std::optional<std::size_t> normalization_of(const ArtifactNode& made) const {
    const std::vector<Node>& nodes = aligned_.original->graph.nodes;
    if (made.original) return normalizes_by_constants(nodes[*made.original]) ? made.original : std::nullopt;
    const Node& theirs = view_.artifact().graph.nodes[made.index];
    if (traits_of(theirs).product != Product::convolution || theirs.outputs.empty()) return std::nullopt;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const bool named = nodes[i].name == theirs.name || nodes[i].outputs.front() == theirs.outputs.front();
      if (named && normalizes_by_constants(nodes[i]) && aligned_.is_gone(i)) return i;
    }
    return std::nullopt;
  }

  model::Graph& graph() {
    if (form_ == nullptr) form_ = std::make_shared<OriginalForm>(OriginalForm{*aligned_.original});
    return form_->model.graph;
  }

  void set(Node& node, std::size_t input, TensorPtr values) {
    replace_constant(graph(), aligned_.wiring, node, input, std::move(values), "_moved");
  }

  void take_numbers(std::size_t index, const ArtifactNode& made, const Numbers& own) {
    const Node &node = aligned_.original->graph.nodes[index], &theirs = view_.artifact().graph.nodes[made.index];
    if (made.inputs.size() < 5 || made.inputs[3].quantized() || made.inputs[4].quantized()) return;  // rounded alone
    Numbers others;
    for (std::size_t i = 0; i < others.size(); ++i) others[i] = constant_value(made.inputs[i + 1]);
    if (!are_alike(others) || own.front()->size() != others.front()->size()) return;
    const bool unmoved =
        same(*own[2], *others[2], made.inputs[3].unit) && same(*own[3], *others[3], made.inputs[4].unit);
    if (unmoved && epsilon_of(node) == epsilon_of(theirs)) return;
    const auto numbers = in_its_form(own, epsilon_of(node), others, epsilon_of(theirs));
    if (!numbers) return;
    Node& changed = graph().nodes[index];
    changed.attributes["epsilon"] = epsilon_of(theirs);
    for (std::size_t i = 0; i < numbers->size(); ++i) set(changed, i + 1, (*numbers)[i]);
  }

  /// One weight for each channel, which the bias is added to.
  void take_convolution(std::size_t index, const ArtifactNode& made, const Numbers& own) {
    const Node &node = aligned_.original->graph.nodes[index], &theirs = view_.artifact().graph.nodes[made.index];
    const TensorPtr weight = made.inputs.size() > 1 ? constant_value(made.inputs[1]) : nullptr;
    const std::int64_t channels = own.front()->size();
    if (weight == nullptr || weight->size() != channels || theirs.int_or("group", 1) != channels || channels < 2)
      return;
    ChannelAffine affine = affine_of(own, epsilon_of(node));
    const double offset = largest_magnitude(affine.offset);
    Node& changed = graph().nodes[index];
    changed.op_type = "Conv";
    changed.attributes = {{"group", channels}};
    changed.inputs.resize(3);
    set(changed, 1, std::make_shared<const Tensor>(own.front()->type(), weight->shape(), std::move(affine.slope)));
    set(changed, kBias,
        std::make_shared<const Tensor>(own.front()->type(), core::Shape{channels}, std::move(affine.offset)));
    // Folded in float32, where the terms of the bias may nearly cancel.
    if (offset > 0)
      form_->uncertainty[changed.inputs[kBias]] = rounding_gamma(kBiasFoldRoundings) * affine.largest / offset;
  }

  Alignment aligned_;
  const ArtifactView& view_;
  std::shared_ptr<OriginalForm> form_;
};

}  // namespace

std::shared_ptr<const OriginalForm> renormalized(const model::Model& model,
                                                 const std::shared_ptr<const model::Model>& artifact) {
  if (std::ranges::none_of(model.graph.nodes, normalizes_by_constants)) return nullptr;
  const auto view = ArtifactView::build(artifact, model);
  return view ? Renormalization(model, *view).run() : nullptr;
}

}  // namespace assay::judge
