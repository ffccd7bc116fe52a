#include "harness/fuzz/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/data/user_case.hpp"
#include "harness/fuzz/draft.hpp"
#include "harness/fuzz/motifs.hpp"
#include "harness/fuzz/rows.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"

namespace assay::fuzz {
namespace {

using core::TensorMap;

constexpr int kMostNodes = 6;
constexpr int kBatches = 4;

/// The share of graphs that are grown around a motif.
constexpr double kMotifs = 0.4;

/// One of `table`, each as often as its weight says.
template <typename Entry>
const Entry& choose_weighted(const std::vector<const Entry*>& table, core::Rng& rng) {
  std::int64_t sum = 0;
  for (const Entry* entry : table) sum += entry->weight;
  std::int64_t left = rng.integer(0, sum - 1);
  for (const Entry* entry : table) {
    left -= entry->weight;
    if (left < 0) return *entry;
  }
  return *table.back();
}

/// Draws of one graph: rows and motifs whose operators the converter has.
class Grower {
 public:
  Grower(const Plan& plan, core::Rng& rng) : rng_(rng), draft_{core::Rng(rng.next())} {
    for (const Row& row : rows()) {
      if (row.since <= draft_.opset() && std::ranges::find(plan.operators, row.op) != plan.operators.end()) {
        rows_.push_back(&row);
      }
    }
    const auto has = [&](const std::string& op) {
      if (std::ranges::find(rows(), op, &Row::op) != rows().end()) {
        return std::ranges::find(plan.operators, op) != plan.operators.end();
      }
      return !plan.supports.operators ||
             std::ranges::find(*plan.supports.operators, op) != plan.supports.operators->end();
    };
    for (const Motif& motif : motifs()) {
      if (std::ranges::all_of(motif.operators, has)) motifs_.push_back(&motif);
    }
  }

  core::Result<Draft> grow() {
    if (rows_.empty()) {
      return core::Error{core::ErrorKind::usage, "the converter has none of the operators that are drawn", {}, {}, {}};
    }
    const auto nodes = static_cast<std::size_t>(rng_.integer(1, kMostNodes));
    const bool around_motif = !motifs_.empty() && rng_.uniform() < kMotifs;
    const bool first = rng_.uniform() < 0.6;  // the motif reads graph inputs, or another node stands before it
    if (around_motif) {
      if (!first) {
        if (const core::Status drawn = draw_until_it_fits([&](Draft& draft) { return draw_row(draft); }); !drawn) {
          return drawn.error();
        }
      }
      if (const core::Status drawn = draw_until_it_fits([&](Draft& draft) { return draw_motif(draft); }); !drawn) {
        return drawn.error();
      }
    }
    while (draft_.graph().nodes.size() < nodes) {
      if (const core::Status drawn = draw_until_it_fits([&](Draft& draft) { return draw_row(draft); }); !drawn) {
        return drawn.error();
      }
    }
    draft_.finish();
    return std::move(draft_);
  }

 private:
  core::Status draw_row(Draft& draft) {
    const Row& row = choose_weighted(rows_, rng_);
    if (!row.draw(draft, row.op)) return core::Error{core::ErrorKind::invalid_data, "nothing fits", {}, row.op, {}};
    return draft.settle();
  }
  core::Status draw_motif(Draft& draft) { return choose_weighted(motifs_, rng_).draw(draft); }

  /// Where nothing fits, or a tensor would be too large: another node, from other draws.
  template <typename Draw>
  core::Status draw_until_it_fits(Draw draw) {
    while (true) {
      Draft longer = draft_;
      core::Status drawn = draw(longer);
      if (drawn) {
        draft_ = std::move(longer);
        return drawn;
      }
      if (drawn.error().kind != core::ErrorKind::invalid_data) return drawn;
      draft_ = Draft(draft_, core::Rng(rng_.next()));
    }
  }

