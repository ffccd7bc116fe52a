#include "harness/judge/quantization/correlated.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/evidence/transposed.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using model::Node;

/// y = J·x with J diagonal once the other operands are known.
bool scales(const Node& node) {
  const OperatorTraits& traits = traits_of(node);
  return traits.formula == Formula::product || traits.formula == Formula::quotient ||
         traits.formula == Formula::negation || traits.normalization == Normalization::given_moments;
}

bool adds(const Node& node) {
  const Formula formula = traits_of(node).formula;
  return formula == Formula::sum || formula == Formula::difference;
}

bool is_real(const std::optional<Enclosure>& input) { return input && input->centre->is_real(); }

std::size_t size_of(const Enclosure& e) { return static_cast<std::size_t>(e.centre->size()); }

/// Where Q's ends turn or jump inside [low, high], for values rounded by half a step at most and held to the codes.
void add_code_ends(const CodeSpan& span, double half, const Interval& value,
                   std::vector<std::pair<double, double>>& points) {
  const auto add = [&](double v) {
    v = std::clamp(v, value.low, value.high);
    points.emplace_back(v, std::min(std::max(v + half, span.bottom.high), span.top.high));
    points.emplace_back(v, std::max(std::min(v - half, span.top.low), span.bottom.low));
  };
  for (const double v : {value.low, value.high, span.bottom.high - half, span.top.high - half, span.bottom.low + half,
                         span.top.low + half}) {
    add(v);
  }
}

}  // namespace

Chord fit_chord(double centre, double value, const std::vector<std::pair<double, double>>& points) {
  const auto spread = [&](double slope) {
    double most = 0;
    for (const auto& [v, f] : points) {
      most = std::max(most, std::fabs(f - value - slope * (v - centre)));
    }
    return most;
  };
  // The spread is convex in the slope: any slope is sound, the search only looks for a good one.
  double low = 0, high = 1;
  for (int i = 0; i < 24; ++i) {
    const double left = low + (high - low) / 3, right = high - (high - low) / 3;
    if (spread(left) < spread(right)) {
      high = right;
    } else {
      low = left;
    }
  }
  Chord best{1, spread(1)};
  for (const double slope : {(low + high) / 2, 0.0}) {
    if (const double reached = spread(slope); reached < best.spread) {
      best = {slope, reached};
    }
  }
  return best;
}

void CorrelatedBound::record(std::size_t entry, const std::string& tensor, const std::vector<const Enclosure*>& before,
                             const std::vector<const Enclosure*>& read, const Enclosure& output) {
  Step step;
  step.entry = entry;
  const std::vector<std::string>& names = plan_.alignment().operations[entry].node.outputs;
  step.position = static_cast<std::size_t>(std::find(names.begin(), names.end(), tensor) - names.begin());
  step.tensor = tensor;
  for (std::size_t i = 0; i < read.size(); ++i) {
    step.before.push_back(before[i] == nullptr ? std::nullopt : std::optional(*before[i]));
    step.read.push_back(read[i] == nullptr ? std::nullopt : std::optional(*read[i]));
  }
  step.output = output;
  steps_.push_back(std::move(step));
}

/// What a reader gets of `tensor`: itself, or what any of its roundings makes of it.
std::vector<Chord> CorrelatedBound::reading_of(const std::string& tensor, const Enclosure& before,
                                               const Enclosure& read, bool dynamic) const {
  const std::vector<QuantizationPlan::Rounding>& roundings = plan_.roundings(tensor);
  if (dynamic) {
    const std::vector<double> whole = radius_of(read), carried = radius_of(before);
    std::vector<Chord> chords;
    // Rounding adds at most what the reader's interval is wider by; behind other roundings all starts anew.
    for (std::size_t i = 0; i < whole.size(); ++i)
      chords.push_back(roundings.empty() ? Chord{1, std::max(0.0, whole[i] - carried[i])} : Chord{0, whole[i]});
    return chords;
  }
  if (roundings.empty()) {
    return {};
  }
  const bool known = std::ranges::all_of(roundings, [](const auto& r) { return r.span && !r.chained; });
  const Enclosure ends = with_explicit_ends(before);
  const std::span<const double> centre = ends.centre->reals();
  const std::span<const double> lows = ends.low_or_centre().reals(), highs = ends.high_or_centre().reals();
  const std::vector<double> whole = radius_of(read);
  std::vector<Chord> chords;
  chords.reserve(centre.size());
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; i < centre.size(); ++i) {
    const Interval value{lows[i], highs[i]};
    Chord chord{0, whole[i]};
    if (value.low == 0 && value.high == 0) {
      chord = {0, 0};  // zero has a code of its own
    } else if (known) {
      double rounding = 0;
      bool inside = true;
      points.assign({{value.low, value.low}, {value.high, value.high}});
      for (const QuantizationPlan::Rounding& r : roundings) {
        const double half = std::max(r.span->half(value.low), r.span->half(value.high)) * (rounds_twice_ ? 1.5 : 1);
        rounding = std::max(rounding, half);
        inside = inside && value.high + half <= r.span->top.low && value.low - half >= r.span->bottom.high;
        add_code_ends(*r.span, half, value, points);
      }
      chord = inside ? Chord{1, rounding} : fit_chord(centre[i], centre[i], points);
    }
    chords.push_back(chord);
  }
  return chords;
}

