// `assay explain`: every number of a verdict, for a pass as well as a fail.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;

class Explain : public HomeTest {
 protected:
  [[nodiscard]] nlohmann::json explained(const std::vector<std::string>& words) const {
    std::vector<std::string> arguments{"explain"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    arguments.emplace_back("--json");
    const Call call = run(arguments);
    EXPECT_EQ(call.code, 0) << call.out << call.err;
    return call.json();
  }

  static std::map<std::string, double> terms(const nlohmann::json& derivation) {
    std::map<std::string, double> terms;
    for (const nlohmann::json& term : derivation["terms"]) terms[term["source"]] = term["value"];
    return terms;
  }
  static void expect_sum(const nlohmann::json& derivation, const std::string& where) {
    if (derivation.is_null()) return;
    double sum = 0, magnitude = 0;
    for (const auto& [source, value] : terms(derivation)) {
      sum += value;
      magnitude += std::fabs(value);
    }
    EXPECT_NEAR(sum, derivation["limit"].get<double>(), 1e-12 * magnitude) << where << "\n" << derivation.dump(1);
  }

  /// y = x·w + b with x always 1.27: s_x = 0.01, s_w = 0.5/127, and every term of the bound can be written down.
  void write_tiny() const {
    write("cases/tiny.json", R"json({
      "family": "tiny", "title": "one product of two", "tags": ["Gemm"],
      "graph": ["agraph (float[1,2] x) => (float[1,1] y) { y = Gemm (x, w, b) }"],
      "opset": 13, "options": { "symmetric": true },
      "initializers": { "w": { "shape": [2, 1], "values": [0.5, -0.254] }, "b": { "shape": [1], "values": [0.1] } },
      "inputs": { "x": { "data": ["typical"], "range": [-1.27, 1.27], "kind": "constant" } },
      "kills": ["bias_dropped"] })json");
  }
};

TEST_F(Explain, GivesTheNumbersOfATinyCase) {
  write_tiny();
  const nlohmann::json verdict = explained({"tiny"});
  const double s_x = 0.01, s_w = 0.5 / 127, y = 1.27 * (0.5 - 0.254) + 0.1, s_y = y / 127;
  // Codes of w: 127 and −0.254·127/0.5 = −64.516 → −65; of b: 0.1/(s_x·s_w) = 2540.
  const double accumulator = 127 * 127 - 127 * 65 + 2540;

  const nlohmann::json& integers = verdict["L1"];
  EXPECT_EQ(integers["accumulation"]["accumulator"], accumulator);
  EXPECT_EQ(integers["accumulation"]["bias_code"], 2540);
  EXPECT_NEAR(integers["accumulation"]["multiplier"], s_x * s_w / s_y, 1e-8);
  EXPECT_NEAR(integers["quotient"], accumulator * s_x * s_w / s_y, 1e-4);
  EXPECT_EQ(integers["expected_low"], 126);  // 126.25 is rounded
  EXPECT_EQ(integers["actual"], 126);
  ASSERT_EQ(integers["taps"].size(), 2U);
  EXPECT_EQ(integers["taps"][0]["x_code"], 127);
  EXPECT_EQ(integers["taps"][1]["w_code"], -65);

  const nlohmann::json& bound = verdict["L2"]["end_to_end"];
  EXPECT_EQ(bound["index"], "[0,0]");
  EXPECT_NEAR(bound["expected"], y, 1e-7);
  EXPECT_NEAR(bound["actual"], 126 * s_y, 1e-7);
  const std::map<std::string, double> parts = terms(bound);
  const double half = s_w / 2;
  EXPECT_NEAR(parts.at("rounding and clipping of graph inputs"), 0.754 * s_x / 2, 1e-6);
  EXPECT_NEAR(parts.at("rounding of weights"), 2 * (1.27 + s_x / 2) * half, 1e-6);  // Σ|x|δw + Σδx·δw
  EXPECT_NEAR(parts.at("rounding of biases"), s_x * s_w / 2, 1e-7);
  EXPECT_NEAR(parts.at("rounding and clipping of the tensor itself"), s_y / 2, 1e-6);
  expect_sum(bound, "tiny");

  // Locally x is what its codes say, so that only the node's own roundings are left.
  const nlohmann::json& local = verdict["L2"]["local"];
  EXPECT_FALSE(terms(local).contains("rounding and clipping of graph inputs"));
  EXPECT_NEAR(terms(local).at("rounding of weights"), 2 * 1.27 * half, 1e-6);
  EXPECT_EQ(local["accumulation"]["accumulator"], accumulator);
  expect_sum(local, "tiny, locally");

  std::set<std::string> kinds;
  for (const nlohmann::json& parameter : verdict["L0"]) {
    kinds.insert(parameter["what"]);
    if (parameter["what"] == "weight code") {
      EXPECT_EQ(parameter["actual"], "-65");
      EXPECT_NEAR(parameter["distance"], 65 - 0.254 * 127 / 0.5, 1e-4);
    }
  }
  EXPECT_THAT(kinds, testing::ElementsAre("activation scale", "bias", "weight code", "weight scale"));
}

