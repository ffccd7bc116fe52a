#include "harness/judge/evidence/verdict.hpp"

#include <gtest/gtest.h>

#include "harness/judge/evidence/verdict_margin.hpp"

#include <set>

namespace assay::judge {
namespace {

TEST(Verdict, NamesAreUniqueAndReadBack) {
  std::set<std::string_view> names;
  for (const Verdict verdict : all_verdicts()) {
    EXPECT_TRUE(names.insert(verdict_name(verdict)).second) << verdict_name(verdict);
    EXPECT_EQ(parse_verdict(verdict_name(verdict)), verdict);
  }
  EXPECT_EQ(names.size(), 17U);
  EXPECT_EQ(parse_verdict("passed"), std::nullopt);
  EXPECT_EQ(parse_verdict(""), std::nullopt);
}

TEST(Verdict, OnlyPassAndAnExpectedFailureAreGreen) {
  for (const Verdict verdict : all_verdicts()) {
    EXPECT_EQ(default_gate(verdict) == Gate::green, verdict == Verdict::pass || verdict == Verdict::xfail);
  }
  EXPECT_EQ(default_gate(Verdict::unsupported), Gate::neutral);
  EXPECT_EQ(default_gate(Verdict::not_run), Gate::red);
}

TEST(Verdict, WordsAreThoseOfTheDesign) {
  EXPECT_EQ(verdict_name(Verdict::not_quantized), "not-quantized");
  EXPECT_EQ(verdict_name(Verdict::xfail_changed), "xfail-changed");
  EXPECT_EQ(stage_name(Stage::load), "load");
  EXPECT_EQ(stage_name(Stage::float_run), "float");
  EXPECT_EQ(stage_name(Stage::judge), "judge");
  EXPECT_EQ(facet_name(Facet::status), "status");
  EXPECT_EQ(facet_name(Facet::zero_point), "zero_point");
  EXPECT_EQ(facet_name(Facet::resources), "resources");
  EXPECT_EQ(gate_name(Gate::amber), "amber");
}

TEST(VerdictMargin, AgreesWithTheVerdict) {
  const auto finding = [](Facet facet, double margin, bool amber = false) {
    Finding made;
    made.facet = facet;
    made.margin = margin;
    made.amber = amber;
    return made;
  };
  Judgement judgement;
  EXPECT_EQ(verdict_margin(judgement), std::nullopt);
  judgement.margin = 0.3477;
  EXPECT_EQ(verdict_margin(judgement), 0.3477);
  judgement.findings = {finding(Facet::scale, 900, true)};
  EXPECT_EQ(verdict_margin(judgement), 0.3477) << "a note is not red";
  judgement.findings = {finding(Facet::scale, 368), finding(Facet::scale, 900)};
  EXPECT_EQ(verdict_margin(judgement), 368);
  judgement.metrics = {{"y", "typical", "local_margin", 1.5}, {"s", "typical", "local_margin", 0.9}};
  EXPECT_EQ(verdict_margin(judgement), 368) << "run looks into no node, and says the same of the artifact";
  judgement.margin = 81.44;
  EXPECT_EQ(verdict_margin(judgement), 81.44) << "values come before parameters";
  judgement.margin = 0.3477;
  judgement.metrics.clear();
  judgement.findings = {finding(Facet::precision, 0)};
  EXPECT_EQ(verdict_margin(judgement), std::nullopt) << "none of what is red has one";
}

}  // namespace
}  // namespace assay::judge
