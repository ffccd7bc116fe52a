#include "results/lines_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <sstream>
#include <streambuf>
#include <string>
#include <string_view>
#include <system_error>

#include "results/exchange.hpp"
#include "results/gzip.hpp"

namespace assay::results {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorKind;
using core::Result;
using core::Status;

constexpr std::size_t kLinesBlockBytes = std::size_t{1} << 18U;
/// A small file can claim to hold any amount.
constexpr std::uintmax_t kLinesLimitBytes = std::uintmax_t{4} << 30U;

/// Packs what is written to it.
class GzipBuffer : public std::streambuf {
 public:
  explicit GzipBuffer(gzFile_s* out) : out_(out) {}

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char byte = traits_type::to_char_type(c);
    return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    std::streamsize done = 0;
    while (done < count) {
      const auto block =
          static_cast<unsigned>(std::min<std::streamsize>(count - done, std::streamsize{kLinesBlockBytes}));
      if (gzwrite(out_, bytes + done, block) != static_cast<int>(block)) break;
      done += block;
    }
    return done;
  }

 private:
  gzFile_s* out_;
};

/// Of this process among those of all machines that share the folder: machines may have one name, and processes of
/// containers one number.
fs::path neighbour(const fs::path& file) {
  return file.parent_path() / fmt::format(".{}.{}.part", file.filename().string(), new_uuid());
}

Error unwritten(const fs::path& file, const std::string& why) {
  return {ErrorKind::io,
          fmt::format("\"{}\" can't be written ({}); is its folder there and the disk not full?", file.string(), why),
          {},
          {},
          {}};
}

}  // namespace

Status write_lines_file(Store& store, const fs::path& file) {
  const fs::path part = neighbour(file);
  constexpr mode_t kReadableByAll = 0666;  // less what the user's umask takes
  const int number = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kReadableByAll);
  if (number < 0) return unwritten(file, std::generic_category().message(errno));
  const int synced = dup(number);  // gzclose() closes its own
  Gzip packed(gzdopen(number, "wb6"));
  if (!packed) {
    close(number);
    close(synced);
    return unwritten(file, "zlib has no memory");
  }
  Status exported = core::success();
  {
    GzipBuffer buffer(packed.get());
    std::ostream out(&buffer);
    exported = export_lines(store, out);
  }
  errno = 0;
  const bool closed = gzclose(packed.release()) == Z_OK;
  const bool whole = closed && fsync(synced) == 0;
  const int why = errno;
  close(synced);
  std::error_code code;
  if (!exported || !whole) {
    fs::remove(part, code);
    return exported ? Status(unwritten(file, std::generic_category().message(why))) : exported;
  }
  fs::rename(part, file, code);
  if (code) return unwritten(file, code.message());
  return core::success();
}

Result<std::vector<Store::RecordedRun>> read_lines_file(const fs::path& file) {
  const auto wrong = [&](ErrorKind kind, const std::string& what) {
    return Error{kind, fmt::format("\"{}\" {}", file.string(), what), {}, {}, {}};
  };
  std::error_code code;
  if (!fs::is_regular_file(file, code)) return wrong(ErrorKind::io, "is no file that can be read");
  const Gzip in(gzopen(file.c_str(), "rb"));
  if (!in) return wrong(ErrorKind::io, "can't be opened");
  std::string text;
  const std::string why = unpack_blocks(in.get(), kLinesLimitBytes, [&](std::string_view block) { text += block; });
  if (!why.empty()) return wrong(ErrorKind::invalid_data, why);
  std::istringstream lines(std::move(text));
  auto runs = read_lines(lines);
  if (!runs) return wrong(ErrorKind::invalid_data, "is damaged: " + runs.error().message);
  return runs;
}

}  // namespace assay::results
