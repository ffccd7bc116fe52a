#include "harness/judge/numerics/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "harness/corpus/case.hpp"
#include "harness/judge/alignment/statistics.hpp"
#include "harness/judge/audit/granted_params.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/deviation.hpp"
#include "harness/judge/evidence/measured_limits.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/numerics/finding_list.hpp"
#include "harness/judge/numerics/given_ties.hpp"
#include "harness/judge/numerics/power.hpp"
#include "harness/judge/numerics/sides_at_ties.hpp"
#include "harness/judge/quantization/grounds.hpp"
#include "harness/judge/quantization/noise_draws.hpp"
#include "harness/judge/quantization/open_choices.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

/// What outputs of few values may lose against the prediction over all draws of the data: which way their ties go isn't
/// asked.
constexpr double kPooledLossDb = 1;
/// Elements that are decided by values at ties.
constexpr double kTurnedLeast = 2, kTurnedShare = 0.01;
/// Another draw of the same roundings, or of some of them.
constexpr double kOtherDrawDb = 1;
/// Limits have to rule out an output that is a quarter too large, which has this share of the signal's power as noise.
constexpr double kQuarter = 1.0 / 16;
/// The power of noise relative to the signal's; no 8 bits leave as little as 16.
constexpr double kSixteenBits = 0x1p-32;

class PredictionCheck {
 public:
  PredictionCheck(const LayerContext& context, Grounds& grounds, Judgement& out)
      : context_(context), grounds_(grounds), out_(out), plan_(grounds.plan()), predicted_(grounds.prediction()) {}

  std::vector<Finding> run() {
    check_weights();
    const auto& executions = context_.evidence.executions;
    const bool has_typical = std::ranges::any_of(executions, &is_typical);
    bool found_main = false;
    for (std::size_t i = 0; i < executions.size(); ++i) {
      const Execution& execution = executions[i];
      if (execution.reply.outcome != converters::Outcome::ok || i >= context_.reference.size() ||
          context_.reference[i] == nullptr) {
        continue;
      }
      if (corpus::is_further_draw(execution.data_set)) continue;  // check_draws()
      main_ = has_typical ? is_typical(execution) : !std::exchange(found_main, true);
      allowed_apart_ = loss_apart(execution);
      if (!main_ && rounds_many_ties(*context_.reference[i])) continue;
      check_execution(execution, *context_.reference[i]);
    }
    if (has_typical) check_draws();
    return findings_.take(out_);
  }

 private:
  /// Outputs of few values, over all draws of `typical` together: in each by itself a few roundings decide. Not those
  /// of 16-bit codes, where what float32, or a model in 16-bit floats, rounds counts as much.
  void check_draws() {
    const auto& executions = context_.evidence.executions;
    std::vector<Draw> draws;
    for (std::size_t i = 0; i < executions.size(); ++i) {
      const bool drawn = is_typical(executions[i]) || corpus::is_further_draw(executions[i].data_set);
      if (drawn && executions[i].reply.outcome == converters::Outcome::ok && i < context_.reference.size() &&
          context_.reference[i] != nullptr)
        draws.push_back({&executions[i], context_.reference[i].get()});
    }
    if (draws.size() < 2 || context_.artifact != nullptr || !modelled() || !findings_.empty() || has_wide_codes())
      return;
    main_ = true;
    allowed_apart_ = 0;
    for (const model::ValueInfo& output : context_.evidence.model->graph.outputs) check_draws(output.name, draws);
  }

