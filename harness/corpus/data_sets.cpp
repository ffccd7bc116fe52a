#include "harness/corpus/data_sets.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <variant>

#include "harness/core/quant_params.hpp"
#include "harness/corpus/drawn.hpp"
#include "harness/corpus/tensor_spec.hpp"
#include "harness/corpus/witness.hpp"

namespace assay::corpus {
namespace {

using core::Rng;

constexpr const char* kFurtherDraw = "typical_";

/// How a data set reads the quantization of an input: real = (code - zero_point) * scale for codes low..high.
struct Steps {
  double scale = 1;
  std::int64_t low = -128, high = 127;  ///< code minus zero_point
};

Steps steps_of(const InputPlan& plan, const core::QuantParams* params) {
  if (params != nullptr && params->scale.size() == 1 && params->zero_point.size() == 1 && params->scale[0] > 0) {
    const core::IntegerLimits limits = core::integer_limits(params->type);
    return {params->scale[0], limits.low - params->zero_point[0], limits.high - params->zero_point[0]};
  }
  const double low = std::min(plan.spec->low, 0.0);
  const double high = std::max(plan.spec->high, 0.0);
  const double scale = high > low ? (high - low) / 255 : 1;
  return {scale, std::llround(low / scale), std::llround(high / scale)};
}

using Values = std::vector<double>;

/// Channel of an element: axis 1, or the only axis.
std::int64_t channel_of(const InputPlan& plan, std::size_t index) {
  if (plan.shape.empty()) return 0;
  return index_along(plan.shape, plan.shape.size() > 1 ? 1 : 0, static_cast<std::int64_t>(index));
}
std::int64_t channel_count(const InputPlan& plan) {
  if (plan.shape.empty()) return 1;
  return plan.shape[plan.shape.size() > 1 ? 1 : 0];
}

/// Half steps, where rounding decides: one in four lies at exactly half a step from zero (an exact tie for every
/// scale), the others at float32's neighbour of (k + 1/2) steps all over the range.
Values make_ties(const InputPlan& plan, const Steps& steps, Rng& rng) {
  Values values = draw_usual(plan, 0.95, rng);
  for (double& x : values) {
    const double kind = rng.uniform();
    const auto k = static_cast<double>(rng.integer(steps.low, steps.high - 1));
    if (kind < 0.2) {
      x = (rng.uniform() < 0.5 ? -0.5 : 0.5) * steps.scale;
    } else if (kind < 0.8) {
      x = (k + 0.5) * steps.scale;
    }
  }
  return values;
}

/// A third of the elements beyond the calibrated range, up to two and a half times.
Values make_saturating(const InputPlan& plan, Rng& rng) {
  Values values = draw_usual(plan, 0.95, rng);
  const double reach = std::max(std::abs(plan.spec->low), std::abs(plan.spec->high));
  for (double& x : values) {
    if (rng.uniform() >= 1.0 / 3) continue;
    const double excess = rng.uniform(0.05, 1.5) * reach;
    x = rng.uniform() < 0.5 ? plan.spec->high + excess : plan.spec->low - excess;
  }
  return values;
}

/// At every position one channel carries a value near an end of the range, the others are zero; the channel moves on
/// from position to position, so that each output shows single weights.
Values make_one_hot(const InputPlan& plan, Rng& rng) {
  Values values(static_cast<std::size_t>(core::element_count(plan.shape)), 0.0);
  const std::int64_t channels = std::max<std::int64_t>(1, channel_count(plan));
  std::int64_t inner = 1;
  for (std::size_t d = 2; d < plan.shape.size(); ++d) inner *= plan.shape[d];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const std::int64_t position = index / (inner * channels) * inner + index % inner;
    if (channel_of(plan, i) != position % channels) continue;
    values[i] = (rng.uniform() < 0.5 ? plan.spec->low : plan.spec->high) * rng.uniform(0.5, 1);
  }
  return values;
}

/// Whole steps of few bits: sums of products are exact in every arithmetic.
Values make_small_integers(const InputPlan& plan, const Steps& steps, Rng& rng) {
  Values values(static_cast<std::size_t>(core::element_count(plan.shape)));
  const std::int64_t low = std::max<std::int64_t>(-8, steps.low);
  const std::int64_t high = std::min<std::int64_t>(8, steps.high);
  for (double& x : values) x = static_cast<double>(rng.integer(std::min(low, high), high)) * steps.scale;
  return values;
}

/// Runs of the two ends: neighbours that are both 255 (or both -128) overflow a 16-bit sum of two products.
Values make_extremes(const InputPlan& plan, Rng& rng) {
  Values values(static_cast<std::size_t>(core::element_count(plan.shape)));
  bool high = true;
  std::int64_t left = 0;
  for (double& x : values) {
    if (left-- <= 0) {
      left = rng.integer(2, 24);
      high = !high;
    }
    x = high ? plan.spec->high : plan.spec->low;
  }
  return values;
}

Values make_constant(const InputPlan& plan, Rng&) {
  const double value = plan.spec->low + 0.8 * (plan.spec->high - plan.spec->low);
  return Values(static_cast<std::size_t>(core::element_count(plan.shape)), value);
}

Values make_zeros(const InputPlan& plan, Rng&) {
  return Values(static_cast<std::size_t>(core::element_count(plan.shape)), 0.0);
}

Values make_alternating(const InputPlan& plan, Rng&) {
  Values values(static_cast<std::size_t>(core::element_count(plan.shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.7 * (i % 2 == 0 ? plan.spec->high : plan.spec->low);
  return values;
}

/// Each channel of another magnitude, over three decades.
Values make_wide(const InputPlan& plan, Rng& rng) {
  const auto factors = channel_factors(channel_count(plan), 1000, rng);
  Values values = draw_usual(plan, 0.95, rng);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= factors[static_cast<std::size_t>(channel_of(plan, i))];
  return values;
}

/// Every code in turn, a little beside its value: a tensor of 256 elements or more holds them all.
Values make_every_code(const InputPlan& plan, const Steps& steps, Rng& rng) {
  Values values(static_cast<std::size_t>(core::element_count(plan.shape)));
  std::int64_t code = steps.low;
  for (double& x : values) {
    x = (static_cast<double>(code) + rng.uniform(-0.4, 0.4)) * steps.scale;
    code = code == steps.high ? steps.low : code + 1;
  }
  return values;
}

Values make_typical(const InputPlan& plan, Rng& rng) { return draw_usual(plan, 0.95, rng); }

using Maker = Values (*)(const InputPlan&, Rng&);
/// Sees the artifact's scales: what it makes is another for each artifact.
using SteppedMaker = Values (*)(const InputPlan&, const Steps&, Rng&);
/// Sees the artifact's scales of other tensors, too, and the model.
using ModelMaker = Values (*)(const model::Model&, const InputPlan&, const std::map<std::string, core::QuantParams>&,
                              Rng&);
struct DataSet {
  std::string name;
  std::variant<Maker, SteppedMaker, ModelMaker> make;
};
const std::vector<DataSet>& data_sets() {
  static const std::vector<DataSet> sets{{"typical", &make_typical},
                                         {"ties", &make_ties},
                                         {"saturate", &make_saturating},
                                         {"one_hot", &make_one_hot},
                                         {"small_integers", &make_small_integers},
                                         {"extremes", &make_extremes},
                                         {"constant", &make_constant},
                                         {"zeros", &make_zeros},
                                         {"alternating", &make_alternating},
                                         {"wide", &make_wide},
                                         {"every_code", &make_every_code},
                                         {"witness", &witness}};
  return sets;
}

const DataSet* find_data_set(const std::string& name) {
  const auto found = std::ranges::find(data_sets(), name, &DataSet::name);
  return found == data_sets().end() ? nullptr : &*found;
}

Values make_special(const DataSet& set, const Case& test_case, const InputPlan& plan,
                    const std::map<std::string, core::QuantParams>& scales, Rng& rng) {
  if (const auto* make = std::get_if<ModelMaker>(&set.make)) return (*make)(*test_case.model, plan, scales, rng);
  if (const auto* make = std::get_if<SteppedMaker>(&set.make)) {
    const auto params = scales.find(plan.name);
    return (*make)(plan, steps_of(plan, params == scales.end() ? nullptr : &params->second), rng);
  }
  return (*std::get_if<Maker>(&set.make))(plan, rng);
}

core::Tensor draw_input(const Case& test_case, const InputPlan& plan, const std::string& set,
                        const std::map<std::string, core::QuantParams>& scales) {
  Rng rng(test_case.seed, plan.name + "/data/" + set);
  const auto& listed = plan.spec->data_sets;
  const bool own = std::find(listed.begin(), listed.end(), set) != listed.end();  // no further draw is
  const bool special = own && !core::is_integer(plan.type);
  Values values =
      special ? make_special(*find_data_set(set), test_case, plan, scales, rng) : draw_usual(plan, 0.95, rng);
  for (double& x : values) x = as_element(x, plan.type);
  return make_tensor(plan.type, plan.shape, std::move(values));
}

}  // namespace

const std::vector<std::string>& known_data_sets() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const DataSet& set : data_sets()) out.push_back(set.name);
    return out;
  }();
  return names;
}