  core::Rng& rng_;
  Draft draft_;
  std::vector<const Row*> rows_;
  std::vector<const Motif*> motifs_;
};

bool finite(const core::Tensor& tensor) {
  constexpr double kLargest = 1e30;  // float32 sums and squares of it still have a value
  if (!tensor.is_real()) return true;
  return std::ranges::all_of(tensor.reals(), [](double value) { return std::fabs(value) <= kLargest; });
}

/// Every tensor of every run is finite.
core::Status check_reference(const model::Model& model, const std::vector<TensorMap>& batches) {
  for (const TensorMap& batch : batches) {
    std::string odd;
    reference::RunOptions options;
    options.observe = [&](const std::string& name, const core::Tensor& value) {
      if (odd.empty() && !finite(value)) odd = name;
    };
    const core::Result<TensorMap> outputs = reference::execute(model, batch, options);
    if (!outputs) return outputs.error();
    if (!odd.empty()) return core::Error{core::ErrorKind::invalid_data, "not finite", {}, {}, odd};
  }
  return core::success();
}

/// Inputs of another batch than the calibration's, where the graph takes them: a number somewhere in it may not.
void add_larger_batch(corpus::Case test_case, localize::Candidate& candidate) {
  for (const model::ValueInfo& input : candidate.model.graph.inputs) {
    const bool free = input.shape && !input.shape->empty() && !input.shape->front().value;
    if (free) ++test_case.inputs[input.name].shape->front();
  }
  core::Result<TensorMap> inputs = corpus::data_set(test_case, "typical", {});
  if (inputs && check_reference(candidate.model, {*inputs})) candidate.inputs.push_back(*std::move(inputs));
}

/// The parameters that min-max gives the graph inputs: `ties` and its like lie between the codes.
std::map<std::string, core::QuantParams> input_scales(const Draft& draft, const converters::Options& options) {
  constexpr double kSteps = 255;
  constexpr double kSymmetricSteps = 127;
  std::map<std::string, core::QuantParams> scales;
  for (const auto& [name, spec] : draft.specs()) {
    const double low = std::min(spec.low, 0.0);
    const double high = std::max({spec.high, spec.outlier.value_or(0), 0.0});
    if (!(high > low)) continue;
    const core::IntegerLimits limits = core::integer_limits(options.activation);
    core::QuantParams params;
    params.type = options.activation;
    const double scale = options.symmetric ? std::max(-low, high) / kSymmetricSteps : (high - low) / kSteps;
    params.scale = {static_cast<double>(static_cast<float>(scale))};
    const double middle = options.activation == core::DType::uint8 ? 128 : 0;
    params.zero_point = {static_cast<std::int64_t>(
        options.symmetric ? middle : std::nearbyint(static_cast<double>(limits.low) - low / scale))};
    scales[name] = params;
  }
  return scales;
}

/// What the options ask of single operators or nodes; empty for nothing.
nlohmann::ordered_json draw_precision(const Plan& plan, const Draft& draft, core::Rng& rng) {
  nlohmann::ordered_json precision = nlohmann::ordered_json::object();
  const auto& nodes = draft.graph().nodes;
  const auto& node = nodes[static_cast<std::size_t>(rng.integer(0, static_cast<std::int64_t>(nodes.size()) - 1))];
  const double kind = rng.uniform();
  const bool by_name = rng.uniform() < 0.3;
  const std::string op = model::operator_name(node);
  const std::string& key = by_name ? node.name : op;
  const bool sum = node.op_type == "Add" || node.op_type == "Sub" || node.op_type == "Mul";
  const auto has_form = [&](const std::string& name) {
    const auto& declared = plan.supports.int8_operators;
    return !declared || std::ranges::find(*declared, name) != declared->end();
  };
  if (!draft.wishes().empty() && kind < 0.6) {
    for (const auto& [name, wanted] : draft.wishes()) {
      if (wanted != "int8" || has_form(name)) precision[name] = wanted;
    }
  } else if (kind < 0.06) {
    precision[key] = "fp32";
  } else if (kind < (sum ? 0.15 : 0.08) && has_form(op)) {
    precision[key] =
        "int8";  // nobody has to run a sum in INT8 unasked; what has no INT8 form has to be refused by name
  }
  return precision;
}

/// `drawn` where the converter takes it, else the first of `others` that it takes.
template <typename T>
T taken(const std::optional<std::vector<T>>& listed, const T& drawn, const std::vector<T>& others) {
  const auto takes = [&](const T& value) { return !listed || std::ranges::find(*listed, value) != listed->end(); };
  const auto other = std::ranges::find_if(others, takes);
  return takes(drawn) || other == others.end() ? drawn : T(*other);
}

std::string draw_options(const Plan& plan, const Draft& draft, std::uint64_t index, core::Rng& rng) {
  if (plan.options_json) return *plan.options_json;
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  const auto& supports = plan.supports;
  const std::vector<std::string> activations{"int8", "uint8"}, methods{"minmax", "entropy", "percentile", "mse"};
  const std::vector<bool> either{false, true};
  const auto put = [&](const char* key, const auto& value, const auto& usual) {
    if (value != usual) options[key] = value;
  };
  put("activation", taken(supports.activation, activations[index % 3 == 1 ? 1 : 0], activations), activations.front());
  put("symmetric", taken(supports.symmetric, index % 3 == 2, either), false);
  const double kind = rng.uniform();
  put("per_axis", taken(supports.per_axis, kind >= 0.08, either), true);
  const bool other = kind >= 0.08 && kind < 0.14;
  const std::string& method = methods[static_cast<std::size_t>(other ? rng.integer(1, 3) : 0)];
  put("method", taken(supports.method, method, methods), methods.front());
  nlohmann::ordered_json precision = draw_precision(plan, draft, rng);
  if (!precision.empty()) options["precision"] = std::move(precision);
  return options.dump();
}

}  // namespace

std::vector<std::string> drawn_operators(const converters::Supports& supports) {
  std::vector<std::string> operators;
  for (const Row& row : rows()) {
    if (!supports.operators || std::ranges::find(*supports.operators, row.op) != supports.operators->end()) {
      operators.push_back(row.op);
    }
  }
  return operators;
}

core::Result<Sample> sample(const Plan& plan, std::uint64_t index) {
  core::Rng rng(plan.seed, fmt::format("fuzz/{}", index));
  const core::Result<Draft> draft = Grower(plan, rng).grow();
  if (!draft) return draft.error();
  Sample drawn{{draft->model(), {}, {}}, draw_options(plan, *draft, index, rng)};
  if (const core::Status checked = model::check_model(drawn.candidate.model); !checked) return checked.error();
  const core::Result<converters::Options> options = converters::options_from_json(drawn.options_json);
  if (!options) return options.error();

  data::UserCase user = data::user_case_of(std::make_shared<const model::Model>(draft->model()), "fuzz");
  user.test_case.seed = draft->data_seed();
  user.test_case.inputs = draft->specs();
  corpus::FeedSpec feed;
  feed.batches = kBatches;
  feed.seed = draft->data_seed();
  core::Result<std::vector<TensorMap>> batches = corpus::calibration_batches(user.test_case, feed);
  if (!batches) return batches.error();
  drawn.candidate.calibration = *std::move(batches);
  const auto scales = input_scales(*draft, *options);
  for (const std::string& set : corpus::data_set_names(user.test_case)) {
    core::Result<TensorMap> inputs = corpus::data_set(user.test_case, set, scales);
    if (!inputs) return inputs.error();
    drawn.candidate.inputs.push_back(*std::move(inputs));
  }
  if (const core::Status checked = check_reference(drawn.candidate.model, drawn.candidate.calibration); !checked) {
    return checked.error();
  }
  if (const core::Status checked = check_reference(drawn.candidate.model, drawn.candidate.inputs); !checked) {
    return checked.error();
  }
  if (draft->batch_is_free()) add_larger_batch(user.test_case, drawn.candidate);
  return drawn;
}

}  // namespace assay::fuzz
