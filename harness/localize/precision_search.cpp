#include "harness/localize/precision_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/core/counted.hpp"
#include "harness/core/files.hpp"
#include "harness/localize/node_table.hpp"
#include "harness/localize/submodel.hpp"

namespace assay::localize {
namespace {

bool joins_its_input(const model::Node& node) {
  static const std::set<std::string, std::less<>> kJoining{
      "BatchNormalization", "Relu", "Clip", "LeakyRelu", "PRelu", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "Elu"};
  return node.domain.empty() && kJoining.contains(node.op_type);
}

class Search {
 public:
  Search(const Candidate& whole, const Judge& judge, std::optional<double> sqnr_db, std::size_t most_conversions,
         const std::function<void(const std::string&)>& on_progress)
      : whole_(whole),
        judge_(judge),
        sqnr_db_(sqnr_db),
        most_conversions_(most_conversions),
        on_progress_(on_progress),
        groups_(fusion_groups(whole.model.graph)),
        folder_(core::TemporaryFolder::create()) {}

  PrecisionSearch run() {
    Judged first = judge_.ask(whole_, judge::Depth::every_node, judge_.options_json());
    ++found_.conversions;
    found_.before = std::move(first.judgement);
    found_.needed = !does(found_.before);
    if (!found_.needed || found_.before.verdict == judge::Verdict::unsupported) {
      return std::move(found_);
    }
    keep_cache(first.cache);
    const std::vector<std::size_t> order = by_trouble(first.precision);
    std::size_t enough = 1;
    while (!(found_.possible = does_with(order, enough)) && enough < order.size()) {
      enough = std::min(enough * 2, order.size());
    }
    if (found_.possible) {
      for (std::size_t low = enough / 2; enough - low > 1 && !spent();) {
        const std::size_t middle = (low + enough) / 2;
        (does_with(order, middle) ? enough : low) = middle;
      }
      minimize(first_of(order, enough));
    } else {
      found_.ignored = ignored(names(first_of(order, order.size())));
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool does(const judge::Judgement& judgement) const {
    return judgement.gate != judge::Gate::red && (!sqnr_db_ || (judgement.sqnr_db && *judgement.sqnr_db >= *sqnr_db_));
  }

  /// The nodes of `asked`, all there are, that the last artifact has in INT8: those that the judge found so; all of
  /// them where it answers to the last bit as the one that was asked for in INT8.
  [[nodiscard]] std::vector<std::string> ignored(std::vector<std::string> asked) const {
    const auto in_int8 = [&](const std::string& node) {
      return std::ranges::any_of(found_.after.findings, [&](const judge::Finding& finding) {
        return finding.facet == judge::Facet::precision && finding.node == node;
      });
    };
    const std::optional<double> before = found_.before.sqnr_db, after = found_.after.sqnr_db;
    const bool unchanged = before && after && std::isfinite(*after) && *before == *after;
    if (!unchanged) std::erase_if(asked, [&](const std::string& node) { return !in_int8(node); });
    return asked;
  }

  void keep_cache(const std::string& text) {
    if (text.empty() || !folder_) {
      return;
    }
    const std::filesystem::path file = folder_->path() / "calibration.cache";
    if (core::write_file(file, text)) {
      cache_ = file.string();
      found_.reused_cache = true;
    }
  }

  /// The groups from the largest local margin to the smallest, then from the largest loss.
  [[nodiscard]] std::vector<std::size_t> by_trouble(const std::vector<converters::NodePrecision>& precision) const {
    std::vector<NodeRow> rows =
        node_table(whole_.model.graph, found_.before.metrics, precision, found_.before.findings);
    std::erase_if(rows,
                  [](const NodeRow& row) { return row.op == kGraphInput; });  // the others are the nodes, in order
    const auto trouble = [&](std::size_t group) {
      std::pair<double, double> worst{0, 0};
      for (const std::size_t node : groups_[group]) {
        const double margin = rows[node].found ? std::max(rows[node].margin.value_or(0), 2.0) : 0;
        worst.first = std::max({worst.first, margin, rows[node].margin.value_or(0) > 1 ? *rows[node].margin : 0});
        worst.second = std::max(worst.second, rows[node].loss_db.value_or(0));
      }
      return worst;
    };
    std::vector<std::size_t> order(groups_.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::ranges::stable_sort(order, std::greater<>(), trouble);
    return order;
  }

  [[nodiscard]] std::vector<std::string> names(const Items& groups) const {
    std::vector<std::string> all;
    for (const std::size_t group : groups) {
      for (const std::size_t node : groups_[group]) {
        all.push_back(whole_.model.graph.nodes[node].name);
      }
    }
    return all;
  }

  [[nodiscard]] bool spent() const { return found_.conversions >= most_conversions_; }

  static Items first_of(const std::vector<std::size_t>& order, std::size_t count) {
    return {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  bool does_with(const std::vector<std::size_t>& order, std::size_t count) { return does_with(first_of(order, count)); }
  bool does_with(const Items& groups) {
    nlohmann::json options = nlohmann::json::parse(judge_.options_json());
    for (const std::string& name : names(groups)) {
      options["precision"][name] = "fp32";
    }
    if (!cache_.empty()) {
      options["cache"] = cache_;
    }
    judge::Judgement judgement = judge_.ask(whole_, judge::Depth::gate, options.dump()).judgement;
    ++found_.conversions;
    const bool enough = does(judgement);
    if (on_progress_) {
      on_progress_(fmt::format("{} in float: {}{}", core::counted(groups.size(), "group"),
                               judge::verdict_name(judgement.verdict),
                               judgement.sqnr_db ? fmt::format(", {:.1f} dB", *judgement.sqnr_db) : ""));
    }
    // What is not enough stays where nothing is: the last question was about every node then.
    if (enough || !found_.possible) {
      found_.after = std::move(judgement);
    }
    return enough;
  }

  void minimize(Items groups) {
    groups = ddmin(std::move(groups), [this](const std::vector<Items>& sets) -> std::optional<std::size_t> {
      for (std::size_t i = 0; i < sets.size(); ++i) {
        if (spent()) {
          return std::nullopt;
        }
        if (does_with(sets[i])) {
          return i;
        }
      }
      return std::nullopt;
    });
    found_.minimal = !spent();
    found_.nodes = names(groups);
  }

  const Candidate& whole_;
  const Judge& judge_;
  std::optional<double> sqnr_db_;
  std::size_t most_conversions_;
  const std::function<void(const std::string&)>& on_progress_;
  std::vector<Items> groups_;
  core::Result<core::TemporaryFolder> folder_;
  std::string cache_;
  PrecisionSearch found_;
};

}  // namespace

std::vector<Items> fusion_groups(const model::Graph& graph) {
  const model::Wiring wiring(graph);
  std::vector<Items> groups;
  std::map<std::size_t, std::size_t> group_of;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const model::Node& node = graph.nodes[i];
    const auto producer = node.inputs.empty() ? std::nullopt : wiring.producer(node.inputs.front());
    const bool joins = producer && joins_its_input(node) && !wiring.is_output(node.inputs.front()) &&
                       wiring.consumers(node.inputs.front()).size() == 1;
    const std::size_t group = joins ? group_of.at(*producer) : groups.size();
    if (!joins) {
      groups.emplace_back();
    }
    groups[group].insert(i);
    group_of[i] = group;
  }
  return groups;
}

PrecisionSearch search_precision(const Candidate& whole, const Judge& judge, std::optional<double> sqnr_db,
                                 std::size_t most_conversions,
                                 const std::function<void(const std::string&)>& on_progress) {
  return Search(whole, judge, sqnr_db, most_conversions, on_progress).run();
}

}  // namespace assay::localize
