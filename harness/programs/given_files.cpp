#include "harness/programs/given_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/core/descriptor.hpp"

namespace assay::programs {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kUnreadable = 1;

/// A quick hash: who wants to be found out writes another size or another byte, nobody looks for a collision.
std::uint64_t hash_of(const fs::path& file) {
  constexpr std::size_t kBlockBytes = std::size_t{1} << 18U;
  thread_local std::string block(kBlockBytes, '\0');
  const core::Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!in.open()) return kUnreadable;
  std::uint64_t hash = 0;
  while (true) {
    const ssize_t count = ::read(in.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return kUnreadable;
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
    const std::string_view bytes(block.data(), static_cast<std::size_t>(count));
    hash = (hash ^ std::hash<std::string_view>()(bytes)) * kOdd + bytes.size();
    if (count == 0) return hash;
  }
}

std::uint64_t state_of(const fs::directory_entry& entry) {
  std::error_code code;
  const fs::file_type type = entry.symlink_status(code).type();
  return type == fs::file_type::regular ? hash_of(entry.path()) : static_cast<std::uint64_t>(type);
}

}  // namespace

GivenFiles::Tree GivenFiles::look_at(const fs::path& given) {
  Tree tree;
  std::error_code code;
  tree.emplace("", state_of(fs::directory_entry(given, code)));
  for (auto it = fs::recursive_directory_iterator(given, code); !code && it != fs::recursive_directory_iterator();
       it.increment(code)) {
    tree.emplace(it->path().native().substr(given.native().size()), state_of(*it));
  }
  return tree;
}

void GivenFiles::remember(const fs::path& given) {
  if (!given.empty() && !known_.contains(given)) {
    known_.emplace(given, look_at(given));
  }
}

std::string GivenFiles::change_of(const fs::path& given) {
  const auto before = known_.find(given);
  if (before == known_.end()) return {};
  const Tree now = look_at(given);
  if (now == before->second) return {};
  const auto named = [&](const std::string& below) { return given.filename().string() + below; };
  for (const auto& [name, state] : before->second) {
    const auto found = now.find(name);
    if (found == now.end() || found->second != state) {
      return fmt::format("\"{}\" {}", named(name), found == now.end() ? "is gone" : "has changed");
    }
  }
  for (const auto& [name, state] : now) {
    if (!before->second.contains(name)) return fmt::format("\"{}\" is new", named(name));
  }
  return {};
}

template <typename Reply>
void GivenFiles::check(const std::map<std::string, fs::path>& given, Reply& reply) {
  for (const auto& [what, path] : given) {
    const std::string change = change_of(path);
    if (change.empty()) continue;
    spoiled_ = true;
    const std::string said = fmt::format("; it answered {}{}{}", converters::outcome_name(reply.outcome),
                                         reply.reason.empty() ? "" : ": ", reply.reason);
    reply = Reply();
    reply.outcome = converters::Outcome::crash;
    reply.reason =
        fmt::format("protocol: it wrote into the {} that it was given: {}; inputs are to be left as they are{}", what,
                    change, said);
    return;
  }
}

converters::ConvertReply GivenFiles::convert(converters::Converter& converter,
                                             const converters::ConvertRequest& request) {
  if (converter.hands_over()) return converter.convert(request);
  remember(request.model);
  remember(request.calibration);
  converters::ConvertReply reply = converter.convert(request);
  check({{"model", request.model}, {"calibration", request.calibration}}, reply);
  return reply;
}

converters::ExecuteReply GivenFiles::execute(converters::Converter& converter,
                                             const converters::ExecuteRequest& request) {
  if (converter.hands_over()) return converter.execute(request);
  remember(request.inputs);
  converters::ExecuteReply reply = converter.execute(request);
  check({{"inputs", request.inputs}}, reply);
  return reply;
}

void GivenFiles::forget() {
  known_.clear();
  spoiled_ = false;
}

}  // namespace assay::programs
