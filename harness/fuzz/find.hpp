#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/fuzz/generate.hpp"
#include "harness/judge/evidence/verdict.hpp"

namespace assay::fuzz {

/// Red verdicts of one signature.
struct Find {
  std::string signature;             ///< of the sample that is kept
  judge::Judgement judgement;        ///< likewise
  std::uint64_t count = 1;           ///< samples with such a signature
  std::uint64_t first_index = 0;     ///< the least index of them
  std::uint64_t kept_index = 0;      ///< of the smallest of them, which is reduced
  Sample sample;                     ///< that one, reduced in the end
  std::size_t nodes = 0, bytes = 0;  ///< of it before it was reduced
  std::size_t checks = 0;            ///< what the reduction took
  double seconds = 0;
  std::string trouble;  ///< why it could not be reduced
};

/// `message` with every name of `graph` replaced, also where a converter made a name of it ("x_scale").
[[nodiscard]] std::string without_names(const std::string& message, const model::Graph& graph);

/// Takes `red` into `finds`, by its signature without names; true where that is a new one.
bool add(std::vector<Find>& finds, Find red);

/// A graph for people: one line for each node, with the shapes of what it reads.
[[nodiscard]] std::string graph_text(const model::Model& model);

}  // namespace assay::fuzz
