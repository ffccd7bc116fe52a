#include "harness/judge/evidence/verdict.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace assay::judge
