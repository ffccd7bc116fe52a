#include "harness/core/sandbox.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "harness/core/confined.hpp"
#include "harness/core/descriptor.hpp"

namespace assay::core {
namespace fs = std::filesystem;

namespace {

// Landlock's interface, which the headers of older systems lack (linux/landlock.h, Documentation/userspace-api).
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;
struct Ruleset {
  std::uint64_t files = 0, network = 0, scoped = 0;
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t access = 0;
  std::int32_t parent = -1;
};
constexpr std::uint64_t kExecute = 1U << 0U, kWriteFile = 1U << 1U, kReadFile = 1U << 2U, kReadFolder = 1U << 3U,
                        kTruncate = 1U << 14U, kDeviceControl = 1U << 15U;
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;
constexpr std::uint64_t kReading = kExecute | kReadFile | kReadFolder;
constexpr std::uint64_t kConnections = 0b11;  // bind and connect, by TCP
constexpr std::uint64_t kOthers = 0b11;       // abstract sockets and signals

int version() { return static_cast<int>(::syscall(kCreateRuleset, nullptr, 0, kAskVersion)); }

/// All that a version knows of files: what isn't known would be refused.
std::uint64_t known_access(int version) {
  const unsigned bits = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
  return (std::uint64_t{1} << bits) - 1;
}

class Rules {
 public:
  Rules() : version_(version()), known_(known_access(version_)) {
    const Ruleset set{known_, version_ >= 4 ? kConnections : 0, version_ >= 6 ? kOthers : 0};
    const std::size_t size = sizeof(std::uint64_t) * (version_ >= 6 ? 3 : version_ >= 4 ? 2 : 1);
    ruleset_ = Descriptor(static_cast<int>(::syscall(kCreateRuleset, &set, size, 0)));
  }
  /// What isn't there needs no rule.
  void allow(const fs::path& path, std::uint64_t access) {
    const Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status {};
    if (!place.open() || ::fstat(place.get(), &status) != 0) return;
    PathBeneath rule{access & known_, place.get()};
    if (!S_ISDIR(status.st_mode)) rule.access &= kOfFiles;
    ::syscall(kAddRule, ruleset_.get(), kPathBeneath, &rule, 0);
  }
  [[nodiscard]] bool enforce() const { return ::syscall(kRestrictSelf, ruleset_.get(), 0) == 0; }

 private:
  int version_;
  std::uint64_t known_;
  Descriptor ruleset_;
};

/// Folders that hold what is nobody else's business.
std::set<fs::path> homes() {
  std::set<fs::path> all{"/home", "/root"};
  const passwd* entry = ::getpwuid(::getuid());  // NOLINT(concurrency-mt-unsafe): called by a process of one thread
  const char* account = entry == nullptr ? nullptr : entry->pw_dir;
  const char* variable = std::getenv("HOME");
  for (const char* home : {variable, account}) {
    std::error_code code;
    const fs::path real = home == nullptr ? fs::path() : fs::canonical(home, code);
    if (!code && real.has_relative_path()) all.insert(real);
  }
  return all;
}

/// Everything below `folder` may be read, but for what is `hidden`.
void allow_all_but(Rules& rules, const fs::path& folder, const std::set<fs::path>& hidden) {
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const fs::path& path = entry->path();
    if (hidden.contains(path)) continue;
    std::error_code failed;
    if (!entry->is_symlink(failed) &&
        std::ranges::any_of(hidden, [&](const auto& each) { return is_below(each, path); })) {
      allow_all_but(rules, path, hidden);
    } else {
      rules.allow(path, kReading);
    }
  }
}

bool is_for_all(std::string_view device) {
  constexpr std::string_view kPlain[] = {"null", "zero", "full", "random", "urandom", "tty", "kfd", "dri"};
  return std::ranges::find(kPlain, device) != std::end(kPlain) || device.starts_with("nvidia") ||
         device.starts_with("accel");
}

void limit(int resource, rlim_t most) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return;
  now.rlim_cur = now.rlim_max = std::min(now.rlim_max, most);
  ::setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

}  // namespace

bool can_confine() { return version() > 0; }

Status confine(const Sandbox& sandbox) {
  constexpr rlim_t kLargestFile = rlim_t{16} << 30U;
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, kLargestFile);
  Rules rules;
  allow_all_but(rules, "/", homes());
  for (const fs::path& path : sandbox.readable) rules.allow(path, kReading);
  for (const fs::path& path : sandbox.writable) rules.allow(path, ~std::uint64_t{0});
  std::error_code code;
  for (fs::directory_iterator entry("/dev", code), end; !code && entry != end; entry.increment(code)) {
    if (is_for_all(entry->path().filename().native())) {
      rules.allow(entry->path(), kReading | kWriteFile | kTruncate | kDeviceControl);
    }
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !can_confine() || !rules.enforce()) {
    return Error{ErrorKind::unsupported,
                 fmt::format("this system can't confine a process: {}", std::generic_category().message(errno)),
                 {},
                 {},
                 {}};
  }
  return success();
}

}  // namespace assay::core
