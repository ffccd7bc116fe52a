#include "harness/corpus/suite.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/core/text.hpp"
#include "harness/core/version.hpp"
#include "harness/corpus/case_error.hpp"
#include "harness/corpus/fields.hpp"
#include "harness/corpus/json_files.hpp"
#include "harness/corpus/pattern.hpp"
#include "harness/corpus/state_folder.hpp"
#include "harness/corpus/suite_file.hpp"

namespace assay::corpus {
namespace {

using core::Error;
using core::ErrorKind;
using nlohmann::ordered_json;

constexpr std::uintmax_t kLargestFile = std::uintmax_t{16} << 20U;

OptionSet read_option_set(const Fields& fields) {
  fields.allow({"label", "options"});
  OptionSet set{fields.string("label"), fields.has("options") ? fields.raw("options").dump() : "{}"};
  const auto options = converters::options_from_json(set.options_json);
  if (!options) {
    fields.complain("options", options.error().message);
  } else if (set.label.empty()) {
    set.label = converters::options_label(*options);
  }
  return set;
}

/// "2027-06-30".
bool is_date(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-dd";
  return std::ranges::equal(text, kForm, [](char c, char form) {
    return form == 'd' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : c == form;
  });
}

/// `all`: the pattern of all cases of the file that states it, which are meant where it names none; "" in a suite.
ExpectedFailure read_expected_failure(const Fields& fields, const std::string& all) {
  fields.allow(
      {"case", "options", "converter", "versions", "stage", "facet", "reason", "url", "until", "machine", "margin"});
  for (const std::string_view key : {"case", "converter", "reason", "url"}) {
    if (!fields.has(key) && (key != "case" || all.empty())) fields.complain(key, "is missing");
  }
  ExpectedFailure failure{fields.string("case", all),
                          fields.string("options"),
                          fields.string("converter"),
                          fields.string("versions"),
                          fields.string("stage"),
                          fields.string("facet"),
                          fields.string("reason"),
                          fields.string("url"),
                          fields.string("until"),
                          fields.string("machine"),
                          {},
                          {}};
  if (fields.has("margin")) failure.margin = fields.real("margin");
  if (const std::string fault = core::version_ranges_fault(failure.versions); !fault.empty()) {
    fields.complain("versions", fault);
  }
  if (const auto reason = Pattern::parse(failure.reason); !reason) fields.complain("reason", reason.error().message);
  if (!failure.until.empty() && !is_date(failure.until)) {
    fields.complain("until", "is no date such as 2027-06-30");
  }
  return failure;
}

/// "quark:xint8@0.13" is "quark".
std::string without_variant(std::string_view converter) {
  return std::string(converter.substr(0, converter.find_first_of("*@:")));
}

/// Whether an entry speaks of one of `converters`, in any version or variant: a run may ask for others than the suite
/// names. Its patterns may be of several ("quark* !quark:cle olive"); those that leave out speak of none.
bool speaks_of_any(const ExpectedFailure& entry, const std::vector<std::string>& converters) {
  for (std::string_view rest = entry.converter; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view pattern = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pattern.empty() || pattern.starts_with('!')) continue;
    const auto is_meant = [&](const std::string& each) { return without_variant(each) == without_variant(pattern); };
    if (std::ranges::any_of(converters, is_meant)) return true;
  }
  return false;
}

/// Whether an entry speaks of one of the suite's option sets.
bool speaks_of_an_option_set(const ExpectedFailure& entry, const Suite& suite) {
  return std::ranges::any_of(suite.option_sets,
                             [&](const OptionSet& set) { return core::any_glob_match(entry.options, set.label); });
}

/// Adds what the files of cases that `patterns` mean state of the suite's converters under its option sets.
core::Status add_failures_of_cases(const std::vector<std::string>& patterns, Suite& suite) {
  if (patterns.empty()) return core::success();
  for (const std::filesystem::path& file : json_files(home() / "cases")) {
    const std::string place = file.lexically_relative(home()).generic_string();
    const auto meant = [&](const std::string& pattern) { return core::glob_match(pattern, place); };
    if (std::ranges::none_of(patterns, meant)) continue;
    const auto text = core::read_file(file, kLargestFile);
    if (!text) return case_error(text.error().message);
    const auto json = core::json_or_discarded<ordered_json>(*text);
    if (!json.is_object() || !json.contains("expected_failures")) continue;
    std::optional<Error> problem;
    const Fields fields(json, "", problem);
    const std::string family = fields.string("family");
    const std::string all = family + (fields.has("matrix") || fields.has("forms") ? "/*" : "");
    for (const Fields& entry : fields.objects("expected_failures")) {
      ExpectedFailure failure = read_expected_failure(entry, all);
      failure.family = family;
      if (speaks_of_any(failure, suite.converters) && speaks_of_an_option_set(failure, suite))
        suite.expected_failures.push_back(std::move(failure));
    }
    if (problem) return problem->within(file.string());
  }
  return core::success();
}

bool matches_any(const std::vector<std::string>& patterns, const Case& test_case) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(test_case, pattern); });
}

