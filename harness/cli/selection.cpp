#include "harness/cli/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <variant>

#include "converters/embedded/embedded.hpp"
#include "converters/options_label.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/case_error.hpp"
#include "harness/corpus/json_files.hpp"
#include "harness/corpus/suite_file.hpp"
#include "harness/judge/evidence/supports.hpp"
#include "harness/report/repeat.hpp"
#include "reference/infer.hpp"

namespace assay::cli {
namespace {

constexpr std::string_view kDefaultSuite = "default";
// The reference has no options.
const std::vector<corpus::OptionSet> kOnlyOptionSet{{"default", "{}"}};

std::string unmatched_text(const std::string& word, const std::vector<corpus::Case>& cases) {
  if (report::is_case_file(word)) {
    const bool quoted = word.find_first_of("*?") != std::string::npos;
    return fmt::format(
        "there is no file or folder \"{}\" of cases, and no suite or case of that name; {}", word,
        quoted ? "without quotes the shell puts the files' names in its place, and a folder stands for all its cases"
               : "`assay list` shows the cases that there are");
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

/// The options that `label` spells out, or else the option set that other suites call so: every label that was printed
/// can be given. Nothing where nobody knows it. Errors   usage: suites call different options so.
core::Result<std::optional<corpus::OptionSet>> named_elsewhere(const std::string& label) {
  if (const std::optional<converters::Options> options = converters::options_of_label(label)) {
    return std::optional(corpus::OptionSet{label, converters::options_to_json(*options)});
  }
  std::optional<corpus::OptionSet> found;
  std::string suite_of_found;
  for (const std::string& name : corpus::suite_names()) {
    const core::Result<corpus::Suite> suite = corpus::load_suite(name);
    if (!suite) continue;
    const auto named = std::ranges::find(suite->option_sets, label, &corpus::OptionSet::label);
    if (named == suite->option_sets.end()) continue;
    if (found && !converters::same_options(found->options_json, named->options_json)) {
      return core::usage_error(fmt::format(
          "option set \"{}\" is {} in suite {} and {} in suite {}: name the suite, or give the options as JSON", label,
          found->options_json, suite_of_found, named->options_json, name));
    }
    found = *named;
    suite_of_found = name;
  }
  return found;
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
  core::Result<std::optional<corpus::OptionSet>> named = named_elsewhere(options);
  if (!named) return named.error();
  if (*named) return std::vector{**named};
  return core::Error{core::ErrorKind::usage,
                     fmt::format("there is no option set \"{}\"; there are: {} (or give JSON)", options,
                                 core::join(core::nearest(options, labels, labels.size()), ", ")),
                     {},
                     {},
                     {}};
}

bool may_be(const model::ValueInfo& made, const core::Shape& stated) {
  return !made.shape || std::ranges::equal(*made.shape, stated, [](const model::Dimension& one, std::int64_t other) {
    return !one.value || *one.value == other;
  });
}

/// An `expect` that the operators' rules contradict turns a right converter red.
core::Status check_expected_outputs(const corpus::Case& test_case) {
  const corpus::Expectation& expect = test_case.expect;
  const bool expects = !expect.shape.empty() || !expect.dtype.empty();
  if (test_case.model == nullptr || expect.status == "refused" || !expects) return core::success();
  const auto inferred = reference::infer_shapes(*test_case.model);
  if (!inferred) return core::success();  // who runs the model says what is wrong with it
  const auto contradiction = [](const char* key, const std::string& output, std::string_view stated,
                                const std::string& made) {
    return corpus::case_error(
        fmt::format("expect.{}: output \"{}\" is stated as {}, and the operators make {}", key, output, stated, made));
  };
  for (const auto& [output, stated] : expect.shape) {
    const auto made = inferred->find(output);
    if (made == inferred->end() || may_be(made->second, stated)) continue;
    std::vector<std::string> extents;
    for (const model::Dimension& each : *made->second.shape) {
      extents.push_back(each.value ? fmt::format("{}", *each.value) : each.symbol.empty() ? "?" : each.symbol);
    }
    return contradiction("shape", output, core::shape_text(stated), "[" + core::join(extents, ",") + "]");
  }
  for (const auto& [output, stated] : expect.dtype) {
    const auto made = inferred->find(output);
    if (made == inferred->end() || made->second.type == core::DType::undefined) continue;
    const std::string type(core::dtype_name(made->second.type));
    if (core::parse_dtype(stated) != made->second.type) return contradiction("dtype", output, stated, type);
  }
  return core::success();
}

/// The model with its graph outputs declared as its operators make them, where nothing else in it contradicts these:
/// they alone say what an output is, and ONNX Runtime goes by them, too, with a warning. Null where more is wrong.
std::shared_ptr<const model::Model> with_outputs_as_made(const model::Model& model) {
  auto mended = std::make_shared<model::Model>(model);
  for (model::ValueInfo& output : mended->graph.outputs) output.shape.reset();
  if (!reference::check_declarations(*mended)) return nullptr;
  const auto made = reference::infer_shapes(*mended);
  if (!made) return nullptr;
  for (model::ValueInfo& output : mended->graph.outputs) {
    const auto facts = made->find(output.name);
    if (facts == made->end() || !facts->second.shape) return nullptr;
    output.shape = facts->second.shape;
  }
  return mended;
}

/// Loads the case's model. One that declares a type or shape that the operators' rules contradict proves nothing, and
/// neither does a claim to catch a fault that doesn't exist. A published model that does the first is nobody's mistake
/// here: where only its outputs' shapes are wrong, the operators' hold; else its case can't run, and the others can.
core::Status complete(corpus::Case& test_case) {
  if (core::Status status = corpus::load_deferred(test_case); !status) return status;
  core::Status status = check_claims(test_case);
  if (status && test_case.model != nullptr) {
    status = reference::check_declarations(*test_case.model);
    if (!status && test_case.remote) {
      if (auto mended = with_outputs_as_made(*test_case.model)) {
        test_case.model = std::move(mended);
        return core::success();
      }
      test_case.unavailable =
          test_case.remote->path + " declares what its operators don't make: " + status.error().message;
      test_case.model = nullptr;
      return core::success();
    }
  }
  if (status) return status;
  core::Error error = status.error().within(fmt::format("{}: case \"{}\"", test_case.file.string(), test_case.name));
  error.kind = core::ErrorKind::invalid_case;
  return error;
}

/// Of option sets that the case's own options make equal the first: the others would be the same verdict again.
void drop_equal_sets(run::RunItem& item) {
  std::set<std::string> seen;
  std::erase_if(item.option_sets, [&](const corpus::OptionSet& set) {
    const core::Result<converters::Options> asked = converters::options_from_json(set.options_json);
    if (!asked) return false;
    core::Result<converters::Options> used = converters::options_from_json(item.test_case.options_json, *asked);
    for (const corpus::Step& step : item.test_case.steps) {
      if (!used || item.test_case.steps.size() > 1) return false;
      used = converters::options_from_json(step.options_json, converters::Options(*used));
    }
    return used && !seen.insert(converters::options_to_json(*used)).second;
  });
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

/// A file or folder of cases that a word names.
struct OwnPath {
  std::string word;
  std::vector<corpus::Case> cases;
};

/// The words that are paths, with their cases; the others stay in `words`.
core::Result<std::vector<OwnPath>> take_own(std::vector<std::string>& words) {
  std::vector<OwnPath> own;
  std::vector<std::string> others;
  for (const std::string& word : words) {
    if (!is_own_file(word)) {
      others.push_back(word);
      continue;
    }
    core::Result<std::vector<corpus::Case>> cases = corpus::load_path(word);
    if (!cases) return cases.error();
    own.push_back({word, *std::move(cases)});
  }
  words = std::move(others);
  return own;
}

bool is_suite(const std::string& word) {
  const std::vector<std::string> names = corpus::suite_names();
  return std::ranges::find(names, word) != names.end() || corpus::is_suite_file(word);
}

void collect_operators(const model::Graph& graph, std::set<std::string>& names) {
  for (const model::Node& node : graph.nodes) {
    names.insert(model::operator_name(node));
    for (const auto& [name, value] : node.attributes) {
      if (const auto* body = std::get_if<model::GraphPtr>(&value)) collect_operators(**body, names);
    }
  }
}

}  // namespace

std::vector<std::string> operators_of(const corpus::Case& test_case) {
  std::set<std::string> names;
  if (test_case.model != nullptr) collect_operators(test_case.model->graph, names);
  return {names.begin(), names.end()};
}

void add_narrowing(Command command, Narrowing& narrowing) {
  command
      .add_option("--only", narrowing.only,
                  "Of these, only the cases that this pattern matches; a suite's expected failures hold. May be "
                  "repeated")
      .allow_extra_args(false);
  command.add_option("--operators", narrowing.operators,
                     "Of these, only the cases whose model has no other operators, such as Relu,Add");
}

bool is_own_file(const std::string& word) {
  std::error_code code;
  if (is_suite(word)) return false;
  if (report::is_case_file(word)) return std::filesystem::exists(word, code);
  const bool family = std::filesystem::exists(corpus::home() / "cases" / (word + ".json"), code);
  return !family && std::filesystem::is_directory(word, code);
}

std::vector<std::string> with_folders_marked(std::vector<std::string> words) {
  for (std::string& word : words) {
    if (is_own_file(word) && !report::is_case_file(word)) word += "/";
  }
  return words;
}

core::Status check_claims(const corpus::Case& test_case) {
  for (const std::string& fault : test_case.kills) {
    if (const auto known = embedded::make_embedded({fault}); !known) return known.error().within("kills");
  }
  return check_expected_outputs(test_case);
}

core::Result<std::vector<corpus::Case>> cases_at(const std::string& path) {
  core::Result<std::vector<corpus::Case>> cases = corpus::load_path(path);
  if (!cases) return cases.error();
  for (corpus::Case& each : *cases) {
    if (const core::Status status = complete(each); !status) return status.error();
  }
  return cases;
}

core::Result<Selection> select(const std::vector<std::string>& named, const std::string& options,
                               const Narrowing& narrowing) {
  std::vector<std::string> words = with_folders_marked(named);
  const std::vector<std::string> all_words = words.empty() ? std::vector{std::string(kDefaultSuite)} : words;
  core::Result<std::vector<OwnPath>> own = take_own(words);
  if (!own) {
    return own.error();
  }
  std::vector<corpus::Case> cases;
  if (own->empty() || !words.empty()) {
    core::Result<std::vector<corpus::Case>> loaded = load_cases(words);
    if (!loaded) return loaded.error();
    cases = *std::move(loaded);
  }
  for (const OwnPath& path : *own) cases = corpus::in_front_of(path.cases, std::move(cases));
  const std::vector<std::string> wanted = own->empty() ? all_words : words;

  std::vector<std::string> listed;
  std::istringstream operators(narrowing.operators);
  for (std::string op; std::getline(operators, op, ',');) listed.push_back(op);
  Selection selection;
  selection.text = core::join(all_words, " ");
  for (const std::string& pattern : narrowing.only) selection.text += " --only " + shell_quoted(pattern);
  if (!listed.empty()) selection.text += " --operators " + narrowing.operators;
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

  std::set<std::string> picked;  // by patterns
  for (const std::string& word : wanted) {
    const bool of_suite = is_suite(word);
    core::Result<corpus::Suite> suite = corpus::load_suite(of_suite ? word : std::string(kDefaultSuite));
    if (!suite) {
      return suite.error();
    }
    core::Result<std::vector<corpus::OptionSet>> sets = filtered(suite->option_sets, options);
    if (!sets) {
      return sets.error();
    }
    const std::size_t before = selection.items.size();
    if (of_suite) {
      core::Result<std::vector<corpus::Case>> selected = corpus::select_cases(*suite, cases);
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
      for (const corpus::Case& test_case : cases) {
        if (corpus::matches(test_case, word)) {
          add(test_case, test_case.stored_case ? kOnlyOptionSet : *sets);
          picked.insert(test_case.name);
          any = true;
        }
      }
      if (!any) {
        selection.unmatched = unmatched_text(word, cases);
        return selection;
      }
    }
    if (of_suite && selection.items.size() == before) {
      selection.unmatched = fmt::format("suite \"{}\" selects no case", word);
      return selection;
    }
  }
  const std::size_t named_otherwise = index.size();
  for (const OwnPath& path : *own) {
    if (std::ranges::any_of(path.cases, [&](const auto& each) { return picked.contains(each.name); })) continue;
    core::Result<corpus::Suite> suite = corpus::load_suite(std::string(kDefaultSuite));
    if (!suite) return suite.error();
    core::Result<std::vector<corpus::OptionSet>> sets = filtered(suite->option_sets, options);
    if (!sets) return sets.error();
    for (const corpus::Case& each : path.cases) {
      const auto found = index.find(each.name);
      if (found != index.end() && found->second < named_otherwise) continue;  // a suite's, under its option sets
      add(each, each.stored_case ? kOnlyOptionSet : *sets);
    }
  }
  if (!narrowing.only.empty()) {
    std::erase_if(selection.items, [&](const run::RunItem& item) {
      return std::ranges::none_of(narrowing.only,
                                  [&](const std::string& pattern) { return matches(item.test_case, pattern); });
    });
    if (selection.items.empty()) {
      selection.unmatched = fmt::format("{} has no case that matches \"{}\"; `assay list` shows its cases",
                                        core::join(all_words, " "), core::join(narrowing.only, "\", \""));
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
    drop_equal_sets(item);
  }
  if (!listed.empty()) {
    std::erase_if(selection.items, [&](const run::RunItem& item) {
      const std::vector<std::string> used = operators_of(item.test_case);
      return used.empty() || std::ranges::any_of(used, [&](const std::string& op) {
               return std::ranges::find(listed, op) == listed.end();
             });
    });
    if (selection.items.empty()) {
      selection.unmatched = fmt::format(
          "{} has no case whose model has no operator but {}; `assay list --json` "
          "shows the operators of each",
          core::join(all_words, " "), narrowing.operators);
      return selection;
    }
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
  print(stderr, "assay: {}\n", complaint);
  return kExitIncomplete;
}

core::Result<Selection> select_converted(const std::vector<std::string>& words, const std::string& options) {
  core::Result<Selection> selection = select(words, options);
  if (!selection) return selection;
  if (!selection->unmatched.empty()) return core::usage_error(selection->unmatched);
  std::erase_if(selection->items, [](const run::RunItem& item) { return item.test_case.stored_case.has_value(); });
  if (selection->items.empty()) {
    return core::usage_error(
        fmt::format("{} selects stored cases alone, which the reference runs: no converter's artifact comes of them",
                    selection->text));
  }
  return selection;
}

}  // namespace assay::cli
