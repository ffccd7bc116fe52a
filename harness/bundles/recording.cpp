#include "harness/bundles/recording.hpp"

#include <algorithm>
#include <map>

#include "harness/core/confined.hpp"
#include "harness/core/files.hpp"

namespace assay::bundles {
namespace fs = std::filesystem;
using converters::Outcome;

namespace {

/// Every file of a flat folder by name.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
    core::Result<std::string> bytes = core::read_file(entry.path());
    files.emplace(entry.path().filename().string(), bytes ? *std::move(bytes) : std::string());
  }
  return files;
}

/// `file`, which lies in `from`, as it is called in `to`.
fs::path moved(const fs::path& file, const fs::path& from, const fs::path& to) {
  return file.empty() ? file : to / file.lexically_relative(from);
}

class Playback : public converters::Converter {
 public:
  explicit Playback(const Bundle& bundle) : bundle_(bundle) {}

  core::Result<converters::Description> describe() override { return bundle_.description; }

  converters::ConvertReply convert(const converters::ConvertRequest& request) override {
    converters::ConvertReply reply;
    if (next_ == bundle_.conversions.size()) {
      reply.reason = "the bundle recorded no further conversion";
      return reply;
    }
    const Conversion& recorded = bundle_.conversions[next_++];
    reply = recorded.reply;
    reply.artifact = moved(reply.artifact, recorded.folder, request.output);
    reply.cache = moved(reply.cache, recorded.folder, request.output);
    if (core::Status status = core::copy_tree(recorded.folder, request.output); !status) {
      reply.outcome = Outcome::error;
      reply.reason = status.error().message;
    }
    return reply;
  }

  converters::ExecuteReply execute(const converters::ExecuteRequest& request) override {
    converters::ExecuteReply reply;
    const auto inputs = contents(request.inputs);
    const auto set = std::ranges::find_if(bundle_.sets, [&](const RecordedSet& each) {
      return each.reply && contents(inputs_folder(bundle_.folder, each.name)) == inputs;
    });
    if (set == bundle_.sets.end()) {
      reply.reason = "the bundle recorded no execution on these inputs";
      return reply;
    }
    reply = *set->reply;
    core::Status status = core::copy_tree(outputs_folder(bundle_.folder, set->name), request.output);
    if (status && !request.trace.empty()) {
      reply.trace = set->trace;
      status = core::copy_tree(trace_folder(bundle_.folder, set->name), request.trace);
    }
    if (!status) {
      reply.outcome = Outcome::error;
      reply.reason = status.error().message;
    }
    return reply;
  }

 private:
  const Bundle& bundle_;
  std::size_t next_ = 0;
};

}  // namespace

converters::ConvertReply Recording::convert(const converters::ConvertRequest& request) {
  conversions_.push_back({inner_.convert(request), request.output});
  return conversions_.back().reply;
}

std::unique_ptr<converters::Converter> make_playback(const Bundle& bundle) {
  return std::make_unique<Playback>(bundle);
}

}  // namespace assay::bundles
