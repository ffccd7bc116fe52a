#include "harness/model/numpy_io.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <minizip/unzip.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/files.hpp"
#include "harness/model/raw_tensor.hpp"

namespace assay::model {
namespace {

constexpr std::uintmax_t kLargestArray = std::uintmax_t{2} << 30U;

core::Error invalid(const std::string& where, std::string_view what) {
  return {core::ErrorKind::invalid_data, fmt::format("{}: {}", where, what), {}, {}, {}};
}

/// What stands behind `key` in the header, a Python dictionary: "{'descr': '<f4', 'fortran_order': False, 'shape': (2,
/// 3), }".
std::optional<std::string_view> header_value(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (rest.starts_with('(')) {
    return rest.substr(0, rest.find(')') + 1);
  }
  return rest.substr(0, rest.find_first_of(",}"));
}

std::optional<core::DType> element_type(std::string_view descr) {
  struct Row {
    std::string_view descr;
    core::DType type;
  };
  using core::DType;
  static constexpr std::array<Row, 12> kRows{{{"<f4", DType::float32},
                                              {"<f8", DType::float64},
                                              {"<f2", DType::float16},
                                              {"|i1", DType::int8},
                                              {"|u1", DType::uint8},
                                              {"<i2", DType::int16},
                                              {"<u2", DType::uint16},
                                              {"<i4", DType::int32},
                                              {"<u4", DType::uint32},
                                              {"<i8", DType::int64},
                                              {"<u8", DType::uint64},
                                              {"|b1", DType::boolean}}};
  for (const Row& row : kRows) {
    if (descr == row.descr) {
      return row.type;
    }
  }
  return std::nullopt;
}

std::optional<core::Shape> parse_shape(std::string_view text) {
  core::Shape shape;
  const char* at = text.data() + 1;
  const char* end = text.data() + text.size();
  while (at < end && *at != ')') {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0) {
      return std::nullopt;
    }
    shape.push_back(extent);
    at = next;
  }
  return shape;
}

/// Column order → row order: reads the array of the reversed shape transposed.
core::Tensor from_column_order(const core::Tensor& stored, const core::Shape& shape) {
  core::Tensor tensor = core::Tensor::zeros(stored.type(), shape);
  core::Shape index(shape.size(), 0);
  for (std::int64_t flat = 0; flat < tensor.size(); ++flat) {
    std::int64_t source = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      source = source * shape[d] + index[d];
    }
    const auto to = static_cast<std::size_t>(flat);
    const auto from = static_cast<std::size_t>(source);
    if (tensor.is_real()) {
      tensor.reals()[to] = stored.reals()[from];
    } else {
      tensor.integers()[to] = stored.integers()[from];
    }
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) {
        break;
      }
      index[d] = 0;
    }
  }
  return tensor;
}

core::Result<core::Tensor> parse_npy(std::string_view bytes, const std::string& where) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr std::size_t kShortPrefix = 10;
  constexpr std::size_t kLongPrefix = 12;
  if (bytes.size() < kLongPrefix || !bytes.starts_with(kMagic)) {
    return invalid(where, "not a NumPy array: truncated or another format");
  }
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const bool long_header = byte(6) >= 2;
  const std::size_t prefix = long_header ? kLongPrefix : kShortPrefix;
  std::size_t length = byte(8) | (byte(9) << 8U);
  if (long_header) {
    length |= (byte(10) << 16U) | (byte(11) << 24U);
  }
  if (length > bytes.size() - prefix) {
    return invalid(where, "the NumPy header is cut off");
  }
  const std::string_view header = bytes.substr(prefix, length);
  const auto descr = header_value(header, "descr");
  const auto order = header_value(header, "fortran_order");
  const auto shape_value = header_value(header, "shape");
  if (!descr || !order || !shape_value || descr->size() < 2 || !shape_value->starts_with('(')) {
    return invalid(where, "the NumPy header can't be read");
  }
  const auto type = element_type(descr->substr(1, descr->size() - 2));
  if (!type) {
    return invalid(where, fmt::format("element type {} is not supported; store float32 or an integer type", *descr));
  }
  const auto shape = parse_shape(*shape_value);
  if (!shape) {
    return invalid(where, fmt::format("shape {} can't be read", *shape_value));
  }
  const bool column_order = order->starts_with("True");
  core::Shape stored_shape(shape->rbegin(), shape->rend());
  core::Result<core::Tensor> tensor =
      decode_raw(*type, column_order ? stored_shape : *shape, bytes.substr(prefix + length));
  if (!tensor) {
    return tensor.error().within(where);
  }
  return column_order ? from_column_order(*tensor, *shape) : *std::move(tensor);
}

