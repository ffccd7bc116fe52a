#pragma once

#include <sqlite3.h>

namespace assay::fuzzers {

/// SQLite without what costs time in a single thread: locks and the counting of memory. To be made before SQLite is
/// used for the first time; afterwards it changes nothing.
struct PlainSqlite {
  PlainSqlite() {
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);  // NOLINT(*-vararg): SQLite's form
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);  // NOLINT(*-vararg)
  }
};

}  // namespace assay::fuzzers
