// ONNX Runtime's calibration.flatbuffers: a table whose one field is a vector of tables (key, value), both strings. The
// value is the magnitude in decimal digits. Written from the FlatBuffers binary format's description: little-endian
// offsets from where they stand; a table begins with the distance back to its vtable, which lists (after its own size
// and the table's) where each field lies in the table, 0 for none.
#include <fmt/format.h>

#include <cstdint>

#include "converters/calibration_table.hpp"

#include "harness/core/text.hpp"

namespace assay::converters::tables {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  /// An unsigned number of `size` bytes at `at`; sets failed() outside the file.
  std::uint64_t number(std::uint64_t at, unsigned size) {
    if (at > bytes_.size() || size > bytes_.size() - at) return fail();
    std::uint64_t value = 0;
    for (unsigned i = size; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes_[at + i]);
    return value;
  }
  /// Where the offset at `at` leads.
  std::uint64_t follow(std::uint64_t at) {
    const std::uint64_t target = at + number(at, 4);
    return target < bytes_.size() ? target : fail();
  }
  /// Where field `index` of the table at `table` leads, or 0 where it is left out.
  std::uint64_t field(std::uint64_t table, unsigned index) {
    const auto distance = static_cast<std::int32_t>(static_cast<std::uint32_t>(number(table, 4)));
    const auto vtable = static_cast<std::int64_t>(table) - distance;
    if (vtable < 0) return fail();
    const auto start = static_cast<std::uint64_t>(vtable);
    const std::uint64_t slot = 4 + 2 * std::uint64_t{index};
    if (slot + 2 > number(start, 2)) return 0;
    const std::uint64_t offset = number(start + slot, 2);
    return offset == 0 ? 0 : follow(table + offset);
  }
  std::string text(std::uint64_t at) {
    const std::uint64_t size = number(at, 4);
    if (failed_ || size > bytes_.size() - at - 4) return fail(), "";
    return bytes_.substr(at + 4, size);
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  std::uint64_t fail() {
    failed_ = true;
    return 0;
  }
  const std::string& bytes_;
  bool failed_ = false;
};

}  // namespace

core::Result<CalibrationTable> parse_flatbuffers(const std::string& bytes) {
  const auto broken = [&] {
    return table_error(
        fmt::format("not a calibration table: binary, {} bytes, but not (or only a part of) ONNX Runtime's FlatBuffers "
                    "form",
                    bytes.size()));
  };
  CalibrationTable table;
  table.form = "ONNX Runtime's table (FlatBuffers)";
  table.magnitudes = true;
  table.symmetric = true;
  Reader reader(bytes);
  const std::uint64_t entries = reader.field(reader.follow(0), 0);
  if (reader.failed() || entries == 0) return broken();
  const std::uint64_t count = reader.number(entries, 4);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t entry = reader.follow(entries + 4 + 4 * i);
    const std::uint64_t key = reader.field(entry, 0), value = reader.field(entry, 1);
    if (reader.failed() || key == 0 || value == 0) return broken();
    const std::string name = reader.text(key), digits = reader.text(value);
    if (reader.failed()) return broken();
    const auto high = core::parse_number(digits);
    if (!high) return table_error(fmt::format("the magnitude of tensor \"{}\" is \"{}\", not a number", name, digits));
    table.ranges[name] = {-*high, *high};
  }
  return table;
}

}  // namespace assay::converters::tables
