#include "harness/core/owner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace assay::core {
namespace {

struct Owner {
  std::string system, processes, pid, started;
};

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The start of a process in clock ticks since the system's, "" where there is no such process or it is a dead one that
/// nobody has waited for.
std::string start_of(const std::string& pid) {
  const std::string line = first_line("/proc/" + pid + "/stat");
  const std::size_t name_end = line.rfind(')');  // the name may hold blanks and brackets
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 1));
  constexpr int kStartOfProcess = 20;  // field 22 of the line, 3 being the first behind the name
  std::string field;
  for (int index = 1; index <= kStartOfProcess && fields >> field; ++index) {
    if (index == 1 && (field == "Z" || field == "X")) return {};
  }
  return field;
}

Owner read(const std::string& text) {
  Owner owner;
  std::istringstream(text) >> owner.system >> owner.processes >> owner.pid >> owner.started;
  return owner;
}

Owner myself() {
  std::error_code code;
  const auto own = std::filesystem::read_symlink("/proc/self", code).string();
  const auto processes = std::filesystem::read_symlink("/proc/self/ns/pid", code).string();
  return {first_line("/proc/sys/kernel/random/boot_id"), processes, own, start_of(own)};
}

/// Digits that stand for a system start and its process namespace.
std::string place_of(const Owner& owner) {
  constexpr std::uint64_t kBasis = 14695981039346656037U, kPrime = 1099511628211U;  // FNV-1a
  std::uint64_t hash = kBasis;
  for (const char byte : owner.system + owner.processes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * kPrime;
  }
  return fmt::format("{:016x}", hash);
}

/// Of a process of this system.
ProcessState state_of(const Owner& owner) {
  return start_of(owner.pid) == owner.started ? ProcessState::runs : ProcessState::ended;
}

}  // namespace

std::string process_tag() {
  const Owner self = myself();
  return fmt::format("{}-{}-{}", place_of(self), self.pid, self.started);
}

ProcessState tagged_process_state(const std::string& tag) {
  std::string words = tag;
  std::ranges::replace(words, '-', ' ');
  std::string place;
  Owner it;
  std::istringstream(words) >> place >> it.pid >> it.started;
  if (it.started.empty() || place != place_of(myself())) return ProcessState::elsewhere;
  return state_of(it);
}

std::string this_process() {
  const Owner self = myself();
  return fmt::format("{} {} {} {}", self.system, self.processes, self.pid, self.started);
}

ProcessState process_state(const std::string& owner) {
  if (owner.empty()) return ProcessState::ended;
  const Owner it = read(owner), self = myself();
  if (it.started.empty() || it.system != self.system || it.processes != self.processes) return ProcessState::elsewhere;
  return state_of(it);
}

std::string owner_name(const std::string& owner) {
  const char* where =
      process_state(owner) == ProcessState::elsewhere ? " on another machine or in another container" : "";
  return fmt::format("process {}{}", read(owner).pid, where);
}

}  // namespace assay::core
