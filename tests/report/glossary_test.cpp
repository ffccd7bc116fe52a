#include "harness/report/glossary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "converters/converter.hpp"
#include "harness/core/files.hpp"
#include "harness/corpus/data_sets.hpp"
#include "harness/judge/evidence/style_name.hpp"
#include "harness/judge/evidence/verdict.hpp"
#include "tests/support/source_tree.hpp"

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

## inputs_N

A data set of your own.
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

TEST(Glossary, FindsAHeadWithItsUnitAndANumberedName) {
  EXPECT_EQ(kGlossary.find("SQNR dB")->word, "SQNR (dB)");
  EXPECT_EQ(kGlossary.find("SQNR, dB")->word, "SQNR (dB)");
  EXPECT_EQ(kGlossary.find("inputs_2")->word, "inputs_N");
  EXPECT_EQ(kGlossary.find("inputs_17")->word, "inputs_N");
  EXPECT_EQ(kGlossary.find("inputs_"), nullptr);
  EXPECT_EQ(kGlossary.find("margin 2"), nullptr);
}

TEST(Glossary, ExplainsBothWordsOfAPlaceThatAVerdictPrints) {
  const auto both = kGlossary.explained("gate/zero_point");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->text, "gate, red, amber\nWhat decides the exit code.\n\nzero_point\nThe quantized value of 0.");
  EXPECT_EQ(kGlossary.explained("zero_point")->text, "The quantized value of 0.");
  EXPECT_FALSE(kGlossary.explained("gate/nothing"));
}

TEST(Glossary, ListsItsWords) {
  EXPECT_THAT(kGlossary.words(), ElementsAre("margin", "zero_point", "SQNR (dB)", "gate, red, amber", "inputs_N"));
}

template <typename E, typename Name>
void add_words(std::vector<std::string>& words, E last, const Name& name) {
  for (int i = 0; i <= static_cast<int>(last); ++i) words.emplace_back(name(static_cast<E>(i)));
}

/// Every word that verdicts and options are made of, from the program's own lists.
std::vector<std::string> words_of_the_program() {
  std::vector<std::string> words = corpus::known_data_sets();
  for (const judge::Verdict verdict : judge::all_verdicts()) words.emplace_back(judge::verdict_name(verdict));
  add_words(words, judge::Gate::neutral, judge::gate_name);
  add_words(words, judge::Stage::judge, judge::stage_name);
  add_words(words, judge::Facet::resources, judge::facet_name);
  add_words(words, converters::Method::given, converters::method_name);
  for (const auto& style : judge::words(judge::StyleName{})) words.emplace_back(style.text);
  for (const auto& kind : converters::words(converters::ArtifactKind{})) words.emplace_back(kind.text);
  converters::Options options;
  options.method = converters::Method::percentile;
  options.precision = {{"Conv", "fp32"}};
  options.cache = "table";
  const nlohmann::json json = nlohmann::json::parse(converters::options_to_json(options));
  for (const auto& [key, value] : json.items()) words.push_back(key);
  return words;
}

TEST(Glossary, KnowsTheWordsThatTheProgramPrints) {
  const Glossary glossary(core::read_file(test::source_tree() / "docs" / "glossary.md").value());
  std::vector<std::string> words = words_of_the_program();
  // Words of lines and sentences, which stand in no list.
  for (const char* word : {"L0",
                           "L1",
                           "L2",
                           "L3",
                           "SQNR",
                           "margin",
                           "cause",
                           "steps",
                           "worst",
                           "seed",
                           "judged (n/N)",
                           "nodes judged n/N",
                           "int8 (n/N)",
                           "asymmetric",
                           "per_tensor",
                           "calibration",
                           "converter",
                           "reference",
                           "oracle",
                           "engine",
                           "Q/DQ",
                           "fused",
                           "range",
                           "mutant",
                           "quant_pre_process",
                           "fp16",
                           "fp32",
                           "first wrong",
                           "inputs_2",
                           "local dB",
                           "nodes judged",
                           "calibrated range"}) {
    words.emplace_back(word);
  }
  for (const std::string& word : words) {
    const auto entry = glossary.explained(word);
    EXPECT_TRUE(entry && !entry->text.empty()) << word;
  }
}

}  // namespace
}  // namespace assay::report
