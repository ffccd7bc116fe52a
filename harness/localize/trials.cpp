#include "harness/localize/trials.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "harness/localize/submodel.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/infer.hpp"

namespace assay::localize {

Trials::Trials(std::vector<Criterion> workers, std::filesystem::path ledger, std::shared_ptr<Refusals> refusals)
    : workers_(std::move(workers)), ledger_(std::move(ledger)), refusals_(std::move(refusals)) {
  std::ifstream file(ledger_);
  std::string hash;
  int holds = 0;
  for (std::string line; std::getline(file, line);) {  // the last line of a killed run may be a part
    if (std::istringstream(line) >> hash >> holds) {
      answers_[hash] = holds == 1;
    }
  }
}

bool Trials::ask(const Criterion& worker, const Candidate& candidate) {
  const std::string hash = candidate.hash();
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = answers_.find(hash); found != answers_.end()) {
      ++known_;
      return found->second;
    }
  }
  const bool holds = worker(candidate);
  const std::lock_guard lock(mutex_);
  answers_[hash] = holds;
  ++checks_;
  if (!ledger_.empty()) {
    std::ofstream(ledger_, std::ios::app) << hash << (holds ? " 1\n" : " 0\n");
  }
  return holds;
}

bool Trials::holds(const Candidate& candidate) { return ask(workers_.front(), candidate); }

std::optional<Found> Trials::first(const std::vector<Proposal>& proposals) {
  std::size_t next = 0;
  while (next < proposals.size()) {
    std::vector<Found> wave;
    for (; wave.size() < workers_.size() && next < proposals.size(); ++next) {
      if (std::optional<Candidate> candidate = proposals[next]()) {
        wave.push_back({next, *std::move(candidate)});
      }
    }
    std::vector<char> held(wave.size(), 0);
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < wave.size(); ++i) {
      threads.emplace_back([&, i] { held[i] = ask(workers_[i], wave[i].candidate) ? 1 : 0; });
    }
    if (!wave.empty()) {
      held[0] = ask(workers_[0], wave[0].candidate) ? 1 : 0;
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    const auto found = std::ranges::find(held, 1);
    if (found != held.end()) {
      return std::move(wave[static_cast<std::size_t>(found - held.begin())]);
    }
  }
  return std::nullopt;
}

std::optional<Candidate> tidied(Candidate candidate) {
  model::Graph& graph = candidate.model.graph;
  std::set<std::string> used;
  for (const model::Node& node : graph.nodes) {
    for (const std::string& name : reads(node)) {
      used.insert(name);
    }
  }
  std::erase_if(graph.initializers, [&](const auto& entry) { return !used.contains(entry.first); });
  for (auto input = graph.inputs.begin(); input != graph.inputs.end();) {
    if (used.contains(input->name)) {
      ++input;
      continue;
    }
    for (std::vector<core::TensorMap>* batches : {&candidate.calibration, &candidate.inputs}) {
      for (core::TensorMap& batch : *batches) {
        batch.erase(input->name);
      }
    }
    input = graph.inputs.erase(input);
  }
  graph.value_info.clear();
  for (model::ValueInfo& output : graph.outputs) {
    output.shape.reset();
  }
  const auto shapes = reference::infer_shapes(candidate.model);
  if (!shapes) {
    return std::nullopt;
  }
  for (model::ValueInfo& output : graph.outputs) {
    const auto found = shapes->find(output.name);
    if (found == shapes->end()) {
      return std::nullopt;
    }
    output = found->second;
    output.name = found->first;
  }
  if (graph.nodes.empty() || graph.outputs.empty() || !model::check_model(candidate.model)) {
    return std::nullopt;
  }
  return candidate;
}

}  // namespace assay::localize
