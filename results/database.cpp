#include "results/database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <sys/stat.h>

#include <cmath>
#include <limits>
#include <list>
#include <utility>

#include "harness/core/quoted.hpp"

namespace assay::results {
namespace {

using core::Error;
using core::ErrorKind;
using core::Result;
using core::Status;

/// How long a write waits for another process's.
constexpr int kBusyTimeoutMs = 30'000;
constexpr std::string_view kNotANumber = "NaN";

}  // namespace

std::string Row::raw(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_, column);
  if (bytes == nullptr) return {};
  const auto count = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return {reinterpret_cast<const char*>(bytes), count};  // NOLINT(*-reinterpret-cast): SQLite's type
}
std::string Row::text(int column) const { return core::visible_text(raw(column)); }
std::string Row::line(int column) const { return core::visible_line(text(column)); }
std::string Row::blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}
std::int64_t Row::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Row::real(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_TEXT) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_, column);
}
std::optional<double> Row::optional_real(int column) const {
  return null(column) ? std::nullopt : std::optional(real(column));
}
bool Row::null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
bool Row::is_integer(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_INTEGER; }
bool Row::is_blob(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_BLOB; }

namespace {

/// Device and number of a file; nothing where there is none.
using FileId = std::optional<std::pair<dev_t, ino_t>>;
FileId file_id(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

/// SQLite locks a file of write-ahead logs by files beside it, which a folder that can't be written doesn't take. Where
/// nobody left such a log there, nobody writes, and none is needed.
bool takes_no_lock(const std::filesystem::path& file) {
  std::error_code code;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const std::uintmax_t log = std::filesystem::file_size(file.string() + "-wal", code);
  return ::access(folder.c_str(), W_OK) != 0 && (code || log == 0);
}

/// A path as SQLite's URIs take it.
std::string uri_path(const std::filesystem::path& file) {
  std::string text;
  for (const char c : file.string()) {
    text += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02X}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return text;
}

}  // namespace

struct Database::State {
  std::filesystem::path file;
  FileId log;  ///< the write-ahead log's, once it was seen
  sqlite3* connection = nullptr;
  std::unordered_map<std::string_view, sqlite3_stmt*> statements;  ///< keys are string literals

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    for (const auto& [sql, statement] : statements) sqlite3_finalize(statement);
    sqlite3_close(connection);
  }
  [[nodiscard]] Error error() const {
    constexpr int kPrimary = 0xff;  // the rest of a code says which system call it was
    const int code = sqlite3_errcode(connection) & kPrimary;
    std::string what = sqlite3_errmsg(connection);
    if (code == SQLITE_IOERR) what += ": the disk is full, or the file as large as it may be here (ulimit -f)";
    if (code == SQLITE_CANTOPEN) what += ": its folder can't be written, or the disk is full (files count too: df -i)";
    if (code == SQLITE_IOERR || code == SQLITE_FULL) {
      what += "; make room or name another file with --db, and a run goes on with --resume";
    }
    return {ErrorKind::io, fmt::format("results database {}: {}", file.string(), what), "", "", ""};
  }
};

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::open(const std::filesystem::path& file, Mode mode) {
  auto state = std::make_unique<State>();
  state->file = file;
  const bool alone = mode == Mode::read_only && takes_no_lock(file);
  const std::string name = alone ? "file:" + uri_path(file) + "?immutable=1" : file.string();
  const int flags = mode == Mode::read_only ? SQLITE_OPEN_READONLY | (alone ? SQLITE_OPEN_URI : 0)
                                            : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(name.c_str(), &state->connection, flags, nullptr) != SQLITE_OK) return state->error();
  sqlite3_busy_timeout(state->connection, kBusyTimeoutMs);
  // The file may be a stranger's: what its schema says isn't run.
  sqlite3_db_config(state->connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);  // NOLINT(*-vararg): SQLite's form
  sqlite3_db_config(state->connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);  // NOLINT(*-vararg)
  sqlite3_db_config(state->connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);     // NOLINT(*-vararg)
  return Database(std::move(state));
}