TEST_F(Explain, CertifiesATinyCase) {
  write_tiny();
  const nlohmann::json certificates = explained({"tiny"})["certificates"];
  ASSERT_EQ(certificates.size(), 1U);
  const double s_x = 0.01, s_w = 0.5 / 127, y = 1.27 * (0.5 - 0.254) + 0.1, s_y = y / 127;
  const double most_x = 128 * s_x;  // codes from -128
  EXPECT_EQ(certificates[0]["tensor"], "y");
  EXPECT_NEAR(certificates[0]["error"], 192 * s_w * s_x / 2 + (65 * s_w - 0.254) * most_x + s_y / 2, 1e-7);
  EXPECT_NEAR(certificates[0]["step"], s_y, 1e-8);
  EXPECT_NEAR(certificates[0]["accumulator"], (192 * 128 + 2540) / 0x1p31, 1e-12);
  // At x = (1.27, -1.28) the float value is 1.06012, the codes end at 127 steps: 0.41242.
  EXPECT_NEAR(certificates[0]["clipped"], 1.27 * 0.5 + 1.28 * 0.254 + 0.1 - y, 1e-6);
}

/// A Conv of 27 products whose inputs' rounding is most of the error; calibrated on its largest sum, so that nothing is
/// clipped.
TEST_F(Explain, CertifiesWhatWitnessDataReach) {
  const auto error_of = [this](const std::string& data) {
    write("cases/wide.json", R"json({
      "family": "wide", "title": "27 products", "tags": ["Conv"], "opset": 13,
      "graph": ["agraph (float[2,3,12,11] x) => (float[2,4,10,9] y) { y = Conv <kernel_shape=[3,3]> (x, w) }"],
      "initializers": { "w": { "shape": [4, 3, 3, 3], "data": "uniform", "range": [0.1, 1] } },
      "options": { "symmetric": true },
      "inputs": { "x": { "data": [")json" + data + R"json("], "range": [-3, 3], "kind": "constant" } }, "kills": ["bias_dropped"] })json");
    const nlohmann::json verdict = explained({"wide"});
    EXPECT_EQ(verdict["certificates"].size(), 1U);
    const nlohmann::json& bound = verdict["L2"]["end_to_end"];
    const double error = std::fabs(bound["actual"].get<double>() - bound["expected"].get<double>());
    return error / verdict["certificates"][0]["error"].get<double>();
  };
  EXPECT_LE(error_of("witness"), 1);
  EXPECT_GT(error_of("witness"), 0.6);
  EXPECT_LT(error_of("typical"), 0.5);
}

TEST_F(Explain, SaysTheSameInWords) {
  write_tiny();
  const Call call = run({"explain", "tiny"});
  EXPECT_EQ(call.code, 0) << call.err;
  EXPECT_THAT(call.out, HasSubstr("accumulator 10414 = Σ q_x·q_w +2540"));
  EXPECT_THAT(call.out, HasSubstr("x[0,1] 1.27 (code 127) · w[1,0]"));
  for (const char* layer : {"\nL0 ", "\nL1 ", "\nL2 "}) EXPECT_THAT(call.out, HasSubstr(layer));
}