  struct Draw {
    const Execution* execution;
    const core::TensorMap* reference;
  };
  /// An output on one draw: the float model's, and the engine's of the same shape.
  struct DrawnOutput {
    const Tensor *expected, *actual;
    const core::TensorMap* inputs;
  };
  void check_draws(const std::string& tensor, const std::vector<Draw>& draws) {
    std::vector<DrawnOutput> all;
    std::size_t distinct = 0;
    Power power;
    for (const auto& [execution, reference] : draws) {
      const auto actual = execution->outputs.find(tensor);
      const auto expected = reference->find(tensor);
      if (actual == execution->outputs.end() || expected == reference->end() || !expected->second.is_real() ||
          !actual->second.is_real() || expected->second.size() == 0 ||
          actual->second.shape() != expected->second.shape()) {
        return;
      }
      all.push_back({&expected->second, &actual->second, &execution->inputs});
      const std::size_t own = distinct_values(expected->second.reals(), kDistinctOutputs);
      if (own >= kDistinctOutputs) return;
      distinct += own;
      power.signal += signal_power(expected->second);
      power.actual += noise_power(expected->second, actual->second);
    }
    constexpr std::size_t kFewest = 32;
    if (distinct < kFewest || !comes_of_reals(tensor, *draws.front().reference)) return;
    const auto predicted_by = [&](const auto& value_on) {
      double noise = 0;
      for (const DrawnOutput& draw : all) {
        const TensorPtr value = value_on(*draw.inputs);
        if (value == nullptr || !value->is_real() || value->shape() != draw.expected->shape())
          return std::numeric_limits<double>::infinity();
        noise += noise_power(*draw.expected, *value);
      }
      return noise;
    };
    power.predicted = predicted_by([&](const core::TensorMap& inputs) {
      const FakeQuantization* made = grounds_.prediction(inputs);
      return made == nullptr ? nullptr : made->shown(tensor);
    });
    double narrowest = 0;
    if (grounds_.leaves_ranges_open()) {
      narrowest = predicted_by([&](const core::TensorMap& inputs) {
        const FakeQuantization* made = grounds_.narrowest(inputs);
        return made == nullptr ? nullptr : made->shown(tensor);
      });
    }
    power.error = last_places();
    const double limit = kPooledLossDb + (predicted_.is_noisiest() ? kOtherDrawDb : 0);
    const auto fits = [&](double noise) {
      return with_last_places(noise + narrowest, power.signal, power.error) * ratio(limit) >= power.actual;
    };
    if (!power.comparable() ||
        !(with_last_places(power.predicted + narrowest, power.signal, power.error) * ratio(limit) < power.signal))
      return;
    reach(tensor);
    measured({tensor, "typical", "drawn_sets_deviation_db", power.deviation_db()});
    if (fits(power.predicted)) return;
    const auto ways = ways_on(draws.front().execution->inputs);
    for (std::size_t i = 1; i < ways.size(); ++i) {
      if (fits(predicted_by([&](const core::TensorMap& inputs) {
            const auto run = ways_on(inputs);
            return i < run.size() ? run[i].prediction.shown(tensor) : nullptr;
          })))
        return;
    }
    for (const View& way : ways) {
      for (const Supposed& supposed : suppositions(way.supposed)) {
        FakeQuantization other(way.context, way.plan, supposed);
        if (fits(predicted_by(
                [&](const core::TensorMap& inputs) { return other.run(inputs) ? other.shown(tensor) : nullptr; })))
          return;
      }
    }
    report(tensor, fmt::format(", {} draws of it", all.size()), "typical", power, limit);
  }

  /// Of what the artifact holds in 16 bits each tensor adds a rounding, independent of the others'.
  [[nodiscard]] double last_places() const {
    if (context_.artifact == nullptr || context_.artifact->largest_unit() == 0) return kFloat32Error;
    const double roundings = std::sqrt(static_cast<double>(context_.artifact->units().size()));
    return kFloat32Error + context_.artifact->largest_unit() * roundings;
  }

  static bool is_typical(const Execution& execution) { return execution.data_set == "typical"; }

  /// What may be lost besides on other data than the main set, in dB, where an engine's own choices may decide more
  /// than there: beyond the calibrated range 2.7 dB over the default suite, in x ÷ √(mean x²). Which way ties go is
  /// asked apart. A user's own further sets may lie on ties here and there.
  [[nodiscard]] double loss_apart(const Execution& execution) const {
    constexpr double kDrawnApartDb = 3, kFurtherDb = 1.5;
    if (main_) return 0;
    const bool drawn = std::ranges::any_of(context_.evidence.test_case->inputs, [&](const auto& input) {
      return std::ranges::find(input.second.data_sets, execution.data_set) != input.second.data_sets.end();
    });
    return drawn ? kDrawnApartDb : kFurtherDb;
  }

  /// So many of what the model's own quantizers round are ties that the rule of rounding decides.
  [[nodiscard]] bool rounds_many_ties(const core::TensorMap& reference) const {
    constexpr double kMostTies = 1e-3;
    return share_of_ties(context_.evidence.model->graph, reference) > kMostTies;
  }

  /// Of other data than the main set nothing is kept but what is wrong.
  void measured(Metric metric) {
    if (main_) out_.metrics.push_back(std::move(metric));
  }
  void miss(const std::string& tensor, const std::string& why) {
    if (main_) out_.coverage.miss(tensor, why);
  }

  void check_execution(const Execution& execution, const core::TensorMap& reference) {
    const FakeQuantization* predicted = grounds_.prediction(execution.inputs);
    std::optional<core::Result<NoiseByOutput>> draws;  // made where an output needs them
    for (const model::ValueInfo& output : context_.evidence.model->graph.outputs) {
      const auto actual = execution.outputs.find(output.name);
      const auto expected = reference.find(output.name);
      if (actual == execution.outputs.end() || expected == reference.end() ||
          actual->second.shape() != expected->second.shape() ||
          actual->second.is_real() != expected->second.is_real() || expected->second.size() == 0) {
        continue;
      }
      if (!comes_of_reals(output.name, reference)) {
        compare_exactly(output.name, expected->second, actual->second, execution.data_set);
        continue;
      }
      const TensorPtr guess = predicted == nullptr ? nullptr : predicted_.shown(output.name);
      const bool real = guess != nullptr && guess->is_real() && expected->second.is_real() &&
                        guess->shape() == expected->second.shape();
      const std::size_t found = findings_.count();
      const bool decided = real && compare(output.name, expected->second, actual->second, *guess, execution);
      if (guess != nullptr && !guess->is_real() && guess->shape() == actual->second.shape())
        compare_integers(output.name, expected->second, actual->second, *guess, execution);
      if (findings_.count() > found) continue;
      if (!decided && !draws) draws = draw(execution, reference);
      const NoiseByOutput* drawn = draws && *draws ? &draws->value() : nullptr;
      if (real && compare_closely(output.name, reference, actual->second, drawn, execution)) continue;
      if (!decided)
        compare_with_draws(output.name, expected->second, actual->second, real ? guess.get() : nullptr, *draws,
                           execution);
    }
    if (predicted != nullptr && main_ && context_.depth != Depth::gate) predict_inside(reference, execution.data_set);
  }

