#include "harness/report/junit.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/judge/evidence/verdict.hpp"
#include "harness/programs/program_hash.hpp"
#include "harness/report/repeat.hpp"
#include "harness/report/verdict.hpp"
#include "harness/run/exit_code.hpp"

namespace assay::report {
namespace {

using judge::Gate;
using judge::Verdict;
using results::ResultRow;

enum class Outcome { passed, failure, error, skipped };

Outcome outcome_of(const ResultRow& row) {
  const std::optional<Gate> gate = run::gate_of(row);
  const std::optional<Verdict> verdict = judge::parse_verdict(row.verdict);
  if (!gate || !verdict) return Outcome::error;
  if (*gate == Gate::green) return *verdict == Verdict::xfail ? Outcome::skipped : Outcome::passed;
  if (*gate != Gate::red) return Outcome::skipped;
  switch (*verdict) {
    case Verdict::crash:
    case Verdict::timeout:
    case Verdict::oom:
    case Verdict::not_run:
    case Verdict::invalid_case:
    case Verdict::harness_error:
      return Outcome::error;
    default:
      return Outcome::failure;
  }
}

std::string attribute(std::string_view name, const std::string& value) {
  return fmt::format(" {}=\"{}\"", name, xml_escaped(value, XmlPlace::attribute));
}

/// Seconds without an exponent: readers take no other form.
std::string seconds_text(double seconds) { return fmt::format("{:.3f}", seconds); }

std::string head_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Why a test is skipped.
std::string skipped_message(const ResultRow& row) {
  if (!row.expectation) return head_line(row.reason);
  const results::ExpectationRow& expected = *row.expectation;
  return fmt::format("expected to fail: {} ({}{}); {}", expected.reason, expected.url,
                     expected.until.empty() ? "" : ", until " + expected.until, head_line(row.reason));
}

std::string element(const ResultRow& row, const RunWords& words) {
  const std::string type = row.facet.empty() ? row.verdict : row.verdict + " " + row.stage + "/" + row.facet;
  switch (outcome_of(row)) {
    case Outcome::passed:
      return {};
    case Outcome::skipped:
      return fmt::format("      <skipped{}{}/>\n", attribute("type", type), attribute("message", skipped_message(row)));
    case Outcome::failure:
    case Outcome::error:
      break;
  }
  const std::string_view name = outcome_of(row) == Outcome::failure ? "failure" : "error";
  return fmt::format("      <{0}{1}{2}>{3}</{0}>\n", name, attribute("type", type),
                     attribute("message", head_line(row.reason)),
                     xml_escaped(failure_text(row, repeat_command(row, words)), XmlPlace::content));
}

std::string test_name(const ResultRow& row, bool shared) {
  std::string name = fmt::format("{} [{}]", row.key.case_name, row.key.options);
  if (shared) name += " program " + programs::short_hash(row.key.hash);
  return name;
}

std::string property(std::string_view name, const std::string& value) {
  return value.empty()
             ? ""
             : fmt::format("      <property{}{}/>\n", attribute("name", std::string(name)), attribute("value", value));
}

struct Suite {
  std::string tests;
  std::set<std::string> programs;
  std::map<Outcome, std::size_t> counts;
  std::size_t size = 0;
  double seconds = 0;
};

}  // namespace

std::string xml_escaped(const std::string& text, XmlPlace place) {
  // JSON's writer replaces what isn't UTF-8; its reader gives the text back.
  const auto valid = nlohmann::json::parse(json_line(text)).get<std::string>();
  std::string escaped;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const char c = valid[i];
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kFirstPrintable = 0x20;
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"' && place == XmlPlace::attribute) {
      escaped += "&quot;";
    } else if (c == '\n' || c == '\t') {
      escaped += place == XmlPlace::content ? std::string(1, c) : fmt::format("&#{};", static_cast<int>(c));
    } else if (byte < kFirstPrintable) {
      escaped += "\xEF\xBF\xBD";
    } else if (valid.compare(i, 3, "\xEF\xBF\xBE") == 0 || valid.compare(i, 3, "\xEF\xBF\xBF") == 0) {
      escaped += "\xEF\xBF\xBD";  // U+FFFE and U+FFFF are no characters
      i += 2;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string junit_xml(const results::RunInfo& run, const std::vector<ResultRow>& rows) {
  const RunWords words = run_words(run.command);
  std::map<std::string, Suite> suites;
  for (const ResultRow& row : rows) {
    suites[row.key.converter + "@" + row.key.version].programs.insert(row.key.hash);
  }
  Suite all;
  for (const ResultRow& row : rows) {
    const std::string converter = row.key.converter + "@" + row.key.version;
    Suite& suite = suites[converter];
    suite.tests +=
        fmt::format("    <testcase{}{}{}>\n{}      <system-out>{}</system-out>\n    </testcase>\n",
                    attribute("name", test_name(row, suite.programs.size() > 1)),
                    attribute("classname", converter + "." + row.family), attribute("time", seconds_text(row.seconds)),
                    element(row, words), xml_escaped(verdict_line(row), XmlPlace::content));
    for (Suite* each : {&suite, &all}) {
      ++each->counts[outcome_of(row)];
      ++each->size;
      each->seconds += row.seconds;
    }
  }
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  xml += fmt::format("<testsuites name=\"assay\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\">\n", all.size,
                     all.counts[Outcome::failure], all.counts[Outcome::error], seconds_text(all.seconds));
  for (auto& [converter, suite] : suites) {
    xml += fmt::format(
        "  <testsuite{} tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\"{}>\n    <properties>\n",
        attribute("name", converter), suite.size, suite.counts[Outcome::failure], suite.counts[Outcome::error],
        suite.counts[Outcome::skipped], seconds_text(suite.seconds), attribute("timestamp", run.started_at));
    std::string hashes;
    for (const std::string& hash : suite.programs) hashes += (hashes.empty() ? "" : " ") + hash;
    xml += property("assay.run", run.id) + property("assay.command", run.command) + property("assay.suite", run.suite) +
           property("assay.version", run.assay_version) + property("converter.program_sha256", hashes) +
           property("machine.cpu", run.machine.cpu) + property("machine.system", run.machine.system);
    xml += "    </properties>\n" + suite.tests + "  </testsuite>\n";
  }
  return xml + "</testsuites>\n";
}

}  // namespace assay::report
