// `assay report` of one run: files for other programs, out of the database alone.
#include <gmock/gmock.h>

#include "harness/core/files.hpp"
#include "tests/cli/home.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/source_tree.hpp"
#include "tests/support/xml.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Words = std::vector<std::string>;

class Report : public HomeTest {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const {
    const core::Result<std::string> text = core::read_file(path(name));
    EXPECT_TRUE(text.ok()) << name;
    return text ? *text : std::string();
  }
  Call report(Words words, int code = 0) const {
    words.insert(words.begin(), {"report", "--db", "h.db"});
    const Call call = run(words);
    EXPECT_EQ(call.code, code) << call.err;
    return call;
  }
};

TEST_F(Report, WritesTheNewestRunAsJunitAndSarif) {
  ASSERT_EQ(run({"run", "--db", "h.db"}).code, 0);
  ASSERT_EQ(run({"run", "mini/stride=2", "--db", "h.db", "--fault", "bias_dropped"}).code, 1);
  report({"--junit", "j.xml", "--sarif", "s.sarif"});
  std::string fault;
  const std::optional<Xml> xml = read_xml(file("j.xml"), fault);
  ASSERT_TRUE(xml.has_value()) << fault;
  EXPECT_THAT(junit_faults(*xml), IsEmpty());
  EXPECT_EQ(xml->attributes.at("tests"), "1");
  EXPECT_EQ(xml->attributes.at("failures"), "1");
  const nlohmann::json sarif = nlohmann::json::parse(file("s.sarif"));
  const core::Result<std::string> schema = core::read_file(test_data() / "sarif.schema.json");
  EXPECT_THAT(schema_faults(nlohmann::json::parse(*schema), sarif), IsEmpty());
  ASSERT_EQ(sarif["runs"][0]["results"].size(), 1U);
  const nlohmann::json& place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "cases/mini.json");
  EXPECT_EQ(place["region"]["startLine"], 2);
  EXPECT_THAT(sarif["runs"][0]["tool"]["driver"]["version"].get<std::string>(), Not(IsEmpty()));
}

TEST_F(Report, WritesAnotherRunByItsUuid) {
  const std::string first = run({"run", "--db", "h.db", "--json"}).json()["run"];
  ASSERT_EQ(run({"run", "mini/stride=2", "--db", "h.db", "--fault", "bias_dropped"}).code, 1);
  report({"--junit", "j.xml", "--run", first});
  EXPECT_THAT(file("j.xml"), HasSubstr("tests=\"2\" failures=\"0\""));
  EXPECT_THAT(report({"--junit", "j.xml", "--run", "nosuch"}, 2).err, HasSubstr("has no run nosuch"));
  EXPECT_THAT(report({"--junit", "j.xml", "--converter", "onnxruntime"}, 2).err, HasSubstr("onnxruntime"));
}

TEST_F(Report, ShowsWhatChangedAgainstTheAnchor) {
  ASSERT_EQ(run({"run", "--db", "h.db"}).code, 0);
  EXPECT_THAT(report({"--markdown", "c.md", "--against", "anchor"}, 2).err, HasSubstr("assay accept --reason TEXT"));
  ASSERT_EQ(run({"accept", "--db", "h.db", "--reason", "good"}).code, 0);
  ASSERT_EQ(run({"run", "--db", "h.db"}).code, 0);
  report({"--markdown", "c.md", "--against", "anchor"});
  EXPECT_THAT(file("c.md"), HasSubstr("nothing changed"));
  ASSERT_EQ(run({"run", "--db", "h.db", "--fault", "bias_dropped"}).code, 1);
  report({"--markdown", "c.md", "--against", "anchor"});
  EXPECT_THAT(file("c.md"), HasSubstr("2 newly red verdicts"));
  EXPECT_THAT(file("c.md"), HasSubstr("<b>2×</b> fail artifact/bias at Conv"));
  EXPECT_THAT(file("c.md"), HasSubstr("./assay run mini/stride=1 --options default --fault bias_dropped"));
}

TEST_F(Report, ShowsWhatChangedAgainstAVersion) {
  // A converter that is what `version` says.
  const auto converter = [&](const std::string& version, const std::string& answer) {
    write("c.sh", "read line\necho '{\"id\":1,\"status\":\"ok\",\"name\":\"c\",\"version\":\"" + version +
                      "\"}'\nread line\necho '{\"id\":2," + answer + "}'\nread line\n");
    return run({"run", "mini/stride=1", "--db", "h.db", "--converter-cmd", "sh " + path("c.sh").string()});
  };
  EXPECT_EQ(converter("1.9", R"("status":"error","reason":"no Conv")").code, 1);
  EXPECT_EQ(converter("1.10", R"("status":"refused","reason":"no")").code, 1);
  report({"--markdown", "c.md", "--against", "1.9"});
  EXPECT_THAT(file("c.md"), HasSubstr("c 1.10 against c 1.9: 1 verdict compared, 0 unchanged"));
  EXPECT_THAT(file("c.md"), HasSubstr("1 moved"));
  EXPECT_THAT(report({"--markdown", "c.md", "--against", "1.10"}, 2).err, HasSubstr("are of that version"));
  EXPECT_THAT(report({"--markdown", "c.md", "--against", "1.8"}, 2).err, HasSubstr("it has: 1.9, 1.10"));
  EXPECT_THAT(report({"--markdown", "c.md", "--against", "d@1.9"}, 2).err, HasSubstr("the verdicts are c's"));
  EXPECT_THAT(report({"--against", "1.9"}, 2).err, HasSubstr("--markdown FILE"));
}

TEST_F(Report, ExplainsAWordOfTheGlossary) {
  EXPECT_EQ(run({"explain", "margin"}).code, 5) << "there is no glossary here";
  std::filesystem::create_directories(path("docs"));
  write("docs/glossary.md",
        "# Words\n\n## margin\n\nError over [limit](x.md).\n\n## mini\n\nSmall.\n\n## zero_point\n\nZero.\n");
  EXPECT_EQ(run({"explain", "margin"}).out, "margin\n\nError over limit.\n");
  EXPECT_EQ(run({"explain", "Zero-Point", "--json"}).json()["text"], "Zero.");
  EXPECT_EQ(run({"explain", "mini"}).out, "mini\n\nSmall.\n") << "a family of several cases is no case";
  EXPECT_THAT(run({"explain", "mini/stride=1"}).out, Not(HasSubstr("Small")));
  const Call unknown = run({"explain", "margn"});
  EXPECT_EQ(unknown.code, 5);
  EXPECT_THAT(unknown.err, HasSubstr("nor is it a word of the glossary; near it: margin"));
}

}  // namespace
}  // namespace assay::test
