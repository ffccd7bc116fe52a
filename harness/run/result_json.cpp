#include "harness/run/result_json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/core/text.hpp"

namespace assay::run {
namespace {

nlohmann::ordered_json number(const std::optional<double>& value) {
  if (!value) {
    return nullptr;
  }
  if (!std::isfinite(*value)) {
    return core::exact_text64(*value);  // JSON has no infinities; protocol 1 writes them as words too
  }
  return *value;
}

std::vector<std::string> layer_list(const std::string& layers) {
  std::vector<std::string> list;
  std::istringstream stream(layers);
  for (std::string layer; std::getline(stream, layer, ',');) {
    list.push_back(layer);
  }
  return list;
}

}  // namespace

Headline headline_of(const results::ResultRow& row) {
  Headline headline;
  const auto predicted = [&](const std::string& output, const std::string& data_set) -> std::optional<double> {
    for (const results::MetricRow& metric : row.metrics) {
      if (metric.name == "predicted_sqnr_db" && metric.tensor == output && metric.data_set == data_set) {
        return metric.value;
      }
    }
    return std::nullopt;
  };
  for (const results::MetricRow& metric : row.metrics) {
    if (metric.name == "worst_sqnr_db") {
      headline.worst_db = metric.value;
      headline.worst_data_set = metric.data_set;
      headline.worst_output = metric.tensor;
      headline.predicted_worst_db = predicted(metric.tensor, metric.data_set);
    }
    if (metric.name == "whole_sqnr_db") {
      headline.whole_db = metric.value;
      headline.predicted_whole_db = predicted(metric.tensor, "");
    }
  }
  return headline;
}

std::vector<std::pair<results::MetricRow, double>> largest_losses(const results::ResultRow& row) {
  constexpr std::size_t kShown = 5;
  std::vector<std::pair<results::MetricRow, double>> losses;
  for (const results::MetricRow& metric : row.metrics) {
    if ((metric.name == "sqnr_loss_db" || metric.name == "range_loss_db") && metric.value > 0) {
      const auto left = std::find_if(row.metrics.begin(), row.metrics.end(), [&](const results::MetricRow& other) {
        return other.name == "sqnr_db" && other.tensor == metric.tensor && other.data_set == metric.data_set;
      });
      losses.emplace_back(metric, left == row.metrics.end() ? std::nan("") : left->value);
    }
  }
  std::stable_sort(losses.begin(), losses.end(),
                   [](const auto& a, const auto& b) { return a.first.value > b.first.value; });
  losses.resize(std::min(losses.size(), kShown));
  return losses;
}

nlohmann::ordered_json result_json(const results::ResultRow& row) {
  nlohmann::ordered_json result;
  result["case"] = row.key.case_name;
  result["options"] = row.key.options;
  result["converter"] = row.key.converter;
  result["version"] = row.key.version;
  result["verdict"] = row.verdict;
  result["gate"] = row.gate;
  result["stage"] = row.stage;
  result["facet"] = row.facet.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(row.facet);
  result["node"] = row.node.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(row.node);
  result["reason"] = row.reason;
  result["margin"] = number(row.margin);
  result["sqnr_db"] = number(row.sqnr_db);
  const Headline headline = headline_of(row);
  result["whole_sqnr_db"] = number(headline.whole_db);
  result["predicted_whole_sqnr_db"] = number(headline.predicted_whole_db);
  result["worst_sqnr_db"] = number(headline.worst_db);
  result["predicted_worst_sqnr_db"] = number(headline.predicted_worst_db);
  result["worst_data_set"] = headline.worst_data_set.empty() ? nlohmann::ordered_json(nullptr)
                                                             : nlohmann::ordered_json(headline.worst_data_set);
  result["layers"] = layer_list(row.layers);
  result["judged"] = nullptr;
  if (row.judged_outputs) {
    nlohmann::ordered_json unjudged = nlohmann::ordered_json::array();
    for (const results::UnjudgedRow& node : row.unjudged) {
      unjudged.push_back({{"node", node.node}, {"op", node.op}, {"reason", node.reason}});
    }
    result["judged"] = {{"nodes", row.judged_nodes()},
                        {"of", row.nodes()},
                        {"outputs", *row.judged_outputs},
                        {"unjudged", std::move(unjudged)}};
  }
  result["style"] = row.style;
  if (!row.judged_as.empty()) {
    result["made_by"] = row.judged_as;
  }
  result["seconds"] = row.seconds;
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const results::FindingRow& finding : row.findings) {
    findings.push_back({{"stage", finding.stage},
                        {"facet", finding.facet},
                        {"layer", finding.layer},
                        {"node", finding.node},
                        {"op", finding.op},
                        {"tensor", finding.tensor},
                        {"data_set", finding.data_set},
                        {"message", finding.message},
                        {"margin", number(finding.margin)}});
  }
  result["findings"] = std::move(findings);
  result["lost_at"] = nlohmann::ordered_json::array();
  for (const auto& [loss, left] : largest_losses(row)) {
    result["lost_at"].push_back({{"tensor", loss.tensor}, {"loss_db", loss.value}, {"sqnr_db", number(left)}});
  }
  return result;
}

}  // namespace assay::run