TEST_F(Explain, DerivesTheElementThatAFaultSpoils) {
  const nlohmann::json dropped = explained({"mini/stride=1", "--fault", "bias_dropped"});
  EXPECT_EQ(dropped["verdict"], "fail");
  EXPECT_EQ(dropped["gate"], "red");
  EXPECT_GT(dropped["L2"]["local"]["margin"], 1);
  expect_sum(dropped["L2"]["local"], "bias_dropped");

  const nlohmann::json truncated = explained({"mini/stride=1", "--fault", "multiplier_8_bits"});
  const nlohmann::json& wrong = truncated["L1"];
  EXPECT_TRUE(wrong["wrong"]);
  EXPECT_EQ(wrong["node"], "y");
  EXPECT_NE(wrong["expected_low"], wrong["actual"]);
  // The expected code is the accumulator times the multiplier, rounded.
  const double value =
      wrong["accumulation"]["accumulator"].get<double>() * wrong["accumulation"]["multiplier"].get<double>();
  EXPECT_NEAR(value, wrong["quotient"], 1e-5 * std::fabs(value));
  const double code =
      std::nearbyint(wrong["quotient"].get<double>()) + wrong["accumulation"]["y_zero_point"].get<double>();
  EXPECT_EQ(wrong["expected_low"], code);
}

TEST_F(Explain, IsOfTheVerdictThatWasRecordedLast) {
  const Call alone = run({"explain", "mini/stride=1"});
  EXPECT_THAT(alone.err, HasSubstr("no verdict of mini/stride=1 is recorded in .assay/history.db; this is embedded's"));
  ASSERT_EQ(run({"run", "mini"}).code, 0);
  ASSERT_EQ(run({"run", "mini", "--fault", "bias_dropped"}).code, 1);
  const Call faulty = run({"explain", "mini/stride=1"});
  EXPECT_EQ(faulty.code, 0) << faulty.err;
  EXPECT_THAT(faulty.err, HasSubstr("recorded fail (artifact/bias), of embedded@"));
  EXPECT_THAT(faulty.out, HasSubstr("headline: stage artifact, facet bias"));
  // Who is named is explained, whatever was recorded.
  EXPECT_THAT(run({"explain", "mini/stride=1", "--converter", "embedded"}).out, HasSubstr("pass (green)"));
  // Another program is asked again as the run named it.
  const std::string program = std::string(ASSAY_PROGRAM) + " worker --fault bias_dropped";
  ASSERT_EQ(run({"run", "mini", "--converter-cmd", program, "--db", "other.db"}).code, 1);
  const Call theirs = run({"explain", "mini/stride=2", "--db", "other.db"});
  EXPECT_THAT(theirs.err, HasSubstr("the last run in other.db recorded fail"));
  EXPECT_THAT(theirs.out, HasSubstr("fail (red)"));
}

TEST_F(Explain, TellsARefusalAndAnUnknownCase) {
  const Call many = run({"explain", "mini"});
  EXPECT_EQ(many.code, 2);
  EXPECT_THAT(many.err, HasSubstr("explain takes one"));
  const Call unknown = run({"explain", "mini/stride=7"});
  EXPECT_EQ(unknown.code, 5);
  write("cases/refused.json", R"json({
      "family": "refused", "title": "no INT8 form, and none other allowed", "tags": ["CumSum"],
      "graph": ["agraph (float[3,5] x) => (float[3,5] y) { y = CumSum (x, axis) }"],
      "opset": 13, "options": { "precision": { "CumSum": "int8" } },
      "initializers": { "axis": { "type": "int32", "shape": [], "values": [1] } },
      "inputs": { "x": { "data": ["typical"] } }, "expect": { "status": "refused", "refused": { "node": "y", "operator": "CumSum", "reason": "INT8" } },
      "kills": ["partial_output_written"] })json");
  const nlohmann::json refused = explained({"refused"});
  EXPECT_TRUE(refused["L1"].is_null());
  EXPECT_THAT(refused["L0"], testing::IsEmpty());
  EXPECT_TRUE(refused["L2"]["local"].is_null());
}

