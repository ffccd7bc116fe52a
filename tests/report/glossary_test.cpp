#include "harness/report/glossary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::report {
namespace {

using testing::ElementsAre;

const Glossary kGlossary(R"(# The words

Before any word.

## margin

Error divided by its limit ([how](oracle.md#limits)).
Above 1 it fails.

### an example

2.5 is far off.

## `zero_point`

The quantized value of 0.

## SQNR (dB)

Signal to noise.

## gate, red, amber

What decides the exit code.
)");

TEST(Glossary, HasTheTextUnderEachHeadingWithoutAddresses) {
  const GlossaryEntry* entry = kGlossary.find("margin");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->text, "Error divided by its limit (how).\nAbove 1 it fails.\n\n### an example\n\n2.5 is far off.");
}

TEST(Glossary, FindsAWordHoweverItIsWritten) {
  for (const char* word : {"Zero-Point", "zero point", "zero_point", "sqnr", "SQNR (dB)", "amber", "gate"}) {
    EXPECT_NE(kGlossary.find(word), nullptr) << word;
  }
  EXPECT_EQ(kGlossary.find("margins"), nullptr);
  EXPECT_EQ(kGlossary.find(""), nullptr);
}

TEST(Glossary, ExplainsBothWordsOfAPlaceThatAVerdictPrints) {
  const auto both = kGlossary.explained("gate/zero_point");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->text, "gate, red, amber\nWhat decides the exit code.\n\nzero_point\nThe quantized value of 0.");
  EXPECT_EQ(kGlossary.explained("zero_point")->text, "The quantized value of 0.");
  EXPECT_FALSE(kGlossary.explained("gate/nothing"));
}

TEST(Glossary, ListsItsWords) {
  EXPECT_THAT(kGlossary.words(), ElementsAre("margin", "zero_point", "SQNR (dB)", "gate, red, amber"));
}

}  // namespace
}  // namespace assay::report
