#include "converters/embedded/feed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>

#include "converters/embedded/pipeline.hpp"
#include "harness/core/text.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::embedded {
namespace {

Error feed_error(const std::string& input, std::size_t batch, std::string_view what) {
  return {ErrorKind::invalid_data, fmt::format("calibration batch {}, input \"{}\": {}", batch, input, what), "", "",
          input};
}

/// A fixed extent of the graph must be met; a symbolic one is free but the same within a batch (the float run tells).
Status check_shape(const model::ValueInfo& input, const Tensor& tensor, std::size_t batch) {
  if (!input.shape) return core::success();
  const auto& declared = *input.shape;
  bool fits = declared.size() == tensor.shape().size();
  std::vector<std::string> texts;
  for (std::size_t axis = 0; axis < declared.size(); ++axis) {
    const auto& extent = declared[axis];
    texts.push_back(extent.value ? std::to_string(*extent.value) : extent.symbol.empty() ? "?" : extent.symbol);
    if (fits && extent.value && *extent.value != tensor.shape()[axis]) fits = false;
  }
  if (fits) return core::success();
  return feed_error(input.name, batch,
                    fmt::format("shape {} where the model declares [{}]; feed what the model declares",
                                core::shape_text(tensor.shape()), core::join(texts, ",")));
}

Status check_values(const std::string& name, const Tensor& tensor, std::size_t batch) {
  if (!tensor.is_real()) return core::success();
  const auto values = tensor.reals();
  const auto bad = std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
  if (bad == values.end()) return core::success();
  return feed_error(
      name, batch,
      fmt::format("element {} is {}; calibration data must be finite", bad - values.begin(), core::exact_text64(*bad)));
}

Status check_batch(const model::Graph& graph, const HalfEnds& ends, const TensorMap& batch, std::size_t index) {
  for (const auto& input : graph.inputs) {
    const auto found = batch.find(input.name);
    if (found == batch.end()) {
      std::vector<std::string> names;
      for (const auto& [name, tensor] : batch) names.push_back("\"" + name + "\"");
      return feed_error(input.name, index,
                        fmt::format("missing; the batch holds {}. Feed every graph input by its name",
                                    names.empty() ? "nothing" : core::join(names, ", ")));
    }
    const auto& tensor = found->second;
    const auto half = ends.find(input.name);
    const DType declared = half == ends.end() ? input.type : half->second;
    if (declared != DType::undefined && tensor.type() != declared) {
      return feed_error(input.name, index,
                        fmt::format("type {} where the model declares {}", core::dtype_name(tensor.type()),
                                    core::dtype_name(declared)));
    }
    if (auto fits = check_shape(input, tensor, index); !fits) return fits;
    if (auto finite = check_values(input.name, tensor, index); !finite) return finite;
  }
  return core::success();
}

}  // namespace

namespace {

/// Files input_0.pb, input_1.pb … in numeric order.
std::vector<std::filesystem::path> batch_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code code;
  for (std::size_t i = 0;; ++i) {
    auto file = folder / fmt::format("input_{}.pb", i);
    if (!std::filesystem::exists(file, code)) return files;
    files.push_back(std::move(file));
  }
}

Result<TensorMap> read_batch(const std::filesystem::path& folder, std::vector<std::string>& order) {
  TensorMap batch;
  order.clear();
  for (const auto& file : batch_files(folder)) {
    auto read = model::load_tensor(file);
    if (!read) return read.error();
    order.push_back(read->name);
    if (!batch.emplace(read->name, std::move(read->tensor)).second) {
      return Error{ErrorKind::invalid_data, fmt::format("input \"{}\" is there twice", order.back()), "", "",
                   order.back()};
    }
  }
  return batch;
}

}  // namespace

Feed read_feed(const std::filesystem::path& folder) {
  Feed feed;
  std::error_code code;
  std::vector<std::filesystem::path> folders;
  for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    if (entry->is_directory(code)) folders.push_back(entry->path());
  }
  if (code) {
    feed.problem = Error{ErrorKind::io, "calibration folder can't be read: " + code.message(), "", "", ""};
    return feed;
  }
  std::ranges::sort(folders);
  for (const auto& batch : folders) {
    std::vector<std::string> order;
    auto tensors = read_batch(batch, order);
    if (!tensors) {
      feed.problem = tensors.error().within(
          fmt::format("calibration batch {} can't be read, the feed broke off", feed.batches.size()));
      feed.problem->kind = ErrorKind::invalid_data;
      return feed;
    }
    if (feed.batches.empty()) feed.order = std::move(order);
    feed.batches.push_back(std::move(*tensors));
  }
  return feed;
}

Status check_feed(State& state) {
  if (state.feed_problem) return *state.feed_problem;
  if (state.feed.empty()) {
    if (!state.cache_text.empty() || state.cache_problem) return core::success();
    return Error{ErrorKind::invalid_data,
                 "the calibration feed is empty; feed at least one batch, or name a calibration cache", "", "", ""};
  }
  for (std::size_t index = 0; index < state.feed.size(); ++index) {
    if (auto checked = check_batch(state.original.graph, state.half_ends, state.feed[index], index); !checked)
      return checked;
  }
  for (std::size_t index = 0; !state.half_ends.empty() && index < state.feed.size(); ++index) {
    for (auto& [name, tensor] : state.feed.edit()[index])
      if (state.half_ends.contains(name)) tensor = std::move(tensor).relabeled(DType::float32);
  }
  for (const auto& [name, tensor] : state.feed.front()) {
    if (state.original.graph.find_input(name) == nullptr) {
      state.diagnostics.push_back(fmt::format("calibration data \"{}\" is no input of the model and is ignored", name));
    }
  }
  return core::success();
}

}  // namespace assay::embedded
