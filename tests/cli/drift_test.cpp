// Accepted anchors, drift against them, and exit code 4 (docs/drift.md).
#include <gmock/gmock.h>

#include <cmath>
#include <optional>

#include "results/store.hpp"
#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Drift : public HomeTest {
 protected:
  void accept() const {
    const Call call = run({"accept", "--db", "h.db", "--reason", "as released"});
    ASSERT_EQ(call.code, 0) << call.out << call.err;
  }
  /// The embedded converter as an outside program, what it says passed through sed.
  [[nodiscard]] std::string edited(const std::string& expression) const {
    write("edited.sh", std::string(ASSAY_PROGRAM) + " worker | sed -u '" + expression + "'\n");
    return "sh " + path("edited.sh").string();
  }
  /// A complete run of simulated verdicts by converter "c": `families` of one case each, their SQNR by index.
  template <typename Sqnr>
  void record(const std::string& version, std::size_t families, Sqnr sqnr_db, const std::string& verdict = "pass") {
    core::Result<results::Store> store = results::Store::open(path("h.db"));
    ASSERT_TRUE(store.ok());
    std::vector<results::JobKey> keys;
    for (std::size_t f = 0; f < families; ++f) {
      keys.push_back({"f" + std::to_string(f) + "/a", "default", "c", version});
    }
    const std::string id = store->begin_run({}, keys).value();
    for (std::size_t f = 0; f < families; ++f) {
      results::ResultRow row;
      row.key = keys[f];
      row.family = "f" + std::to_string(f);
      row.case_hash = "aa";
      row.verdict = f == 0 ? verdict : "pass";
      row.stage = "judge";
      row.facet = row.verdict == "pass" ? "" : "scale";
      row.reason = row.verdict == "pass" ? "" : "tensor \"x\": expected scale 1, actual 2\n  its neighbour's";
      row.sqnr_db = 30 + sqnr_db(f);
      row.margin = margin_;
      row.started_at = "2026-01-01T00:00:" + std::to_string(10 + clock_++);
      ASSERT_TRUE(store->record(id, row).ok());
    }
    ASSERT_TRUE(store->finish_run(id).ok());
  }

  std::optional<double> margin_;  ///< of what is recorded from here on

 private:
  int clock_ = 0;
};

TEST_F(Drift, AChangedVerdictSaysWhatWasFound) {
  const auto as_it_was = [](std::size_t) { return 0.0; };
  record("1", 2, as_it_was);
  record("2", 2, as_it_was, "fail");
  record("3", 2, as_it_was, "fail");
  const Call drift = run({"drift", "--db", "h.db", "--converter", "c", "--from", "1", "--to", "3"});
  EXPECT_THAT(drift.out,
              HasSubstr("pass → fail (judge/scale)\n               now: tensor \"x\": expected scale 1, actual 2\n"));
  const Call back = run({"drift", "--db", "h.db", "--converter", "c", "--from", "3", "--to", "1"});
  EXPECT_THAT(back.out, HasSubstr("before: tensor \"x\""));
  const nlohmann::json changed = run({"history", "--changed", "--json", "--db", "h.db"}).json()["history"];
  ASSERT_EQ(changed.size(), 2U) << changed;
  EXPECT_EQ(changed[0]["version"], "1");
  EXPECT_EQ(changed[1]["version"], "2");
  EXPECT_THAT(changed[1]["message"].get<std::string>(), HasSubstr("its neighbour's"));
  const Call plots = run({"history", "--changed", "--db", "h.db"});
  EXPECT_THAT(plots.out, HasSubstr("fail (judge/scale)\n                 tensor \"x\": expected scale 1, actual 2\n"));
  EXPECT_THAT(plots.out, HasSubstr("1 of 2 series changed\n"));
  EXPECT_THAT(plots.out, Not(HasSubstr("f1/a")));
}

