#include "harness/run/run_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "harness/core/build_info.hpp"
#include "harness/core/sandbox.hpp"
#include "harness/core/text.hpp"
#include "harness/programs/program_hash.hpp"

namespace assay::run {
namespace {

/// Values in one line whatever is in them; '\x1f' stands between two.
class Digest {
 public:
  Digest& operator<<(const std::string& text) {
    text_ += text + '\x1f';
    return *this;
  }
  [[nodiscard]] std::string hash() const { return programs::short_hash(core::sha256_hex(text_)); }

 private:
  std::string text_;
};

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

std::string cases_value(const std::vector<RunItem>& items) {
  Digest digest;
  for (const RunItem& item : items) {
    digest << item.test_case.name << item.test_case.content_hash << core::join(item.test_case.metamorphic, ",");
    for (const corpus::OptionSet& set : item.option_sets) {
      digest << set.label << set.options_json;
    }
  }
  return fmt::format("{} with hash {}", items.size(), digest.hash());
}

std::string expected_value(const std::vector<corpus::ExpectedFailure>& entries) {
  Digest digest;
  for (const corpus::ExpectedFailure& e : entries) {
    digest << e.case_pattern << e.options << e.converter << e.versions << e.stage << e.facet << e.reason << e.url
           << e.until << e.machine << (e.margin ? core::exact_text64(*e.margin) : "");
  }
  return fmt::format("{} with hash {}", entries.size(), digest.hash());
}

std::string command_text(const programs::ConverterSpec& spec) {
  std::string text = spec.unavailable.empty() ? core::join(spec.command, " ") : spec.unavailable;
  if (spec.executor != nullptr) text += ", executed by " + command_text(*spec.executor);
  return text;
}

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

/// Of whom every output has to be judged.
std::string required_of(const RunConfig& config) {
  if (config.require_judged) return "of every converter";
  return config.own_corpus ? "of the embedded converter" : "of none";
}

/// Of the converters.
std::string sandbox_of(const RunConfig& config) {
  if (!std::ranges::all_of(config.converters, [](const auto& each) { return each.rights.confined; })) return "no";
  if (!core::can_confine()) return "not possible here";
  std::set<std::string> more;
  for (const programs::ConverterSpec& each : config.converters) {
    for (const auto& path : each.rights.reads) more.insert("reads " + path.string());
    for (const auto& path : each.rights.writes) more.insert("writes " + path.string());
  }
  return more.empty() ? "yes" : "yes, " + core::join(std::vector(more.begin(), more.end()), ", ");
}

std::map<std::string, std::string> values_of(const std::string& settings) {
  std::map<std::string, std::string> values;
  std::istringstream lines(settings);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) values[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return values;
}

}  // namespace

std::string settings_text(const RunConfig& config, const std::vector<programs::Subject>& subjects) {
  std::string text = fmt::format(
      "build: {} {}, {}\ncases: {}\nexpected failures: {}\nevery option set: {}\nrequire judged: {}\nevery node: {}\n"
      "timeout_s: {}\nmemory_bytes: {}\njudge_timeout_s: {}\njudge_memory_bytes: {}\nsandbox: {}\n",
      core::version(), core::commit(), programs::short_hash(programs::own_hash()), cases_value(config.items),
      expected_value(config.expected_failures), yes_or_no(!config.partial), required_of(config),
      yes_or_no(config.every_node), config.timeout_s, config.memory_limit_bytes, config.judge_timeout_s,
      config.judge_memory_bytes, sandbox_of(config));
  for (std::size_t index = 0; index < subjects.size(); ++index) {
    const programs::Subject& subject = subjects[index];
    text += one_line(fmt::format("converter {}: {} {}, {}, {}", index + 1, subject.description.name,
                                 subject.description.version, programs::short_hash(subject.hash),
                                 command_text(subject.spec))) +
            "\n";
  }
  return text;
}

std::string settings_difference(const std::string& recorded, const std::string& now) {
  const std::map<std::string, std::string> before = values_of(recorded);
  std::map<std::string, std::string> all = values_of(now);
  const std::map<std::string, std::string> after = all;
  all.insert(before.begin(), before.end());
  const auto value = [](const std::map<std::string, std::string>& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string("nothing") : found->second;
  };
  std::string text;
  for (const auto& [name, ignored] : all) {
    const std::string was = value(before, name), is = value(after, name);
    if (was != is) text += fmt::format("  {}: recorded {}, now {}\n", name, was, is);
  }
  return text;
}

}  // namespace assay::run