/// J where it is diagonal: f(1) − f(0) of the operator with its constants, or the chords of a function.
bool CorrelatedBound::find_diagonal(Step& step) const {
  const Node& node = plan_.alignment().operations[step.entry].node;
  const std::size_t size = size_of(step.output);
  if (traits_of(node).bends) {
    const Enclosure read = with_explicit_ends(*step.read[0]);
    const std::span<const double> centre = read.centre->reals(), value = step.output.centre->reals();
    const Enclosure output = with_explicit_ends(step.output);
    const auto turns = [&](const char* attribute, std::size_t input, double usual) {
      const bool given = input < step.read.size() && step.read[input];
      return given ? step.read[input]->centre->as_real(0) : node.float_or(attribute, usual);
    };
    const double slope = traits_of(node).clamp == Clamp::none ? node.float_or("alpha", 0.01) : 0;  // LeakyRelu
    const double none = std::numeric_limits<double>::infinity();
    const bool clips = traits_of(node).clamp == Clamp::to_bounds;
    const double bottom = clips ? turns("min", 1, -none) : 0, top = clips ? turns("max", 2, none) : none;
    const auto f = [&](double v) { return v < bottom ? (clips ? bottom : slope * v) : std::min(v, top); };
    if (slope < 0 || slope > 1 || bottom > top) {
      return false;
    }
    for (std::size_t i = 0; i < size; ++i) {
      const double low = read.low_or_centre().reals()[i], high = read.high_or_centre().reals()[i];
      std::vector<std::pair<double, double>> points{{low, f(low)}, {high, f(high)}};
      for (const double v : {bottom, top}) {
        if (v > low && v < high) {
          points.emplace_back(v, f(v));
        }
      }
      const Chord chord = fit_chord(centre[i], value[i], points);
      step.diagonal.push_back(chord.slope);
      step.own.push_back(chord.spread + 4 * kFloatUnit * std::max(std::fabs(f(low)), std::fabs(f(high))));
    }
    return true;
  }
  if (!scales(node) || (traits_of(node).formula == Formula::quotient && !step.before[0]) ||
      std::ranges::count_if(step.before, is_real) != 1) {
    return false;
  }
  std::array<std::vector<double>, 2> ends;
  for (const double value : {0.0, 1.0}) {
    std::vector<Tensor> storage;
    storage.reserve(step.read.size());
    std::vector<const Tensor*> inputs;
    for (std::size_t i = 0; i < step.read.size(); ++i) {
      if (!is_real(step.read[i])) {
        inputs.push_back(step.read[i] ? step.read[i]->centre.get() : nullptr);
        continue;
      }
      const Tensor& centre = *step.read[i]->centre;
      if (step.before[i] && centre.shape() != step.output.centre->shape()) {
        return false;
      }
      storage.push_back(like(centre, step.before[i] ? std::vector<double>(size, value) : centre.to_reals()));
      inputs.push_back(&storage.back());
    }
    const auto result = run_one(node, plan_.alignment().opset(node.domain), inputs);
    if (!result || static_cast<std::size_t>(result->size()) != size) {
      return false;
    }
    ends[value == 0 ? 0 : 1] = result->to_reals();
  }
  for (std::size_t i = 0; i < size; ++i) {
    step.diagonal.push_back(ends[1][i] - ends[0][i]);
  }
  return std::ranges::all_of(step.diagonal, [](double d) { return std::isfinite(d); });
}

