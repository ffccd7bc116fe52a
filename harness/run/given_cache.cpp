// CaseBench: the calibration caches that a case gives to a converter.
#include <fmt/format.h>

#include <set>

#include "converters/calibration_table.hpp"
#include "harness/core/files.hpp"
#include "harness/data/feed_files.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/model/rename.hpp"
#include "harness/programs/fallen.hpp"
#include "harness/run/evaluate.hpp"

namespace assay::run {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kOtherSeed = 1000003;

/// The data of a conversion that is no step of the case.
corpus::FeedSpec other_data(corpus::FeedSpec feed, const corpus::Case& test_case) {
  feed.cache.clear();
  feed.forget.clear();
  feed.edit.clear();
  feed.seed += kOtherSeed;
  if (feed.batches == 0) feed.batches = test_case.calibration.batches;
  return feed;
}

/// Other names for all tensors and nodes, so that the new ones sort the other way round.
std::map<std::string, std::string> foreign_names(const model::Graph& graph) {
  std::set<std::string> names;
  for (const model::ValueInfo& input : graph.inputs) names.insert(input.name);
  for (const auto& [name, tensor] : graph.initializers) names.insert(name);
  for (const model::Node& node : graph.nodes) names.insert(node.outputs.begin(), node.outputs.end());
  names.erase("");
  std::map<std::string, std::string> foreign;
  std::size_t number = names.size();
  for (const std::string& name : names) foreign[name] = fmt::format("foreign_{:05}", --number);
  return foreign;
}

core::Error no_such_entry(std::string message, std::string tensor) {
  return {core::ErrorKind::unsupported, std::move(message), "", "", std::move(tensor)};
}

}  // namespace

core::Result<std::string> CaseBench::given_cache(converters::Converter& converter, const converters::Options& options,
                                                 const corpus::Step& step, const fs::path& previous) {
  const std::string& cache = step.feed.cache;
  if (cache == "stale") return stale_cache(converter, options, step);
  if (cache == "foreign") return foreign_cache(converter, options, step);
  if (cache == "missing") return (folder_.path() / "not_there.cache").string();
  if (cache != "previous") return std::string();
  return changed_cache(step.feed, previous);
}

core::Result<std::string> CaseBench::changed_cache(const corpus::FeedSpec& feed, const fs::path& previous) {
  if (feed.forget.empty() && feed.edit.empty()) return previous.string();
  core::Result<std::string> bytes = previous.empty() ? std::string() : core::read_file(previous);
  if (!bytes) {
    return bytes.error();
  }
  for (const std::string& tensor : feed.forget) {
    std::optional<std::string> rest = converters::without_entry(*bytes, tensor);
    if (!rest) {
      return no_such_entry(
          fmt::format("its calibration cache has no entry named \"{}\" that could be taken out", tensor), tensor);
    }
    bytes = *std::move(rest);
  }
  if (!feed.edit.empty()) {
    const auto word = feed.edit == "version" ? converters::HeaderWord::version : converters::HeaderWord::method;
    std::optional<std::string> edited = converters::with_other_header(*bytes, word);
    if (!edited) {
      return no_such_entry(fmt::format("its calibration cache has no {} in a header that Assay knows", feed.edit), "");
    }
    bytes = *std::move(edited);
  }
  core::Result<fs::path> folder = fresh_folder("cache");
  if (!folder) {
    return folder.error();
  }
  const fs::path file = *folder / previous.filename();
  if (core::Status status = core::write_file(file, *bytes); !status) {
    return status.error();
  }
  return file.string();
}

core::Result<std::string> CaseBench::stale_cache(converters::Converter& converter, const converters::Options& options,
                                                 const corpus::Step& step) {
  // A cache of the same network from other data: reusing it without a word gives wrong ranges.
  core::Result<const data::Feed*> data = feed(other_data(step.feed, case_));
  if (!data) {
    return data.error();
  }
  return cache_of(converter, options, model_file_, (*data)->folder, "other data");
}

core::Result<std::string> CaseBench::foreign_cache(converters::Converter& converter, const converters::Options& options,
                                                   const corpus::Step& step) {
  constexpr double kLarger = 8;
  core::Result<const data::Feed*> data = feed(other_data(step.feed, case_));
  if (!data) {
    return data.error();
  }
  core::Result<fs::path> folder = fresh_folder("foreign");
  if (!folder) {
    return folder.error();
  }
  const std::map<std::string, std::string> names = foreign_names(case_.model->graph);
  model::Model other = *case_.model;
  model::rename_tensors(other.graph, names);
  for (std::size_t i = 0; i < other.graph.nodes.size(); ++i) other.graph.nodes[i].name = fmt::format("other_{:05}", i);
  if (core::Status status = model::save_model(other, *folder / "model.onnx"); !status) {
    return status.error();
  }
  for (std::size_t index = 0; index < (*data)->batches.size(); ++index) {
    core::TensorMap batch;
    for (auto [name, tensor] : (*data)->batches[index]) {
      if (tensor.is_real()) {
        for (double& value : tensor.reals()) value *= kLarger;
      }
      batch.emplace(names.at(name), std::move(tensor));
    }
    if (core::Status status = data::write_batch(batch, data::batch_folder(*folder / "calibration", index), {});
        !status) {
      return status.error();
    }
  }
  converters::Options plain = options;
  plain.precision.clear();  // it may speak of nodes by their names here
  return cache_of(converter, plain, *folder / "model.onnx", *folder / "calibration", "another network");
}

core::Result<std::string> CaseBench::cache_of(converters::Converter& converter, const converters::Options& options,
                                              const fs::path& model, const fs::path& calibration,
                                              std::string_view made_from) {
  core::Result<fs::path> output = fresh_folder("cached");
  if (!output) {
    return output.error();
  }
  const converters::ConvertReply reply = given_.convert(converter, {model, calibration, options, *output});
  fallen_ = programs::fallen(reply.outcome, judge::Stage::convert,
                             fmt::format("while it made a calibration cache from {}: {}", made_from, reply.reason));
  if (fallen_) return std::string();
  if (reply.outcome == converters::Outcome::ok && !reply.cache.empty()) return reply.cache.string();
  return no_such_entry(
      fmt::format("it made no calibration cache from {}{}", made_from, reply.reason.empty() ? "" : ": " + reply.reason),
      "");
}

}  // namespace assay::run
