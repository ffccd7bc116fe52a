#include "tests/support/sql.hpp"

#include <sqlite3.h>

namespace assay::test {
namespace {

int keep_first(void* out, int /*columns*/, char** values, char** /*names*/) {
  *static_cast<std::string*>(out) = values[0] != nullptr ? values[0] : "NULL";
  return 1;
}

}  // namespace

std::string run_sql(const std::filesystem::path& file, const std::string& statements) {
  sqlite3* connection = nullptr;
  const bool done = sqlite3_open(file.c_str(), &connection) == SQLITE_OK &&
                    sqlite3_exec(connection, statements.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  std::string message = done ? "" : sqlite3_errmsg(connection);
  sqlite3_close(connection);
  return message;
}

std::string sql_value(const std::filesystem::path& file, const std::string& query) {
  sqlite3* connection = nullptr;
  std::string value;
  sqlite3_open_v2(file.c_str(), &connection, SQLITE_OPEN_READONLY, nullptr);
  sqlite3_exec(connection, query.c_str(), &keep_first, &value, nullptr);
  sqlite3_close(connection);
  return value;
}

}  // namespace assay::test
