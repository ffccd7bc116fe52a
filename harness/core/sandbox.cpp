#include "harness/core/sandbox.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/core/confined.hpp"
#include "harness/core/descriptor.hpp"
#include "harness/core/files.hpp"

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
                        kMakeCharacterDevice = 1U << 6U, kMakeBlockDevice = 1U << 11U, kMakeLink = 1U << 12U,
                        kTruncate = 1U << 14U, kDeviceControl = 1U << 15U;
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;
constexpr std::uint64_t kReading = kExecute | kReadFile | kReadFolder;
/// Whoever made a device's file would have the device, a disk with all homes on it, say.
constexpr std::uint64_t kWriting = ~(kMakeCharacterDevice | kMakeBlockDevice);
/// Whoever could make a link where we read, write and delete, would have us do so elsewhere, with all rights. A folder
/// with links isn't moved there either: Landlock refuses what would gain a right by being moved, and it'd gain that to
/// devices, which drop_rights() has taken from everybody.
constexpr std::uint64_t kWritingWithUs = ~(kMakeCharacterDevice | kMakeLink);
constexpr std::uint64_t kConnections = 0b11;  // bind and connect, by TCP
constexpr std::uint64_t kOthers = 0b11;       // abstract sockets and signals

constexpr const char* kHomes = "/home";
constexpr const char* kSharedMemory = "/dev/shm";

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

/// Everything below `folder` may be read, except for what is `hidden`.
void allow_all_but(Rules& rules, const fs::path& folder, const std::set<fs::path>& hidden) {
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const fs::path& path = entry->path();
    if (hidden.contains(path)) continue;
    std::error_code failed;
    if (entry->is_symlink(failed)) continue;  // what it leads to is hidden, or has a rule of its own
    if (std::ranges::any_of(hidden, [&](const auto& each) { return is_below(each, path); })) {
      allow_all_but(rules, path, hidden);
    } else {
      rules.allow(path, kReading);
    }
  }
}

/// Of each process, whatever it computes. Not the terminal: what is written there could be taken as typed.
constexpr std::array<std::string_view, 5> kPlainDevices{"null", "zero", "full", "random", "urandom"};
bool is_of_gpu(std::string_view device) {
  return device == "kfd" || device == "dri" || device.starts_with("nvidia") || device.starts_with("accel");
}

// A call by its number, on the only architectures whose numbers this knows.
#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