Result<Database> Database::open_copy(const std::filesystem::path& file) {
  auto source = open(file, Mode::read_only);
  if (!source) return source.error();
  auto state = std::make_unique<State>();
  state->file = file;
  if (sqlite3_open(":memory:", &state->connection) != SQLITE_OK) return state->error();
  sqlite3_backup* backup = sqlite3_backup_init(state->connection, "main", source->state_->connection, "main");
  if (backup == nullptr) return state->error();
  const int copied = sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  if (copied != SQLITE_DONE) return state->error();
  return Database(std::move(state));
}

Status Database::copy_to(const std::filesystem::path& file) {
  const std::filesystem::path part = file.string() + ".part";
  std::error_code code;
  std::filesystem::remove(part, code);
  {
    auto target = open(part, Mode::read_write);
    if (!target) return target.error();
    // One reading transaction: a copy page by page would begin again whenever somebody writes.
    const Snapshot snapshot(*this);
    if (!snapshot.begun()) return snapshot.begun();
    sqlite3_backup* backup = sqlite3_backup_init(target->state_->connection, "main", state_->connection, "main");
    if (backup == nullptr) return target->state_->error();
    const int copied = sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
    if (copied != SQLITE_DONE) {
      Status status = target->state_->error();
      std::filesystem::remove(part, code);
      return status;
    }
    if (auto status = target->execute("PRAGMA journal_mode = DELETE"); !status) return status;
  }
  std::filesystem::rename(part, file, code);
  if (!code) return core::success();
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  return Error{ErrorKind::io, fmt::format("\"{}\" can't be written: {}", file.string(), code.message()), "", "", ""};
}

Status Database::execute(const char* sql) {
  if (sqlite3_exec(state_->connection, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return state_->error();
  return core::success();
}

Status Database::run_statement(const char* sql, std::initializer_list<Bound> values,
                               const std::function<void(const Row&)>& on_row) {
  sqlite3_stmt*& statement = state_->statements[sql];
  if (statement == nullptr &&
      sqlite3_prepare_v3(state_->connection, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return state_->error();
  }
  int position = 0;
  std::list<std::string> mended;
  for (const Bound& value : values) {
    const bool nan = value.kind == Bound::Kind::real && std::isnan(value.fraction);
    const std::string_view words = nan ? kNotANumber : value.words;
    ++position;
    if (value.kind == Bound::Kind::text || nan) {
      if (!core::is_utf8(words)) {  // SQLite would take it, and other programs couldn't read it
        mended.push_back(core::utf8_text(words));
        sqlite3_bind_text64(statement, position, mended.back().data(), mended.back().size(), SQLITE_STATIC,
                            SQLITE_UTF8);
        continue;
      }
      // The text outlives the statement's run, which ends in this function. A null pointer would bind NULL.
      const char* bytes = words.empty() ? "" : words.data();
      sqlite3_bind_text64(statement, position, bytes, words.size(), SQLITE_STATIC, SQLITE_UTF8);
    } else if (value.kind == Bound::Kind::blob) {
      sqlite3_bind_blob64(statement, position, words.empty() ? "" : words.data(), words.size(), SQLITE_STATIC);
    } else if (value.kind == Bound::Kind::integer) {
      sqlite3_bind_int64(statement, position, value.whole);
    } else if (value.kind == Bound::Kind::real) {
      sqlite3_bind_double(statement, position, value.fraction);
    } else {
      sqlite3_bind_null(statement, position);
    }
  }
  int code = sqlite3_step(statement);
  for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
    if (on_row) on_row(Row(statement));
  }
  Status status = code == SQLITE_DONE ? core::success() : Status(state_->error());
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return status;
}

Error Database::dangling(const std::string& what) const {
  return {ErrorKind::io,
          fmt::format("results database {} is damaged: {}; \"assay db check\" lists all that is wrong",
                      state_->file.string(), what),
          "", "", ""};
}

bool Database::in_place() const {
  int moved = 0;
  const int asked = sqlite3_file_control(state_->connection, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (asked != SQLITE_OK || moved != 0) return false;
  const FileId log = file_id(state_->file.string() + "-wal");
  if (!state_->log) state_->log = log;
  return state_->log == log;
}

void Database::set_durable(bool durable) {
  sqlite3_exec(state_->connection, durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", nullptr,
               nullptr, nullptr);
}

std::int64_t Database::changes() const { return sqlite3_changes64(state_->connection); }
std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(state_->connection); }

}  // namespace assay::results
