#include "harness/corpus/case_places.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "harness/corpus/suite.hpp"

namespace assay::corpus {
namespace {

constexpr const char* kFile = R"json({
  "title": "\"family\": \"not this\", {", "tags": ["family", "forms"],
  "family": "f",
  "calibration": {"forms": {"a": 1}},
  "forms": {
    "a": {"title": "b", "forms": {"b": {}}},
    "b": {}
  }
})json";

TEST(CasePlaces, AreTheLineOfTheFormOrOfTheFamily) {
  CasePlaces places;
  places.add("cases/f.json", kFile);
  EXPECT_EQ(places.of("f/form=a,x=1"), (CasePlace{"cases/f.json", 6}));
  EXPECT_EQ(places.of("f/form=b"), (CasePlace{"cases/f.json", 7}));
  EXPECT_EQ(places.of("f/form=unknown"), (CasePlace{"cases/f.json", 3}));
  EXPECT_EQ(places.of("f/x=1"), (CasePlace{"cases/f.json", 3}));
  EXPECT_EQ(places.of("f"), (CasePlace{"cases/f.json", 3}));
  EXPECT_FALSE(places.of("g"));
}

TEST(CasePlaces, EndWithATextThatIsNoJson) {
  for (const char* text : {"", "\"", "{\"family\": \"x\\", "]]}", "{\"a\""}) CasePlaces().add("x", text);
}

TEST(CasePlaces, AreFoundForEveryCaseOfTheCorpus) {
  const CasePlaces places = CasePlaces::read();
  const auto corpus = load_corpus();
  ASSERT_TRUE(corpus.ok());
  ASSERT_FALSE(corpus->empty());
  for (const Case& each : *corpus) {
    const auto place = places.of(each.name);
    ASSERT_TRUE(place) << each.name;
    EXPECT_EQ(home() / place->file, each.file) << each.name;
  }
}

}  // namespace
}  // namespace assay::corpus