bool has_any_tag(const std::vector<std::string>& tags, const Case& test_case) {
  return std::any_of(tags.begin(), tags.end(), [&](const std::string& tag) {
    return std::find(test_case.tags.begin(), test_case.tags.end(), tag) != test_case.tags.end();
  });
}

Error no_suite(const std::string& name, const std::vector<std::string>& names) {
  const std::string known =
      names.empty()
          ? "\"" + (home() / "suites").string() + "\" holds none (ASSAY_HOME names the folder above it)"
          : "the nearest of " + std::to_string(names.size()) + " are: " + core::join(core::nearest(name, names), ", ");
  return {ErrorKind::usage, "there is no suite \"" + name + "\"; " + known, "", "", ""};
}

/// ASSAY_HOME, or an empty path.
std::filesystem::path given_home() {
  const char* home = std::getenv("ASSAY_HOME");  // NOLINT(concurrency-mt-unsafe): nobody sets it in this process
  return home != nullptr ? home : "";
}

/// The data of an installed program, or an empty path. Looked for once.
const std::filesystem::path& installed_home() {
  static const std::filesystem::path found = [] {
    std::error_code code;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", code);
    if (code) return std::filesystem::path();
    const std::filesystem::path folder = program.parent_path().parent_path() / "share" / "assay";
    return std::filesystem::is_directory(folder / "cases", code) ? folder : std::filesystem::path();
  }();
  return found;
}

}  // namespace

std::filesystem::path home() {
  if (auto given = given_home(); !given.empty()) return given;
  if (!installed_home().empty()) return installed_home();
  return ASSAY_SOURCE_DIR;
}

std::filesystem::path state_folder() {
  std::error_code code;
  const bool installed = given_home().empty() && !installed_home().empty();
  return (installed ? std::filesystem::current_path(code) : home()) / ".assay";
}

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const auto& file : json_files(home() / "suites")) names.push_back(file.stem().string());
  return names;
}

bool is_suite_file(const std::filesystem::path& file) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(file, code)) return false;
  const auto text = core::read_file(file, kLargestFile);
  const auto json = core::json_or_discarded<ordered_json>(text ? *text : "");
  const auto has_any = [&](std::initializer_list<const char*> keys) {
    return std::ranges::any_of(keys, [&](const char* key) { return json.contains(key); });
  };
  return has_any({"select", "tags"}) && !has_any({"family", "graph", "model", "stored_case"});
}

core::Result<Suite> parse_suite(const std::string& name, const std::string& text) {
  const auto read = core::read_json<ordered_json>(text);
  if (!read) return case_error(read.error().message);
  const ordered_json& json = *read;
  std::optional<Error> problem;
  const Fields fields(json, "", problem);
  fields.allow({"title", "select", "tags", "exclude", "converters", "option_sets", "expected_failures",
                "expected_failures_from"});
  Suite suite;
  suite.name = name;
  suite.select = fields.strings("select");
  suite.tags = fields.strings("tags");
  suite.exclude = fields.strings("exclude");
  suite.converters = fields.has("converters") ? fields.strings("converters") : std::vector<std::string>{"embedded"};
  for (const Fields& set : fields.objects("option_sets")) suite.option_sets.push_back(read_option_set(set));
  if (suite.option_sets.empty()) suite.option_sets.push_back({"default", "{}"});
  for (const Fields& entry : fields.objects("expected_failures")) {
    suite.expected_failures.push_back(read_expected_failure(entry, ""));
  }
  const std::vector<std::string> stated_in = fields.strings("expected_failures_from");
  if (suite.select.empty() && suite.tags.empty()) fields.complain("select", "is missing: name patterns, or \"tags\"");
  if (problem) return *problem;
  if (core::Status status = add_failures_of_cases(stated_in, suite); !status) return status.error();
  return suite;
}

core::Result<Suite> load_suite(const std::string& name_or_file) {
  const auto names = suite_names();
  std::filesystem::path file = home() / "suites" / (name_or_file + ".json");
  if (std::find(names.begin(), names.end(), name_or_file) == names.end()) {
    if (!is_suite_file(name_or_file)) return no_suite(name_or_file, names);
    file = name_or_file;
  }
  const auto text = core::read_file(file, kLargestFile);
  if (!text) return case_error(text.error().message);
  auto suite = parse_suite(name_or_file, *text);
  if (!suite) return suite.error().within(file.string());
  suite->folder = file.parent_path();
  return suite;
}

