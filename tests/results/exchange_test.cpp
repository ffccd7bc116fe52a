#include "results/exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <sstream>
#include <thread>

#include "harness/core/files.hpp"

namespace assay::results {
namespace {

JobKey embedded_job(const std::string& name) { return {name, "default", "embedded", "0.1.0"}; }

ResultRow embedded_row(const std::string& name) {
  ResultRow row;
  row.key = embedded_job(name);
  row.verdict = "fail";
  row.reason = "a \"quoted\"\nreason — with Ünicode";
  row.margin = std::nan("");
  row.metrics = {{"y", "typical", "sqnr_db", HUGE_VAL}, {"y", "ties", "max_error", 0.1}};
  row.parameters = {{"w", {{static_cast<double>(0.1F), 0.25}, {-1, 3}, core::DType::uint8, 1, 16}}};
  row.findings = {{"judge", "scale", "c1", "Conv", "w", "", "L0", "off", 2.5}};
  row.attempts = {{"convert", 1, "timeout", "slow", 1.5}};
  row.expectation = ExpectationRow{"conv/*", "", "embedded", "", "judge", "scale", "off", "https://a.b", "", {}};
  row.detail = R"({"original":null})";
  return row;
}

class Exchange : public testing::Test {
 protected:
  Exchange() : folder_(core::TemporaryFolder::create().value()) {}
  [[nodiscard]] Store open(const std::string& name) const { return Store::open(folder_.path() / name).value(); }
  static std::string exported(Store& store) {
    std::ostringstream out;
    EXPECT_TRUE(export_lines(store, out).ok());
    return out.str();
  }
  static Store::MergeCount imported(Store& store, const std::string& lines) {
    std::istringstream in(lines);
    const auto count = import_lines(store, in);
    EXPECT_TRUE(count.ok()) << (count.ok() ? "" : count.error().message);
    return count.ok() ? *count : Store::MergeCount{};
  }

 private:
  core::TemporaryFolder folder_;
};

TEST_F(Exchange, ARunTravelsWhole) {
  Store here = open("here.db");
  const auto run = here.begin_run({}, {embedded_job("a"), embedded_job("b"), embedded_job("c")}).value();
  ASSERT_TRUE(here.record(run, embedded_row("a")).ok());
  ASSERT_TRUE(here.job_started(run, embedded_job("b")).ok());
  Store there = open("there.db");
  const auto count = imported(there, exported(here));
  EXPECT_EQ(count.runs, 1U);
  EXPECT_EQ(count.results, 1U);
  EXPECT_EQ(exported(there), exported(here));
  EXPECT_EQ(there.progress(run)->started, std::vector{embedded_job("b")});
  const auto back = there.results(run);
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(std::isnan(back->front().margin.value()));
  EXPECT_EQ(back->front().parameters.front().params, embedded_row("a").parameters.front().params);
}

TEST_F(Exchange, WhatWasAcceptedTravelsAndTheLastAcceptanceCounts) {
  Store here = open("here.db"), there = open("there.db");
  std::vector<std::string> runs;
  for (const char* reason : {"first", "second"}) {
    runs.push_back(here.begin_run({}, {embedded_job("a")}).value());
    ASSERT_TRUE(here.record(runs.back(), embedded_row("a")).ok());
    ASSERT_TRUE(here.accept(runs.back(), {embedded_job("a")}, reason).ok());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the clock's step is one
  ASSERT_TRUE(here.accept(runs[0], {embedded_job("a")}, "back again").ok());
  for (int time = 0; time < 2; ++time) imported(there, exported(here));
  EXPECT_EQ(exported(there), exported(here));
  EXPECT_EQ(there.accepted(runs[0])->size(), 2U);
  ASSERT_EQ(there.anchors()->size(), 1U);
  EXPECT_EQ(there.anchors()->front().reason, "back again");
}

TEST_F(Exchange, AcceptancesKeepTheirOrderOverAllRunsWhateverTheirDates) {
  Store here = open("here.db"), there = open("there.db");
  std::vector<std::string> runs;
  for (int number = 0; number < 2; ++number) {
    runs.push_back(here.begin_run({}, {embedded_job("a")}).value());
    ASSERT_TRUE(here.record(runs.back(), embedded_row("a")).ok());
  }
  for (const auto& [run, reason] : {std::pair(runs[1], "first"), {runs[0], "last"}}) {
    ASSERT_TRUE(here.accept(run, {embedded_job("a")}, reason).ok());
  }
  std::string lines = exported(here);  // with a clock that was set back between the two
  const std::size_t date = lines.find("\"accepted_at\":\"2");
  ASSERT_NE(date, std::string::npos);
  lines.replace(date + 15, 4, "2001");  // the first line's, which is of runs[0]: the last acceptance
  imported(there, lines);
  ASSERT_EQ(there.anchors()->size(), 1U);
  EXPECT_EQ(there.anchors()->front().reason, "last");
}

TEST_F(Exchange, ImportingTwiceChangesNothing) {
  Store here = open("here.db");
  const auto run = here.begin_run({}, {embedded_job("a")}).value();
  ASSERT_TRUE(here.record(run, embedded_row("a")).ok());
  Store there = open("there.db");
  imported(there, exported(here));
  const auto before = exported(there);
  EXPECT_EQ(imported(there, exported(here)).results, 0U);
  EXPECT_EQ(exported(there), before);
}

TEST_F(Exchange, ALaterExportCompletesAnEarlierOne) {
  Store here = open("here.db");
  const auto run = here.begin_run({}, {embedded_job("a"), embedded_job("b")}).value();
  ASSERT_TRUE(here.record(run, embedded_row("a")).ok());
  Store there = open("there.db");
  imported(there, exported(here));
  ASSERT_TRUE(here.record(run, embedded_row("b")).ok());
  ASSERT_TRUE(here.finish_run(run).ok());
  EXPECT_EQ(imported(there, exported(here)).results, 1U);
  EXPECT_EQ(exported(there), exported(here));
}

TEST_F(Exchange, ShardsOfTwoMachinesMeetInOneDatabase) {
  Store one = open("one.db");
  Store two = open("two.db");
  for (Store* store : {&one, &two}) {
    const auto run = store->begin_run({}, {embedded_job("a")}).value();
    ASSERT_TRUE(store->record(run, embedded_row("a")).ok());
  }
  imported(one, exported(two));
  EXPECT_EQ(one.runs()->size(), 2U);
  EXPECT_EQ(one.history("a")->size(), 2U);
}

TEST_F(Exchange, ABadLineIsNamedByItsNumber) {
  Store store = open("here.db");
  const auto error_of = [&](const std::string& lines) {
    std::istringstream in(lines);
    const auto count = import_lines(store, in);
    return count.ok() ? std::string() : count.error().message;
  };
  EXPECT_THAT(error_of("{"), testing::HasSubstr("line 1 can't be read"));
  EXPECT_THAT(error_of("{\"kind\":\"result\"}"), testing::HasSubstr("line 1 stands before any run"));
  EXPECT_THAT(error_of("{\"kind\":\"run\",\"format\":9}"), testing::HasSubstr("line 1 is of a newer format"));
  EXPECT_THAT(error_of("{\"kind\":\"run\",\"format\":1,\"planned\":2e123}"),
              testing::HasSubstr("an integer that fits is asked for, not 2e+123"));
  EXPECT_THAT(error_of("{\"kind\":\"run\",\"format\":1,\"id\":\"r\"}\n{\"kind\":\"song\"}"),
              testing::HasSubstr("line 2 has an unknown kind \"song\""));
  EXPECT_TRUE(store.runs()->empty());
}

}  // namespace
}  // namespace assay::results
