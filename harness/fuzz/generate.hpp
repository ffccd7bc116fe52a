#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"
#include "harness/localize/candidate.hpp"

namespace assay::fuzz {

/// A graph with its data and the options that it is converted with.
struct Sample {
  localize::Candidate candidate;
  std::string options_json;
};

/// What samples are drawn from.
struct Plan {
  std::uint64_t seed = 1;
  std::vector<std::string> operators;  ///< of the table, in its order
  /// The option set of every sample; without it default, uint8 and symmetric in turn, now and then with another
  /// granularity, calibration method or with an operator to be left in float, or a sum to be run in INT8.
  std::optional<std::string> options_json;
  converters::Supports supports;  ///< values of options that it doesn't list aren't drawn
};

/// The operators of the table that `supports` names; all of them where it names none.
[[nodiscard]] std::vector<std::string> drawn_operators(const converters::Supports& supports);

/// Sample `index` of `plan`: a valid graph of one to six nodes whose reference results are finite. Depends on seed,
/// index and operators alone.
/// Errors   invalid_model for a graph that breaks a rule: a row of the table draws what it must not; invalid_data where
///          the reference's results are not finite.
[[nodiscard]] core::Result<Sample> sample(const Plan& plan, std::uint64_t index);

}  // namespace assay::fuzz
