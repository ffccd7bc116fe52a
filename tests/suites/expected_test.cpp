#include "harness/suites/expected.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace assay::suites {
namespace {

using judge::Facet;
using judge::Gate;
using judge::Stage;
using judge::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const results::JobKey kKey{"gemm/beta=2", "default", "other", "1.4.0"};

corpus::ExpectedFailure expectation() {
  corpus::ExpectedFailure entry;
  entry.case_pattern = "gemm/*";
  entry.converter = "other";
  entry.stage = "judge";
  entry.facet = "bias";
  entry.reason = "expected bias";
  entry.url = "https://example.org/1";
  entry.margin = 3;
  return entry;
}

judge::Judgement obtained(Verdict verdict) {
  judge::Judgement judgement;
  judgement.verdict = verdict;
  judgement.gate = judge::default_gate(verdict);
  judgement.stage = Stage::judge;
  judgement.facet = Facet::bias;
  judgement.reason = "expected bias 2, actual 1";
  judgement.margin = 4;
  return judgement;
}

/// What the verdict becomes, and whether the entry was met by it.
struct Outcome {
  Verdict verdict;
  Gate gate;
  bool met;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome apply(const corpus::ExpectedFailure& entry, judge::Judgement judgement) {
  ExpectedFailures expected({entry});
  expected.apply(kKey, judgement);
  return {judgement.verdict, judgement.gate, expected.unused().empty()};
}

TEST(ExpectedFailures, KnowTheMachine) {
  results::Machine machine;
  machine.features = "avx2,avx512_vnni";
  machine.accelerators = "2 x NVIDIA H100 80GB HBM3, driver 580.1; NVIDIA L4, driver 580.1";
  const auto holds = [&](const char* patterns) {
    corpus::ExpectedFailure entry = expectation();
    entry.machine = patterns;
    return holds_on(entry, machine);
  };
  EXPECT_TRUE(holds(""));
  EXPECT_TRUE(holds("avx512_vnni"));
  EXPECT_TRUE(holds("amx_int8 avx2")) << "one of them is enough";
  EXPECT_FALSE(holds("amx_int8"));
  EXPECT_FALSE(holds("avx2 !avx512_vnni"));
  EXPECT_TRUE(holds("!amx_int8"));
  EXPECT_TRUE(holds("*NVIDIA_H100*"));
  EXPECT_TRUE(holds("NVIDIA_L4,*"));
  EXPECT_FALSE(holds("*NVIDIA_H200*"));
  machine.features = "avx2; avx2,amx_int8";  // of several machines
  EXPECT_TRUE(holds("amx_int8"));
}

TEST(ExpectedFailures, OfAnotherMachineHoldNothing) {
  corpus::ExpectedFailure entry = expectation();
  entry.machine = "amx_int8";
  results::Machine machine;
  machine.features = "avx2";
  ExpectedFailures elsewhere({entry}, true, machine);
  judge::Judgement failed = obtained(Verdict::fail), passed = obtained(Verdict::pass);
  EXPECT_EQ(elsewhere.apply(kKey, failed), nullptr);
  EXPECT_EQ(failed.verdict, Verdict::fail);
  elsewhere.apply(kKey, passed);
  EXPECT_EQ(passed.verdict, Verdict::pass);
  EXPECT_THAT(elsewhere.unused(), IsEmpty());
  machine.features = "avx2,amx_int8";
  ExpectedFailures here({entry}, true, machine);
  EXPECT_THAT(here.unused(), testing::SizeIs(1));
  EXPECT_NE(here.apply(kKey, failed), nullptr);
  EXPECT_EQ(failed.verdict, Verdict::xfail);
}

TEST(ExpectedFailures, CoverAFailureAsItIsDescribed) {
  for (const Verdict verdict : {Verdict::fail, Verdict::not_quantized, Verdict::refused}) {
    EXPECT_EQ(apply(expectation(), obtained(verdict)), (Outcome{Verdict::xfail, Gate::green, true}));
  }
}

TEST(ExpectedFailures, AreRedWhereTheFailureIsAnother) {
  const Outcome changed{Verdict::xfail_changed, Gate::red, true};
  judge::Judgement judgement = obtained(Verdict::fail);
  judgement.stage = Stage::artifact;
  EXPECT_EQ(apply(expectation(), judgement), changed) << "another stage";
  judgement = obtained(Verdict::fail);
  judgement.facet = Facet::scale;
  EXPECT_EQ(apply(expectation(), judgement), changed) << "another facet";
  judgement = obtained(Verdict::fail);
  judgement.reason = "actual bias is NaN";
  EXPECT_EQ(apply(expectation(), judgement), changed) << "another reason";
  judgement = obtained(Verdict::fail);
  judgement.margin = 6.1;
  EXPECT_EQ(apply(expectation(), judgement), changed) << "more than twice the recorded margin";
  judgement.margin = 6;
  EXPECT_EQ(apply(expectation(), judgement), (Outcome{Verdict::xfail, Gate::green, true})) << "not more than twice";
}

TEST(ExpectedFailures, AreRedWhereNothingFails) {
  EXPECT_EQ(apply(expectation(), obtained(Verdict::pass)), (Outcome{Verdict::xpass, Gate::red, true}));
}

TEST(ExpectedFailures, OfOneKindCoverNoCrash) {
  for (const Verdict verdict : {Verdict::crash, Verdict::timeout, Verdict::oom}) {
    judge::Judgement judgement = obtained(verdict);
    judgement.reason = "signal 11";
    EXPECT_EQ(apply(expectation(), judgement), (Outcome{verdict, Gate::red, true}));
    judgement.facet.reset();
    corpus::ExpectedFailure entry = expectation();
    entry.facet.clear();
    EXPECT_EQ(apply(entry, judgement), (Outcome{verdict, Gate::red, true})) << "its reason is another";
    entry.reason = "signal 11";
    EXPECT_EQ(apply(entry, judgement), (Outcome{Verdict::xfail, Gate::green, true}));
  }
}

TEST(ExpectedFailures, AreNotMetByWhatSaysNothing) {
  for (const Verdict verdict : {Verdict::unsupported, Verdict::skipped, Verdict::not_run, Verdict::mistrusted,
                                Verdict::invalid_case, Verdict::harness_error}) {
    EXPECT_EQ(apply(expectation(), obtained(verdict)), (Outcome{verdict, judge::default_gate(verdict), false}));
  }
}

TEST(ExpectedFailures, StayOpenInAShardThatSaysNothingOfThem) {
  ExpectedFailures shard({expectation()}, false), whole({expectation()}, true);
  for (ExpectedFailures* expected : {&shard, &whole}) {
    judge::Judgement judgement = obtained(Verdict::unsupported);
    expected->apply(kKey, judgement);
  }
  EXPECT_THAT(shard.unused(), IsEmpty()) << "what meets it may lie in another shard";
  EXPECT_THAT(whole.unused(), ElementsAre(HasSubstr("was met by no verdict")));
}

TEST(ExpectedFailures, CoverNothingOnceExpired) {
  corpus::ExpectedFailure entry = expectation();
  entry.until = "2026-01-31";
  ExpectedFailures expected({entry});
  judge::Judgement judgement = obtained(Verdict::fail);
  expected.apply(kKey, judgement);
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_THAT(expected.unused(), ElementsAre(HasSubstr("expired on 2026-01-31")));
  entry.until = "9999-12-31";
  EXPECT_EQ(apply(entry, obtained(Verdict::fail)), (Outcome{Verdict::xfail, Gate::green, true}));
}

TEST(ExpectedFailures, SpeakOfTheirOwnVerdictsOnly) {
  const Outcome untouched{Verdict::fail, Gate::red, false};
  corpus::ExpectedFailure entry = expectation();
  entry.case_pattern = "conv/*";
  EXPECT_EQ(apply(entry, obtained(Verdict::fail)), untouched);
  entry = expectation();
  entry.options = "uint8";
  EXPECT_EQ(apply(entry, obtained(Verdict::fail)), untouched);
  entry = expectation();
  entry.converter = "another";
  EXPECT_EQ(apply(entry, obtained(Verdict::fail)), untouched);
  entry = expectation();
  entry.versions = ">=1.5";
  EXPECT_EQ(apply(entry, obtained(Verdict::fail)), untouched);
  entry.versions = "1.2.*,>=1.3 <1.5";
  EXPECT_EQ(apply(entry, obtained(Verdict::fail)), (Outcome{Verdict::xfail, Gate::green, true}));
}

TEST(ExpectedFailures, SpeakOfSeveralConvertersAndOptionSetsButThoseThatAreMeantNot) {
  corpus::ExpectedFailure entry = expectation();
  entry.converter = "another oth* !other:fast";
  entry.options = "!symmetric !uint8";
  EXPECT_EQ(apply(entry, obtained(Verdict::fail)).verdict, Verdict::xfail);
  entry.options = "symmetric !default";
  EXPECT_EQ(apply(entry, obtained(Verdict::fail)).verdict, Verdict::fail);
  entry.options = "symmetric default";
  EXPECT_EQ(apply(entry, obtained(Verdict::fail)).verdict, Verdict::xfail);
  entry.converter = "oth* !other";
  EXPECT_EQ(apply(entry, obtained(Verdict::fail)).verdict, Verdict::fail);
}

TEST(ExpectedFailures, AreAskedOfTheConvertersThatRun) {
  corpus::ExpectedFailure old = expectation(), dead = expectation();
  old.versions = "<1.4";
  dead.case_pattern = "nothing/*";
  const std::array planned{kKey};
  EXPECT_EQ(of_a_run({expectation(), old, dead}, planned, true).size(), 2U) << "a dead pattern is found in a whole run";
  EXPECT_EQ(of_a_run({expectation(), old, dead}, planned, false).size(), 1U);
}

TEST(ExpectedFailures, ThatACaseStatesAreAskedForWhereItsFamilyIsPlanned) {
  corpus::ExpectedFailure own = expectation(), dead = expectation(), elsewhere = expectation(), alike = expectation();
  own.family = dead.family = "gemm";
  dead.case_pattern = "gemm/beta=3";
  elsewhere.family = "conv";
  alike.family = "gem";
  const std::array planned{kKey};
  const auto asked = of_a_run({own, dead, elsewhere, alike}, planned, true);
  ASSERT_EQ(asked.size(), 2U) << "a dead pattern of a family that is there is found, too";
  EXPECT_EQ(asked[0].family, "gemm");
  EXPECT_EQ(asked[1].case_pattern, "gemm/beta=3");
}

TEST(ExpectedFailures, AreMetByVerdictsRecordedBefore) {
  ExpectedFailures expected({expectation()});
  expected.recall(kKey, "fail");
  EXPECT_THAT(expected.unused(), ElementsAre(HasSubstr("was met by no verdict")));
  expected.recall(kKey, "xfail");
  EXPECT_THAT(expected.unused(), IsEmpty());
}

}  // namespace
}  // namespace assay::suites
