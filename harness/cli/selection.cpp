#include "harness/cli/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "converters/embedded/embedded.hpp"
#include "converters/options_label.hpp"
#include "harness/cli/common.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/json_files.hpp"
#include "harness/corpus/suite_file.hpp"
#include "harness/report/repeat.hpp"
#include "reference/infer.hpp"

namespace assay::cli {
namespace {

constexpr std::string_view kDefaultSuite = "default";
// The reference has no options.
const std::vector<corpus::OptionSet> kOnlyOptionSet{{"default", "{}"}};

std::string unmatched_text(const std::string& word, const std::vector<corpus::Case>& cases) {
  if (report::is_case_file(word)) {
    return fmt::format(
        "there is no file or folder \"{}\" of cases, and no suite or case of that name; `assay list` shows "
        "the cases that there are",
        word);
  }
  std::set<std::string> names;
  const bool whole = word.find('/') != std::string::npos;
  for (const corpus::Case& each : cases) {
    names.insert(whole ? each.name : each.family);
  }
  for (const std::string& suite : corpus::suite_names()) {
    names.insert(suite);
  }
  const std::vector<std::string> all(names.begin(), names.end());
  return fmt::format("\"{}\" is no suite and matches no case; near it: {}. `assay list` shows all", word,
                     core::join(core::nearest(word, all), ", "));
}

/// The option set that another suite calls `label`, or the options that a run calls so: every label that was printed
/// can be given.
std::optional<corpus::OptionSet> named_elsewhere(const std::string& label) {
  for (const std::string& name : corpus::suite_names()) {
    const core::Result<corpus::Suite> suite = corpus::load_suite(name);
    if (!suite) continue;
    const auto named = std::ranges::find(suite->option_sets, label, &corpus::OptionSet::label);
    if (named != suite->option_sets.end()) return *named;
  }
  const std::optional<converters::Options> options = converters::options_of_label(label);
  if (!options) return std::nullopt;
  return corpus::OptionSet{label, converters::options_to_json(*options)};
}

core::Result<std::vector<corpus::OptionSet>> filtered(const std::vector<corpus::OptionSet>& sets,
                                                      const std::string& options) {
  if (options.empty()) {
    return sets;
  }
  if (options.starts_with("{")) {
    core::Result<converters::Options> parsed = converters::options_from_json(options);
    if (!parsed) {
      return parsed.error();
    }
    return std::vector{corpus::OptionSet{converters::options_label(*parsed), options}};
  }
  std::vector<std::string> labels;
  for (const corpus::OptionSet& set : sets) {
    if (set.label == options) {
      return std::vector{set};
    }
    labels.push_back(set.label);
  }
  if (std::optional<corpus::OptionSet> named = named_elsewhere(options)) {
    return std::vector{*std::move(named)};
  }
  return core::Error{core::ErrorKind::usage,
                     fmt::format("there is no option set \"{}\"; there are: {} (or give JSON)", options,
                                 core::join(core::nearest(options, labels, labels.size()), ", ")),
                     {},
                     {},
                     {}};
}

/// Loads the case's model. One that declares a type or shape that the operators' rules contradict proves nothing, and
/// neither does a claim to catch a fault that doesn't exist.
core::Status complete(corpus::Case& test_case) {
  if (core::Status status = corpus::load_deferred(test_case); !status) return status;
  core::Status status = check_kills(test_case);
  if (status && test_case.model != nullptr) status = reference::check_declarations(*test_case.model);
  if (status) return status;
  core::Error error = status.error().within(fmt::format("{}: case \"{}\"", test_case.file.string(), test_case.name));
  error.kind = core::ErrorKind::invalid_case;
  return error;
}

/// The whole corpus, or one family's cases where the only word is a case's full name: a test runs one case in a
/// process of its own and need not read the others.
core::Result<std::vector<corpus::Case>> load_cases(const std::vector<std::string>& words) {
  if (words.size() == 1 && words.front().find('/') != std::string::npos) {
    const std::string family = words.front().substr(0, words.front().find('/'));
    const std::filesystem::path file = corpus::home() / "cases" / (family + ".json");
    std::error_code code;
    if (std::filesystem::is_regular_file(file, code)) {
      return corpus::load_family(file);
    }
  }
  return corpus::load_corpus();
}

/// The cases of a file, or of all files below a folder, that the user named.
core::Result<std::vector<corpus::Case>> load_own(const std::string& word) {
  std::error_code code;
  const std::filesystem::path path = word;
  std::vector<std::filesystem::path> files{path};
  if (std::filesystem::is_directory(path, code)) {
    files = corpus::json_files(path);
    std::erase_if(files, corpus::is_suite_file);
  }
  std::vector<corpus::Case> cases;
  for (const std::filesystem::path& file : files) {
    core::Result<std::vector<corpus::Case>> family = corpus::load_family(std::filesystem::absolute(file, code));
    if (!family) return family.error();
    std::ranges::move(*family, std::back_inserter(cases));
  }
  if (cases.empty()) {
    return core::Error{
        core::ErrorKind::usage,
        fmt::format("\"{}\" holds no case: it has no file *.json (docs/cases.md says how one is written)", word),
        {},
        {},
        {}};
  }
  return cases;
}

/// The words that are paths, with their cases; the others stay in `words`.
core::Result<std::vector<corpus::Case>> take_own(std::vector<std::string>& words) {
  std::vector<corpus::Case> own;
  std::vector<std::string> others;
  for (const std::string& word : words) {
    if (!is_own_file(word)) {
      others.push_back(word);
      continue;
    }
    core::Result<std::vector<corpus::Case>> cases = load_own(word);
    if (!cases) return cases.error();
    std::ranges::move(*cases, std::back_inserter(own));
  }
  if (!own.empty() && others.empty()) {  // nothing is picked out of them
    for (const corpus::Case& each : own) others.push_back(each.name);
  }
  words = std::move(others);
  return own;
}

/// `own` in front of the corpus, whose cases of the same name they stand for: a file of it may be named by its path.
std::vector<corpus::Case> with_own(std::vector<corpus::Case> own, std::vector<corpus::Case> corpus) {
  std::set<std::string> names;
  for (const corpus::Case& each : own) names.insert(each.name);
  std::erase_if(corpus, [&](const corpus::Case& each) { return names.contains(each.name); });
  own.insert(own.end(), std::make_move_iterator(corpus.begin()), std::make_move_iterator(corpus.end()));
  return own;
}

}  // namespace

bool is_own_file(const std::string& word) {
  std::error_code code;
  return report::is_case_file(word) && std::filesystem::exists(word, code) && !corpus::is_suite_file(word);
}

core::Status check_kills(const corpus::Case& test_case) {
  for (const std::string& fault : test_case.kills) {
    if (const auto known = embedded::make_embedded({fault}); !known) return known.error().within("kills");
  }
  return core::success();
}

core::Result<std::vector<corpus::Case>> cases_at(const std::string& path) {
  core::Result<std::vector<corpus::Case>> cases = load_own(path);
  if (!cases) return cases.error();
  for (corpus::Case& each : *cases) {
    if (const core::Status status = complete(each); !status) return status.error();
  }
  return cases;
}

core::Result<Selection> select(const std::vector<std::string>& named, const std::string& options,
                               const std::vector<std::string>& only) {
  std::vector<std::string> words = named;
  core::Result<std::vector<corpus::Case>> own = take_own(words);
  if (!own) {
    return own.error();
  }
  core::Result<std::vector<corpus::Case>> loaded = load_cases(words);
  if (!loaded) {
    return loaded.error();
  }
  const core::Result<std::vector<corpus::Case>> cases = with_own(*std::move(own), *std::move(loaded));
  const std::vector<std::string> suites = corpus::suite_names();
  const std::vector<std::string> wanted = words.empty() ? std::vector{std::string(kDefaultSuite)} : words;

  Selection selection;
  selection.text = core::join(named.empty() ? wanted : named, " ");
  for (const std::string& pattern : only) selection.text += " --only " + shell_quoted(pattern);
  std::map<std::string, std::size_t> index;
  const auto add = [&](const corpus::Case& test_case, const std::vector<corpus::OptionSet>& sets) {
    const auto [entry, added] = index.emplace(test_case.name, selection.items.size());
    if (added) {
      selection.items.push_back({test_case, {}, std::nullopt});
    }
    std::vector<corpus::OptionSet>& have = selection.items[entry->second].option_sets;
    for (const corpus::OptionSet& set : sets) {
      if (std::none_of(have.begin(), have.end(), [&](const auto& each) { return each.label == set.label; })) {
        have.push_back(set);
      }
    }
  };

  for (const std::string& word : wanted) {
    const bool is_suite = std::find(suites.begin(), suites.end(), word) != suites.end() || corpus::is_suite_file(word);
    core::Result<corpus::Suite> suite = corpus::load_suite(is_suite ? word : std::string(kDefaultSuite));
    if (!suite) {
      return suite.error();
    }
    core::Result<std::vector<corpus::OptionSet>> sets = filtered(suite->option_sets, options);
    if (!sets) {
      return sets.error();
    }
    const std::size_t before = selection.items.size();
    if (is_suite) {
      core::Result<std::vector<corpus::Case>> selected = corpus::select_cases(*suite, *cases);
      if (!selected) {
        return selected.error();
      }
      for (const corpus::Case& test_case : *selected) {
        add(test_case, *sets);
      }
      selection.converters.insert(selection.converters.end(), suite->converters.begin(), suite->converters.end());
      selection.expected_failures.insert(selection.expected_failures.end(), suite->expected_failures.begin(),
                                         suite->expected_failures.end());
    } else {
      bool any = false;
      for (const corpus::Case& test_case : *cases) {
        if (corpus::matches(test_case, word)) {
          add(test_case, test_case.stored_case ? kOnlyOptionSet : *sets);
          any = true;
        }
      }
      if (!any) {
        selection.unmatched = unmatched_text(word, *cases);
        return selection;
      }
    }
    if (is_suite && selection.items.size() == before) {
      selection.unmatched = fmt::format("suite \"{}\" selects no case", word);
      return selection;
    }
  }
  if (!only.empty()) {
    std::erase_if(selection.items, [&](const run::RunItem& item) {
      return std::ranges::none_of(only, [&](const std::string& pattern) { return matches(item.test_case, pattern); });
    });
    if (selection.items.empty()) {
      selection.unmatched = fmt::format("{} has no case that matches \"{}\"; `assay list` shows its cases",
                                        core::join(wanted, " "), core::join(only, "\", \""));
      return selection;
    }
  }
  std::vector<std::string> once;  // several suites may name the same
  for (std::string& name : selection.converters) {
    if (std::ranges::find(once, name) == once.end()) {
      once.push_back(std::move(name));
    }
  }
  selection.converters = std::move(once);
  for (run::RunItem& item : selection.items) {
    if (const core::Status status = complete(item.test_case); !status) return status.error();
  }
  for (const run::RunItem& item : selection.items) {
    const std::string wanted_converter = item.test_case.stored_case ? corpus::kReference : "embedded";
    const bool served = std::ranges::any_of(selection.converters, [&](const std::string& name) {
      return (name == corpus::kReference) == item.test_case.stored_case.has_value();
    });
    if (!served) {
      selection.converters.push_back(wanted_converter);
    }
  }
  return selection;
}

bool is_model_file(const std::string& word) {
  std::error_code code;
  return word.ends_with(".onnx") || (!word.ends_with(".json") && std::filesystem::is_regular_file(word, code));
}

int report_unmatched(const std::string& complaint) {
  fmt::print(stderr, "assay: {}\n", complaint);
  return kExitIncomplete;
}

}  // namespace assay::cli
