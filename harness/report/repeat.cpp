#include "harness/report/repeat.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "converters/options_label.hpp"
#include "converters/protocol/client.hpp"
#include "harness/core/shell.hpp"
#include "harness/corpus/case.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/corpus/suite_file.hpp"

namespace assay::report {

using core::shell_quoted;

namespace {
/// Options that decide what times out or has no memory.
constexpr std::array<std::string_view, 4> kLimits{"--timeout", "--memory", "--judge-timeout", "--judge-memory"};
}  // namespace

namespace {

bool is_suite_name(const std::string& word) {
  const std::vector<std::string> names = corpus::suite_names();
  return std::ranges::find(names, word) != names.end();
}

}  // namespace

std::set<std::string> own_labels_of(const std::vector<std::string>& selection) {
  std::set<std::string> labels;
  for (const std::string& word : selection) {
    if (!is_suite_name(word) && !corpus::is_suite_file(word)) continue;
    const core::Result<corpus::Suite> suite = corpus::load_suite(word);
    if (!suite) continue;
    for (const corpus::OptionSet& set : suite->option_sets) {
      const std::optional<converters::Options> spelt = converters::options_of_label(set.label);
      if (!spelt || !converters::same_options(converters::options_to_json(*spelt), set.options_json)) {
        labels.insert(set.label);
      }
    }
  }
  return labels;
}

RunWords run_words(const std::string& command) {
  RunWords known;
  const core::Result<std::vector<std::string>> words = protocol::split_command(command);
  if (!words) return known;
  std::vector<std::string> selection;
  bool options = false;
  for (std::size_t i = 0; i < words->size(); ++i) {
    const std::string& word = (*words)[i];
    if (word.starts_with("--")) options = true;
    if (!options && i > 0) selection.push_back(word);
    const std::string value = i + 1 < words->size() ? (*words)[i + 1] : "";
    if (word == "--converter-cmd") known.programs.push_back(value);
    if (word == "--execute-with") known.executors.push_back(value);
    if (word == "--fault") known.faults.push_back(value);
    if (word == "--variant") known.variant = value;
    if (word == "--options") known.options = value;
    if (word == "--artifact") known.artifact = value;
    if (word == "--made-by") known.made_by = value;
    if (std::ranges::find(kLimits, word) != kLimits.end()) known.limits += " " + word + " " + value;
    if (word == "--no-sandbox") known.no_sandbox = true;
    if (word == "--reads") known.reads.push_back(value);
    if (word == "--writes") known.writes.push_back(value);
    if (word == "--metamorphic") known.metamorphic = true;
    if (word == "--require-judged") known.require_judged = true;
  }
  known.own_labels = own_labels_of(selection);
  known.selection = std::move(selection);
  return known;
}

bool is_case_file(const std::string& word) {
  return word.ends_with(".json") || word.starts_with("./") || word.starts_with("../") || word.starts_with("/") ||
         word.ends_with("/");
}

namespace {

/// What converters may do.
std::string rights(const RunWords& words) {
  std::string text = words.no_sandbox ? " --no-sandbox" : "";
  for (const std::string& path : words.reads) text += " --reads " + shell_quoted(path);
  for (const std::string& path : words.writes) text += " --writes " + shell_quoted(path);
  return text;
}

/// The words beside the case's name, and whether the name is to pick out of what they select.
std::string selected(const results::ResultRow& row, const RunWords& words) {
  // Only its suite knows what was expected of it, or what its option set is.
  const bool own = words.own_labels.contains(row.key.options);
  const bool expected = row.expectation.has_value() || row.verdict.starts_with("x");
  std::vector<std::string> scope = words.selection;
  if (scope.empty() && expected) scope = {"default"};
  const bool of_suite = std::ranges::any_of(scope, [&](const std::string& word) {
    return corpus::is_suite_file(word) || ((expected || own) && is_suite_name(word));
  });
  if (!of_suite && std::ranges::none_of(scope, is_case_file)) scope.clear();
  std::string text;
  for (const std::string& word : scope) text += shell_quoted(word) + " ";
  // Out of one file of cases a name picks; suites and several words select by themselves.
  if (scope.size() > 1 || of_suite) text += "--only ";
  return text + shell_quoted(row.key.case_name);
}

}  // namespace

Makers makers_of(const results::JobKey& key, const RunWords& words) {
  std::string converter = key.converter, version = key.version;
  Makers makers;
  if (const std::size_t name = converter.rfind('+'), number = version.rfind('+');
      !words.executors.empty() && name != std::string::npos && number != std::string::npos) {
    makers.executor = converter.substr(name + 1) + "@" + version.substr(number + 1);
    converter.resize(name);
    version.resize(number);
  }
  if (words.programs.empty() && converter != "embedded" && converter != corpus::kReference) {
    makers.converter = converter + "@" + version;
  }
  return makers;
}

std::string repeat_command(const results::ResultRow& row, const RunWords& words) {
  const results::JobKey& key = row.key;
  std::string command = corpus::command_word() + " run " + selected(row, words);
  const std::string rest = (words.require_judged ? " --require-judged" : "") + words.limits + rights(words) +
                           (words.database.empty() ? "" : " --db " + shell_quoted(words.database));
  // A label that options were given is not always that of an option set: an option set may have it for others.
  const bool as_json = words.options.starts_with("{");
  if (!words.artifact.empty()) {
    command += " --artifact " + shell_quoted(words.artifact);
    if (!words.made_by.empty()) command += " --made-by " + shell_quoted(words.made_by);
    return command + (words.options.empty() ? "" : " --options " + shell_quoted(words.options)) + rest;
  }
  // Without it the case runs under every option set, and so may be red where this verdict isn't.
  if (as_json || !key.options.empty()) {
    command += " --options " + shell_quoted(as_json ? words.options : key.options);
  }
  for (const std::string& program : words.programs) command += " --converter-cmd " + shell_quoted(program);
  const Makers makers = makers_of(key, words);
  if (!makers.converter.empty()) command += " --converter " + shell_quoted(makers.converter);
  if (!makers.executor.empty()) command += " --execute-with " + shell_quoted(makers.executor);
  for (const std::string& fault : words.faults) command += " --fault " + shell_quoted(fault);
  if (!words.variant.empty()) command += " --variant " + shell_quoted(words.variant);
  return command + (words.metamorphic ? " --metamorphic" : "") + rest;
}

}  // namespace assay::report
