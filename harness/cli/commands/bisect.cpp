#include "harness/localize/bisect.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/artifact_options.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/guard.hpp"
#include "harness/cli/judge_limits.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/data/data_origin.hpp"
#include "harness/localize/candidate.hpp"
#include "harness/report/nodes.hpp"

namespace assay::cli {
namespace {

using localize::Candidate;

struct BisectArguments {
  std::string model, calibration, inputs, options = "{}", over = "nodes";
  ConverterOptions converters;
  ArtifactOptions artifact;
  std::size_t part_nodes = 8;
  double timeout_s = 600;
  JudgeLimitOptions judging;
  bool json = false;
};

void tell(const std::string& line) { print(stderr, "{}\n", line); }

std::string headline(const judge::Judgement& judgement) {
  std::string text(judge::verdict_name(judgement.verdict));
  if (judgement.facet)
    text += fmt::format(" ({}/{})", judge::stage_name(judgement.stage), judge::facet_name(*judgement.facet));
  const std::string line = judgement.reason.substr(0, judgement.reason.find('\n'));
  return line.empty() ? text : text + ": " + line;
}

nlohmann::ordered_json judgement_json(const judge::Judgement& judgement) {
  return {{"verdict", judge::verdict_name(judgement.verdict)},
          {"gate", judge::gate_name(judgement.gate)},
          {"stage", judge::stage_name(judgement.stage)},
          {"facet", judgement.facet ? nlohmann::ordered_json(judge::facet_name(*judgement.facet)) : nullptr},
          {"reason", judgement.reason}};
}

/// "a", "b" and "c".
std::string listed(std::vector<std::string> names) {
  for (std::string& name : names) name = "\"" + name + "\"";
  if (names.size() < 2) return core::join(names, "");
  const std::string last = names.back();
  names.pop_back();
  return core::join(names, ", ") + " and " + last;
}

/// What the table of an artifact's own nodes comes to. Rows stand in the graph's order.
std::string conclusion_of(const std::vector<localize::NodeRow>& rows) {
  const auto first = std::ranges::find_if(rows, localize::is_wrong);
  const auto wrong = std::ranges::count_if(rows, localize::is_wrong);
  const std::string node = first->op == localize::kGraphInput ? fmt::format("graph input \"{}\"", first->node)
                                                              : fmt::format("node \"{}\" ({})", first->node, first->op);
  if (wrong == 1) return fmt::format("{} is wrong by itself, and no other", node);
  return fmt::format("{} is the first of {} that are wrong by themselves; begin there", node, wrong);
}

std::string conclusion_of(const std::vector<localize::WrongPart>& parts) {
  if (parts.empty()) return "no part is wrong when it is converted by itself: it takes the whole model";
  std::vector<std::string> all;
  all.reserve(parts.size());
  for (const localize::WrongPart& part : parts) all.push_back(listed(part.nodes));
  return fmt::format("wrong when converted by itself: {}", core::join(all, "; "));
}

constexpr std::string_view kNothingRed = "nothing is red, so that there is nothing to look for";

/// Where the artifact shows what is inside, the judged build itself says which nodes are wrong; else parts are cut.
core::Result<nlohmann::ordered_json> over_nodes(const Candidate& whole, const localize::Judge& judge,
                                                std::size_t part_nodes, bool shows) {
  const localize::Judged judged = judge.ask(whole, judge::Depth::every_node, judge.options_json());
  nlohmann::ordered_json json{{"over", "nodes"}, {"cut", false}, {"verdict", judgement_json(judged.judgement)}};
  json["wrong"] = nlohmann::ordered_json::array();
  const auto rows =
      localize::node_table(whole.model.graph, judged.judgement.metrics, judged.precision, judged.judgement.findings);
  const bool looked_inside = std::ranges::any_of(rows, [](const auto& row) { return row.margin.has_value(); });
  if (shows) print("whole model: {}\n", headline(judged.judgement));
  json["conclusion"] = kNothingRed;
  if (judged.judgement.gate != judge::Gate::red) return json;
  if (looked_inside && std::ranges::any_of(rows, localize::is_wrong)) {
    for (const localize::NodeRow& row : rows) {
      if (localize::is_wrong(row)) json["wrong"].push_back(report::node_json(row));
    }
    if (shows) print("\nin the judged build itself, nothing cut:\n{}", report::wrong_nodes_text(rows));
    json["conclusion"] = conclusion_of(rows);
    return json;
  }
  if (whole.artifact != nullptr) {
    return core::usage_error(fmt::format(
        "the artifact is wrong ({}), and none of its nodes is by itself: it doesn't show what is inside, or the error "
        "comes of no one node; nothing is converted here, so that no part of the model can be tried",
        headline(judged.judgement)));
  }
  json["cut"] = true;
  const auto parts = localize::wrong_parts(whole, judge, part_nodes, tell);
  if (!parts) return parts.error();
  if (shows) {
    print(
        "\nthe artifact doesn't show its inside ({}): parts of the model were cut out, fed with the float64 "
        "reference's values and converted by themselves\n",
        judged.artifact_kind ? core::word_of(*judged.artifact_kind) : "there is none");
  }
  for (const localize::WrongPart& part : *parts) {
    json["wrong"].push_back({{"nodes", part.nodes}, {"verdict", judgement_json(part.judgement)}});
    if (shows) print("  {}: {}\n", core::join(part.nodes, ", "), headline(part.judgement));
  }
  json["conclusion"] = conclusion_of(*parts);
  return json;
}

nlohmann::ordered_json over_batches(const Candidate& whole, const localize::Judge& judge, bool shows) {
  const judge::Judgement judgement = judge.judge(whole, judge::Depth::gate);
  nlohmann::ordered_json json{
      {"over", "batches"}, {"batches", whole.calibration.size()}, {"verdict", judgement_json(judgement)}};
  if (shows) print("{} in all: {}\n", core::counted(whole.calibration.size(), "batch", "batches"), headline(judgement));
  json["needed"] = nlohmann::ordered_json::array();
  json["conclusion"] = kNothingRed;
  if (judgement.gate != judge::Gate::red) return json;
  std::vector<std::string> needed;
  for (const std::size_t batch : localize::needed_batches(whole, judge, localize::signature_of(judgement))) {
    json["needed"].push_back(batch);
    needed.push_back(fmt::format("{:04}", batch));
  }
  json["conclusion"] =
      fmt::format("of {} {} {} enough for the same verdict",
                  core::counted(whole.calibration.size(), "calibration batch", "calibration batches"),
                  needed.empty() ? "none" : core::join(needed, ", "), needed.size() == 1 ? "is" : "are");
  return json;
}

core::Result<nlohmann::ordered_json> over_optimizers(const Candidate& whole, localize::Judge& judge, bool shows) {
  const converters::Description& asked = judge.description();
  if (asked.supports.optimizers.empty()) {
    return core::usage_error(
        fmt::format("{} {} lists no optimizers that it can execute without (supports.optimizers in docs/protocol.md); "
                    "name a converter or a variant that does",
                    asked.name, asked.version));
  }
  const judge::Judgement judgement = judge.judge(whole, judge::Depth::gate);
  nlohmann::ordered_json json{
      {"over", "optimizers"}, {"optimizers", asked.supports.optimizers}, {"verdict", judgement_json(judgement)}};
  if (shows) {
    print("with all {}: {}\n", core::counted(asked.supports.optimizers.size(), "optimizer"), headline(judgement));
  }
  json["guilty"] = nlohmann::ordered_json::array();
  json["conclusion"] = kNothingRed;
  if (judgement.gate != judge::Gate::red) return json;
  const std::vector<std::string> guilty = localize::guilty_optimizers(whole, judge, tell);
  json["guilty"] = guilty;
  json["conclusion"] = guilty.empty() ? "it is red without any optimizer, too"
                                      : fmt::format("nothing is red without {} {}",
                                                    guilty.size() == 1 ? "optimizer" : "optimizers", listed(guilty));
  return json;
}

/// `changes`: the versions that differ from the one before.
std::string conclusion_of(const std::vector<programs::ConverterSpec>& specs, const std::vector<std::size_t>& changes,
                          const std::string& first) {
  if (changes.empty()) {
    return fmt::format("{} and {} say the same: {}", specs.front().version, specs.back().version, first);
  }
  std::vector<std::string> versions;
  versions.reserve(changes.size());
  for (const std::size_t i : changes) versions.push_back(specs[i].version);
  return fmt::format("the verdict changed in {}", core::join(versions, ", "));
}

core::Result<nlohmann::ordered_json> over_versions(const Candidate& whole, const BisectArguments& arguments,
                                                   const std::vector<programs::ConverterSpec>& specs, bool shows) {
  nlohmann::ordered_json json{{"over", "versions"}};
  json["versions"] = nlohmann::ordered_json::array();
  std::map<std::size_t, std::pair<std::string, std::string>> seen;  // signature and headline
  const auto look = [&](std::size_t i) -> core::Result<std::string> {
    if (const auto found = seen.find(i); found != seen.end()) return found->second.first;
    const auto judge = localize::Judge::make(specs[i], arguments.options, arguments.timeout_s);
    if (!judge) return judge.error().within(specs[i].version);
    const judge::Judgement judgement = (*judge)->judge(whole, judge::Depth::gate);
    const bool green = judgement.gate != judge::Gate::red;
    seen[i] = {green ? "" : localize::signature_of(judgement), headline(judgement)};
    tell(fmt::format("{}@{}: {}", specs[i].name, specs[i].version, seen[i].second));
    return seen[i].first;
  };
  // Every change between versions whose ends differ: halves between equal ends are not looked into.
  std::vector<std::size_t> changes;
  const std::function<core::Status(std::size_t, std::size_t)> halve = [&](std::size_t low,
                                                                          std::size_t high) -> core::Status {
    const core::Result<std::string> first = look(low);
    if (!first) return first.error();
    const core::Result<std::string> last = look(high);
    if (!last) return last.error();
    if (*first == *last) return core::success();
    if (high - low == 1) {
      changes.push_back(high);
      return core::success();
    }
    const std::size_t middle = (low + high) / 2;
    if (core::Status left = halve(low, middle); !left) return left;
    return halve(middle, high);
  };
  if (const core::Status done = halve(0, specs.size() - 1); !done) return done.error();
  for (const auto& [i, said] : seen)
    json["versions"].push_back({{"version", specs[i].version}, {"verdict", said.second}});
  json["changes"] = nlohmann::ordered_json::array();
  for (const std::size_t i : changes) {
    json["changes"].push_back({{"from", specs[i - 1].version}, {"to", specs[i].version}});
    if (shows) {
      print("{} -> {}:\n  {}\n  {}\n", specs[i - 1].version, specs[i].version, seen[i - 1].second, seen[i].second);
    }
  }
  json["conclusion"] = conclusion_of(specs, changes, seen.begin()->second.second);
  return json;
}

core::Result<nlohmann::ordered_json> bisect(const BisectArguments& arguments) {
  const bool ready = arguments.artifact.given();
  if (ready && arguments.over != "nodes") {
    return core::usage_error(fmt::format(
        "--over {} converts the model anew, and --artifact is converted already; leave out --artifact and name a "
        "converter, or bisect the artifact over its nodes",
        arguments.over));
  }
  core::Result<UserModel> loaded = load_user_model(arguments.model, arguments.calibration, arguments.inputs,
                                                   arguments.options, arguments.converters, arguments.artifact);
  if (!loaded) return loaded.error();
  print(stderr, "{}\n", data::data_line(loaded->user, ready ? data::Conversion::elsewhere : data::Conversion::here));
  const core::Result<Candidate> whole =
      ready ? localize::make_candidate(loaded->user, arguments.artifact.file) : localize::make_candidate(loaded->user);
  if (!whole) return whole.error();
  if (ready) {
    const auto judge = localize::Judge::of_artifacts(std::move(loaded->made_by), arguments.options);
    if (!judge) return judge.error();
    return over_nodes(*whole, **judge, arguments.part_nodes, !arguments.json);
  }
  const core::Result<std::vector<programs::ConverterSpec>> specs =
      resolve_converters(arguments.converters, {"embedded"});
  if (!specs) return specs.error();
  const bool shows = !arguments.json;
  if (arguments.over == "versions") {
    if (specs->size() < 2) {
      return core::usage_error(
          "bisecting over versions takes several: --converter NAME@VERSION,VERSION,…, oldest first");
    }
    return over_versions(*whole, arguments, *specs, shows);
  }
  if (specs->size() != 1)
    return core::usage_error(fmt::format("bisecting over {} takes one converter, in one version", arguments.over));
  const auto judge = localize::Judge::make(specs->front(), arguments.options, arguments.timeout_s);
  if (!judge) return judge.error();
  if (arguments.over == "optimizers") return over_optimizers(*whole, **judge, shows);
  return arguments.over == "batches" ? over_batches(*whole, **judge, shows)
                                     : over_nodes(*whole, **judge, arguments.part_nodes, shows);
}

int bisect_command(const BisectArguments& arguments) {
  const core::Result<nlohmann::ordered_json> found = bisect(arguments);
  if (!found) return report_error(found.error());
  if (!arguments.json) print("\nconclusion: {}\n", found->at("conclusion").get<std::string>());
  if (arguments.json) print("{}\n", found->dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  for (const char* key : {"wrong", "needed", "changes", "guilty"}) {
    if (found->contains(key) && !found->at(key).empty()) return kExitRed;
  }
  return kExitOk;
}

}  // namespace

void register_bisect(Command app, Action& action) {
  auto arguments = std::make_shared<BisectArguments>();
  const Command command =
      app.add_subcommand("bisect", "Find the nodes, converter versions, calibration batches or optimizers at fault");
  command.add_option("model", arguments->model, "Float ONNX model, or a case").required();
  add_converter_options(command, arguments->converters);
  add_artifact_options(command, arguments->artifact);
  command.add_option("--over", arguments->over, "nodes, versions, batches or optimizers")
      .check_one_of({"nodes", "versions", "batches", "optimizers"});
  command.add_option("--calibration", arguments->calibration, "Folder of 0000/input_0.pb …, .npz or .npy");
  command.add_option("--inputs", arguments->inputs, "Data to execute, in the same forms");
  command.add_option("--options", arguments->options, "Converter options as JSON (--artifact: what it was made with)");
  command
      .add_option("--part", arguments->part_nodes,
                  "Nodes of the parts that are cut out where the artifact doesn't show its inside")
      .check(Check::positive);
  command.add_option("--timeout", arguments->timeout_s, "Seconds for one answer of a converter").check(Check::positive);
  command.add_flag("--json", arguments->json, "Print one JSON object");
  add_judge_limits(command, arguments->judging);
  command.callback([arguments, &action] {
    action = guarded([arguments] { return bisect_command(*arguments); },
                     [arguments] { return judge_limits_of(arguments->judging, arguments->timeout_s); });
  });
}

}  // namespace assay::cli