/// A regular file as minizip reads it: byte by byte here and there, so that what it asks for is cut out of a window and
/// the system is asked for whole windows only.
class WindowedFile {
 public:
  explicit WindowedFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    if (file_ < 0 || fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) return;
    size_ = static_cast<std::uint64_t>(status.st_size);
    regular_ = true;
  }
  WindowedFile(const WindowedFile&) = delete;
  WindowedFile& operator=(const WindowedFile&) = delete;
  ~WindowedFile() {
    if (file_ >= 0) close(file_);
  }
  [[nodiscard]] bool regular() const { return regular_; }
  /// The bytes from `at` on, as many as there are up to `most` and the window's end.
  [[nodiscard]] std::string_view bytes(std::uint64_t at, std::size_t most) {
    if (at >= size_) return {};
    if (at < window_at_ || at - window_at_ >= window_.size()) move_to(at);
    if (window_.empty()) return {};
    return std::string_view(window_).substr(at - window_at_, most);
  }
  [[nodiscard]] zlib_filefunc64_def for_minizip() {
    return {&opened, &read, &written, &told, &sought, &closed, &failed, this};
  }

 private:
  static constexpr std::uint64_t kWindow = std::uint64_t{1} << 16U;

  void move_to(std::uint64_t at) {
    window_at_ = at - at % kWindow;
    window_.resize(std::min(kWindow, size_ - window_at_));
    const ssize_t count = pread(file_, window_.data(), window_.size(), static_cast<off_t>(window_at_));
    window_.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (at - window_at_ >= window_.size()) window_.clear();
  }

  static voidpf opened(voidpf self, const void* /*name*/, int /*mode*/) { return self; }
  static uLong read(voidpf self, voidpf /*stream*/, void* out, uLong size) {
    auto& file = *static_cast<WindowedFile*>(self);
    uLong done = 0;
    while (done < size) {
      const std::string_view part = file.bytes(file.position_, size - done);
      if (part.empty()) break;
      part.copy(static_cast<char*>(out) + done, part.size());
      done += part.size();
      file.position_ += part.size();
    }
    return done;
  }
  static uLong written(voidpf /*self*/, voidpf /*stream*/, const void* /*bytes*/, uLong /*size*/) { return 0; }
  static ZPOS64_T told(voidpf self, voidpf /*stream*/) { return static_cast<WindowedFile*>(self)->position_; }
  static long sought(voidpf self, voidpf /*stream*/, ZPOS64_T offset, int origin) {
    auto& file = *static_cast<WindowedFile*>(self);
    const std::uint64_t from = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                               : origin == ZLIB_FILEFUNC_SEEK_CUR ? file.position_
                                                                  : file.size_;
    constexpr std::uint64_t kFarthest = std::uint64_t{1} << 62U;
    if (offset > kFarthest) return -1;
    file.position_ = from + offset;
    return 0;
  }
  static int closed(voidpf /*self*/, voidpf /*stream*/) { return 0; }
  static int failed(voidpf /*self*/, voidpf /*stream*/) { return 0; }

  int file_;
  bool regular_ = false;
  std::uint64_t size_ = 0, position_ = 0, window_at_ = 0;
  std::string window_;
};

