#include "converters/embedded/fault_scope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace assay::embedded {
namespace {

/// Behind these stages a node's state lies in files.
constexpr std::array kScoped{"simplify", "plan", "calibrate", "assign", "encode"};

/// Entries of `now` whose tensor is none of `own` become what they were.
template <typename Map>
void put_back(const Map& before, Map& now, const std::set<std::string>& own) {
  Map restored = before;
  for (const std::string& name : own) {
    restored.erase(name);
    if (const auto kept = now.find(name); kept != now.end()) restored.insert(*kept);
  }
  now = std::move(restored);
}

void put_back_graph(const model::Graph& before, model::Graph& now, const std::string& node) {
  std::set<std::string> own;
  for (model::Node& each : now.nodes) {
    if (each.name == node) {
      own.insert(each.inputs.begin(), each.inputs.end());
      continue;
    }
    const auto was = std::ranges::find(before.nodes, each.name, &model::Node::name);
    if (was != before.nodes.end()) each = *was;
  }
  put_back(before.initializers, now.initializers, own);
}

void put_back_plan(const State& before, State& now, const std::string& node, const std::set<std::string>& own) {
  const auto& nodes = now.model.graph.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].name == node) continue;
    if (i < before.plan.nodes.size() && i < now.plan.nodes.size()) now.plan.nodes[i] = before.plan.nodes[i];
    if (i < before.codes.size() && i < now.codes.size()) now.codes[i] = before.codes[i];
  }
  put_back(before.plan.shares, now.plan.shares, own);
  put_back(before.plan.covers, now.plan.covers, own);
  std::set<std::string> quantized = before.plan.quantized;
  for (const std::string& name : own) {
    quantized.erase(name);
    if (now.plan.quantized.contains(name)) quantized.insert(name);
  }
  now.plan.quantized = std::move(quantized);
}

Status edit_one(const std::function<Status(State&)>& edit, State& state, const std::string& node) {
  const State before = state;
  Status done = edit(state);
  if (!done) return done;
  put_back_graph(before.model.graph, state.model.graph, node);
  std::set<std::string> own;
  for (const model::Node& each : state.model.graph.nodes) {
    if (each.name != node) continue;
    own.insert(each.inputs.begin(), each.inputs.end());
    own.insert(each.outputs.begin(), each.outputs.end());
  }
  put_back_plan(before, state, node, own);
  put_back(before.ranges, state.ranges, own);
  put_back(before.params, state.params, own);
  put_back(before.constant_codes, state.constant_codes, own);
  return done;
}

}  // namespace

Status confine(Machine& machine, const std::string& fault, const std::string& node) {
  const bool fits =
      machine.policy == engine::ArithmeticPolicy{} && machine.misreadings.empty() &&
      std::ranges::all_of(machine.passes, [](const Pass& pass) {
        return pass.origin == Pass::Origin::standard ||
               (pass.origin == Pass::Origin::inserted && std::ranges::find(kScoped, pass.stage) != kScoped.end());
      });
  if (!fits) {
    return Error{ErrorKind::usage,
                 fmt::format("fault \"{}\" can't be confined to node \"{}\": it is no edit of a node's own state; "
                             "leave out \"@{}\"",
                             fault, node, node),
                 node, "", ""};
  }
  for (Pass& pass : machine.passes) {
    if (pass.origin == Pass::Origin::inserted) {
      pass.run = [edit = pass.run, node](State& state) { return edit_one(edit, state, node); };
    }
  }
  return core::success();
}

}  // namespace assay::embedded
