#include "harness/report/junit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/made_row.hpp"
#include "tests/support/xml.hpp"

namespace assay::report {
namespace {

using results::ResultRow;
using test::Xml;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The document of these verdicts, which must be valid.
Xml document_of(const std::vector<ResultRow>& rows, const std::string& command = "run default") {
  std::string fault;
  const std::optional<Xml> xml = test::read_xml(junit_xml(made_run(command), rows), fault);
  EXPECT_TRUE(xml.has_value()) << fault;
  if (!xml) return {};
  EXPECT_THAT(test::junit_faults(*xml), IsEmpty());
  return *xml;
}

Xml only_test(const ResultRow& row, const std::string& command = "run default") {
  const Xml document = document_of({row}, command);
  if (document.children.size() != 1 || document.children[0].all("testcase").size() != 1) {
    ADD_FAILURE() << "not one test";
    return {};
  }
  return *document.children[0].all("testcase")[0];
}

std::string outcome_of(const std::string& verdict) {
  for (const Xml& child : only_test(made_row("a/x=1", verdict, "why")).children) {
    if (child.name != "system-out") return child.name;
  }
  return "passed";
}

TEST(Junit, GivesEveryVerdictTheOutcomeThatReadersAct) {
  EXPECT_EQ(outcome_of("pass"), "passed");
  for (const char* verdict : {"fail", "not-quantized", "refused", "xpass", "xfail-changed"}) {
    EXPECT_EQ(outcome_of(verdict), "failure") << verdict;
  }
  for (const char* verdict : {"crash", "timeout", "oom", "not-run", "invalid-case", "harness-error", "no such word"}) {
    EXPECT_EQ(outcome_of(verdict), "error") << verdict;
  }
  for (const char* verdict : {"unsupported", "skipped", "xfail", "unjudged", "mistrusted"}) {
    EXPECT_EQ(outcome_of(verdict), "skipped") << verdict << ": only a pass is a pass";
  }
}

TEST(Junit, CountsEachSuiteOfAConverterVersion) {
  ResultRow other = made_row("a/x=2", "crash", "signal 11");
  other.key.converter = "onnxruntime";
  other.key.version = "1.31.1";
  const Xml document = document_of(
      {made_row("a/x=1", "pass"), made_row("a/x=2", "fail", "wrong"), made_row("b", "unsupported", "no"), other});
  ASSERT_EQ(document.children.size(), 2U);
  EXPECT_EQ(document.attributes.at("tests"), "4");
  EXPECT_EQ(document.attributes.at("failures"), "1");
  EXPECT_EQ(document.attributes.at("errors"), "1");
  EXPECT_EQ(document.children[0].attributes.at("name"), "embedded@1.0.0");
  EXPECT_EQ(document.children[0].attributes.at("tests"), "3");
  EXPECT_EQ(document.children[1].attributes.at("name"), "onnxruntime@1.31.1");
}

TEST(Junit, SaysWhatIsWrongAndHowToRepeatIt) {
  ResultRow row = made_row("a/x=1", "fail", "tensor \"y\": expected 2\nwhy");
  row.key.options = "uint8";
  const Xml test = only_test(row, "run a --fault bias_dropped --variant tflite");
  EXPECT_EQ(test.attributes.at("name"), "a/x=1 [uint8]");
  EXPECT_EQ(test.attributes.at("classname"), "embedded@1.0.0.a");
  EXPECT_EQ(test.attributes.at("time"), "0.250");
  const Xml& failure = *test.all("failure").front();
  EXPECT_EQ(failure.attributes.at("type"), "fail artifact/scale");
  EXPECT_EQ(failure.attributes.at("message"), "tensor \"y\": expected 2");
  EXPECT_THAT(failure.text, HasSubstr("why"));
  EXPECT_THAT(failure.text, HasSubstr("./assay run a/x=1 --options uint8 --fault bias_dropped --variant tflite"));
}

TEST(Junit, SaysWhyAFailureWasExpected) {
  ResultRow row = made_row("a/x=1", "xfail", "got 7");
  row.expectation =
      results::ExpectationRow{"a/*", "", "embedded", "", "", "", "rounds down", "https://x/1", "2027-06-30", {}};
  const Xml test = only_test(row);
  EXPECT_EQ(test.all("skipped").front()->attributes.at("message"),
            "expected to fail: rounds down (https://x/1, until 2027-06-30); got 7");
}

TEST(Junit, NamesTheRunAndItsMachine) {
  const Xml document = document_of({made_row("a", "pass")}, "run a --options uint8");
  std::map<std::string, std::string> properties;
  for (const Xml& property : document.children[0].all("properties").front()->children) {
    properties[property.attributes.at("name")] = property.attributes.at("value");
  }
  EXPECT_EQ(properties["assay.command"], "run a --options uint8");
  EXPECT_EQ(properties["assay.run"], made_run().id);
  EXPECT_EQ(properties["converter.program_sha256"], "abcd");
}

TEST(Junit, TellsTwoProgramsOfOneNameApart) {
  ResultRow second = made_row("a", "pass");
  second.key.hash = "ef01";
  document_of({made_row("a", "pass"), second});  // names twice are a fault
}

TEST(Junit, TakesAnyBytesOfAConverter) {
  const std::string hostile = std::string("<b>&\"'\x01\x1b[31m \xff\xfe \xEF\xBF\xBF ]]> ") + '\0' + "end\r\n2nd";
  const Xml test = only_test(made_row("a<&>\"x", "fail", hostile));
  EXPECT_EQ(test.attributes.at("name"), "a<&>\"x [default]");
  EXPECT_THAT(test.all("failure").front()->text, HasSubstr("<b>&\"'"));
  EXPECT_THAT(test.all("failure").front()->text, HasSubstr("2nd"));
}

}  // namespace
}  // namespace assay::report
