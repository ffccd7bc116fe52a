// `assay converters test`: every requirement of protocol 1, met and broken.
#include <gmock/gmock.h>

#include <map>

#include "tests/cli/home.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class ConvertersTest : public HomeTest {
 protected:
  /// The embedded converter's worker with `before` on what it is told and `after` on what it says: "| sed …".
  [[nodiscard]] Call tried(const std::string& before, const std::string& after, const std::string& end = "") const {
    write("wrapped.sh", before + "'" + ASSAY_PROGRAM + "' worker " + after + "\n" + end + "\n");
    return run(
        {"converters", "test", "--converter-cmd", "sh " + path("wrapped.sh").string(), "--timeout", "20", "--json"});
  }
  /// The requirements that aren't met, with what was wrong.
  static std::map<std::string, std::string> failed(const Call& call) {
    std::map<std::string, std::string> wrong;
    const nlohmann::json all = call.json();
    for (const nlohmann::json& each : all["requirements"]) {
      if (each["met"] == "FAILED") wrong[each["requirement"]] = each["why"];
    }
    return wrong;
  }
  /// That the requirement beginning with `what` fails, of which `why` says something.
  static void expect_failed(const Call& call, const std::string& what, const std::string& why) {
    EXPECT_EQ(call.code, 1) << call.out << call.err;
    for (const auto& [requirement, said] : failed(call)) {
      if (requirement.starts_with(what)) {
        EXPECT_THAT(said, HasSubstr(why));
        return;
      }
    }
    ADD_FAILURE() << "\"" << what << "\" is met:\n" << call.out << call.err;
  }
};

TEST_F(ConvertersTest, TheEmbeddedConverterMeetsAllOfThem) {
  const Call whole = tried("", "");
  EXPECT_EQ(whole.code, 0) << whole.out << whole.err;
  const nlohmann::json all = whole.json();
  ASSERT_EQ(all["requirements"].size(), 16U);
  for (const nlohmann::json& each : all["requirements"]) {
    const bool of_list = each["why"] == "it lists no int8_operators";
    EXPECT_EQ(each["met"], of_list ? "skipped" : "ok") << each;
  }
  const Call text = run({"converters", "test", "--converter", "embedded"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("16 requirements of protocol 1: 15 ok, 0 FAILED, 1 skipped\n"));
  const Call none = run({"converters", "test"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("takes one converter"));
}

TEST_F(ConvertersTest, OfWhatAConverterTakesASmallModelIsMade) {
  const auto declared = [](const std::string& op) {
    return R"(| sed -u '1s/"operators":\[[^]]*\]/"operators":[")" + op + R"("]/')";
  };
  for (const char* op : {"Relu", "Add", "MaxPool", "Concat"}) {
    const Call call = tried("", declared(op));
    EXPECT_EQ(call.code, 0) << op << call.out << call.err;
    EXPECT_THAT(call.out, Not(HasSubstr("NOT TESTED"))) << op;
  }
  const Call none = tried("", declared("Gather"));
  EXPECT_EQ(none.code, 5) << none.out << none.err;
  EXPECT_THAT(none.out, HasSubstr("no small model can be made of what it takes (supports.operators): Gather"));
  write("wrapped.sh", "'" + std::string(ASSAY_PROGRAM) + "' worker " + declared("Gather") + "\n");
  const Call text = run({"converters", "test", "--converter-cmd", "sh " + path("wrapped.sh").string()});
  EXPECT_THAT(text.out, HasSubstr("NOT TESTED: 12\n"));
}

TEST_F(ConvertersTest, WhoQuantizesSomeOperatorsConvertsTheOthersToo) {
  const auto program = [](const std::string& refusal) {
    return R"(| sed -u '1s/"operators":\[[^]]*\]/"int8_operators":["Relu"]/)" + refusal + "'";
  };
  EXPECT_EQ(tried("", program("")).code, 0);
  expect_failed(tried("", program(R"(; /"op":"Conv"/s/"status":"ok"/"status":"error","reason":"no Conv"/)")),
                "an operator that int8_operators doesn't list", "Conv was error: no Conv");
}

TEST_F(ConvertersTest, AnswersAreHeldToTheRulesOfMessages) {
  expect_failed(tried("", R"(| sed -u 's/"id":2,/"id":9,/')"), "convert writes an artifact", "id 9");
  expect_failed(tried("", R"(| sed -u 's/"version":"[^"]*"/"version":7/')"), "a process describes itself", "version");
  expect_failed(tried("", R"(| sed -u '2s/^/progress: 10 %\n/')"), "convert writes an artifact", "JSON");
  expect_failed(tried("", R"(| sed -u '1s/$/\nready/')"), "convert writes an artifact", "nobody asked for");
  expect_failed(tried("", R"(| sed -u 's/"minmax"/"min-max"/')"), "supports has words", "min-max");
}

TEST_F(ConvertersTest, RefusalsAndErrorsAreHeldToTheirForm) {
  expect_failed(tried("", R"(| sed -u 's/"node":"[^"]*",//')"), "a node that it can't take", "without \"node\"");
  expect_failed(tried("", R"(| sed -u 's/"op":"Swirl"/"op":"Turn"/; s/Swirl/Turn/g')"), "a node that it can't take",
                "doesn't name \"Swirl\"");
  expect_failed(tried("", R"(| sed -u 's/"status":"error"/"status":"ok"/')"), "a file that is no model",
                "status is \"ok\"");
  expect_failed(tried("", R"(| sed -u -E 's/"reason":"([^"\\]|\\.)*"/"reason":""/')"),
                "a calibration batch without an input", "without a reason");
}

TEST_F(ConvertersTest, WhatHangsDiesOrWritesWhereItMustNotIsFound) {
  write("wrapped.sh", "'" + std::string(ASSAY_PROGRAM) + "' worker | sed -u 2d\n");
  const Call hung =
      run({"converters", "test", "--converter-cmd", "sh " + path("wrapped.sh").string(), "--timeout", "2", "--json"});
  expect_failed(hung, "convert writes an artifact", "no answer within 2 s");
  expect_failed(tried("", "", "sleep 30"), "quit ends the process", "still ran");
  const std::string spoils = R"sh(while read -r line; do
    model=$(printf '%s' "$line" | sed -n 's/.*"model":"\([^"]*\)".*/\1/p')
    if [ -n "$model" ]; then echo x >> "$model"; fi
    echo "$line"
  done | )sh";
  expect_failed(tried(spoils, ""), "what it was given stays", "it wrote into model.onnx");
  const Call dead = run({"converters", "test", "--converter-cmd", "false", "--json"});
  expect_failed(dead, "a process describes itself", "exit status 1");
  EXPECT_EQ(failed(dead).size(), 1U) << dead.out;  // the rest is skipped
}

TEST_F(ConvertersTest, SaysWhichSectionStatesWhatIsBroken) {
  write("wrapped.sh", "'" + std::string(ASSAY_PROGRAM) + "' worker | sed -u 's/\"node\":\"[^\"]*\",//'\n");
  const Call text = run({"converters", "test", "--converter-cmd", "sh " + path("wrapped.sh").string()});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.out,
              HasSubstr("FAILED   a node that it can't take is refused by node, operator and reason, or an error\n"
                        "         \"refused\" without \"node\"\n"
                        "         docs/protocol.md, \"Requests and answers\"\n"));
}

}  // namespace
}  // namespace assay::test