TEST_F(Drift, WithoutAnchorsARunIsAsItWas) {
  ASSERT_EQ(run({"run", "--db", "h.db"}).code, 0);
  const Call call = run({"run", "--db", "h.db", "--variant", "multiplier_31"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, Not(HasSubstr("anchor")));
}

TEST_F(Drift, TheSameAgainIsNone) {
  ASSERT_EQ(run({"run", "--db", "h.db"}).code, 0);
  accept();
  const Call call = run({"run", "--db", "h.db", "--json"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_EQ(call.json()["drift"]["compared"], 2);
  EXPECT_EQ(call.json()["drift"]["changes"].size(), 0U);
}

TEST_F(Drift, OtherCorrectArithmeticIsNone) {
  ASSERT_EQ(run({"run", "--db", "h.db"}).code, 0);
  accept();
  for (const char* variant : {"multiplier_31", "round_half_away", "reciprocal_scale"}) {
    const Call call = run({"run", "--db", "h.db", "--variant", variant});
    EXPECT_EQ(call.code, 0) << call.out << call.err;
  }
}

// A converter that no longer declares a method is unsupported: neutral, so that only drift shows it.
TEST_F(Drift, IsFourWhenNothingIsRedAndAVerdictChanged) {
  ASSERT_EQ(run({"run", "--db", "h.db", "--converter-cmd", edited("s/a/a/")}).code, 0);
  accept();
  const std::string poorer = edited(R"(s/"method":\[[^]]*\]/"method":["entropy"]/)");
  const Call call = run({"run", "--db", "h.db", "--converter-cmd", poorer});
  EXPECT_EQ(call.code, 4) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("drift: mini/stride=1"));
  EXPECT_THAT(call.out, HasSubstr("as released"));
  EXPECT_THAT(call.out, HasSubstr("pass → unsupported"));
  EXPECT_THAT(call.out, HasSubstr("/assay accept --run "));
  EXPECT_EQ(run({"run", "--db", "h.db", "mini/stride=1", "--converter-cmd", poorer}).code, 4);
}

TEST_F(Drift, IsFourWhenTheSqnrLeavesItsAnchorAndZeroOnceThatIsAccepted) {
  const Call first = run({"run", "--db", "h.db", "--json"});
  ASSERT_EQ(first.code, 0);
  {
    // An older version that was better by 2 dB.
    core::Result<results::Store> store = results::Store::open(path("h.db"));
    ASSERT_TRUE(store.ok());
    std::vector<results::ResultRow> rows = store->results(first.json()["run"].get<std::string>()).value();
    std::vector<results::JobKey> keys;
    for (results::ResultRow& row : rows) {
      row.key.version = "0.0.9";
      *row.sqnr_db += 2;
      keys.push_back(row.key);
    }
    const std::string id = store->begin_run({}, keys).value();
    for (const results::ResultRow& row : rows) {
      ASSERT_TRUE(store->record(id, row).ok());
    }
    ASSERT_TRUE(store->finish_run(id).ok());
  }
  accept();
  const Call worse = run({"run", "--db", "h.db", "--json"});
  EXPECT_EQ(worse.code, 4) << worse.out << worse.err;
  const nlohmann::json drift = worse.json()["drift"];
  ASSERT_EQ(drift["changes"].size(), 2U);
  EXPECT_EQ(drift["changes"][0]["anchor_version"], "0.0.9");
  EXPECT_EQ(drift["changes"][0]["changes"][0]["kind"], "sqnr");
  EXPECT_NEAR(drift["changes"][0]["changes"][0]["delta"].get<double>(), -2, 1e-9);

  ASSERT_EQ(run({"accept", "mini/stride=1", "--db", "h.db", "--reason", "known loss"}).code, 0);
  EXPECT_EQ(run({"run", "mini/stride=1", "--db", "h.db"}).code, 0);
  EXPECT_EQ(run({"run", "--db", "h.db"}).code, 4) << "the other case was not accepted";
}

TEST_F(Drift, ARedVerdictComesFirst) {
  ASSERT_EQ(run({"run", "--db", "h.db"}).code, 0);
  accept();
  const Call call = run({"run", "--db", "h.db", "--fault", "bias_dropped"});
  EXPECT_EQ(call.code, 1) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("pass → fail (artifact/bias)"));
}

TEST_F(Drift, AnEditedCaseStartsANewSeries) {
  ASSERT_EQ(run({"run", "--db", "h.db"}).code, 0);
  accept();
  std::string family = kMiniFamily;
  family.replace(family.find("[-3, 2]"), 7, "[-9, 4]");
  write("cases/mini.json", family);
  const Call call = run({"run", "--db", "h.db"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, Not(HasSubstr("drift:")));
}

TEST_F(Drift, AcceptRefusesWhatItCannotMean) {
  EXPECT_EQ(run({"accept", "--db", "none.db", "--reason", "r"}).code, 2);
  ASSERT_EQ(run({"run", "--db", "h.db"}).code, 0);
  EXPECT_EQ(run({"accept", "--db", "h.db"}).code, 2) << "no reason";
  EXPECT_THAT(run({"accept", "--db", "h.db", "--reason", " "}).err, HasSubstr("--reason is empty"));
  EXPECT_THAT(run({"accept", "minni", "--db", "h.db", "--reason", "r"}).err, HasSubstr("near it: mini"));
  EXPECT_THAT(run({"accept", "--db", "h.db", "--reason", "r", "--converter", "other"}).err,
              HasSubstr("no complete run with verdicts of converter \"other\""));
  EXPECT_THAT(run({"accept", "--db", "h.db", "--reason", "r", "--run", "1234"}).err, HasSubstr("no run 1234"));
}

TEST_F(Drift, AcceptTakesASuiteAConverterAndARun) {
  const Call first = run({"run", "--db", "h.db", "--json"});
  ASSERT_EQ(run({"run", "mini/stride=1", "--db", "h.db"}).code, 0);
  EXPECT_THAT(run({"accept", "--db", "h.db", "--reason", "r"}).out, HasSubstr(": 1 verdict is an anchor now"));
  const std::string id = first.json()["run"].get<std::string>();
  const Call all = run({"accept", "default", "--db", "h.db", "--reason", "r", "--run", id, "--converter", "embedded"});
  EXPECT_THAT(all.out, HasSubstr(": 2 verdicts are anchors now")) << all.err;
}

TEST_F(Drift, BetweenVersionsAStepIsFoundWithItsFirstVersion) {
  record("1.9", 12, [](auto) { return 0.0; });
  record(
      "1.10", 12, [](auto f) { return f == 0 ? -6.0 : 0.0; }, "xfail");
  record(
      "1.11", 12, [](auto f) { return f == 0 ? -6.0 : 0.0; }, "xfail");
  const Call call = run({"drift", "--converter", "c", "--from", "1.9", "--db", "h.db", "--json"});
  EXPECT_EQ(call.code, 4) << call.out << call.err;
  const nlohmann::json json = call.json();
  EXPECT_EQ(json["to"], "1.11");
  EXPECT_EQ(json["compared"], 12);
  ASSERT_EQ(json["changes"].size(), 1U);
  EXPECT_EQ(json["changes"][0]["since"], "1.10");
  EXPECT_EQ(json["changes"][0]["stage"], "judge");
  EXPECT_EQ(json["changes"][0]["facet"], "scale");
  const Call text = run({"drift", "--converter", "c", "--from", "1.9", "--to", "1.10", "--db", "h.db"});
  EXPECT_THAT(text.out, HasSubstr("since 1.10"));
  EXPECT_THAT(text.out, HasSubstr("30.00 → 24.00 dB"));
}

TEST_F(Drift, BetweenVersionsACreepIsFoundAgainstWhatWasAccepted) {
  // 0.1 dB a version in every family: no step between neighbours is material, two of them are.
  record("1.0", 12, [](auto) { return 0.0; });
  accept();
  record("1.1", 12, [](auto) { return -0.1; });
  EXPECT_EQ(run({"drift", "--converter", "c", "--db", "h.db"}).code, 0);
  record("1.2", 12, [](auto) { return -0.2; });
  EXPECT_EQ(run({"drift", "--converter", "c", "--from", "1.1", "--to", "1.2", "--db", "h.db"}).code, 0);
  const Call call = run({"drift", "--converter", "c", "--db", "h.db"});
  EXPECT_EQ(call.code, 4) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("12 of 12 families moved, their median by -0.200 dB, p 0.00049: drifted"));
}

TEST_F(Drift, BetweenVersionsFewFamiliesAreSaidToBeFew) {
  record("1.0", 10, [](auto) { return 0.0; });
  record("1.1", 10, [](auto) { return -0.5; });
  const Call call = run({"drift", "--converter", "c", "--from", "1.0", "--db", "h.db"});
  EXPECT_EQ(call.code, 0) << call.out << call.err;
  EXPECT_THAT(call.out, HasSubstr("too few for the test, which needs 11"));
}

TEST_F(Drift, UnknownConvertersAndVersionsAreRefusedWithWhatThereIs) {
  record("1.0", 1, [](auto) { return 0.0; });
  EXPECT_THAT(run({"drift", "--converter", "d", "--db", "h.db"}).err, HasSubstr("no verdicts of converter \"d\""));
  const Call version = run({"drift", "--converter", "c", "--from", "0.9", "--db", "h.db"});
  EXPECT_EQ(version.code, 2);
  EXPECT_THAT(version.err, HasSubstr("it has: 1.0"));
  EXPECT_EQ(run({"drift", "--converter", "c", "--from", "1.0", "--db", "h.db"}).code, 2) << "with itself";
  EXPECT_EQ(run({"drift", "--converter", "c", "--db", "h.db"}).code, 5) << "nothing is accepted";
}

TEST_F(Drift, MarginsHaveFourDigitsAtMost) {
  const auto record_margin = [&](const std::string& version, double margin) {
    margin_ = margin;
    record(version, 1, [](std::size_t) { return 0.0; });
  };
  record_margin("1.0", 0.5);
  record_margin("1.1", 175772173409820929855247480912050885530484736.0);
  record_margin("1.2", HUGE_VAL);
  const auto said = [&](const std::string& to) {
    return run({"drift", "--converter", "c", "--from", "1.0", "--to", to, "--db", "h.db"}).out;
  };
  EXPECT_THAT(said("1.1"), HasSubstr("margin     0.500 → over a million (error ÷ limit; beyond 1 is wrong)\n"));
  EXPECT_THAT(said("1.2"), HasSubstr("margin     0.500 → ∞ (error ÷ limit; beyond 1 is wrong)\n"));
}

TEST_F(Drift, OneCaseIsPlottedByVersion) {
  record("1.9", 1, [](std::size_t) { return 0.0; });
  record(
      "1.10", 1, [](std::size_t) { return 4.0; }, "fail");
  record(
      "1.11", 1, [](std::size_t) { return 2.0; }, "fail");
  const Call call = run({"history", "f0/a", "--db", "h.db"});
  EXPECT_EQ(call.code, 0) << call.err;
  EXPECT_THAT(call.out,
              HasSubstr("  1.9              30.00 dB *                                       |  pass\n"
                        "  1.10             34.00 dB |                                       *  fail (judge/scale)\n"
                        "                 tensor \"x\": expected scale 1, actual 2\n"
                        "  1.11             32.00 dB |                   *                   |  fail (judge/scale)\n"
                        "  fail (judge/scale) since 1.10\n"));
  EXPECT_THAT(call.out,
              testing::StartsWith("f0/a  default  c@1.11  fail (judge/scale) since 1.10  32.0 dB  (3 verdicts, "
                                  "3 versions)\n"));
  EXPECT_THAT(call.out, Not(HasSubstr("Z  fail"))) << "every verdict is for -v";
  EXPECT_THAT(run({"history", "f0/a", "--db", "h.db", "-v"}).out, HasSubstr("Z  fail          f0/a  default  c@1.10"));
}

TEST_F(Drift, TheHistorySaysSinceWhenACaseIsBrokenAndIsLimitedToAConverter) {
  record("1.9", 1, [](std::size_t) { return 0.0; });
  record(
      "1.10", 1, [](std::size_t) { return 4.0; }, "fail");
  record(
      "1.11", 1, [](std::size_t) { return 2.0; }, "crash");
  const auto history = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"history", "f0/a", "--db", "h.db"});
    return run(more);
  };
  EXPECT_THAT(history({}).out, HasSubstr("crash (judge/scale) since 1.11; broken since 1.10"));
  EXPECT_THAT(history({"--since", "1.11"}).out, HasSubstr("since 1.11; broken since 1.10"));
  EXPECT_EQ(history({"--since", "1.12"}).out, "of 1 series none has become what it is since 1.12\n");
  EXPECT_EQ(history({"--since", "1.12", "--json"}).json()["history"].size(), 0U);
  EXPECT_THAT(history({"--converter", "c@1.10"}).out, HasSubstr("fail (judge/scale) since 1.10, the oldest"));
  EXPECT_EQ(history({"--converter", "other"}).code, 5);
  record("1.12", 1, [](std::size_t) { return 0.0; });
  EXPECT_THAT(history({}).out, HasSubstr("pass since 1.12; before, broken since 1.10"));
  const Call misspelt = run({"history", "f0/b", "--db", "h.db"});
  EXPECT_EQ(misspelt.code, 5);
  EXPECT_THAT(misspelt.err, HasSubstr("no recorded case matches \"f0/b\"; near it: f0/a"));
}

TEST_F(Drift, TheHistoryOfManyCasesIsALineForEach) {
  record("1.0", 3, [](std::size_t f) { return static_cast<double>(f); });
  record("1.1", 3, [](std::size_t f) { return static_cast<double>(f); });
  const Call call = run({"history", "--db", "h.db"});
  EXPECT_EQ(call.out,
            "f0/a  default  c@1.1  pass since 1.0, the oldest recorded  30.0 dB  (2 verdicts, 2 versions)\n"
            "f1/a  default  c@1.1  pass since 1.0, the oldest recorded  31.0 dB  (2 verdicts, 2 versions)\n"
            "f2/a  default  c@1.1  pass since 1.0, the oldest recorded  32.0 dB  (2 verdicts, 2 versions)\n"
            "6 verdicts of 3 cases; -v lists every verdict and plots each series\n");
  const std::string whole = run({"history", "--db", "h.db", "--verbose"}).out;
  EXPECT_THAT(whole, testing::AllOf(HasSubstr("Z  pass          f2/a"), HasSubstr("  1.0              32.00 dB")));
}

}  // namespace
}  // namespace assay::test
