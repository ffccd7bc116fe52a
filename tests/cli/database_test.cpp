// Retention and upkeep of the results database from the command line (docs/database.md).
#include <gmock/gmock.h>

#include "results/store.hpp"
#include "tests/cli/home.hpp"
#include "tests/support/sql.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;

class Database : public HomeTest {
 protected:
  /// A complete run of one case by converter "c", with metrics.
  void record(const std::string& version) const {
    core::Result<results::Store> store = results::Store::open(path("h.db"));
    ASSERT_TRUE(store.ok());
    const results::JobKey key{"f/a", "default", "c", version};
    const std::string id = store->begin_run({}, {key}).value();
    results::ResultRow row;
    row.key = key;
    row.family = "f";
    row.case_hash = "aa";
    row.verdict = "pass";
    row.gate = "green";
    row.sqnr_db = 30;
    row.metrics.assign(100, {"y", "typical", "sqnr_db", 1.0 / 3.0});
    ASSERT_TRUE(store->record(id, row).ok());
    ASSERT_TRUE(store->finish_run(id).ok());
  }
};

TEST_F(Database, PruneSaysWhatGoesAndKeepsWhatWasAskedFor) {
  for (const char* version : {"1", "2", "3"}) record(version);
  const Call unasked = run({"prune", "--db", "h.db"});
  EXPECT_EQ(unasked.code, 2);
  EXPECT_THAT(unasked.err, HasSubstr("--keep N keeps the newest N runs"));
  EXPECT_EQ(run({"prune", "--keep", "0", "--db", "h.db"}).code, 2);
  EXPECT_NE(run({"prune", "--keep", "1", "--db", "none.db"}).code, 0);
  const Call plan = run({"prune", "--keep", "1", "--dry-run", "--db", "h.db"});
  EXPECT_THAT(plan.out, HasSubstr("h.db: 2 verdicts would go and 2 whole runs, about "));
  EXPECT_THAT(plan.out, HasSubstr("; 1 verdict and 1 run stay\n"));
  EXPECT_THAT(run({"history", "f/a", "--db", "h.db"}).out, HasSubstr("(3 verdicts, 3 versions)"));
  const Call pruned = run({"prune", "--keep", "1", "--db", "h.db"});
  EXPECT_EQ(pruned.code, 0) << pruned.err;
  EXPECT_THAT(pruned.out, HasSubstr("h.db: 2 verdicts went and 2 whole runs, "));
  EXPECT_THAT(pruned.out, HasSubstr("./assay db vacuum --db h.db makes it smaller\n"));
  EXPECT_THAT(run({"history", "f/a", "--db", "h.db"}).out, HasSubstr("pass since 3, the oldest recorded"));
}

TEST_F(Database, PruneKeepsVersions) {
  for (const char* version : {"1.9", "1.10", "1.10"}) record(version);
  EXPECT_THAT(run({"prune", "--keep-versions", "1", "--db", "h.db"}).out, HasSubstr("2 verdicts and 2 runs stay"));
}

TEST_F(Database, ABackupIsADatabaseAndReplacesNothing) {
  record("1");
  const Call call = run({"db", "backup", "copy.db", "--db", "h.db"});
  EXPECT_EQ(call.code, 0) << call.err;
  EXPECT_THAT(call.out, HasSubstr("copy.db: "));
  EXPECT_THAT(run({"history", "f/a", "--db", "copy.db"}).out, HasSubstr("pass since 1"));
  const Call again = run({"db", "backup", "copy.db", "--db", "h.db"});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("\"copy.db\" is there already; name another file"));
  EXPECT_NE(run({"db", "backup", "no/such/folder/copy.db", "--db", "h.db"}).code, 0);
}

TEST_F(Database, DamageEndsWithThreeAndSaysWhatIsDamaged) {
  record("1");
  const Call sound = run({"db", "check", "--db", "h.db"});
  EXPECT_EQ(sound.code, 0);
  EXPECT_EQ(sound.out, "h.db is sound\n");
  ASSERT_EQ(run_sql(path("h.db"), "UPDATE verdict SET outcome_id = 99"), "");
  const Call damaged = run({"db", "check", "--db", "h.db"});
  EXPECT_EQ(damaged.code, 3);
  EXPECT_THAT(damaged.out,
              HasSubstr("1 verdicts have an outcome that isn't there\nh.db is damaged; go on with a backup"));
}

TEST_F(Database, VacuumMakesTheFileSmallerAfterAPrune) {
  for (int version = 0; version < 40; ++version) record(std::to_string(version));
  ASSERT_EQ(run({"prune", "--keep", "1", "--db", "h.db"}).code, 0);
  const auto before = std::filesystem::file_size(path("h.db"));
  const Call call = run({"db", "vacuum", "--db", "h.db"});
  EXPECT_EQ(call.code, 0) << call.err;
  EXPECT_LT(std::filesystem::file_size(path("h.db")), before);
  EXPECT_THAT(run({"history", "f/a", "--db", "h.db"}).out, HasSubstr("pass since 39"));
}

}  // namespace
}  // namespace assay::test