/// What a linear node adds itself: its radius on inputs that lie evenly around their centres, less what |J| makes of
/// their radii.
bool CorrelatedBound::find_own_share(Step& step) const {
  const Node& node = plan_.alignment().operations[step.entry].node;
  const std::int64_t opset = plan_.alignment().opset(node.domain);
  std::vector<Enclosure> even;
  even.reserve(step.read.size());
  std::vector<const Enclosure*> inputs;
  std::vector<Tensor> storage;
  storage.reserve(step.read.size());
  std::vector<const Tensor*> radii;
  for (std::size_t i = 0; i < step.read.size(); ++i) {
    if (!step.read[i]) {
      inputs.push_back(nullptr);
      radii.push_back(nullptr);
      continue;
    }
    const Enclosure& read = *step.read[i];
    const bool data = is_real(step.before[i]);
    even.push_back(data ? enclosure_around(read.centre, radius_of(read)) : read);
    inputs.push_back(&even.back());
    if (!read.centre->is_real() || !holds_elements_of(node, i)) {
      radii.push_back(read.centre.get());
      continue;
    }
    std::vector<double> values(size_of(read), 0.0);
    if (data) {
      values = radius_of(read);
    } else if (i == 1 && sums_products(node)) {
      values = read.centre->to_reals();
      std::ranges::transform(values, values.begin(), [](double v) { return std::fabs(v); });
    }
    storage.push_back(like(*read.centre, std::move(values)));
    radii.push_back(&storage.back());
  }
  auto enclosed = enclose_node(node, opset, inputs, Arithmetic{.float_unit = kFloatUnit});
  if (!enclosed || step.position >= enclosed->size()) {
    return false;
  }
  if (const double unit = plan_.half_unit_of(step.entry);
      unit > 0 && !round_to_half((*enclosed)[step.position], unit, node)) {
    return false;
  }
  step.own = radius_of((*enclosed)[step.position]);
  std::vector<double> carried;
  if (!step.diagonal.empty()) {
    const auto data = std::ranges::find_if(step.before, is_real) - step.before.begin();
    carried = radius_of(*step.read[static_cast<std::size_t>(data)]);
    std::ranges::transform(carried, step.diagonal, carried.begin(),
                           [](double r, double d) { return r * std::fabs(d); });
  } else {
    Node magnitude = node;
    if (traits_of(node).formula == Formula::difference) magnitude.op_type = "Add";
    if (magnitude.has("alpha")) {
      magnitude.attributes["alpha"] = std::fabs(magnitude.float_or("alpha", 1));
    }
    const auto result = run_one(magnitude, opset, radii, step.position);
    if (!result) {
      return false;
    }
    carried = result->to_reals();
  }
  if (carried.size() != step.own.size()) {
    return false;
  }
  constexpr double kJustBelow = 1 - 0x1p-40;  // the sums of either side in float64
  std::ranges::transform(step.own, carried, step.own.begin(),
                         [](double own, double r) { return std::max(0.0, own - r * kJustBelow); });
  return true;
}

void CorrelatedBound::prepare(Step& step) const {
  step.prepared = true;
  const Node& node = plan_.alignment().operations[step.entry].node;
  const bool constant_weight = step.before.size() > 1 && !step.before[1] && step.before[0] && step.read[1] &&
                               !(step.before.size() > 2 && step.before[2]);
  step.linear =
      find_diagonal(step) || adds(node) || selects_by_position(node) || (sums_products(node) && constant_weight);
  if (step.linear && step.own.empty()) {
    step.linear = find_own_share(step);
  }
  if (!step.linear) {
    step.own = radius_of(step.output);  // starts anew: its own radius holds all that came before
    return;
  }
  for (std::size_t i = 0; i < step.read.size(); ++i) {
    step.reading.push_back(is_real(step.before[i])
                               ? reading_of(node.inputs[i], *step.before[i], *step.read[i],
                                            plan_.alignment().operations[step.entry].rounds_dynamically(i))
                               : std::vector<Chord>());
  }
}

