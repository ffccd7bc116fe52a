#include "harness/suites/lint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/selection.hpp"
#include "harness/core/counted.hpp"
#include "harness/new_cases/new_case.hpp"
#include "harness/programs/converter_spec.hpp"

namespace assay::cli {
namespace {

struct LintArguments {
  std::vector<std::string> suites;
};

/// What is wrong with one suite, a line each.
std::vector<std::string> findings(const std::string& name, const std::vector<corpus::Case>& corpus) {
  const core::Result<corpus::Suite> suite = corpus::load_suite(name);
  if (!suite) {
    return {suite.error().message};
  }
  const core::Result<std::vector<corpus::Case>> selected = corpus::select_cases(*suite, corpus);
  if (!selected) {
    return {selected.error().message};
  }
  return suites::lint(*suite, *selected);
}

/// What is wrong with cases, a line each. A file that can't be read is an error before.
std::vector<std::string> findings(const std::vector<corpus::Case>& cases, std::size_t& artifacts) {
  std::vector<std::string> lines;
  std::set<std::filesystem::path> seen;
  for (const corpus::Case& each : cases) {
    if (const core::Status known = check_claims(each); !known) {
      lines.push_back(fmt::format("case {}: {}", each.name, known.error().message));
    }
    const std::filesystem::path kept = new_cases::kept_artifact(each);
    if (kept.empty() || !seen.insert(kept).second) continue;
    ++artifacts;
    corpus::Case whole = each;
    core::Status wrong = corpus::load_deferred(whole);
    if (wrong) wrong = new_cases::check_kept_artifact(whole);
    if (!wrong) lines.push_back(fmt::format("case {}: {}", each.name, wrong.error().message));
  }
  return lines;
}

std::string artifacts_text(std::size_t artifacts) {
  if (artifacts == 0) return "";
  return ", " + core::counted(artifacts, "wrong artifact") + " judged again";
}

/// Files and folders of cases outside the corpus.
int lint_files(const std::vector<std::string>& paths) {
  std::size_t cases = 0, count = 0, artifacts = 0;
  for (const std::string& path : paths) {
    const core::Result<std::vector<corpus::Case>> own = cases_at(path);
    if (!own) return report_error(own.error());
    cases += own->size();
    for (const std::string& line : findings(*own, artifacts)) {
      print("{}\n", line);
      ++count;
    }
  }
  print("{} read{}: {}\n", core::counted(cases, "case"), artifacts_text(artifacts), core::counted(count, "finding"));
  return count == 0 ? kExitOk : kExitUsage;
}

int lint_command(const LintArguments& arguments) {
  const bool files = std::ranges::any_of(arguments.suites, is_own_file);
  if (files && std::ranges::all_of(arguments.suites, is_own_file)) return lint_files(arguments.suites);
  if (files) {
    return report_error({core::ErrorKind::usage, "give suites, or files and folders of cases, not both", {}, {}, {}});
  }
  const core::Result<std::vector<corpus::Case>> corpus = corpus::load_corpus();
  if (!corpus) {
    return report_error(corpus.error());
  }
  const std::vector<std::string> suites = arguments.suites.empty() ? corpus::suite_names() : arguments.suites;
  std::size_t count = 0, artifacts = 0;
  if (arguments.suites.empty()) {
    for (const std::string& line : findings(*corpus, artifacts)) {
      print("{}\n", line);
      ++count;
    }
  }
  if (arguments.suites.empty()) {
    for (const programs::Adapter& adapter : programs::list_adapters()) {
      const core::Result<programs::Rights> rights = programs::declared_rights(adapter.folder);
      const core::Result<programs::Demands> demands = programs::declared_demands(adapter.folder);
      if (rights && demands) continue;
      print("adapter {}: {}\n", adapter.name, rights ? demands.error().message : rights.error().message);
      ++count;
    }
  }
  for (const std::string& name : suites) {
    for (const std::string& line : findings(name, *corpus)) {
      print("{}: {}\n", name, line);
      ++count;
    }
  }
  print("{} and {} of {} read{}: {}\n", core::counted(corpus->size(), "case"), suites.size(),
        core::counted(corpus::suite_names().size(), "suite"), artifacts_text(artifacts),
        core::counted(count, "finding"));
  return count == 0 ? kExitOk : kExitUsage;
}

}  // namespace

void register_lint(Command app, Action& action) {
  auto arguments = std::make_shared<LintArguments>();
  const Command command =
      app.add_subcommand("lint", "Check cases and suites: expected failures that can't be met or say too little");
  command.add_option("suites", arguments->suites, "Suites, or files and folders of cases (default: all of the corpus)");
  command.callback([arguments, &action] { action = [arguments] { return lint_command(*arguments); }; });
}

}  // namespace assay::cli