  /// Whether any real value decides the tensor's: a shape, or what is computed of integers alone, knows no rounding.
  [[nodiscard]] bool comes_of_reals(const std::string& tensor, const core::TensorMap& reference) const {
    std::vector<std::string> open{tensor};
    std::set<std::string> seen;
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      if (name.empty() || !seen.insert(name).second) continue;
      const auto producer = wiring_.producer(name);
      if (!producer) {
        const auto found = reference.find(name);
        if (found == reference.end() || found->second.is_real()) return true;
        continue;
      }
      const Node& node = context_.evidence.model->graph.nodes[*producer];
      if (traits_of(node).shape_only) continue;
      if (node.op_type == "Constant" && node.outputs.front() != tensor) {
        const auto found = reference.find(name);
        if (found == reference.end() || found->second.is_real()) return true;
        continue;
      }
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
      const auto captured = model::captured_names(node);
      open.insert(open.end(), captured.begin(), captured.end());
    }
    return false;
  }

  void compare_exactly(const std::string& tensor, const Tensor& expected, const Tensor& actual,
                       const std::string& data_set) {
    reach(tensor);
    const double noise = noise_power(expected, actual);
    if (noise == 0) return;
    add(tensor, data_set, noise,
        fmt::format("{}: differs from the float model's ({} of {} elements), though no rounding can reach it",
                    about(tensor, "", data_set), noise, expected.size()));
  }

  /// Other outcomes of the roundings that may have been, wherever not all of the converter's choices are known.
  [[nodiscard]] core::Result<NoiseByOutput> draw(const Execution& execution, const core::TensorMap& reference) const {
    constexpr std::uint64_t kDraws = 8, kDrawsOfLarge = 2;
    const std::uint64_t draws = context_.large ? kDrawsOfLarge : kDraws;
    const Evidence& evidence = context_.evidence;
    if (context_.artifact != nullptr) {
      const std::map<std::string, double, std::less<>> units = half_units_on_either_side();
      return draw_from_artifact(context_.artifact->artifact(), execution.inputs, evidence.model->graph.outputs,
                                originals(reference),
                                {.learned = evidence.converter.policy.weights == converters::WeightRounding::adapted,
                                 .twice = out_.style == StyleName::double_rounding,
                                 .draws = draws,
                                 .halves = &units});
    }
    return grounds_.draws(execution.inputs, reference, draws);
  }

  /// Unit roundoffs of the artifact's tensors that have 16 bits, or stand for such of the original: what this rounds is
  /// missing in an artifact of float32.
  [[nodiscard]] std::map<std::string, double, std::less<>> half_units_on_either_side() const {
    std::map<std::string, double, std::less<>> units = context_.artifact->units();
    for (const Node& node : context_.artifact->artifact().graph.nodes) {
      for (const std::string& output : node.outputs) {
        const double unit = plan_.half_unit_of(context_.artifact->original_tensor(output));
        if (unit > 0) units[output] = std::max(units[output], unit);
      }
    }
    return units;
  }

  /// What the original has where the artifact quantizes, as far as the alignment knows.
  [[nodiscard]] OriginalValues originals(const core::TensorMap& reference) const {
    OriginalValues values;
    for (const Quantizer& quantizer : context_.artifact->quantizers()) {
      const auto& planned = plan_.roundings(quantizer.original);  // elsewhere, where an activation behind it is gone
      const auto found = reference.find(quantizer.original);
      if (found == reference.end() || !found->second.is_real() || found->second.size() == 0 ||
          std::ranges::find(planned, quantizer.codes, &QuantizationPlan::Rounding::codes) == planned.end()) {
        continue;
      }
      const auto all = found->second.reals();
      if (!std::ranges::all_of(all, [](double value) { return std::isfinite(value); })) continue;
      const auto [low, high] = std::ranges::minmax(all);
      values[quantizer.codes] = {low, high};
    }
    return values;
  }

  /// Noise beyond what any rounding that may have been makes of this output, or the conversion itself as predicted: of
  /// a few elements, or of such as lie on the last code, no draw need leave as much. `guess` is null where nothing is.
  void compare_with_draws(const std::string& tensor, const Tensor& expected, const Tensor& actual, const Tensor* guess,
                          const core::Result<NoiseByOutput>& draws, const Execution& execution) {
    const std::string& data_set = execution.data_set;
    if (!draws) {
      const core::Error& error = draws.error();
      miss(tensor, error.node.empty() ? error.message
                                      : fmt::format("node \"{}\" ({}): {}", error.node, error.op, error.message));
      return;
    }
    const auto found = draws->find(tensor);
    if (found == draws->end()) {
      miss(tensor, "the artifact makes no output of that name, type and shape");
      return;
    }
    // A single element on the last code of a range is far from every draw: 10.9 dB more in one of 12,000 drawn graphs,
    // 6.3 dB among 81.
    constexpr double kFewElements = 400;
    const double other_set_db =
        decibel(1 + kFewElements / static_cast<double>(std::max<std::int64_t>(expected.size(), 1)));
    const double signal = signal_power(expected), noise = noise_power(expected, actual);
    const double loss = ratio(kDrawnLossDb + (main_ ? 0 : std::max(allowed_apart_, other_set_db)));
    const double drawn = std::max(found->second.limit(alarm_exponent(context_, kMeasuredShare)),
                                  guess == nullptr ? 0 : noise_power(expected, *guess)) *
                         loss;
    // What a long sum in float32 is off is for the bounds to say.
    const double limit = expected.is_real() ? std::max(drawn, signal * kSixteenBits) : drawn;
    // Zeros for an output must not pass. Where rounding turns decisions over, how many is no matter of chance, and less
    // than an output that is a quarter too large is not told from it.
    if (!(limit < signal * (found->second.decide() ? kQuarter : 1))) {
      miss(tensor, fmt::format("rounding alone may leave {:.1f} dB of it", decibel(signal / limit)));
      return;
    }
    reach(tensor);
    measured({tensor, data_set, "prediction_limit_db", decibel(limit / found->second.mean())});
    if (noise > 0) {
      measured({tensor, data_set, "drawn_deviation_db", decibel(drawn / ratio(kDrawnLossDb) / noise)});
    }
    if (noise <= limit) return;
    // Ties that all go one way add up in a sum, which no draw does.
    const auto fits = [&](const Tensor& other) { return noise <= noise_power(expected, other) * loss; };
    std::optional<Tensor> other_sides;
    if (guess != nullptr &&
        (fits_any(tensor, actual, execution.inputs, fits, other_sides) ||
         (other_sides && noise <= moved_by(noise_power(expected, *guess), noise_power(*guess, *other_sides)) * loss))) {
      return;
    }
    if (noise <= moved_by_float32(limit, tensor, execution.inputs)) return;
    add(tensor, data_set, noise / limit,
        fmt::format("{}: SQNR {:.2f} dB, where the roundings of this conversion leave {:.2f} dB and not less than "
                    "{:.2f} dB\n  the noise is more than quantization makes: an operator, operand, attribute, scale, "
                    "axis, weight or bias differs from the float model's",
                    about(tensor, "", data_set), decibel(signal / noise), decibel(signal / found->second.mean()),
                    decibel(signal / limit)));
  }

  /// `power` of noise, and what float32's own roundings alone may make of the output, which cancellation can raise far
  /// above a last place: both as large as they get, in amplitude.
  [[nodiscard]] double moved_by_float32(double power, const std::string& tensor, const core::TensorMap& inputs) const {
    double square = 0;
    BoundWalk walk(plan_, inputs, {}, {},
                   {.inputs = false, .inner = false, .weights = false, .biases = false, .constants = false});
    walk.run([&](const Alignment::Operation*, const std::string& name, const Enclosure& value) {
      if (name != tensor || !value.centre->is_real()) return;
      for (const double radius : radius_of(value)) square += radius * radius;
    });
    const double amplitude = std::sqrt(power) + std::sqrt(square);
    return amplitude * amplitude;
  }

  /// The output is judged, by this layer.
  void reach(const std::string& tensor) {
    if (!main_) return;
    out_.coverage.reach(tensor, 1);
    if (std::ranges::find(out_.layers, "L2") == out_.layers.end()) out_.layers.emplace_back("L2");
  }

  /// Where no choice is left open, the engine's output is the predicted one, but for what its last places and ties turn
  /// over: little beside the noise of the roundings themselves. True where it is more, which is reported.
  bool compare_closely(const std::string& tensor, const core::TensorMap& reference, const Tensor& actual,
                       const NoiseByOutput* draws, const Execution& execution) {
    const bool made = wiring_.producer(tensor).has_value();  // an input that is an output has no rounding of its own
    const bool halves = context_.artifact != nullptr && context_.artifact->largest_unit() > 0;
    if (!made || !predicted_.is_settled() || out_.style == StyleName::double_rounding || halves || !main_) return false;
    // What is left of codes of 16 bits times such is no more than what float32 leaves of it.
    if (has_wide_codes() && core::element_size_bits(context_.evidence.options.weight) > 8) return false;
    if (rounds_many_ties(reference)) return false;
    const Tensor& expected = reference.at(tensor);
    const TensorPtr predicted = predicted_.shown(tensor);
    const Tensor& guess = *predicted;
    const double signal = signal_power(expected);
    double roundings = noise_power(expected, guess);
    if (roundings == 0 && draws != nullptr && draws->contains(tensor))
      roundings = draws->at(tensor).mean();  // the model's own
    if (!std::isfinite(roundings) || !(roundings > signal * kSixteenBits)) return false;
    const double limit = kSettledLossDb * among_few(distinct_values(expected.reals(), kDistinctOutputs));
    const auto loss = [&](const Tensor& other) {
      return decibel((roundings + noise_power(other, actual)) / roundings);
    };
    const auto fits = [&](const Tensor& other) { return loss(other) <= limit; };
    const double lost = loss(guess);
    measured({tensor, execution.data_set, "settled_deviation_db", -lost / limit * kSettledLossDb});
    std::optional<Tensor> other_sides;
    if (lost <= limit || fits_any(tensor, actual, execution.inputs, fits, other_sides)) return false;
    constexpr double kDraws = 4;  // in power: the prediction and the engine are a draw each
    if (other_sides && noise_power(guess, actual) <= kDraws * noise_power(guess, *other_sides)) return false;
    const double allowed = roundings * (ratio(limit) - 1);
    add(tensor, execution.data_set, lost / limit,
        fmt::format(
            "{}: {:.2f} dB from the output that the known scales and roundings give, where an engine's last "
            "places and ties leave {:.2f} dB\n  a scale, zero point, axis, weight or bias differs, or a rounding "
            "is missing or one too many",
            about(tensor, "", execution.data_set), decibel(signal / noise_power(guess, actual)),
            decibel(signal / allowed)));
    return true;
  }

  /// What an output of integers or truth values says of the values that it was decided by: where all choices are known,
  /// an engine decides as is predicted, but for what lies at a tie.
  void compare_integers(const std::string& tensor, const Tensor& expected, const Tensor& actual, const Tensor& guess,
                        const Execution& execution) {
    if (!modelled() || predicted_.is_noisiest() || !main_) return;
    const auto elements = static_cast<double>(actual.size());
    const double limit = kTurnedLeast + kTurnedShare * elements;
    if (!(limit < elements / 4)) return;
    const double unlike = noise_power(guess, actual);
    reach(tensor);
    measured({tensor, execution.data_set, "unpredicted_share", unlike / elements});
    const auto fits = [&](const Tensor& other) { return !other.is_real() && noise_power(other, actual) <= limit; };
    std::optional<Tensor> other_sides;
    if (unlike <= limit || fits_any(tensor, actual, execution.inputs, fits, other_sides)) return;
    add(tensor, execution.data_set, unlike / limit,
        fmt::format(
            "{}: {} of {} elements are not what the known scales and roundings give ({} of these are not the float "
            "model's), where an engine's last places and ties turn {:.0f} at most\n  a scale, zero point, axis, "
            "weight or bias differs, or a rounding is missing or one too many",
            about(tensor, "", execution.data_set), unlike, actual.size(), noise_power(expected, guess), limit));
  }

  /// What is predicted of the tensors between; measure_losses holds an artifact's against it.
  void predict_inside(const core::TensorMap& expected, const std::string& data_set) {
    for (const auto& [tensor, want] : expected) {
      const TensorPtr guess = predicted_.carried(tensor);
      const bool inside = !wiring_.is_output(tensor) && wiring_.producer(tensor);
      if (!inside || guess == nullptr || !want.is_real() || !guess->is_real() || guess->shape() != want.shape())
        continue;
      const double sqnr_db = measure_deviation(want, *guess).sqnr_db();
      if (std::isfinite(sqnr_db)) measured({tensor, data_set, "predicted_sqnr_db", sqnr_db});
    }
  }

  /// What is lost beyond what correct engines were measured to lose, in the whole or in the worst channel.
  struct Loss {
    std::string where;
    Power power;
    double limit = 0;
    [[nodiscard]] double margin() const { return -power.deviation_db() / limit; }
  };
  [[nodiscard]] std::optional<Loss> loss_of(const std::vector<Power>& channels, std::size_t distinct,
                                            std::int64_t fewest) const {
    const Power whole = total(channels);
    const double limit = loss_limit(distinct);
    if (!(whole.deviation_db() >= -limit)) return Loss{"", whole, limit};
    if (!main_ || grounds_.leaves_ranges_open()) return std::nullopt;
    const std::optional<std::size_t> worst = worst_channel(channels, fewest);
    if (distinct >= kDistinctOutputs && worst && !(channels[*worst].deviation_db() >= -kChannelLossDb)) {
      return Loss{fmt::format(", channel {}", *worst), channels[*worst], kChannelLossDb};
    }
    return std::nullopt;
  }

  /// A value that an engine's error turns over to the next one counts for more among few values.
  static double among_few(std::size_t distinct) {
    const auto share = static_cast<double>(kDistinctOutputs) / static_cast<double>(std::max<std::size_t>(distinct, 1));
    return std::max(share, 1.0);
  }
  [[nodiscard]] double loss_limit(std::size_t distinct) const {
    // Measured: at most 0.25 dB in 26,204 judgements of correct variants, all above INT8's limit in one case,
    // float8e5m2 in a LayerNormalization written out; twice that. float8e4m3fn keeps INT8's.
    constexpr double kTwoBitsDb = 0.5;
    const bool two_bits = context_.evidence.options.activation == core::DType::float8e5m2;
    // A first rounding to half a step before the second adds a quarter of its power, 0.97 dB. Where most elements may
    // be several codes of the engine's, it isn't known to round so.
    constexpr double kTwiceDb = 1.25;
    const double twice = out_.style == StyleName::double_rounding && integers_tell() ? kTwiceDb : 0;
    const double limit = two_bits ? kTwoBitsDb : kPredictionLossDb;
    const double other_draw = predicted_.is_noisiest() ? kOtherDrawDb : 0;
    return (limit + other_draw) * among_few(distinct) + twice + allowed_apart_ + open_ranges_db_;
  }

  /// How much noisier than with the widest ranges, in which most is rounded, the output may be where the method leaves
  /// their ends open: with any others no more is rounded than in these, and no more is cut off than in the narrowest.
  void weigh_open_ranges(const std::string& tensor, const Tensor& expected, double widest,
                         const core::TensorMap& inputs) {
    open_ranges_db_ = 0;
    if (!grounds_.leaves_ranges_open()) return;
    const FakeQuantization* narrowest = grounds_.narrowest(inputs);
    const TensorPtr other = narrowest == nullptr ? nullptr : narrowest->shown(tensor);
    open_ranges_db_ = other != nullptr && other->shape() == expected.shape()
                          ? decibel(1 + noise_power(expected, *other) / widest)
                          : std::numeric_limits<double>::infinity();
  }

  /// The whole and each channel against the prediction. True where nothing else need be asked.
  bool compare(const std::string& tensor, const Tensor& expected, const Tensor& actual, const Tensor& predicted,
               const Execution& execution) {
    const std::string& data_set = execution.data_set;
    const auto channels_of = [&](const Tensor& guess) {
      return powers(expected, actual, guess, channel_axis(tensor, expected.rank()), last_places());
    };
    const std::vector<Power> channels = channels_of(predicted);
    const Power whole = total(channels);
    if (!(whole.signal > 0) || !(whole.predicted > 0)) return false;
    const auto record = [&](std::string name, double value) { measured({tensor, data_set, std::move(name), value}); };
    record("predicted_sqnr_db", decibel(whole.signal / whole.predicted));
    const std::size_t distinct = distinct_values(expected.reals(), kDistinctOutputs);
    // Of fewer values a single rounding is the noise of the output. What an artifact's own order of roundings
    // turns over among few values is for its integers to judge.
    constexpr std::size_t kFewest = 8, kFewestOfWideCodes = 64;
    const std::size_t fewest = has_wide_codes() ? kFewestOfWideCodes : kFewest;
    const bool many = distinct >= kDistinctOutputs;
    const bool certain = many || (!integers_tell() && distinct >= fewest &&
                                  (context_.ranges == nullptr || !any_free_scale(*context_.ranges)));
    weigh_open_ranges(tensor, expected, whole.predicted, execution.inputs);
    double noisiest = whole.predicted;
    for (const Way* way : grounds_.other_ways(execution.inputs)) {
      const TensorPtr other = way->prediction().shown(tensor);
      if (other != nullptr && other->shape() == expected.shape())
        noisiest = std::max(noisiest, noise_power(expected, *other));
    }
    const double least = grounds_.leaves_ranges_open() ? kQuarter * whole.signal : whole.signal;
    const bool gates = modelled() && certain &&
                       with_last_places(noisiest, whole.signal, whole.error) * ratio(loss_limit(distinct)) < least;
    const bool decides = gates && many;  // else the draws are asked too
    if (gates) reach(tensor);
    if (!whole.comparable()) return decides;
    const std::optional<std::size_t> worst = worst_channel(channels, fewest_elements());
    record("prediction_deviation_db", whole.deviation_db());
    if (worst) record("channel_deviation_db", channels[*worst].deviation_db());
    if (!gates) return false;
    record(decides ? "prediction_gates" : "prediction_gates_few", 1);
    const auto loss_against = [&](const Tensor& guess) {
      return loss_of(channels_of(guess), distinct, fewest_elements());
    };
    const std::optional<Loss> lost = loss_of(channels, distinct, fewest_elements());
    const auto fits = [&](const Tensor& other) { return !loss_against(other); };
    std::optional<Tensor> other_sides;
    if (!lost || fits_any(tensor, actual, execution.inputs, fits, other_sides)) return decides;
    // A network that makes much of little: what a few sides at ties move in one draw, an engine's own may move as far.
    if (other_sides && !loss_of(moved_by(channels, powers(predicted, *other_sides, predicted,
                                                          channel_axis(tensor, expected.rank()), last_places())),
                                distinct, fewest_elements())) {
      return false;
    }
    report(tensor, lost->where, data_set, lost->power, lost->limit);
    return true;
  }

  /// One way in which the conversion may have been made; the plain one is the first.
  struct View {
    const LayerContext& context;
    const QuantizationPlan& plan;
    const FakeQuantization& prediction;
    const Supposed& supposed;
  };
  [[nodiscard]] std::vector<View> ways_on(const core::TensorMap& inputs) const {
    std::vector<View> ways{{context_, plan_, predicted_, plain_}};
    for (const Way* way : grounds_.other_ways(inputs))
      ways.push_back({way->context(), way->plan(), way->prediction(), way->supposed()});
    return ways;
  }

  /// Whether the output fits what is predicted in any way in which the conversion may have been made: as it is, with
  /// ties turned, or with something more supposed. `other_sides` is any_fits()' `only` of the plain way.
  template <typename Fits>
  [[nodiscard]] bool fits_any(const std::string& tensor, const Tensor& actual, const core::TensorMap& inputs,
                              const Fits& fits, std::optional<Tensor>& other_sides) const {
    const std::vector<View> ways = ways_on(inputs);
    const auto plainly = [&](const View& way) {
      const TensorPtr value = way.prediction.shown(tensor);
      return value != nullptr && value->shape() == actual.shape() && fits(*value);
    };
    if (std::ranges::any_of(ways, plainly)) return true;
    return std::ranges::any_of(ways, [&](const View& way) {
      const SidesAtTies sides(way.context, way.plan, way.supposed);
      std::optional<Tensor> only;
      const bool found = sides.any_fits(way.prediction, tensor, actual, inputs, fits, only) ||
                         std::ranges::any_of(suppositions(way.supposed), [&](const Supposed& supposed) {
                           FakeQuantization other(way.context, way.plan, supposed);
                           return other.run(inputs) && fits(sides.nearest(other, tensor, actual));
                         });
      if (&way == &ways.front()) other_sides = std::move(only);
      return found;
    });
  }

  /// What may be supposed besides, one thing at a time.
  [[nodiscard]] std::vector<Supposed> suppositions(const Supposed& way) const {
    return single_choices(way, context_, out_.style == StyleName::double_rounding);
  }

  /// Every choice of the converter's is known, the roundings of its engine included.
  [[nodiscard]] bool modelled() const { return predicted_.unmodelled().empty(); }

  /// Whether the artifact's own integers explain the outputs: most elements have one code that they may be.
  [[nodiscard]] bool integers_tell() const {
    const auto metric = [&](std::string_view name) {
      const auto found = std::ranges::find(out_.metrics, name, &Metric::name);
      return found == out_.metrics.end() ? 0 : found->value;
    };
    return out_.style.has_value() && 2 * metric("l1_ambiguous") < metric("l1_elements");
  }

  /// How many elements a channel has to have. Of codes of 16 bits one in 250 lies so near a tie that float32 decides,
  /// and one that is turned over must not be the noise of its channel: among this many it adds at most 1.4 dB.
  [[nodiscard]] std::int64_t fewest_elements() const {
    constexpr std::int64_t kOfWideCodes = 32;
    return has_wide_codes() ? kOfWideCodes : 0;
  }
  [[nodiscard]] bool has_wide_codes() const {
    return core::element_size_bits(context_.evidence.options.activation) > 8;
  }

  /// The weights of every layer alone, channel by channel: a wrong axis costs 15 to 20 dB here, and half a dB in the
  /// whole output, where its rounding hides it.
  void check_weights() {
    if (context_.artifact == nullptr) return;
    const Alignment& model = plan_.alignment();
    for (std::size_t entry = 0; entry < model.operations.size(); ++entry) {
      const TensorPtr predicted = predicted_.weight(entry);
      const TensorPtr actual = predicted == nullptr ? nullptr : declared_weight(entry);
      if (actual == nullptr || actual->shape() != predicted->shape()) continue;
      const WeightSlots slots = *weight_slots(model.operations[entry].node, model.constants);
      const std::string& name = model.operations[entry].node.inputs[slots.weight];
      auto channels = powers(*model.constants.find(name)->second, *actual, *predicted, slots.axis, last_places());
      const model::Node& original = context_.evidence.model->graph.nodes[model.operations[entry].original];
      const double unknown = context_.evidence.uncertainty_of(original.input(slots.weight));
      // No scale of float32 is as small as such a channel's would have to be, and nothing of it reaches an output.
      constexpr double kSteps = 255, kLeastScale = 0x1p-126;
      for (Power& power : channels) {
        if (power.largest < kSteps * kLeastScale) power = {};
      }
      // The factor that is nearest to the weights' own roundings isn't independent of them: amplitudes add.
      for (Power& power : channels) {
        const double most = std::sqrt(power.predicted) + unknown * std::sqrt(power.signal);
        power.predicted = most * most;
      }
      compare_weight(model.operations[entry], name, channels);
    }
  }

  void compare_weight(const Alignment::Operation& entry, const std::string& name, const std::vector<Power>& channels) {
    const std::optional<std::size_t> worst = worst_channel(channels, fewest_elements());
    if (!worst) return;
    const Power& power = channels[*worst];
    out_.metrics.push_back({name, "", "channel_sqnr_db", decibel(power.signal / power.actual)});
    out_.metrics.push_back({name, "", "weight_deviation_db", power.deviation_db()});
    if (!predicted_.unmodelled().empty()) return;
    out_.metrics.push_back({name, "", "prediction_gates", 1});
    if (power.deviation_db() >= -kWeightLossDb) return;
    report(entry.node.outputs.front(), fmt::format(", weight \"{}\", channel {}", name, *worst), "", power,
           kWeightLossDb);
  }

  /// The artifact's weight as real values, in the layout of the effective model.
  [[nodiscard]] TensorPtr declared_weight(std::size_t index) const {
    const Alignment::Operation& entry = plan_.alignment().operations[index];
    const ArtifactNode* made = entry.made;
    const auto slots = weight_slots(entry.node, plan_.alignment().constants);
    if (made == nullptr || !slots || slots->weight >= made->inputs.size()) return nullptr;
    return declared_values(made->inputs[slots->weight], context_.artifact->artifact().graph.nodes[made->index],
                           entry.node, slots->weight);
  }

  void report(const std::string& tensor, const std::string& where, const std::string& data_set, const Power& power,
              double limit) {
    add(tensor, data_set, -power.deviation_db() / limit,
        fmt::format(
            "{}: SQNR {:.2f} dB, the stated policy predicts {:.2f} dB; correct engines were measured to lose at "
            "most {:.3g} dB against it\n  the noise is more than this policy makes: a wrong scale, axis, weight "
            "or bias, or a rounding too many",
            about(tensor, where, data_set), decibel(power.signal / power.actual),
            decibel(power.signal / power.predicted), limit));
  }

  [[nodiscard]] std::string about(const std::string& tensor, const std::string& where,
                                  const std::string& data_set) const {
    const Node* maker = maker_of(tensor);
    return fmt::format("{}, tensor \"{}\"{}{}",
                       maker == nullptr ? "graph input" : fmt::format("node \"{}\" ({})", maker->name, maker->op_type),
                       tensor, where, data_set.empty() ? "" : fmt::format(", data set \"{}\"", data_set));
  }

  [[nodiscard]] const Node* maker_of(const std::string& tensor) const {
    const auto producer = wiring_.producer(tensor);
    return producer ? &context_.evidence.model->graph.nodes[*producer] : nullptr;
  }

  void add(const std::string& tensor, const std::string& data_set, double margin, std::string message) {
    Finding finding;
    finding.facet = Facet::numerics;
    finding.layer = "L2";
    finding.tensor = tensor;
    finding.data_set = data_set;
    finding.margin = margin;
    finding.predicted = true;
    if (const Node* maker = maker_of(tensor)) {
      finding.node = maker->name;
      finding.op = maker->op_type;
    }
    finding.message = std::move(message);
    findings_.add(std::move(finding));
  }

  /// Channels of a matrix product lie last, those of everything else come after the batch.
  [[nodiscard]] std::int64_t channel_axis(const std::string& tensor, std::int64_t rank) const {
    const auto producer = wiring_.producer(tensor);
    const bool product =
        producer && traits_of(context_.evidence.model->graph.nodes[*producer]).product == Product::matmul;
    return rank < 2 ? -1 : product ? rank - 1 : 1;
  }

  const LayerContext& context_;
  Grounds& grounds_;
  Judgement& out_;
  const QuantizationPlan& plan_;
  const FakeQuantization& predicted_;  ///< on the data set run last
  Supposed plain_;                     ///< nothing
  bool main_ = true;                   ///< the data set is the one that coverage and metrics are of
  double allowed_apart_ = 0;           ///< loss_apart() of it
  double open_ranges_db_ = 0;          ///< of the output compared last
  model::Wiring wiring_{context_.evidence.model->graph};
  FindingList findings_;
};

}  // namespace

std::vector<Finding> check_prediction(const LayerContext& context, Grounds& grounds, Judgement& out) {
  return PredictionCheck(context, grounds, out).run();
}

}  // namespace assay::judge
