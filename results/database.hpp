#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "harness/core/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace assay::results {

/// Bytes that are no text.
struct Blob {
  std::string_view bytes;
};

/// One row of an answer. Columns count from 0. A NaN is kept as the text "NaN", since SQLite knows none.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] std::string text(int column) const;
  /// Text that is one line; a line end that somebody else's program wrote is escaped.
  [[nodiscard]] std::string line(int column) const;
  /// Text as it is stored, for what isn't shown or is made visible later.
  [[nodiscard]] std::string raw(int column) const;
  [[nodiscard]] std::string blob(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::optional<double> optional_real(int column) const;
  [[nodiscard]] bool null(int column) const;
  [[nodiscard]] bool is_integer(int column) const;
  [[nodiscard]] bool is_blob(int column) const;

 private:
  sqlite3_stmt* statement_;
};

/// A SQLite connection that keeps its statements prepared. Errors carry SQLite's message and the file.
class Database {
 public:
  enum class Mode { read_only, read_write };
  [[nodiscard]] static core::Result<Database> open(const std::filesystem::path& file, Mode mode);
  /// A copy of a file that can't be written, in memory: what is done to it is lost.
  [[nodiscard]] static core::Result<Database> open_copy(const std::filesystem::path& file);
  /// Writes the state that the database has now as one database file, with no log beside it. Others may write to the
  /// database meanwhile. What lies at `file` is replaced, once the whole copy is on the disk.
  [[nodiscard]] core::Status copy_to(const std::filesystem::path& file);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  /// Runs statements without parameters, one or several.
  [[nodiscard]] core::Status execute(const char* sql);
  /// Runs one statement with `values` bound in order, and hands each row of its answer to `on_row`.
  template <typename OnRow, typename... Values>
  [[nodiscard]] core::Status query(const char* sql, OnRow on_row, const Values&... values) {
    return run_statement(sql, {Bound(values)...}, on_row);
  }
  template <typename... Values>
  [[nodiscard]] core::Status run(const char* sql, const Values&... values) {
    return run_statement(sql, {Bound(values)...}, nullptr);
  }
  /// The one number that `sql` answers with, or nothing when it answers with no row.
  template <typename... Values>
  [[nodiscard]] core::Result<std::optional<std::int64_t>> number(const char* sql, const Values&... values) {
    std::optional<std::int64_t> found;
    auto status = query(
        sql, [&](const Row& row) { found = row.integer(0); }, values...);
    if (!status) return status.error();
    return found;
  }
  /// Whether a write is on the disk once it has returned. One that isn't outlives its process, and a failure of the
  /// system's power takes it, if at all, with those after it. The next durable one takes it along.
  void set_durable(bool durable);
  /// Whether what is written here still lies where the file was opened: false once somebody has removed or replaced the
  /// file or its log.
  [[nodiscard]] bool in_place() const;
  /// What says that a row refers to one that isn't there: the file was changed by something other than Assay.
  [[nodiscard]] core::Error dangling(const std::string& what) const;
  /// Rows that the newest run() changed.
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] std::int64_t last_row() const;

 private:
  struct Bound {
    enum class Kind { text, blob, integer, real, null } kind = Kind::null;
    std::string_view words;
    std::int64_t whole = 0;
    double fraction = 0;
    explicit Bound(std::string_view value) : kind(Kind::text), words(value) {}
    explicit Bound(const std::string& value) : kind(Kind::text), words(value) {}
    explicit Bound(const char* value) : kind(Kind::text), words(value) {}
    explicit Bound(Blob value) : kind(Kind::blob), words(value.bytes) {}
    explicit Bound(double value) : kind(Kind::real), fraction(value) {}
    explicit Bound(std::int64_t value) : kind(Kind::integer), whole(value) {}
    explicit Bound(std::size_t value) : kind(Kind::integer), whole(static_cast<std::int64_t>(value)) {}
    explicit Bound(int value) : kind(Kind::integer), whole(value) {}
    template <typename T>
    explicit Bound(const std::optional<T>& value) {
      if (value) *this = Bound(*value);
    }
  };
  struct State;
  explicit Database(std::unique_ptr<State> state);
  core::Status run_statement(const char* sql, std::initializer_list<Bound> values,
                             const std::function<void(const Row&)>& on_row);

  std::unique_ptr<State> state_;
};

/// Writes of one scope that may be lost with the system's power until the next write outside: those that are many.
class Undurable {
 public:
  explicit Undurable(Database& database) : database_(&database) { database_->set_durable(false); }
  Undurable(const Undurable&) = delete;
  Undurable& operator=(const Undurable&) = delete;
  ~Undurable() { database_->set_durable(true); }

 private:
  Database* database_;
};

/// Reads of one scope that see one state of the database, whatever others write meanwhile.
class Snapshot {
 public:
  explicit Snapshot(Database& database) : database_(&database), begun_(database.execute("SAVEPOINT snapshot")) {}
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() {
    if (begun_) (void)database_->execute("RELEASE snapshot");
  }
  [[nodiscard]] const core::Status& begun() const { return begun_; }

 private:
  Database* database_;
  core::Status begun_;
};

/// Writes of one scope, all or none: rolled back unless committed. Waits for other writers when it begins.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(&database), begun_(database.execute("BEGIN IMMEDIATE")) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (begun_.ok() && !done_) (void)database_->execute("ROLLBACK");
  }
  [[nodiscard]] const core::Status& begun() const { return begun_; }
  [[nodiscard]] core::Status commit() {
    auto status = database_->execute("COMMIT");
    done_ = status.ok();
    return status;
  }

 private:
  Database* database_;
  core::Status begun_;
  bool done_ = false;
};

}  // namespace assay::results
