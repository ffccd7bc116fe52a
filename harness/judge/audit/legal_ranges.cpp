#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_set>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using model::Node;

/// The wider end is counted in bins.
bool ends_in_a_search(const AllowedRange& wider) { return wider.bins.width > 0 || !wider.searched.empty(); }

/// But for what float32 makes of the same range read back from integer values.
bool same_scales(const core::QuantParams& a, const core::QuantParams& b) {
  return std::ranges::equal(a.scale, b.scale,
                            [](double x, double y) { return std::abs(x - y) <= 0x1p-16 * std::abs(y); });
}

bool same_range(const AllowedRange& a, const AllowedRange& b) {
  const auto ends = [](const AllowedRange& range) {
    return std::tuple(range.low.low, range.low.high, range.high.low, range.high.high, range.slack, range.fixed,
                      range.unsigned_center, range.bins.width, range.bins.relative_error, range.bins.least_doublings,
                      range.bins.most_doublings, range.threshold_bin);
  };
  return ends(a) == ends(b) && a.searched == b.searched;
}

/// Adds `range` unless one that allows the same is there.
void add_range(std::vector<AllowedRange>& ranges, AllowedRange range) {
  if (std::ranges::none_of(ranges, [&](const AllowedRange& each) { return same_range(each, range); })) {
    ranges.push_back(std::move(range));
  }
}

const std::pair<double, double>* stated_range(const converters::Policy& policy, const Node& node) {
  const auto fixed = policy.fixed_ranges.find(model::operator_name(node));
  return fixed == policy.fixed_ranges.end() ? nullptr : &fixed->second;
}

/// What an operator that is no copy by its name copies, and an optimizer takes out: a Cast of reals, a sum with zeros,
/// a product with ones. Null for all others.
const std::string* copied_by(const Node& node, const RangeTable& ranges, const Constants& constants) {
  const auto is_real = [&](const std::string& tensor) { return ranges.contains(tensor); };
  if (node.inputs.empty() || node.outputs.size() != 1 || !is_real(node.outputs.front())) return nullptr;
  if (node.op_type == "Cast") return is_real(node.inputs.front()) ? &node.inputs.front() : nullptr;
  const Formula formula = traits_of(node).formula;
  const bool sum = formula == Formula::sum || formula == Formula::difference;
  if (node.inputs.size() != 2 || !(sum || formula == Formula::product || formula == Formula::quotient)) return nullptr;
  const bool turns = formula == Formula::sum || formula == Formula::product;
  for (const std::size_t constant : {std::size_t{1}, std::size_t{0}}) {
    if (constant == 0 && !turns) continue;
    const auto found = constants.find(node.inputs[constant]);
    if (found == constants.end() || !found->second->is_real()) continue;
    const bool neutral =
        std::ranges::all_of(found->second->reals(), [&](double value) { return value == (sum ? 0.0 : 1.0); });
    if (neutral && is_real(node.inputs[1 - constant])) return &node.inputs[1 - constant];
  }
  return nullptr;
}

}  // namespace

bool may_carry(const Node& node, const converters::Policy& policy) {
  const OperatorTraits& traits = traits_of(node);
  // Nothing needs to be said about operators that are usually removed.
  if (traits.movement == Movement::copies) return true;
  const std::string op = model::operator_name(node);
  if (std::ranges::find(policy.own_ranges, op) != policy.own_ranges.end()) return false;
  if (policy.shares) return std::ranges::find(*policy.shares, op) != policy.shares->end();
  // What stays in its input's range; a group of such tensors may have one. Concat is one for what goes in: an operand
  // may be quantized like the result.
  return stays_in_range(traits);
}

const std::pair<double, double>* fixed_range(const Evidence& evidence, const converters::Policy& policy,
                                             const Node& node) {
  return reported_in_float(evidence, node.name) ? nullptr : stated_range(policy, node);
}

LegalRanges::LegalRanges(const LayerContext& context, const CalibrationRanges& calibration,
                         std::optional<converters::Policy> policy)
    : context_(context),
      calibration_(calibration),
      policy_(std::move(policy).value_or(context.evidence.converter.policy)),
      graph_(context.evidence.model->graph),
      wiring_(graph_),
      given_(context.alignment->given),
      half_units_(half_units(*context.evidence.model)) {
  if (context_.artifact == nullptr) {
    for (const auto& told : context_.evidence.conversion.tensors) told_.emplace(told.name, &told.params);
  }
  connect();
  find_symmetric();
  find_unsigned_center();
}

