#include "harness/corpus/case_places.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "harness/core/files.hpp"
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

TEST(CasePlaces, AreThoseOfTheUsersFilesFirst) {
  const core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
  ASSERT_TRUE(folder.ok());
  const std::filesystem::path file = folder->path() / "own.json";
  ASSERT_TRUE(core::write_file(file, "{\n \"family\": \"concat\" }").ok());
  EXPECT_EQ(CasePlaces::read(folder->path(), {file.string()}).of("concat/a=1"), (CasePlace{"own.json", 2}));
  EXPECT_EQ(CasePlaces::read(folder->path(), {folder->path().string()}).of("concat/a=1")->file, "own.json");
  EXPECT_TRUE(CasePlaces::read(folder->path()).of("concat")->file.starts_with("/")) << "not below the root";
}

TEST(CasePlaces, AreFoundForEveryCaseOfTheCorpus) {
  const CasePlaces places = CasePlaces::read(home());
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
