#include "harness/suites/lint.hpp"

#include <fmt/format.h>

#include <memory>

#include "harness/cli/common.hpp"

namespace assay::cli {
namespace {

struct Arguments {
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

int lint_command(const Arguments& arguments) {
  const core::Result<std::vector<corpus::Case>> corpus = corpus::load_corpus();
  if (!corpus) {
    return report_error(corpus.error());
  }
  const std::vector<std::string> suites = arguments.suites.empty() ? corpus::suite_names() : arguments.suites;
  std::size_t count = 0;
  for (const std::string& name : suites) {
    for (const std::string& line : findings(name, *corpus)) {
      fmt::print("{}: {}\n", name, line);
      ++count;
    }
  }
  fmt::print("{} cases and {} of {} suites read: {} findings\n", corpus->size(), suites.size(),
             corpus::suite_names().size(), count);
  return count == 0 ? kExitOk : kExitUsage;
}

}  // namespace

void register_lint(Command app, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  const Command command =
      app.add_subcommand("lint", "Check cases and suites: expected failures that can't be met or say too little");
  command.add_option("suites", arguments->suites, "Suites (default: all)");
  command.callback([arguments, &action] { action = [arguments] { return lint_command(*arguments); }; });
}

}  // namespace assay::cli
