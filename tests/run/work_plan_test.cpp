#include "harness/run/work_plan.hpp"

#include <gmock/gmock.h>

#include <string>

#include "harness/core/files.hpp"

namespace assay::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Two cases by two programs of two kinds, one case under two option sets, in three chunks.
WorkPlan small_plan() {
  WorkPlan plan;
  plan.run.id = "11111111-2222-4333-8444-555555555555";
  plan.run.command = "run default";
  plan.run.suite = "default";
  plan.run.settings = "build: 1\ncases: 2\nconverter 1: a\n";
  plan.run.started_at = "2026-01-31T12:00:00.000Z";
  plan.run.planned = 6;
  plan.run.machine = {"cpu", "avx2", 8, "Linux", "GPU"};
  plan.request = R"({"selection":["default"]})";
  plan.jobs = 3;
  plan.programs = {{"a", "1", "aa", {"a", "worker"}, std::nullopt}, {"b", "2", "bb", {"b"}, std::nullopt}};
  plan.programs[1].unavailable = "no GPU";
  plan.expected = {
      {"conv/*", "default", "a", "", "artifact", "scale", "reason", "url", "2027-01-01", "avx2", 0.5, "conv"}};
  plan.complete = false;
  plan.kinds = {{{0}, false, 0, {}}, {{1}, true, 2, {"b_licence"}}};
  plan.chunks = {{0, 2.5, {1, 0}}, {1, 2, {0}}, {1, 0.25, {1}}};
  plan.chunk_count = 3;
  plan.shapes = {{{"default"}, {0, 1}}, {{"default", "uint8"}, {0, 1}}};
  plan.items = {{"conv/x=1", "0123", 0}, {"conv/x=2", "4567", 1}};
  return plan;
}

class WorkPlans : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_work_plan(plan_, folder_).ok()); }
  void replace(const std::string& what, const std::string& by) const {
    std::string text = core::read_file(folder_.plan()).value();
    const std::size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos);
    ASSERT_TRUE(core::write_file(folder_.plan(), text.replace(at, what.size(), by)).ok());
  }
  core::TemporaryFolder scratch_ = core::TemporaryFolder::create().value();
  WorkPlan plan_ = small_plan();
  PlanFolder folder_{scratch_.path() / "plan"};
};

TEST_F(WorkPlans, AreReadAsTheyWereWritten) {
  const core::Result<WorkPlan> read = read_work_plan(folder_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  // Written again, the same bytes: no field is lost on the way.
  const PlanFolder again(scratch_.path() / "again");
  ASSERT_TRUE(write_work_plan(*read, again).ok());
  EXPECT_EQ(core::read_file(again.plan()).value(), core::read_file(folder_.plan()).value());
  EXPECT_EQ(read->run.machine.accelerators, "GPU");
  EXPECT_EQ(read->expected.at(0).margin, 0.5);
  EXPECT_EQ(read->programs.at(1).unavailable, "no GPU");
  EXPECT_FALSE(read->complete);
}

TEST_F(WorkPlans, HaveOneChunkForWhoDoesIt) {
  const core::Result<WorkPlan> read = read_work_plan(folder_, 2);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->chunk_count, 3U);
  ASSERT_EQ(read->chunks.size(), 1U);
  EXPECT_EQ(read->chunks[0].kind, 1U);
  EXPECT_THAT(read->chunks[0].items, ElementsAre(0));
  EXPECT_TRUE(read->items.empty());
}

TEST_F(WorkPlans, PlanEveryVerdictInOneChunk) {
  std::vector<results::JobKey> all = jobs_of(plan_), of_chunks;
  for (const Chunk& chunk : plan_.chunks) {
    for (results::JobKey& key : jobs_of(plan_, chunk)) of_chunks.push_back(std::move(key));
  }
  EXPECT_EQ(all.size(), plan_.run.planned);
  EXPECT_EQ(all[0], (results::JobKey{"conv/x=1", "default", "a", "1", "aa"}));
  EXPECT_EQ(all[1], (results::JobKey{"conv/x=1", "default", "b", "2", "bb"}));
  EXPECT_EQ(all[3], (results::JobKey{"conv/x=2", "uint8", "a", "1", "aa"}));
  EXPECT_THAT(of_chunks, testing::UnorderedElementsAreArray(all));
}

TEST_F(WorkPlans, RefuseChunksThatAreNotThere) {
  EXPECT_THAT(read_work_plan(folder_, 4).error().message, HasSubstr("there is no chunk 4: the plan has 1 to 3"));
  EXPECT_THAT(read_work_plan(folder_, 0).error().message, HasSubstr("numbered from 1"));
}

TEST_F(WorkPlans, SayWhatIsDamaged) {
  replace(R"("kind":1,"seconds":2.0)", R"("kind":7,"seconds":2.0)");
  EXPECT_THAT(read_work_plan(folder_).error().message, HasSubstr("a chunk names a kind that isn't there"));
  EXPECT_FALSE(read_work_plan(folder_, 2).ok());
  EXPECT_TRUE(read_work_plan(folder_, 3).ok());
}

TEST_F(WorkPlans, OfAnotherFormatAreRefused) {
  replace(R"("assay_plan":1)", R"("assay_plan":2)");
  EXPECT_THAT(read_work_plan(folder_).error().message, HasSubstr("no plan of format 1"));
}

TEST_F(WorkPlans, CutShortAreRefused) {
  std::string text = core::read_file(folder_.plan()).value();
  text.resize(text.rfind('\n', text.size() - 2) + 1);
  ASSERT_TRUE(core::write_file(folder_.plan(), text).ok());
  EXPECT_THAT(read_work_plan(folder_).error().message, HasSubstr("line 6: the file ends before it"));
  EXPECT_TRUE(read_work_plan(folder_, 1).ok()) << "a chunk needs no more than its line";
}

TEST_F(WorkPlans, GoIntoNewFoldersOnly) {
  EXPECT_THAT(write_work_plan(plan_, folder_).error().message, HasSubstr("exists already"));
}

TEST(CombinedMachines, AreOneWhereTheyAreAlike) {
  const results::Machine one{"A", "avx2", 8, "Linux", "GPU"};
  const results::Machine same = combined({one, one});
  EXPECT_EQ(same.cpu, "A");
  EXPECT_EQ(same.cores, 8);
  const results::Machine both = combined({{"B", "avx512", 4, "Linux", ""}, one});
  EXPECT_EQ(both.cpu, "A; B");
  EXPECT_EQ(both.features, "avx2; avx512");
  EXPECT_EQ(both.cores, 4);
  EXPECT_EQ(both.system, "Linux");
  EXPECT_EQ(both.accelerators, "GPU");
}

TEST(Shards, AreEveryNthItem) {
  EXPECT_THAT(shard_of(5, 2, 2).items, ElementsAre(1, 3));
  EXPECT_THAT(shard_of(5, 1, 2).items, ElementsAre(0, 2, 4));
  EXPECT_TRUE(shard_of(1, 2, 2).items.empty());
  EXPECT_EQ(shard_of(5, 2, 2).name, "shard 2/2");
}

}  // namespace
}  // namespace assay::run