struct CloseZip {
  void operator()(void* file) const { unzClose(file); }
};

/// The current file of `archive`, if it holds `size` bytes. Memory grows with what is there: a few bytes can claim any
/// size.
std::optional<std::string> unpacked(void* archive, std::uintmax_t size) {
  constexpr std::size_t kBlock = std::size_t{1} << 18U;
  if (unzOpenCurrentFile(archive) != UNZ_OK) return std::nullopt;
  std::string bytes;
  for (int count = 1; count > 0 && bytes.size() < size;) {
    const std::size_t had = bytes.size();
    const std::size_t wanted = std::min<std::uintmax_t>(kBlock, size - had);
    bytes.resize(had + wanted);
    count = unzReadCurrentFile(archive, bytes.data() + had, static_cast<unsigned>(wanted));
    bytes.resize(had + static_cast<std::size_t>(std::max(count, 0)));
  }
  const bool sound = unzCloseCurrentFile(archive) == UNZ_OK;  // compares the checksum
  if (!sound || bytes.size() != size) return std::nullopt;
  return bytes;
}

/// Whether an archive begins with its end. minizip takes one of nothing for no archive (1.1) or for a damaged one
/// (1.3).
bool is_empty_archive(WindowedFile& file) {
  constexpr std::string_view kEnd{"PK\5\6", 4};
  return file.bytes(0, kEnd.size()) == kEnd;
}

}  // namespace

core::Result<core::Tensor> load_npy(const std::filesystem::path& path) {
  core::Result<std::string> bytes = core::read_file(path, kLargestArray);
  if (!bytes) {
    return bytes.error();
  }
  return parse_npy(*bytes, path.string());
}

core::Result<core::TensorMap> load_npz(const std::filesystem::path& path) {
  const std::string where = path.string();
  WindowedFile file(where);
  if (!file.regular()) {
    return core::io_error(fmt::format("\"{}\" is not a readable file", where));
  }
  if (is_empty_archive(file)) {
    return core::TensorMap();
  }
  zlib_filefunc64_def reader = file.for_minizip();
  const std::unique_ptr<void, CloseZip> archive(unzOpen2_64(where.c_str(), &reader));
  if (archive == nullptr) {
    return invalid(where, "not a readable .npz archive");
  }
  core::TensorMap tensors;
  std::uintmax_t total = 0;
  for (int state = unzGoToFirstFile(archive.get()); state != UNZ_END_OF_LIST_OF_FILE;
       state = unzGoToNextFile(archive.get())) {
    unz_file_info64 info{};
    std::string name(256, '\0');
    if (state != UNZ_OK ||
        unzGetCurrentFileInfo64(archive.get(), &info, name.data(), name.size(), nullptr, 0, nullptr, 0) != UNZ_OK) {
      return invalid(where, "the archive is damaged");
    }
    name.resize(std::min<std::size_t>(info.size_filename, name.size()));
    total += info.uncompressed_size;
    if (total > kLargestArray) {
      return invalid(where, fmt::format("unpacks to more than {} bytes", kLargestArray));
    }
    const std::optional<std::string> bytes = unpacked(archive.get(), info.uncompressed_size);
    if (!bytes) return invalid(where, fmt::format("\"{}\" in it is damaged", name));
    constexpr std::string_view kSuffix = ".npy";
    if (!name.ends_with(kSuffix)) {
      return invalid(where, fmt::format("\"{}\" in it is not a NumPy array", name));
    }
    core::Result<core::Tensor> tensor = parse_npy(*bytes, fmt::format("{}: {}", where, name));
    if (!tensor) {
      return tensor.error();
    }
    tensors.insert_or_assign(name.substr(0, name.size() - kSuffix.size()), *std::move(tensor));
  }
  return tensors;
}

}  // namespace assay::model
