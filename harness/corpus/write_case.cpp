#include "harness/corpus/write_case.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include "harness/core/json.hpp"

namespace assay::corpus {
namespace {

using nlohmann::ordered_json;

ordered_json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

template <typename T>
void put(ordered_json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

template <typename List>
void put_list(ordered_json& json, const char* key, const List& list) {
  if (!list.empty()) json[key] = list;
}

ordered_json input_json(const InputSpec& spec) {
  ordered_json json{{"data", spec.data_sets}};
  if (spec.mean.empty()) json["range"] = {spec.low, spec.high};
  put(json, "shape", spec.shape);
  if (spec.kind != InputSpec{}.kind) json["kind"] = spec.kind;
  put(json, "spread", spec.ratio);
  put(json, "outlier", spec.outlier);
  put_list(json, "mean", spec.mean);
  put_list(json, "std", spec.std_dev);
  if (spec.channels_last) json["layout"] = "NHWC";
  return json;
}

ordered_json feed_json(const FeedSpec& feed) {
  ordered_json json{{"batches", feed.batches}, {"seed", feed.seed}};
  put(json, "batch", feed.batch);
  put(json, "last_batch", feed.last_batch);
  put_list(json, "widths", feed.widths);
  put_list(json, "drop", feed.drop);
  put(json, "stop_after", feed.stop_after);
  put_list(json, "order", feed.order);
  for (const auto& [name, value] : feed.poison) json["poison"][name] = number(value);
  if (!feed.cache.empty()) json["cache"] = feed.cache;
  put_list(json, "forget", feed.forget);
  if (!feed.edit.empty()) json["edit"] = feed.edit;
  put_list(json, "types", feed.types);
  put_list(json, "shapes", feed.shapes);
  put_list(json, "extra", feed.extra);
  return json;
}

ordered_json scale_json(const ExpectedScale& scale) {
  ordered_json json = ordered_json::object();
  put(json, "axis", scale.axis);
  put(json, "count", scale.count);
  put(json, "scale", scale.scale);
  put(json, "scale_at_least", scale.scale_at_least);
  put(json, "zero_point", scale.zero_point);
  return json;
}

ordered_json expectation_json(const Expectation& expect) {
  ordered_json json{{"status", expect.status}};
  if (expect.status != "converts") {
    ordered_json& refused = json["refused"] = ordered_json::object();
    put(refused, "node", expect.refused_node);
    put(refused, "operator", expect.refused_op);
    put(refused, "reason", expect.refused_reason);
  }
  put_list(json, "precision", expect.precision);
  for (const auto& [name, scale] : expect.scales) json["scales"][name] = scale_json(scale);
  put_list(json, "same_scale_as", expect.same_scale_as);
  put_list(json, "shape", expect.shape);
  put_list(json, "dtype", expect.dtype);
  put(json, "outputs", expect.outputs);
  put_list(json, "diagnostics", expect.diagnostics);
  put(json, "order", expect.order);
  return json;
}

ordered_json all_escaped(const ordered_json& json) {
  if (json.is_string()) return escaped(json.get_ref<const std::string&>());
  if (!json.is_structured()) return json;
  ordered_json out = json.is_array() ? ordered_json::array() : ordered_json::object();
  for (const auto& [key, value] : json.items()) {
    if (json.is_array()) {
      out.push_back(all_escaped(value));
    } else {
      out[escaped(key)] = all_escaped(value);
    }
  }
  return out;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out.append(c == '$' ? 2 : 1, c);
  return out;
}

ordered_json origins_json(const Case& test_case) {
  ordered_json list = ordered_json::array();
  for (const Origin& origin : test_case.origins) {
    list.push_back({{"url", origin.url}, {"reported_against", origin.reported_against}, {"defect", origin.defect}});
    put(list.back(), "upstream", origin.upstream);
  }
  return list;
}

ordered_json case_json(const Case& test_case) {
  ordered_json json{{"family", test_case.family}, {"title", test_case.title}};
  if (!test_case.origins.empty()) json["origin"] = origins_json(test_case);
  put_list(json, "tags", test_case.tags);
  if (test_case.seed != Case{}.seed) json["seed"] = test_case.seed;
  for (const auto& [name, spec] : test_case.inputs) json["inputs"][name] = input_json(spec);
  const ordered_json feed = feed_json(test_case.calibration);
  if (feed != feed_json(FeedSpec{})) json["calibration"] = feed;
  if (test_case.options_json != "{}") json["options"] = core::json_or_discarded<ordered_json>(test_case.options_json);
  if (!test_case.made_by.empty()) json["made_by"] = test_case.made_by;
  const Step& first = test_case.steps.front();
  if (test_case.steps.size() > 1 || first.options_json != "{}" || feed_json(first.feed) != feed) {
    for (const Step& step : test_case.steps) {
      auto options = core::json_or_discarded<ordered_json>(step.options_json);
      json["steps"].push_back(
          {{"do", step.action}, {"options", std::move(options)}, {"calibration", feed_json(step.feed)}});
    }
  }
  ordered_json expect = expectation_json(test_case.expect);
  if (expect != expectation_json(Expectation{})) json["expect"] = std::move(expect);
  put_list(json, "kills", test_case.kills);
  put_list(json, "metamorphic", test_case.metamorphic);
  return all_escaped(json);
}

}  // namespace assay::corpus
