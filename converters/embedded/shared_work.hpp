#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converters/embedded/pipeline.hpp"
#include "converters/embedded/state.hpp"

namespace assay::embedded {

/// The state before the first pass: files read, nothing checked.
/// Errors   what the model or the cache can't be read for; a broken feed is in State::feed_problem.
[[nodiscard]] Result<State> read_request(const converters::ConvertRequest& request);

/// What conversions of the same files have in common: the states that the standard passes leave, what the whole of them
/// wrote, and the inputs of executions. For faults, most of which change a late pass, or nothing in most models. Files
/// are known by their paths and must not change while this lives. Not for use from two threads.
class SharedWork {
 public:
  /// A conversion begun: `done` passes lie behind `state`. All of them where `reply` is there: the answer to an earlier
  /// request, with its files, that this one would repeat bit for bit.
  struct Begun {
    State state;
    std::size_t done = 0;
    std::optional<converters::ConvertReply> reply;
  };
  /// Takes the shared state after every pass that is a standard one or leaves what the standard ones leave, up to the
  /// first that doesn't or fails; the output folder is the request's own.
  /// Errors   those of read_request.
  [[nodiscard]] Result<Begun> begin(const Passes& passes, const converters::ConvertRequest& request);
  /// Notes that the standard passes alone answered `request` with `reply`.
  void remember(const converters::ConvertRequest& request, const converters::ConvertReply& reply);
  [[nodiscard]] const Result<TensorMap>& inputs(const std::filesystem::path& folder);

 private:
  struct Line {
    std::vector<State> states;  ///< element i is after i standard passes
    bool failed = false;        ///< the next pass fails
    std::optional<converters::ConvertReply> reply;
  };
  [[nodiscard]] Line& line_of(const converters::ConvertRequest& request);
  /// Whether the line has the state after `count` standard passes, now if not before.
  [[nodiscard]] static bool reach(Line& line, std::size_t count);

  std::map<std::string, Line> lines_;  ///< by request
  std::shared_ptr<LastObserved> last_observed_ = std::make_shared<LastObserved>();
  std::map<std::filesystem::path, Result<TensorMap>> inputs_;
};

}  // namespace assay::embedded
