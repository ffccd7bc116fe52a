#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "converters/embedded/state.hpp"

namespace assay::embedded {

/// The state before the first pass: files read, nothing checked.
/// Errors   what the model or the cache can't be read for; a broken feed is in State::feed_problem.
[[nodiscard]] Result<State> read_request(const converters::ConvertRequest& request);

/// What conversions of the same files have in common: the state that the leading standard passes leave, and the inputs
/// of executions. For faults, most of which change a late pass only. Files are known by their paths and must not change
/// while this lives. Not for use from two threads.
class SharedWork {
 public:
  /// A conversion begun: `done` standard passes lie behind `state`.
  struct Begun {
    State state;
    std::size_t done = 0;
  };
  /// Up to `count` standard passes, fewer where the next one fails; the output folder is the request's own.
  /// Errors   those of read_request.
  [[nodiscard]] Result<Begun> begin(std::size_t count, const converters::ConvertRequest& request);
  [[nodiscard]] const Result<TensorMap>& inputs(const std::filesystem::path& folder);

 private:
  struct Line {
    std::vector<State> states;  ///< element i is after i passes
    bool failed = false;        ///< the next pass fails
  };
  std::map<std::string, Line> lines_;  ///< by request
  std::map<std::filesystem::path, Result<TensorMap>> inputs_;
};

}  // namespace assay::embedded