const std::vector<std::string>& input_kinds() {
  static const std::vector<std::string> kinds{"normal",      "uniform",     "constant",       "drawn_text",
                                              "drawn_faces", "drawn_sound", "drawn_spectrum", "drawn_files"};
  return kinds;
}

bool shows_picture(const std::string& kind) { return kind == "drawn_text" || kind == "drawn_faces"; }

core::Result<core::Shape> input_shape(const Case& test_case, const model::ValueInfo& input) {
  const auto error = [&](const std::string& why) {
    return core::Error{core::ErrorKind::invalid_case, "graph input \"" + input.name + "\": " + why, "", "", input.name};
  };
  const auto found = test_case.inputs.find(input.name);
  const auto own = found == test_case.inputs.end() ? std::optional<core::Shape>{} : found->second.shape;
  if (!input.shape) {
    if (own) return *own;
    return error("its rank is unknown; give \"shape\"");
  }
  if (own && own->size() != input.shape->size()) {
    return error("declared rank " + std::to_string(input.shape->size()) + ", \"shape\" has " + core::shape_text(*own));
  }
  core::Shape shape;
  for (std::size_t d = 0; d < input.shape->size(); ++d) {
    model::Dimension dimension = (*input.shape)[d];
    if (dimension.value && *dimension.value < 0) dimension.value.reset();  // some exporters write -1 for "any"
    if (!dimension.value && !own) return error("axis " + std::to_string(d) + " is not a number; give \"shape\"");
    if (dimension.value && own && *dimension.value != (*own)[d]) {
      return error("declared extent " + std::to_string(*dimension.value) + " on axis " + std::to_string(d) +
                   ", \"shape\" says " + core::shape_text(*own));
    }
    shape.push_back(dimension.value ? *dimension.value : (*own)[d]);
  }
  return shape;
}

