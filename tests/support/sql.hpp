#pragma once

#include <filesystem>
#include <string>

namespace assay::test {

/// Runs SQL on a database file, which is made where there is none, behind the store's back. "" or SQLite's message.
std::string run_sql(const std::filesystem::path& file, const std::string& statements);

/// First column of the first row; "" without a row.
std::string sql_value(const std::filesystem::path& file, const std::string& query);

}  // namespace assay::test
