#include "harness/programs/program_hash.hpp"

#include <sys/stat.h>

#include <map>
#include <mutex>
#include <tuple>

#include "harness/core/files.hpp"
#include "harness/core/program.hpp"
#include "harness/core/text.hpp"

namespace assay::programs {
namespace {

namespace fs = std::filesystem;

/// More than this is no program but data that somebody named on the command line: its size and time stand for it.
constexpr std::uintmax_t kHashedBytes = std::uintmax_t{1} << 30U;

/// Of a regular file; "" for anything else. Read once for each state of the file.
std::string file_hash(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  using State = std::tuple<std::string, ino_t, off_t, time_t, long>;
  static std::mutex mutex;
  static std::map<State, std::string> known;
  const State state{file.string(), status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  const std::lock_guard lock(mutex);
  std::string& hash = known[state];
  if (hash.empty()) {
    const core::Result<std::string> bytes = core::read_file(file, kHashedBytes);
    hash =
        core::sha256_hex(bytes ? *bytes : std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec));
  }
  return hash;
}

}  // namespace

std::string program_hash(const ConverterSpec& spec) {
  if (spec.command.empty()) return {};
  std::string text;
  for (std::size_t index = 0; index < spec.command.size(); ++index) {
    const std::string& word = spec.command[index];
    const core::Result<std::string> program =
        index == 0 ? core::find_program(word, core::child_path({})) : core::Result<std::string>(word);
    const std::string hash = program ? file_hash(*program) : std::string();
    text += hash.empty() ? "word " + word : "file " + hash;
    text += '\0';
  }
  if (spec.executor != nullptr) text += "executed by " + program_hash(*spec.executor);
  return core::sha256_hex(text);
}

std::string own_hash() { return file_hash("/proc/self/exe"); }

std::string short_hash(const std::string& hash) {
  constexpr std::size_t kDigits = 12;
  return hash.substr(0, kDigits);
}

}  // namespace assay::programs