/// No socket but a local one, or one that asks the kernel for the machine's addresses: Landlock knows TCP alone, from
/// Linux 6.7 on. io_uring, which makes sockets without that call, is as if the kernel had none, and so are the user's
/// keys. Limits are a process's own: with those of another one it could be ended.
bool filter_calls() {
  if (kArchitecture == 0) return true;
  constexpr std::uint32_t kFirstOfX32 = 0x40000000;  // other numbers for the same calls
  const auto load = [](std::size_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  };
  const auto give = [](std::uint32_t what) { return sock_filter BPF_STMT(BPF_RET | BPF_K, what); };
  const auto where = [](std::uint16_t test, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
    return sock_filter BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | BPF_K | test), value, yes, no);
  };
  constexpr std::uint8_t kOfSocket = 11, kOfLimits = 16, kRefuse = 19, kAllow = 20, kDeny = 21;  // places below
  // From place `at`: to `yes` where the test holds, else to the next place.
  const auto go = [&](std::uint8_t at, std::uint16_t test, std::uint32_t value, std::uint8_t yes) {
    return where(test, value, static_cast<std::uint8_t>(yes - at - 1), 0);
  };
  const auto argument = [&](std::size_t index) {  // its lower half on these architectures
    return load(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
  };
  std::array<sock_filter, 22> rules{
      load(offsetof(seccomp_data, arch)),
      where(BPF_JEQ, kArchitecture, 0, kRefuse - 2),  // another architecture's calls: none
      load(offsetof(seccomp_data, nr)),
      go(3, BPF_JGE, kFirstOfX32, kRefuse),
      go(4, BPF_JEQ, SYS_io_uring_setup, kRefuse),
      go(5, BPF_JEQ, SYS_keyctl, kRefuse),
      go(6, BPF_JEQ, SYS_add_key, kRefuse),
      go(7, BPF_JEQ, SYS_request_key, kRefuse),
      go(8, BPF_JEQ, SYS_socket, kOfSocket),
      go(9, BPF_JEQ, SYS_prlimit64, kOfLimits),
      give(SECCOMP_RET_ALLOW),
      argument(0),  // kOfSocket: the family
      go(12, BPF_JEQ, AF_UNIX, kAllow),
      where(BPF_JEQ, AF_NETLINK, 0, kDeny - 14),
      argument(2),  // its protocol
      where(BPF_JEQ, NETLINK_ROUTE, kAllow - 16, kDeny - 16),
      argument(0),  // kOfLimits: the process, 0 for the one that asks
      where(BPF_JEQ, 0, kAllow - 18, 0),
      give(SECCOMP_RET_ERRNO | EPERM),
      give(SECCOMP_RET_ERRNO | ENOSYS),  // kRefuse
      give(SECCOMP_RET_ALLOW),           // kAllow
      give(SECCOMP_RET_ERRNO | EACCES),  // kDeny
  };
  const sock_fprog program{rules.size(), rules.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/// Mounts, and System V's shared memory where the kernel knows a view of its own of that.
bool own_spaces(int also) {
  return ::unshare(also | CLONE_NEWNS | CLONE_NEWIPC) == 0 || ::unshare(also | CLONE_NEWNS) == 0;
}

/// A view of the file system of this process's own, whose mounts nobody else sees. False where the system gives that to
/// nobody but root.
bool own_mounts() {
  if (!own_spaces(0)) {
    const std::string user = fmt::format("{0} {0} 1", ::geteuid()), group = fmt::format("{0} {0} 1", ::getegid());
    if (!own_spaces(CLONE_NEWUSER)) return false;
    write_into("/proc/self/setgroups", "deny");
    if (!write_into("/proc/self/uid_map", user) || !write_into("/proc/self/gid_map", group)) return false;
  }
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// An empty /dev/shm, for named semaphores and shared memory, which Python's multiprocessing makes there. Of what lies
/// in the machine's, the files and folders `kept` are in it.
bool own_shared_memory(const std::set<fs::path>& kept) {
  std::vector<std::pair<fs::path, Descriptor>> places;
  for (const fs::path& path : kept) {
    Descriptor place(is_below(path, kSharedMemory) ? ::open(path.c_str(), O_PATH | O_CLOEXEC) : -1);
    if (place.open()) places.emplace_back(path, std::move(place));
  }
  if (::mount("assay", kSharedMemory, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) return false;
  return std::ranges::all_of(places, [](const auto& each) {
    const auto& [path, place] = each;
    const std::string from = fmt::format("/proc/self/fd/{}", place.get());
    std::error_code code;
    const bool folder = fs::is_directory(from, code);
    fs::create_directories(folder ? path : path.parent_path(), code);
    if (!folder) const Descriptor made(::open(path.c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, S_IRUSR));
    return ::mount(from.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0;
  });
}

/// Sets or clears "read-only" of what is mounted at `place` (mount_setattr, Linux 5.12, which older headers lack).
bool set_read_only(const fs::path& place, bool on, unsigned flags) {
  constexpr long kSetAttributes = 442;
  constexpr std::uint64_t kReadOnly = 1;
  struct {
    std::uint64_t set, clear, propagation, users;
  } change{on ? kReadOnly : 0, on ? 0 : kReadOnly, 0, 0};
  return ::syscall(kSetAttributes, AT_FDCWD, place.c_str(), flags, &change, sizeof change) == 0;
}

/// Nothing but what is `writable` and memory of its own can be changed, in this process's view of the file system:
/// Landlock leaves rights, owners, times and attributes of files to whoever owns them. Needs own_mounts().
void keep_all_else_as_it_is(const std::set<fs::path>& writable, bool own_memory, bool gpu) {
  constexpr unsigned kAllBelow = 0x8000;  // AT_RECURSIVE
  if (!set_read_only("/", true, kAllBelow)) return;
  for (const fs::path& path : writable) {
    if (::mount(path.c_str(), path.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0) {
      set_read_only(path, false, kAllBelow);
    }
  }
  if (own_memory) set_read_only(kSharedMemory, false, 0);
  if (gpu) set_read_only("/proc", false, 0);  // for the names of its threads
  std::error_code code;
  const fs::path here = fs::current_path(code);
  if (!code) fs::current_path(here, code);  // into what is mounted there now
}

/// What root's programs may do beyond others: use the files of all users. Not make devices, set the clock or the
/// network, or stop the machine.
bool drop_rights() {
  constexpr std::uint32_t kKept = 1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER | 1U << CAP_FSETID;
  constexpr int kMost = 63;
  for (int right = 0; right <= kMost; ++right) {
    if (right <= CAP_FSETID && (kKept >> static_cast<unsigned>(right) & 1U) != 0) continue;
    ::prctl(PR_CAPBSET_DROP, right, 0, 0, 0);
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> rights{};
  if (::syscall(SYS_capget, &header, rights.data()) != 0) return false;
  for (std::uint32_t* each : {&rights[0].effective, &rights[0].permitted, &rights[0].inheritable}) *each &= kKept;
  rights[1] = {};
  return ::syscall(SYS_capset, &header, rights.data()) == 0;
}

void limit(int resource, rlim_t most) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return;
  now.rlim_cur = now.rlim_max = std::min(now.rlim_max, most);
  ::setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

}  // namespace

bool can_confine() { return version() > 0 && ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0; }

fs::path user_home() {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): nothing of ours calls setenv
  return home == nullptr ? "" : home;
}

namespace {

std::set<fs::path> find_homes() {
  std::set<fs::path> all;
  std::array<char, 4096> text;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by the call
  passwd entry{}, *found = nullptr;
  ::getpwuid_r(::getuid(), &entry, text.data(), text.size(), &found);
  const fs::path account = found == nullptr ? "" : entry.pw_dir;
  for (const fs::path& home : {fs::path(kHomes), fs::path("/root"), user_home(), account}) {
    std::error_code code;
    const fs::path real = fs::canonical(home, code);
    if (!code && real.has_relative_path()) all.insert(real);
  }
  return all;
}

}  // namespace

const std::set<fs::path>& homes() {
  static const std::set<fs::path> all = find_homes();
  return all;
}

bool holds_a_home(const fs::path& folder) {
  std::error_code code;
  const fs::path real = fs::weakly_canonical(folder, code);
  if (code || !real.has_relative_path() || real.parent_path() == fs::weakly_canonical(kHomes, code)) return true;
  return std::ranges::any_of(homes(), [&](const fs::path& home) { return is_below(home, real); });
}

void limit_files() {
  constexpr rlim_t kLargestFile = rlim_t{16} << 30U;
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, kLargestFile);
}

Status confine(const Sandbox& sandbox) {
  std::set<fs::path> writable(sandbox.writable.begin(), sandbox.writable.end());
  for (const fs::path& path : {sandbox.job, sandbox.home}) {
    if (!path.empty()) writable.insert(path);
  }
  std::set<fs::path> kept = writable;
  kept.insert(sandbox.readable.begin(), sandbox.readable.end());
  const bool own_view = can_confine() && own_mounts();  // first: what is confined mounts nothing
  const bool own_memory = own_view && own_shared_memory(kept);
  if (own_view) keep_all_else_as_it_is(writable, own_memory, sandbox.gpu);
  Rules rules;
  std::set<fs::path> hidden = sandbox.hidden;
  hidden.insert({"/dev", "/run/user", "/run/secrets", "/var/run/secrets"});
  allow_all_but(rules, "/", hidden);
  for (const fs::path& path : sandbox.readable) rules.allow(path, kReading);
  rules.allow(sandbox.job, kWritingWithUs);
  rules.allow(sandbox.home, kWriting);
  for (const fs::path& path : sandbox.writable) rules.allow(path, kWriting);
  if (own_memory) rules.allow(kSharedMemory, kWritingWithUs);
  std::error_code code;
  for (fs::directory_iterator entry("/dev", code), end; !code && entry != end; entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (std::ranges::find(kPlainDevices, name) != kPlainDevices.end() || (sandbox.gpu && is_of_gpu(name))) {
      rules.allow(entry->path(), kReading | kWriteFile | kTruncate | kDeviceControl);
    }
  }
  // CUDA names its threads there, by truncating the file, and ends with error 304 where it can't.
  if (sandbox.gpu) rules.allow("/proc/self/task", kReading | kWriteFile | kTruncate);
  const bool no_rights = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  const bool dropped = drop_rights();
  const bool filtered = filter_calls();
  if (!no_rights || !dropped || !filtered || !can_confine() || !rules.enforce()) {
    return Error{ErrorKind::unsupported,
                 fmt::format("this system can't confine a process: {}", std::generic_category().message(errno)),
                 {},
                 {},
                 {}};
  }
  return success();
}

}  // namespace assay::core