TEST_F(Explain, HasALimitOfTimeForJudging) {
  write("cases/heavy.json", R"json({
    "family": "heavy", "title": "a product of many terms", "tags": ["MatMul"],
    "graph": ["agraph (float[600,600] x) => (float[600,600] y) { y = MatMul (x, w) }"], "opset": 13,
    "initializers": { "w": { "shape": [600, 600], "std": 0.1 } },
    "inputs": { "x": { "data": ["typical"], "range": [-1, 1] } }, "kills": ["scale_doubled"] })json");
  const std::vector<std::vector<std::string>> commands{
      {"explain", "heavy"}, {"reduce", "heavy", "--converter", "embedded", "--output", "kept"}, {"score", "heavy"}};
  for (std::vector<std::string> command : commands) {
    command.insert(command.end(), {"--judge-timeout", "0.2"});
    const Call call = run(command);
    EXPECT_EQ(call.code, 3) << command.front() << call.out << call.err;
    EXPECT_THAT(call.err, HasSubstr("took more than 0.2 s of processor time (--judge-timeout) and was stopped"))
        << command.front();
  }
}

TEST_F(Explain, KnowsAFileOfCasesOutsideTheCorpus) {
  std::string own = kMiniFamily;
  own.replace(own.find("\"mini\""), 6, "\"own\"");
  write("own.json", own);
  EXPECT_EQ(run({"list", "own.json"}).out, "own/stride=1\nown/stride=2\n");
  EXPECT_EQ(explained({"own.json", "own/stride=2"})["case"], "own/stride=2");
  EXPECT_THAT(run({"explain", "own.json"}).err, HasSubstr("2 cases; explain takes one, for example \"own/stride=1\""));
  const Call kept = run({"bundle", "own.json", "own/stride=2", "kept", "--json"});
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_EQ(kept.json()["case"], "own/stride=2");
  EXPECT_EQ(run({"replay", "kept"}).code, 0);
  const Call alone = run({"bundle", "own.json"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("the folder to make"));
  const Call many = run({"bundle", "own.json", "kept2"});
  EXPECT_EQ(many.code, 2);
  EXPECT_THAT(many.err, HasSubstr("2 cases; bundle takes one"));
}

/// A part of the families each: with sanitizers all of them take minutes.
constexpr std::size_t kParts = 4;
class ExplainFamilies : public Explain, public testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Part, ExplainFamilies, testing::Range(std::size_t{0}, kParts));

TEST_P(ExplainFamilies, TermsAddUpToTheLimit) {
  const std::map<std::string, std::string> shipped{{"ASSAY_HOME", source_tree().string()}};
  const Call list = run({"list", "default", "--json"}, shipped);
  ASSERT_EQ(list.code, 0) << list.err;
  std::map<std::string, std::vector<std::string>> families;
  const nlohmann::json listed = list.json();
  for (const nlohmann::json& entry : listed["cases"]) families[entry["family"]].push_back(entry["case"]);
  ASSERT_GE(families.size(), 15U);
  std::size_t family_index = 0;
  for (const auto& [family, cases] : families) {
    if (family_index++ % kParts != GetParam()) continue;
    // Quotients in float: the terms count the division's own rounding twice, the limit once.
    if (family == "divisor_near_zero") continue;
    // No limit goes through an STFT: executors' errors of the angles allow none in float32.
    if (family == "stft_before_a_product") continue;
    // Of sums and roots along all axes the prediction alone says how much may be lost.
    if (family == "reduce_keeps_its_axes") continue;
    int derived = 0;
    bool bounded = false;
    // Refusals have nothing to derive: three cases from all over the family.
    std::set<std::size_t> chosen{0, cases.size() / 2, cases.size() - 1};
    for (const std::size_t at : chosen) {
      const Call call = run({"explain", cases[at], "--json"}, shipped);
      ASSERT_EQ(call.code, 0) << cases[at] << call.err;
      const nlohmann::json verdict = call.json();
      EXPECT_EQ(verdict["gate"], "green") << cases[at];
      bounded = bounded || verdict["layers"].dump().find("L2") != std::string::npos;
      for (const char* kind : {"local", "end_to_end"}) {
        expect_sum(verdict["L2"][kind], cases[at]);
        derived += verdict["L2"][kind].is_null() ? 0 : 1;
      }
    }
    EXPECT_TRUE(derived > 0 || !bounded) << family;
  }
}

}  // namespace
}  // namespace assay::test
