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
    if (!text) return text.error().within("calibrate: calibration cache");
    state.cache_text = std::move(*text);
  }
  return state;
}

Result<SharedWork::Begun> SharedWork::begin(std::size_t count, const converters::ConvertRequest& request) {
  auto& line = lines_[fmt::format("{}\n{}\n{}", request.model.string(), request.calibration.string(),
                                  converters::options_to_json(request.options))];
  if (line.states.empty()) {
    auto state = read_request(request);
    if (!state) return state.error();
    line.states.push_back(std::move(*state));
  }
  const Passes passes = standard_passes();
  count = std::min(count, passes.size() - 1);  // the last one writes into the request's own folder
  while (line.states.size() <= count && !line.failed) {
    State next = line.states.back();
    line.failed = !run_passes({passes[line.states.size() - 1]}, next).ok();
    if (!line.failed) line.states.push_back(std::move(next));
  }
  Begun begun{{}, std::min(count, line.states.size() - 1)};
  begun.state = line.states[begun.done];
  begun.state.output = request.output;
  return begun;
}

const Result<TensorMap>& SharedWork::inputs(const std::filesystem::path& folder) {
  const auto found = inputs_.find(folder);
  return found != inputs_.end() ? found->second
                                : inputs_.emplace(folder, model::load_tensors(folder, "input")).first->second;
}

}  // namespace assay::embedded
