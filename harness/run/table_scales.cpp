#include "harness/run/table_scales.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/core/counted.hpp"
#include "harness/core/json.hpp"
#include "harness/core/text.hpp"
#include "harness/judge/audit/audited_params.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::run {
namespace {

core::Error not_of_this_model(std::string message) {
  return {core::ErrorKind::invalid_data, "calibration cache: " + std::move(message), {}, {}, {}};
}

}  // namespace

converters::Description table_description(const converters::CalibrationTable& table) {
  converters::Description description;
  description.name = "cache";
  description.version = table.header.empty() ? table.form : table.header;
  description.supports.artifact = converters::ArtifactKind::scales;
  description.supports.execute = false;
  description.policy.divisor = converters::kTableDivisor;
  return description;
}

converters::Options table_options(const converters::CalibrationTable& table) {
  converters::Options options;
  if (table.form.empty()) {
    return options;  // there is none
  }
  options.method = table.method.value_or(converters::Method::mse);
  options.symmetric = table.symmetric;
  options.percentile = table.percentile.value_or(options.percentile);
  return options;
}

bool states_method(const std::string& options_json) {
  const auto json = core::json_or_discarded<nlohmann::json>(options_json);
  return json.is_object() && json.contains("method");
}

std::vector<converters::TensorScale> table_scales(const converters::CalibrationTable& table,
                                                  const converters::Options& options,
                                                  const converters::Policy& policy) {
  std::vector<converters::TensorScale> scales;
  for (const auto& [name, range] : table.ranges) {
    if (table.magnitudes) {
      const double scale = core::round_to_type(range.high / converters::kTableDivisor, core::DType::float32);
      scales.push_back({name, {{scale}, {0}, core::DType::int8, {}}});
    } else {
      scales.push_back(
          {name, judge::derive_params(range.low, range.high, options.activation, options.symmetric, policy)});
    }
  }
  return scales;
}

core::Status check_table(const converters::CalibrationTable& table, const model::Model& model) {
  if (table.origin && !table.origin->model.empty()) {
    const std::string hash = core::sha256_hex(model::serialize_model(model));
    constexpr std::size_t kShown = 12;
    if (hash != table.origin->model) {
      return not_of_this_model(fmt::format("it was made from another model ({}…, this one is {}…); calibrate anew",
                                           table.origin->model.substr(0, kShown), hash.substr(0, kShown)));
    }
  }
  std::vector<std::string> names;
  for (const model::ValueInfo& input : model.graph.inputs) {
    names.push_back(input.name);
  }
  for (const model::Node& node : model.graph.nodes) {
    names.insert(names.end(), node.outputs.begin(), node.outputs.end());
  }
  for (const std::string& name : names) {
    if (table.ranges.contains(name)) {
      return core::success();
    }
  }
  const std::string& first = table.ranges.begin()->first;
  return not_of_this_model(fmt::format(
      "it names {}, and none of the model's; it begins with \"{}\", the model has \"{}\"",
      core::counted(table.ranges.size(), "tensor"), first, core::join(core::nearest(first, names), "\", \"")));
}

}  // namespace assay::run
