#include "harness/fuzz/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/fuzz/draft.hpp"
#include "harness/fuzz/rows.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/run/user_case.hpp"
#include "reference/executor.hpp"

namespace assay::fuzz {
namespace {

using core::TensorMap;

constexpr int kMostNodes = 6;
constexpr int kBatches = 4;

const Row& choose_row(const std::vector<const Row*>& table, core::Rng& rng) {
  std::int64_t sum = 0;
  for (const Row* row : table) sum += row->weight;
  std::int64_t left = rng.integer(0, sum - 1);
  for (const Row* row : table) {
    left -= row->weight;
    if (left < 0) return *row;
  }
  return *table.back();
}

core::Result<Draft> draw_graph(const Plan& plan, core::Rng& rng) {
  Draft draft{core::Rng(rng.next())};
  std::vector<const Row*> table;
  for (const Row& row : rows()) {
    if (row.since <= draft.opset() && std::ranges::find(plan.operators, row.op) != plan.operators.end()) {
      table.push_back(&row);
    }
  }
  if (table.empty()) {
    return core::Error{core::ErrorKind::usage, "the converter has none of the operators that are drawn", {}, {}, {}};
  }
  const std::int64_t nodes = rng.integer(1, kMostNodes);
  for (std::int64_t made = 0; made < nodes;) {
    Draft longer = draft;
    const Row& row = choose_row(table, rng);
    if (row.draw(longer, row.op)) {
      if (const core::Status settled = longer.settle(); settled) {
        draft = std::move(longer);
        ++made;
        continue;
      } else if (settled.error().kind != core::ErrorKind::invalid_data) {
        return settled.error();
      }
    }
    // Nothing fits, or the tensor would be too large: another node, from other draws.
    draft = Draft(draft, core::Rng(rng.next()));
  }
  draft.finish();
  return draft;
}

bool finite(const core::Tensor& tensor) {
  constexpr double kLargest = 1e30;  // float32 sums and squares of it still have a value
  if (!tensor.is_real()) return true;
  return std::ranges::all_of(tensor.reals(), [](double value) { return std::fabs(value) <= kLargest; });
}

/// Every tensor of every run is finite.
core::Status check_reference(const localize::Candidate& candidate) {
  for (const auto* batches : {&candidate.calibration, &candidate.inputs}) {
    for (const TensorMap& batch : *batches) {
      std::string odd;
      reference::RunOptions options;
      options.observe = [&](const std::string& name, const core::Tensor& value) {
        if (odd.empty() && !finite(value)) odd = name;
      };
      const core::Result<TensorMap> outputs = reference::execute(candidate.model, batch, options);
      if (!outputs) return outputs.error();
      if (!odd.empty()) return core::Error{core::ErrorKind::invalid_data, "not finite", {}, {}, odd};
    }
  }
  return core::success();
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

std::string draw_options(const Plan& plan, const model::Graph& graph, std::uint64_t index, core::Rng& rng) {
  if (plan.options_json) return *plan.options_json;
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  if (index % 3 == 1) options["activation"] = "uint8";
  if (index % 3 == 2) options["symmetric"] = true;
  const auto& node =
      graph.nodes[static_cast<std::size_t>(rng.integer(0, static_cast<std::int64_t>(graph.nodes.size()) - 1))];
  const double kind = rng.uniform();
  const auto& supports = plan.supports;
  if (kind < 0.08 && (!supports.per_axis || std::ranges::count(*supports.per_axis, false) > 0)) {
    options["per_axis"] = false;
  } else if (kind < 0.12) {
    const std::vector<std::string> methods{"entropy", "percentile", "mse"};
    const std::string& method = methods[static_cast<std::size_t>(rng.integer(0, 2))];
    if (!supports.method || std::ranges::count(*supports.method, method) > 0) options["method"] = method;
  } else if (kind < 0.17) {
    options["precision"] = {{node.op_type, "fp32"}};
  } else if (kind < 0.25 && (node.op_type == "Add" || node.op_type == "Sub" || node.op_type == "Mul")) {
    // Nobody has to run a sum in INT8 unasked.
    options["precision"] = {{node.op_type, "int8"}};
  }
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
  const core::Result<Draft> draft = draw_graph(plan, rng);
  if (!draft) return draft.error();
  Sample drawn{{draft->model(), {}, {}}, draw_options(plan, draft->graph(), index, rng)};
  if (const core::Status checked = model::check_model(drawn.candidate.model); !checked) return checked.error();
  const core::Result<converters::Options> options = converters::options_from_json(drawn.options_json);
  if (!options) return options.error();

  run::UserCase user = run::user_case_of(std::make_shared<const model::Model>(draft->model()), "fuzz");
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
  if (const core::Status checked = check_reference(drawn.candidate); !checked) return checked.error();
  return drawn;
}

}  // namespace assay::fuzz
