#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "converters/embedded/cache.hpp"
#include "converters/embedded/integer_products.hpp"
#include "converters/embedded/on_codes.hpp"
#include "converters/embedded/packed_weights.hpp"
#include "converters/embedded/pipeline.hpp"
#include "harness/core/files.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::embedded {
namespace {

using nlohmann::json;

std::string text_of(const json& value) { return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n"; }

json scales_json(const State& state) {
  json out = json::array();
  for (const auto& tensor : state.tensors) {
    const auto& params = tensor.params;
    out.push_back({{"name", tensor.name},
                   {"scale", params.scale},
                   {"zero_point", params.zero_point},
                   {"type", core::dtype_name(params.type)},
                   {"axis", params.axis ? json(*params.axis) : json()}});
  }
  return out;
}

json precision_json(const State& state) {
  json out = json::array();
  for (const auto& node : state.precision) out.push_back({{"node", node.node}, {"op", node.op}, {"got", node.got}});
  return out;
}

model::Model written(const model::Model& artifact, converters::Format format) {
  switch (format) {
    case converters::Format::qoperator:
      return on_codes(integer_products(artifact));
    case converters::Format::nbits:
      return packed_weights(artifact);
    case converters::Format::qdq:
      break;
  }
  return artifact;
}

}  // namespace

Status write_files(State& state) {
  if (state.output.empty()) return core::success();
  const bool packed = state.options.format != converters::Format::qdq;
  std::vector<std::pair<std::string_view, std::string>> files{
      {kArtifactFile, model::serialize_model(written(state.artifact, state.options.format))}};
  files.insert(files.end(), {{"scales.json", text_of(scales_json(state))},
                             {"precision.json", text_of(precision_json(state))},
                             {kCacheFile, state.cache_json}});
  if (packed) files.emplace_back(kEngineFile, model::serialize_model(state.artifact));
  if (state.options.symmetric) {  // TensorRT's scales are symmetric
    files.emplace_back("calibration.trt.cache", cache_to_tensorrt({std::nullopt, state.ranges}));
  }
  for (const auto& [name, bytes] : files) {
    auto written = core::write_new_file(state.output / name, bytes);
    if (written) continue;
    std::error_code ignored;
    for (const auto& file : files) std::filesystem::remove(state.output / file.first, ignored);
    return written.error();
  }
  return core::success();
}

}  // namespace assay::embedded
