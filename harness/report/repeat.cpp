#include "harness/report/repeat.hpp"

#include <algorithm>

#include "converters/protocol/client.hpp"
#include "harness/core/shell.hpp"
#include "harness/corpus/case.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/corpus/suite_file.hpp"

namespace assay::report {

using core::shell_quoted;

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
    if (word == "--metamorphic") known.metamorphic = true;
  }
  known.files = files_of(selection);
  return known;
}

bool is_case_file(const std::string& word) {
  return word.ends_with(".json") || word.starts_with("./") || word.starts_with("../") || word.starts_with("/") ||
         word.ends_with("/");
}

std::vector<std::string> files_of(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, is_case_file) ? words : std::vector<std::string>{};
}

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
  std::string command = corpus::command_word() + " run ";
  for (const std::string& file : words.files) command += shell_quoted(file) + " ";
  // Out of one file of cases a name picks; suites and several words select by themselves.
  if (words.files.size() > 1 || std::ranges::any_of(words.files, corpus::is_suite_file)) command += "--only ";
  command += shell_quoted(key.case_name);
  // A label that options were given is not always that of an option set: an option set may have it for others.
  const bool as_json = words.options.starts_with("{");
  if (!words.artifact.empty()) {
    command += " --artifact " + shell_quoted(words.artifact);
    if (!words.made_by.empty()) command += " --made-by " + shell_quoted(words.made_by);
    return command + (words.options.empty() ? "" : " --options " + shell_quoted(words.options));
  }
  if (as_json || key.options != "default") {
    command += " --options " + shell_quoted(as_json ? words.options : key.options);
  }
  for (const std::string& program : words.programs) command += " --converter-cmd " + shell_quoted(program);
  const Makers makers = makers_of(key, words);
  if (!makers.converter.empty()) command += " --converter " + shell_quoted(makers.converter);
  if (!makers.executor.empty()) command += " --execute-with " + shell_quoted(makers.executor);
  for (const std::string& fault : words.faults) command += " --fault " + shell_quoted(fault);
  if (!words.variant.empty()) command += " --variant " + shell_quoted(words.variant);
  return command + (words.metamorphic ? " --metamorphic" : "");
}

}  // namespace assay::report