/// The row of J for each input of a linear node.
std::optional<std::vector<std::vector<double>>> CorrelatedBound::transposed(const Step& step,
                                                                            const std::vector<double>& row) const {
  const Node& node = plan_.alignment().operations[step.entry].node;
  const std::int64_t opset = plan_.alignment().opset(node.domain);
  std::vector<std::vector<double>> rows(step.read.size());
  if (!step.diagonal.empty()) {
    const auto data = static_cast<std::size_t>(std::ranges::find_if(step.before, is_real) - step.before.begin());
    rows[data] = row;
    std::ranges::transform(row, step.diagonal, rows[data].begin(), std::multiplies());
    return rows;
  }
  if (sums_products(node)) {
    auto back = through_product(node, opset, step.read[0]->centre->shape(), *step.read[1]->centre,
                                like(*step.output.centre, row));
    if (!back) {
      return std::nullopt;
    }
    rows[0] = *std::move(back);
    return rows;
  }
  // Where each element comes from: the operator on its inputs' positions, counted from one. A sum is the selection of
  // each of its inputs, spread to the output's shape.
  const bool sum = adds(node), difference = traits_of(node).formula == Formula::difference;
  for (std::size_t alone = 0; alone < (sum ? step.read.size() : 1); ++alone) {
    std::vector<Tensor> positions;
    positions.reserve(step.read.size());
    std::vector<const Tensor*> inputs;
    std::vector<std::size_t> first(step.read.size(), 0);
    double next = 1;
    for (std::size_t i = 0; i < step.read.size(); ++i) {
      if (!is_real(step.read[i]) || !holds_elements_of(node, i)) {
        inputs.push_back(step.read[i] ? step.read[i]->centre.get() : nullptr);
        continue;
      }
      std::vector<double> counted(size_of(*step.read[i]), 0.0);
      first[i] = static_cast<std::size_t>(next);
      if (!sum || i == alone) {
        std::ranges::generate(counted, [&] { return next++; });
      }
      positions.push_back(like(*step.read[i]->centre, std::move(counted)));
      inputs.push_back(&positions.back());
    }
    Node moves = node;
    if (difference) moves.op_type = "Add";
    const auto moved = run_one(moves, opset, inputs, step.position);
    if (!moved || static_cast<std::size_t>(moved->size()) != row.size()) {
      return std::nullopt;
    }
    std::vector<double> all(static_cast<std::size_t>(next), 0.0);
    for (std::size_t i = 0; i < row.size(); ++i) {
      all[static_cast<std::size_t>(moved->reals()[i])] += row[i];
    }
    for (std::size_t i = 0; i < step.read.size(); ++i) {
      if (is_real(step.read[i]) && (!sum || i == alone)) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first[i]);
        rows[i].assign(begin, begin + static_cast<std::ptrdiff_t>(size_of(*step.read[i])));
        if (difference && i == 1) {
          std::ranges::transform(rows[i], rows[i].begin(), std::negate());
        }
      }
    }
  }
  return rows;
}

void CorrelatedBound::carry_back(const Step& step, const std::vector<double>& row, Rows& rows, double& sum) const {
  const auto back = step.linear ? transposed(step, row) : std::nullopt;
  const std::vector<double> whole = step.linear && !back ? radius_of(step.output) : std::vector<double>();
  const std::vector<double>& own = whole.empty() ? step.own : whole;
  for (std::size_t i = 0; i < row.size(); ++i) {
    sum += std::fabs(row[i]) * own[i];
  }
  for (std::size_t i = 0; back && i < step.read.size(); ++i) {
    if (!is_real(step.before[i])) {
      continue;
    }
    const std::vector<Chord>& reading = step.reading[i];
    std::vector<double>& total = rows[plan_.alignment().operations[step.entry].node.inputs[i]];
    total.resize((*back)[i].size(), 0.0);
    for (std::size_t k = 0; k < total.size(); ++k) {
      const double factor = (*back)[i][k];
      total[k] += factor * (reading.empty() ? 1 : reading[k].slope);
      sum += reading.empty() ? 0 : std::fabs(factor) * reading[k].spread;
    }
  }
}

std::optional<double> CorrelatedBound::radius(const std::string& tensor, std::size_t flat) {
  Rows rows;
  double sum = 0;
  bool begun = false;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (!begun && step->tensor == tensor) {
      rows[tensor].assign(size_of(step->output), 0.0);
      rows[tensor][flat] = 1;
      begun = true;
    }
    const auto row = rows.find(step->tensor);
    if (!begun || row == rows.end()) {
      continue;
    }
    const std::vector<double> own = std::move(row->second);
    rows.erase(row);
    if (!step->prepared) {
      prepare(*step);
    }
    carry_back(*step, own, rows, sum);
  }
  return begun ? std::optional(sum) : std::nullopt;
}

}  // namespace assay::judge