std::vector<std::string> usual_data_sets(const model::Graph& graph) {
  const bool ranged =
      std::ranges::any_of(graph.inputs, [](const model::ValueInfo& input) { return core::is_real(input.type); });
  return ranged ? std::vector<std::string>{"typical", "saturate"} : std::vector<std::string>{"typical"};
}

namespace {

/// Why the input can't be drawn as its kind says; empty where it can.
std::string not_drawable(const InputPlan& plan) {
  const std::string& kind = plan.spec->kind;
  if (!kind.starts_with("drawn_")) return "";
  const bool picture = shows_picture(kind);
  const std::size_t least = picture ? 4 : kind == "drawn_spectrum" ? 2 : 1;
  if (plan.shape.size() < least || (picture && plan.shape.size() > 4)) {
    return "\"" + kind + "\" needs " + (picture ? "" : "at least ") + std::to_string(least) + " axes, its shape is " +
           core::shape_text(plan.shape);
  }
  if (core::is_integer(plan.type) != (kind == "drawn_files")) {
    return "\"" + kind + "\" makes " + (kind == "drawn_files" ? "integers" : "real numbers") + ", it holds " +
           std::string(core::dtype_name(plan.type));
  }
  const auto channels = static_cast<std::size_t>(picture ? plan.shape[plan.spec->channels_last ? 3 : 1] : 0);
  for (const auto* list : {&plan.spec->mean, &plan.spec->std_dev}) {
    if (!list->empty() && list->size() != channels) {
      return "\"mean\" and \"std\" need one number a channel, it has " + std::to_string(channels);
    }
  }
  return "";
}

/// A picture, sound, spectrum or file as the network is fed it.
std::vector<double> draw_described(const InputPlan& plan, Rng& rng) {
  const InputSpec& spec = *plan.spec;
  if (spec.kind == "drawn_files") return draw_files(plan.shape, rng);
  const double middle = (spec.low + spec.high) / 2;
  const double half = (spec.high - spec.low) / 2;
  Values values;
  if (spec.kind == "drawn_sound") {
    values = draw_sound(plan.shape, rng);
    for (double& x : values) x = middle + x * half;
  } else if (spec.kind == "drawn_spectrum") {
    values = draw_spectrum(plan.shape, rng);
    for (double& x : values) x = spec.low + x * (spec.high - spec.low);
  } else {
    values = draw_pictures(plan.shape, {spec.kind == "drawn_faces", spec.channels_last}, rng);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double part = values[i] / 255;
      const auto channel =
          static_cast<std::size_t>(index_along(plan.shape, spec.channels_last ? 3 : 1, static_cast<std::int64_t>(i)));
      values[i] =
          spec.mean.empty() ? middle + (part - 0.5) * 2 * half : (part - spec.mean[channel]) / spec.std_dev[channel];
    }
  }
  return values;
}

}  // namespace

