#include "harness/core/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/core/owner.hpp"

namespace assay::core {
namespace fs = std::filesystem;

namespace {
constexpr const char* kMemory = "/dev/shm";
/// A temporary folder's name: this, its owner's process_tag(), and a hyphen with as many letters.
constexpr std::string_view kTemporaryName = "assay-";
constexpr std::string_view kTemporaryLetters = "-XXXXXX";

/// TMPDIR where it is set; else memory, where there is plenty: a case is dozens of small files, and making them on a
/// disk costs more than converting. Else the system's folder.
fs::path temporary_parent(std::error_code& code) {
  constexpr std::uintmax_t kPlenty = std::uintmax_t{1} << 30U;
  if (std::getenv("TMPDIR") == nullptr && fs::space(kMemory, code).available >= kPlenty && !code &&
      access(kMemory, W_OK) == 0) {
    return kMemory;
  }
  code.clear();
  return fs::temp_directory_path(code);
}

/// An open file, closed at the end.
class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (valid()) close(number_);
  }
  [[nodiscard]] bool valid() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

/// False where the file can't be made or not all bytes fit. `where_there`: O_TRUNC replaces what is there, O_EXCL
/// fails.
bool write_whole(const fs::path& path, std::string_view bytes, int where_there) {
  constexpr mode_t kReadableByAll = 0666;  // less what the user's umask takes
  const OpenFile file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | where_there, kReadableByAll));
  while (file.valid() && !bytes.empty()) {
    const ssize_t count = write(file.number(), bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return false;
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  return file.valid();
}
}  // namespace

Result<std::string> read_file(const fs::path& path, std::uintmax_t limit_bytes) {
  const OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return io_error(fmt::format("\"{}\" is not a readable file", path.string()));
  }
  const auto size = static_cast<std::uintmax_t>(status.st_size);
  if (size > limit_bytes) {
    return io_error(fmt::format("\"{}\" has {} bytes, more than the limit of {}", path.string(), size, limit_bytes));
  }
  std::string bytes(static_cast<std::size_t>(size), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = read(file.number(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return io_error(fmt::format("\"{}\" can't be read whole", path.string()));
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

Status make_folder(const fs::path& folder) {
  std::error_code code;
  if (fs::create_directory(folder, code)) {
    return success();  // one call where the parent is there, as it mostly is
  }
  fs::create_directories(folder, code);
  if (code) {
    return io_error(fmt::format("\"{}\" can't be made: {}", folder.string(), code.message()));
  }
  return success();
}

Status write_file(const fs::path& path, std::string_view bytes) {
  static std::atomic<unsigned> counter{0};
  fs::path temporary = path;
  temporary += fmt::format(".part{}", counter++);
  if (!write_whole(temporary, bytes, O_TRUNC)) {
    const std::string why = std::generic_category().message(errno);
    unlink(temporary.c_str());
    return io_error(
        fmt::format("\"{}\" can't be written ({}); is its folder there and the disk not full?", path.string(), why));
  }
  std::error_code code;
  fs::rename(temporary, path, code);
  if (code) {
    return io_error(fmt::format("\"{}\" can't be written: {}", path.string(), code.message()));
  }
  return success();
}

Status write_new_file(const fs::path& path, std::string_view bytes) {
  if (write_whole(path, bytes, O_EXCL)) {
    return success();
  }
  if (errno != EEXIST) {
    unlink(path.c_str());  // begun, not ended
  }
  return write_file(path, bytes);
}

bool write_into(const fs::path& file, std::string_view text) {
  const OpenFile to(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return to.valid() && write(to.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void remove_folder(const fs::path& folder, const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    unlink(file.c_str());
  }
  if (rmdir(folder.c_str()) != 0) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
}

namespace {

/// process_tag(), looked up once.
std::string own_tag() {
  static std::mutex mutex;
  static pid_t of = 0;
  static std::string tag;
  const std::lock_guard lock(mutex);
  if (std::exchange(of, getpid()) != getpid() || tag.empty()) tag = process_tag();
  return tag;
}

/// Whether it is a temporary folder whose owner has ended.
bool is_left_behind(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  const std::size_t least = kTemporaryName.size() + kTemporaryLetters.size();
  std::error_code code;
  if (!name.starts_with(kTemporaryName) || name.size() <= least || !fs::is_directory(entry.symlink_status(code))) {
    return false;
  }
  const std::string tag = name.substr(kTemporaryName.size(), name.size() - least);
  return tagged_process_state(tag) == ProcessState::ended;
}

}  // namespace

void sweep_temporary_folders() {
  std::error_code code;
  std::set<fs::path> parents{temporary_parent(code)};
  if (std::getenv("TMPDIR") == nullptr) parents.insert({kMemory, fs::temp_directory_path(code)});
  for (const fs::path& parent : parents) {
    std::error_code failed;
    for (fs::directory_iterator entry(parent, failed), end; !failed && entry != end; entry.increment(failed)) {
      std::error_code ignored;
      if (is_left_behind(*entry)) fs::remove_all(entry->path(), ignored);
    }
  }
}

namespace {

/// A new folder called `start` and some letters.
Result<fs::path> make_unique(const fs::path& start) {
  std::string name = start.string() + std::string(kTemporaryLetters);
  if (mkdtemp(name.data()) == nullptr) {
    const std::string why = std::generic_category().message(errno);
    return io_error(fmt::format("no folder can be made like \"{}\": {}; set TMPDIR to a writable folder", name, why));
  }
  return fs::path(name);
}

/// A folder of the process `of`, which may be the parent of this one.
struct ProcessFolder {
  std::mutex mutex;
  pid_t of = 0;
  fs::path path;
  ~ProcessFolder() { remove(); }
  void remove() {
    std::error_code ignored;
    if (std::exchange(of, 0) == getpid()) fs::remove_all(path, ignored);
  }
};
ProcessFolder& own_folder() {
  static ProcessFolder folder;
  return folder;
}
ProcessFolder& own_homes() {
  static ProcessFolder folder;
  return folder;
}

Result<fs::path> folder_of_this_process(ProcessFolder& own) {
  const std::lock_guard lock(own.mutex);
  std::error_code code;
  if (own.of == getpid() && fs::is_directory(own.path, code)) return own.path;
  const fs::path given = temporary_parent(code);
  const fs::path parent = code ? given : fs::absolute(given, code);
  if (code) {
    return io_error(fmt::format("no temporary folder: {}; set TMPDIR to a writable folder", code.message()));
  }
  static std::once_flag swept;
  std::call_once(swept, sweep_temporary_folders);
  Result<fs::path> made = make_unique(parent / (std::string(kTemporaryName) + own_tag()));
  if (!made) return made;
  own.path = *made;
  own.of = getpid();
  return made;
}

}  // namespace

Result<fs::path> process_folder() { return folder_of_this_process(own_folder()); }
Result<fs::path> process_homes() { return folder_of_this_process(own_homes()); }

void remove_process_folder() {
  for (ProcessFolder* own : {&own_folder(), &own_homes()}) {
    const std::lock_guard lock(own->mutex);
    own->remove();
  }
}

Result<TemporaryFolder> TemporaryFolder::create() {
  const Result<fs::path> parent = process_folder();
  if (!parent) return parent.error();
  Result<fs::path> made = make_unique(*parent / "job");
  if (!made) return made.error();
  return TemporaryFolder(*std::move(made));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

}  // namespace assay::core
