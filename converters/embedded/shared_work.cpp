#include "converters/embedded/shared_work.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "converters/embedded/feed.hpp"
#include "converters/embedded/pipeline.hpp"
#include "harness/core/files.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::embedded {
namespace {

constexpr std::uintmax_t kLargestCache = std::uintmax_t{64} << 20U;

}  // namespace

Result<State> read_request(const converters::ConvertRequest& request) {
  auto original = model::load_model(request.model);
  if (!original) return original.error().within("load");
  State state;
  state.options = request.options;
  state.output = request.output;
  state.original = std::move(*original);
  auto feed = read_feed(request.calibration);
  state.feed = std::move(feed.batches);
  state.feed_order = std::move(feed.order);
  state.feed_problem = std::move(feed.problem);
  if (!request.options.cache.empty()) {
    auto text = core::read_file(request.options.cache, kLargestCache);
    if (text) {
      state.cache_text = std::move(*text);
    } else {
      state.cache_problem = text.error().within("calibration cache");
    }
  }
  return state;
}

SharedWork::Line& SharedWork::line_of(const converters::ConvertRequest& request) {
  return lines_[fmt::format("{}\n{}\n{}", request.model.string(), request.calibration.string(),
                            converters::options_to_json(request.options))];
}

bool SharedWork::reach(Line& line, std::size_t count) {
  static const Passes kPasses = standard_passes();
  if (count >= kPasses.size()) return false;  // the last one writes into the request's own folder
  while (line.states.size() <= count && !line.failed) {
    State next = line.states.back();
    line.failed = !run_passes({kPasses[line.states.size() - 1]}, next).ok();
    if (!line.failed) line.states.push_back(std::move(next));
  }
  return line.states.size() > count;
}

Result<SharedWork::Begun> SharedWork::begin(const Passes& passes, const converters::ConvertRequest& request) {
  Line& line = line_of(request);
  if (line.states.empty()) {
    auto state = read_request(request);
    if (!state) return state.error();
    state->last_observed = last_observed_;
    line.states.push_back(std::move(*state));
  }
  const auto state_after = [&](std::size_t standard) {
    State state = line.states[standard];
    state.output = request.output;
    return state;
  };
  std::size_t standard = 0;  // so many standard passes leave the state that `done` of the given ones leave
  for (std::size_t done = 0; done < passes.size(); ++done) {
    const Pass& pass = passes[done];
    const std::size_t next = standard + (pass.origin == Pass::Origin::inserted ? 0 : 1);
    if (pass.origin == Pass::Origin::standard) {
      const bool last = done + 1 == passes.size();
      if (last && line.reply && std::filesystem::exists(line.reply->artifact)) return Begun{{}, done + 1, line.reply};
      if (!reach(line, next)) return Begun{state_after(standard), done, {}};
    } else {
      State state = state_after(standard);
      if (!pass.run(state).ok()) return Begun{state_after(standard), done, {}};
      const bool reached = reach(line, next);
      if (reached) state.output = line.states[next].output;
      const bool same = reached && state == line.states[next];
      state.output = request.output;
      if (!same) return Begun{std::move(state), done + 1, {}};
    }
    standard = next;
  }
  return Begun{state_after(standard), passes.size(), {}};
}

void SharedWork::remember(const converters::ConvertRequest& request, const converters::ConvertReply& reply) {
  Line& line = line_of(request);
  if (!line.reply) line.reply = reply;
}

const Result<TensorMap>& SharedWork::inputs(const std::filesystem::path& folder) {
  const auto found = inputs_.find(folder);
  return found != inputs_.end() ? found->second
                                : inputs_.emplace(folder, model::load_tensors(folder, "input")).first->second;
}

}  // namespace assay::embedded