/// By the policy what a product of two activations reads, also through operators that only move it.
void LegalRanges::find_symmetric() {
  if (!policy_.symmetric_products || context_.evidence.options.symmetric) return;
  std::vector<std::string> open;
  for (const Node& node : graph_.nodes) {
    const bool constant = std::ranges::any_of(
        node.inputs, [&](const std::string& input) { return context_.alignment->constants.contains(input); });
    if (sums_products(node) && !constant) open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  while (!open.empty()) {
    const std::string tensor = std::move(open.back());
    open.pop_back();
    const auto producer = symmetric_.insert(tensor).second ? wiring_.producer(tensor) : std::nullopt;
    if (producer && only_moves(graph_.nodes[*producer], context_.alignment->constants))
      open.emplace_back(graph_.nodes[*producer].input(0));
  }
}

void LegalRanges::find_unsigned_center() {
  if (context_.artifact == nullptr || !context_.evidence.options.symmetric) return;
  const auto centred_at = [&](std::int64_t code) {
    return std::ranges::count_if(context_.artifact->quantizers(), [&](const Quantizer& quantizer) {
      const core::DType type = quantizer.params.type;
      const std::int64_t below = centre_of(core::DType::uint8) - code;
      return core::integer_limits(type).low == 0 && quantizer.params.zero_point.front() == centre_of(type) - below;
    });
  };
  if (centred_at(127) > centred_at(128)) unsigned_center_ = 127;
}

void LegalRanges::connect() {
  for (const Node& node : graph_.nodes) {
    if (traits_of(node).movement == Movement::joins && !node.outputs.empty())
      covers_[node.outputs.front()] = node.inputs;
    const std::size_t inputs = data_input_count(node);
    if (std::ranges::find(policy_.aligns, model::operator_name(node)) != policy_.aligns.end()) {
      for (std::size_t i = 1; i < inputs; ++i) {
        shared_[node.inputs[0]].push_back(node.inputs[i]);
        shared_[node.inputs[i]].push_back(node.inputs[0]);
      }
    }
    if (const std::string* copied = copied_by(node, calibration_.ranges, context_.alignment->constants)) {
      shared_[*copied].push_back(node.outputs.front());
      shared_[node.outputs.front()].push_back(*copied);
      continue;
    }
    if (!may_carry(node, policy_)) continue;
    for (std::size_t i = 0; i < inputs; ++i) {
      for (const std::string& output : node.outputs) {
        if (node.inputs[i].empty() || output.empty()) continue;
        shared_[node.inputs[i]].push_back(output);
        shared_[output].push_back(node.inputs[i]);
      }
    }
  }
}

std::vector<const core::QuantParams*> LegalRanges::declared(const std::string& tensor) const {
  std::vector<const core::QuantParams*> all;
  if (context_.artifact != nullptr) {
    for (const Quantizer* quantizer : context_.artifact->quantizers_of(tensor)) all.push_back(&quantizer->params);
    return all;
  }
  const auto [begin, end] = told_.equal_range(tensor);
  for (auto told = begin; told != end; ++told) all.push_back(told->second);
  return all;
}

const std::vector<std::string>* LegalRanges::stated_sharers(const std::string& tensor) const {
  if (context_.evidence.test_case == nullptr) return nullptr;
  const auto& stated = context_.evidence.test_case->expect.same_scale_as;
  const auto found = stated.find(tensor);
  return found == stated.end() ? nullptr : &found->second;
}

LegalRanges::Group LegalRanges::make_group(const std::string& tensor, const core::QuantParams* params) const {
  struct Member {
    std::string tensor;
    const core::QuantParams* params;  ///< what whoever shares with it has; null: anything
  };
  std::vector<Member> members{{tensor, params}};
  std::unordered_set<std::string> seen{tensor};
  const auto has = [&](const std::string& member, const core::QuantParams* wanted) {
    if (wanted == nullptr) return true;
    const auto all = declared(member);
    return all.empty() || std::ranges::any_of(all, [&](const auto* each) { return same_scales(*each, *wanted); });
  };
  Group group;
  const std::vector<std::string>* stated = stated_sharers(tensor);
  group.mutual = stated == nullptr && has(tensor, params);
  if (stated != nullptr) {
    for (const std::string& sharer : *stated) members.push_back({sharer, nullptr});
  }
  for (std::size_t i = 0; i < members.size() && stated == nullptr; ++i) {
    const Member member = members[i];
    if (const auto found = shared_.find(member.tensor); found != shared_.end()) {
      for (const std::string& next : found->second) {
        if (has(next, member.params) && seen.insert(next).second) members.push_back({next, member.params});
      }
    }
    // Whatever the policy shares, the range of a Concat may cover those of all its branches, which keep their own.
    if (const auto found = covers_.find(member.tensor); found != covers_.end()) {
      group.mutual = false;
      for (const std::string& next : found->second) {
        if (!seen.insert(next).second) continue;
        const auto own = member.params == nullptr ? std::vector<const core::QuantParams*>{} : declared(next);
        members.push_back({next, own.empty() ? nullptr : own.front()});
      }
    }
  }
  for (Member& member : members) {
    if (auto range = own(member.tensor)) add_range(group.ranges, std::move(*range));
    if (auto exact = exact_constant(member.tensor)) add_range(group.ranges, std::move(*exact));
    if (const auto found = given_.find(member.tensor); found != given_.end()) {
      group.given.insert(group.given.end(), found->second.begin(), found->second.end());
    }
    group.tensors.push_back(std::move(member.tensor));
  }
  return group;
}

std::shared_ptr<const LegalRanges::Group> LegalRanges::group_of(const std::string& tensor,
                                                                const core::QuantParams* params) const {
  const std::vector<double> scales = params == nullptr ? std::vector<double>{} : params->scale;
  std::map<std::vector<double>, std::shared_ptr<const Group>>& known = groups_[tensor];
  if (const auto found = known.find(scales); found != known.end()) return found->second;
  auto group = std::make_shared<const Group>(make_group(tensor, params));
  known.emplace(scales, group);
  // Who shares with each other has one group.
  for (const std::string& member : group->mutual ? group->tensors : std::vector<std::string>()) {
    if (stated_sharers(member) == nullptr) groups_[member].emplace(scales, group);
  }
  return group;
}

std::string LegalRanges::sole_activation(std::string tensor) const {
  for (;;) {
    const auto& consumers = wiring_.consumers(tensor);
    if (wiring_.is_output(tensor) || consumers.size() != 1) return "";
    const Node& node = graph_.nodes[consumers.front()];
    if (node.outputs.empty()) return "";
    if (traits_of(node).clamp != Clamp::none) return node.outputs.front();
    const bool joined = traits_of(node).movement == Movement::joins;
    const bool moved = only_moves(node, context_.alignment->constants) && node.input(0) == tensor;
    if (node.outputs.size() != 1 || !(joined || moved)) return "";
    tensor = node.outputs.front();
  }
}

AllowedRange LegalRanges::stated(const std::string& tensor, const std::pair<double, double>& range) const {
  const double low = std::min(range.first, 0.0), high = std::max(range.second, 0.0);
  return {{low, low}, {high, high}, 0, tensor, true, unsigned_center_, {}, {}, {}};
}

std::optional<AllowedRange> LegalRanges::own(const std::string& tensor) const {
  return own(tensor, context_.evidence.options);
}

std::optional<AllowedRange> LegalRanges::own(const std::string& tensor, const converters::Options& options) const {
  const auto found = calibration_.ranges.find(tensor);
  if (found == calibration_.ranges.end() || !found->second.finite || found->second.samples == 0) return std::nullopt;
  const Evidence& evidence = context_.evidence;
  if (const auto producer = wiring_.producer(tensor)) {
    if (const auto* fixed = fixed_range(evidence, policy_, graph_.nodes[*producer])) return stated(tensor, *fixed);
  }
  const auto values = calibration_.sorted_values.find(tensor);
  const auto* sorted = values == calibration_.sorted_values.end() ? nullptr : &values->second;
  const auto searched = calibration_.searched.find(tensor);
  AllowedRange range = allowed_range(tensor, found->second, sorted, options, policy_, evidence.first_batch_bins,
                                     searched == calibration_.searched.end() ? nullptr : &searched->second);
  range.unsigned_center = unsigned_center_;
  return range;
}

std::optional<AllowedRange> LegalRanges::exact_constant(const std::string& tensor) const {
  const auto found = calibration_.ranges.find(tensor);
  if (graph_.initializer(tensor) == nullptr || found == calibration_.ranges.end() || !found->second.finite ||
      context_.evidence.options.method == converters::Method::minmax) {
    return std::nullopt;
  }
  converters::Options exact = context_.evidence.options;
  exact.method = converters::Method::minmax;
  AllowedRange range = allowed_range(tensor, found->second, nullptr, exact, policy_);
  range.unsigned_center = unsigned_center_;
  return range;
}

std::vector<AllowedRange> LegalRanges::of(const std::string& tensor, const core::QuantParams* params) const {
  // A shared range covers the tensor's own: each end may come from any member that reaches as far.
  const auto covering = [&](const std::string& covered) {
    std::vector<AllowedRange> ranges;
    const auto first = own(covered);
    if (!first) return ranges;
    ranges.push_back(*first);
    std::vector<AllowedRange> members{*first};
    for (const AllowedRange& range : group_of(covered, params)->ranges) add_range(members, range);
    const auto reaches = [&](const AllowedRange& a, const AllowedRange& b) {
      return a.low.low <= first->low.high && b.high.high >= first->high.low;
    };
    for (const AllowedRange& a : members) {
      for (const AllowedRange& b : members) {
        if (!reaches(a, b) || (&a == &members.front() && &b == &members.front())) continue;
        const bool same = &a == &b;
        // A magnitude that is counted in bins is one tensor's.
        if (same) {
          ranges.push_back(a);
        } else if (!ends_in_a_search(-a.low.low > b.high.high ? a : b)) {
          ranges.push_back({a.low,
                            b.high,
                            std::max(a.slack, b.slack),
                            a.tensor + "\" and \"" + b.tensor,
                            a.fixed && b.fixed,
                            unsigned_center_,
                            {},
                            {},
                            std::nullopt});
        }
      }
    }
    return ranges;
  };
  std::vector<AllowedRange> legal = covering(tensor);
  if (legal.empty()) return legal;
  if (symmetric_.contains(tensor)) {
    converters::Options symmetric = context_.evidence.options;
    symmetric.symmetric = true;
    legal.push_back(*own(tensor, symmetric));
  }
  if (auto exact = exact_constant(tensor)) legal.push_back(std::move(*exact));
  // The maker runs in float, and who reads its output on codes may know its range all the same.
  const auto producer = wiring_.producer(tensor);
  const auto* fixed = producer ? stated_range(policy_, graph_.nodes[*producer]) : nullptr;
  if (fixed != nullptr && !legal.front().fixed) legal.push_back(stated(tensor, *fixed));
  // What only a Relu or Clip reads may be clipped to that operator's range at once: nothing is lost.
  constexpr std::size_t kMostActivations = 16;  // one behind the other: more have no range that the first lack
  std::string next = stated_sharers(tensor) == nullptr ? sole_activation(tensor) : "";
  for (std::size_t count = 0; !next.empty() && count < kMostActivations; ++count, next = sole_activation(next)) {
    for (AllowedRange& range : covering(next)) add_range(legal, std::move(range));
  }
  return legal;
}

const std::vector<AllowedRange>& LegalRanges::of_moved(const std::string& tensor) const {
  static const std::vector<AllowedRange> none;
  if (!moved_) find_moved();
  const auto found = moved_->find(tensor);
  return found == moved_->end() ? none : found->second;
}

void LegalRanges::find_moved() const {
  moved_.emplace();
  const auto moves = [&](const std::string& tensor) {
    return !wiring_.is_output(tensor) && std::ranges::all_of(wiring_.consumers(tensor), [&](std::size_t reader) {
      const Node& node = graph_.nodes[reader];
      return only_moves(node, context_.alignment->constants) && node.input(0) == tensor;
    });
  };
  // Readers come after what they read: from the end, what is made of a tensor is known before the tensor.
  for (std::size_t index = graph_.nodes.size(); index-- > 0;) {
    const Node& node = graph_.nodes[index];
    if (node.inputs.empty() || !moves(node.inputs.front())) continue;
    std::vector<AllowedRange>& ranges = (*moved_)[node.inputs.front()];
    for (const std::string& output : node.outputs) {
      if (auto range = own(output)) add_range(ranges, std::move(*range));
      const auto behind = moved_->find(output);
      if (behind == moved_->end()) continue;
      for (const AllowedRange& range : behind->second) add_range(ranges, range);
    }
  }
}

std::vector<core::QuantParams> LegalRanges::given(const std::string& tensor) const {
  if (given_.empty()) return {};
  if (is_given(tensor)) return given_.at(tensor);
  return group_of(tensor, nullptr)->given;
}

std::optional<ParamFault> LegalRanges::check(const std::string& tensor, const core::QuantParams& params, bool constant,
                                             ScaleMargin* margin) const {
  if (context_.evidence.options.method == converters::Method::given) return std::nullopt;
  const bool symmetric = context_.evidence.options.symmetric;
  const auto is_params = [&](const core::QuantParams& given) { return given == params; };
  for (const auto& [name, given] : given_) {
    if (std::ranges::any_of(given, is_params)) return std::nullopt;
  }
  std::optional<ParamFault> first;
  core::QuantParams computed = params;
  // Of values of 16 bits the width of the range and the quotient may be, too.
  if (const auto unit = half_units_.find(tensor); unit != half_units_.end()) computed.unit = 2 * unit->second;
  const auto fits = [&](const AllowedRange& range) {
    ScaleMargin own;
    ScaleMargin* asked = margin == nullptr ? nullptr : &own;
    auto fault = check_params(computed, range, symmetric, policy_, asked);
    // A constant operand may be quantized like a weight: symmetric whatever the activations are.
    if (fault && (constant || symmetric_.contains(tensor)))
      fault = check_params(computed, range, !symmetric, policy_, asked);
    if (margin != nullptr && (!fault || !first)) *margin = std::move(own);
    if (!fault) return true;
    // The complaint is about the tensor's own range; a scale that fits another one leaves only its zero_point wrong.
    if (!first) first = std::move(fault);
    return false;
  };
  // Most fit their own range, which is the first: the others are only looked for where it is missed.
  const std::optional<AllowedRange> range = own(tensor);
  if (!range || fits(*range) || std::ranges::any_of(of(tensor, &params), fits)) return std::nullopt;
  return first && keeps_its_input(tensor, params) ? std::nullopt : first;
}

/// A tensor that the original doesn't have: what a Split, say, of the artifact's own makes of codes with `params`.
bool LegalRanges::is_moved_in_the_artifact(const std::string& tensor, const core::QuantParams& params) const {
  if (context_.artifact == nullptr) return false;
  return std::ranges::any_of(context_.artifact->nodes(), [&](const ArtifactNode& made) {
    const Node& node = context_.artifact->artifact().graph.nodes[made.index];
    return std::ranges::find(node.outputs, tensor) != node.outputs.end() && !made.inputs.empty() &&
           only_moves(node, context_.alignment->constants) && made.inputs.front().params == params;
  });
}

/// False where `constant` is one and codes with `params` aren't made for its own values, as activations or as
/// weights are.
bool LegalRanges::fits_a_constant(const std::string& constant, const core::QuantParams& params) const {
  const auto value = context_.alignment->constants.find(constant);
  if (value == context_.alignment->constants.end() || !value->second->is_real() || params.scale.size() != 1 ||
      core::is_real(params.type) || context_.evidence.options.method != converters::Method::minmax) {
    return true;
  }
  double low = 0, high = 0;
  for (const double each : value->second->reals()) {
    low = std::min(low, each);
    high = std::max(high, each);
  }
  AllowedRange range{{low, low}, {high, high}, 0, constant, false, unsigned_center_, {}, {}, {}};
  return std::ranges::any_of(std::array{false, true},
                             [&](bool symmetric) { return !check_params(params, range, symmetric, policy_); });
}

/// Whether the tensor's codes are those of the tensor it was moved from: what these lose was lost before. (A MaxPool's
/// values have other quantiles than its input's.)
bool LegalRanges::keeps_its_input(const std::string& tensor, const core::QuantParams& params) const {
  const auto producer = wiring_.producer(tensor);
  if (!producer) return is_moved_in_the_artifact(tensor, params);
  const Node& node = graph_.nodes[*producer];
  if (!only_moves(node, context_.alignment->constants) || node.inputs.empty()) return false;
  const std::string& input = node.inputs.front();
  const std::vector<std::string>* stated = stated_sharers(tensor);
  if (stated != nullptr && std::ranges::find(*stated, input) == stated->end()) return false;
  if (!fits_a_constant(input, params)) return false;
  if (context_.artifact != nullptr) {
    // A constant's codes have no quantizer: what the operator reads tells.
    const ArtifactNode* made = context_.alignment->made(*producer);
    if (made != nullptr && !made->inputs.empty() && made->inputs.front().params == params) return true;
  }
  return std::ranges::any_of(declared(input), [&](const core::QuantParams* each) { return *each == params; });
}

}  // namespace assay::judge