core::Result<std::vector<Case>> load_corpus() {
  std::vector<Case> corpus;
  for (const auto& file : json_files(home() / "cases")) {
    auto family = load_family(file);
    if (!family) return family.error();
    std::move(family->begin(), family->end(), std::back_inserter(corpus));
  }
  std::sort(corpus.begin(), corpus.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < corpus.size(); ++i) {
    if (corpus[i].name == corpus[i - 1].name) {
      return case_error("the case \"" + corpus[i].name + "\" stands in " + corpus[i - 1].file.string() + " and in " +
                        corpus[i].file.string());
    }
  }
  return corpus;
}

bool matches(const Case& test_case, const std::string& pattern) {
  if (pattern.starts_with("cases/")) {
    return core::glob_match(pattern, test_case.file.lexically_relative(home()).generic_string());
  }
  return pattern == test_case.family || core::glob_match(pattern, test_case.name);
}

core::Result<std::vector<Case>> load_path(const std::filesystem::path& path) {
  std::error_code code;
  std::vector<std::filesystem::path> files{path};
  if (std::filesystem::is_directory(path, code)) {
    files = json_files(path);
    std::erase_if(files, is_suite_file);
  }
  std::vector<Case> cases;
  for (const std::filesystem::path& file : files) {
    auto family = load_family(std::filesystem::absolute(file, code));
    if (!family) return family.error();
    std::ranges::move(*family, std::back_inserter(cases));
  }
  if (!cases.empty()) return cases;
  return Error{ErrorKind::usage,
               "\"" + path.string() + "\" holds no case: it has no file *.json (docs/cases.md says how one is written)",
               "", "", ""};
}

std::vector<Case> in_front_of(std::vector<Case> own, std::vector<Case> corpus) {
  std::set<std::string> names;
  for (const Case& each : own) names.insert(each.name);
  std::erase_if(corpus, [&](const Case& each) { return names.contains(each.name); });
  std::ranges::move(corpus, std::back_inserter(own));
  return own;
}

namespace {

/// `around`: the suites that select this one, by name; a circle of them would have no end.
core::Result<std::vector<Case>> cases_of(const Suite& suite, const std::vector<Case>& known,
                                         const std::vector<std::string>& around) {
  std::vector<Case> corpus = known;
  std::set<std::string> of_paths;  // and of other suites
  for (const std::string& pattern : suite.select) {
    const bool used =
        std::any_of(corpus.begin(), corpus.end(), [&](const Case& c) { return matches_any({pattern}, c); });
    if (used) continue;
    if (std::error_code code; std::filesystem::exists(suite.folder / pattern, code)) {
      auto own = load_path(suite.folder / pattern);
      if (!own) return own.error();
      for (const Case& each : *own) of_paths.insert(each.name);
      corpus = in_front_of(*std::move(own), std::move(corpus));
      continue;
    }
    const std::vector<std::string> suites = suite_names();
    if (std::ranges::find(suites, pattern) != suites.end()) {
      if (std::ranges::find(around, pattern) != around.end()) {
        return Error{ErrorKind::usage, "suite \"" + pattern + "\" selects itself, by " + core::join(around, ", "), "",
                     "", ""};
      }
      const auto other = load_suite(pattern);
      if (!other) return other.error();
      std::vector<std::string> path = around;
      path.push_back(pattern);
      const auto theirs = cases_of(*other, known, path);
      if (!theirs) return theirs.error();
      for (const Case& each : *theirs) of_paths.insert(each.name);
      continue;
    }
    std::vector<std::string> names;
    for (const Case& c : corpus) {
      names.push_back(c.name);
      if (names.empty() || names.back() != c.family) names.push_back(c.family);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return Error{ErrorKind::usage,
                 "no case matches \"" + pattern +
                     "\"; the nearest names are: " + core::join(core::nearest(pattern, names), ", "),
                 "", "", ""};
  }
  const bool of_reference = std::ranges::find(suite.converters, kReference) != suite.converters.end();
  std::vector<Case> selected;
  for (const Case& c : corpus) {
    if (c.stored_case.has_value() != of_reference) continue;
    const bool named = suite.select.empty() || of_paths.contains(c.name) || matches_any(suite.select, c);
    const bool tagged = suite.tags.empty() || has_any_tag(suite.tags, c);
    if (!named || !tagged || matches_any(suite.exclude, c)) continue;
    selected.push_back(c);
    if (const auto status = load_deferred(selected.back()); !status) return status.error();
  }
  return selected;
}

}  // namespace

core::Result<std::vector<Case>> select_cases(const Suite& suite, const std::vector<Case>& corpus) {
  return cases_of(suite, corpus, {suite.name});
}

}  // namespace assay::corpus