core::Result<std::vector<InputPlan>> input_plans(const Case& test_case) {
  if (!test_case.model) {
    return core::Error{core::ErrorKind::unsupported,
                       test_case.unavailable.empty() ? "the case's model is not loaded" : test_case.unavailable, "", "",
                       ""};
  }
  std::vector<InputPlan> plans;
  for (const auto& input : test_case.model->graph.inputs) {
    const auto found = test_case.inputs.find(input.name);
    if (found == test_case.inputs.end()) {
      return core::Error{core::ErrorKind::invalid_case,
                         test_case.name + ": graph input \"" + input.name + "\" is not described", "", "", input.name};
    }
    auto shape = input_shape(test_case, input);
    if (!shape) return shape.error().within(test_case.name);
    InputPlan plan{input.name, input.type, std::move(*shape), &found->second, {}};
    if (plan.spec->ratio && plan.shape.size() > 1) {
      Rng rng(test_case.seed, input.name + "/channels");
      plan.factors = channel_factors(plan.shape[1], *plan.spec->ratio, rng);
    }
    if (const std::string why = not_drawable(plan); !why.empty()) {
      return core::Error{core::ErrorKind::invalid_case, test_case.name + ": graph input \"" + input.name + "\": " + why,
                         "", "", input.name};
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

double factor_at(const InputPlan& plan, std::size_t index) {
  if (plan.factors.empty()) return 1;
  return plan.factors[static_cast<std::size_t>(index_along(plan.shape, 1, static_cast<std::int64_t>(index)))];
}

std::vector<double> draw_usual(const InputPlan& plan, double spread_out, Rng& rng) {
  const InputSpec& spec = *plan.spec;
  if (spec.kind.starts_with("drawn_")) return draw_described(plan, rng);
  std::vector<double> values(static_cast<std::size_t>(core::element_count(plan.shape)), spec.high);
  if (spec.kind == "constant") return values;
  const bool integer = core::is_integer(plan.type);
  const double middle = (spec.low + spec.high) / 2;
  const double half = (spec.high - spec.low) / 2;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (integer) {
      values[i] = static_cast<double>(rng.integer(std::llround(spec.low), std::llround(spec.high)));
      continue;
    }
    const double unit = spec.kind == "uniform" ? rng.uniform(-1, 1) : std::clamp(rng.normal() / 3, -1.0, 1.0);
    values[i] = (middle + half * spread_out * unit) * factor_at(plan, i);
  }
  return values;
}

std::vector<std::string> data_set_names(const Case& test_case) {
  std::vector<std::string> names;
  for (const std::string& set : known_data_sets()) {
    for (const auto& [input, spec] : test_case.inputs) {
      const bool listed = std::find(spec.data_sets.begin(), spec.data_sets.end(), set) != spec.data_sets.end();
      if (listed && (names.empty() || names.back() != set)) names.push_back(set);
    }
  }
  return names;
}

std::vector<std::string> tensors_behind(const Case& test_case, const std::string& set) {
  const DataSet* found = find_data_set(set);
  if (found == nullptr || test_case.model == nullptr || std::holds_alternative<Maker>(found->make)) return {};
  std::vector<std::string> names;
  for (const model::ValueInfo& input : test_case.model->graph.inputs) {
    const auto own = std::holds_alternative<ModelMaker>(found->make)
                         ? witness_tensors(test_case.model->graph, input.name)
                         : std::vector<std::string>{input.name};
    names.insert(names.end(), own.begin(), own.end());
  }
  return names;
}

std::string further_draw(std::size_t number) { return kFurtherDraw + std::to_string(number); }

bool is_further_draw(const std::string& set) { return set.starts_with(kFurtherDraw); }

core::Result<core::TensorMap> data_set(const Case& test_case, const std::string& set,
                                       const std::map<std::string, core::QuantParams>& scales) {
  if (find_data_set(set) == nullptr && !is_further_draw(set)) {
    return core::Error{core::ErrorKind::invalid_case, "unknown data set \"" + set + "\"", "", "", ""};
  }
  const auto plans = input_plans(test_case);
  if (!plans) return plans.error();
  core::TensorMap tensors;
  for (const InputPlan& plan : *plans) tensors.emplace(plan.name, draw_input(test_case, plan, set, scales));
  return tensors;
}

}  // namespace assay::corpus
