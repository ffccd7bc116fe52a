#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/run_files.hpp"
#include "harness/core/files.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/report/converter_page.hpp"
#include "harness/report/found_table.hpp"
#include "harness/report/html/html_report.hpp"
#include "harness/report/origin_table.hpp"

namespace assay::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> converters;
  std::string suite;
  bool found = false;
  std::string markdown, html;
  std::string junit, sarif, against, run;
  int versions = 0;
  std::string database = ".assay/history.db";
};

core::Result<std::string> page_of(results::Store& store, const std::vector<std::string>& converters) {
  if (converters.size() != 1) {
    return core::Error{core::ErrorKind::usage, "a page is of one converter: --converter NAME", {}, {}, {}};
  }
  const core::Result<results::Store::NewestVerdicts> verdicts = report::verdicts_of(store, converters.front());
  if (!verdicts) {
    return verdicts.error();
  }
  const core::Result<std::string> note = report::programs_note(store, converters.front(), *verdicts);
  if (!note) {
    return note.error();
  }
  return report::converter_page(*verdicts) + *note;
}

/// The public reports behind a suite's cases, and which of the converters' newest recorded versions still have them.
core::Result<std::string> origins_of(results::Store& store, const ReportArguments& arguments) {
  if (arguments.converters.empty()) {
    return core::Error{core::ErrorKind::usage, "who is red on them? --converter NAME", {}, {}, {}};
  }
  const core::Result<corpus::Suite> suite = corpus::load_suite(arguments.suite);
  const core::Result<std::vector<corpus::Case>> corpus = corpus::load_corpus();
  if (!suite || !corpus) {
    return suite ? corpus.error() : suite.error();
  }
  const core::Result<std::vector<corpus::Case>> cases = corpus::select_cases(*suite, *corpus);
  if (!cases) {
    return cases.error();
  }
  report::ByConverter verdicts;
  for (const std::string& converter : arguments.converters) {
    const core::Result<std::vector<std::string>> versions = store.versions(converter);
    if (!versions) {
      return versions.error();
    }
    if (versions->empty()) {
      return core::usage_error(fmt::format("the database holds no verdict of \"{}\"", converter));
    }
    core::Result<std::vector<results::ResultRow>> newest = store.newest_results(converter, versions->back());
    if (!newest) {
      return newest.error();
    }
    verdicts[converter + " " + versions->back()] = *std::move(newest);
  }
  return report::origin_table(*cases, verdicts);
}

/// The cases below cases/found, and who is red on them by the suites.
core::Result<std::string> found_defects() {
  core::Result<std::vector<corpus::Case>> cases = corpus::load_corpus();
  if (!cases) {
    return cases.error();
  }
  std::erase_if(*cases, [](const corpus::Case& each) { return !corpus::matches(each, "cases/found/*"); });
  std::vector<corpus::Suite> suites;
  for (const std::string& name : corpus::suite_names()) {
    core::Result<corpus::Suite> suite = corpus::load_suite(name);
    if (!suite) {
      return suite.error();
    }
    suites.push_back(std::move(*suite));
  }
  return report::found_table(*cases, suites);
}

core::Result<std::string> made(const ReportArguments& arguments) {
  if (arguments.found) {
    return found_defects();
  }
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) {
    return store.error();
  }
  return arguments.suite.empty() ? page_of(*store, arguments.converters) : origins_of(*store, arguments);
}

core::Status write_html(const ReportArguments& arguments) {
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) {
    return store.error();
  }
  const core::Result<std::string> page = report::html_report(*store, {arguments.converters,
                                                                      arguments.database,
                                                                      {},
                                                                      static_cast<std::size_t>(arguments.versions),
                                                                      corpus::command_word()});
  return page ? core::write_file(arguments.html, *page) : core::Status(page.error());
}

/// Whether one run is asked for, and not a converter over all of them.
bool of_a_run(const ReportArguments& arguments) {
  return !arguments.junit.empty() || !arguments.sarif.empty() || !arguments.against.empty();
}

core::Status report_run(const ReportArguments& arguments) {
  if (!arguments.against.empty() && arguments.markdown.empty()) {
    return core::Error{core::ErrorKind::usage, "--against is for --markdown FILE", {}, {}, {}};
  }
  return write_run_files({arguments.database, arguments.run, arguments.converters, arguments.junit, arguments.sarif,
                          arguments.against.empty() ? "" : arguments.markdown, arguments.against});
}

core::Status report(const ReportArguments& arguments) {
  if (!arguments.html.empty()) {
    core::Status written = write_html(arguments);
    const bool more = of_a_run(arguments) || !arguments.markdown.empty();
    if (!written || !more) {
      return written;
    }
  }
  if (of_a_run(arguments)) {
    core::Status written = report_run(arguments);
    const bool page_too = arguments.against.empty() && !arguments.markdown.empty();
    if (!written || !page_too) {
      return written;
    }
  }
  const core::Result<std::string> text = made(arguments);
  if (!text) {
    return text.error();
  }
  const std::string& generated = *text;
  if (arguments.markdown.empty()) {
    print("{}", generated);
    return core::success();
  }
  std::error_code code;
  const core::Result<std::string> page =
      std::filesystem::exists(arguments.markdown, code) ? core::read_file(arguments.markdown) : std::string();
  if (!page) {
    return page.error();
  }
  const core::Result<std::string> whole = report::with_generated(*page, generated);
  if (!whole) {
    return whole.error().within(arguments.markdown);
  }
  return core::write_file(arguments.markdown, *whole);
}

int report_command(const ReportArguments& arguments) {
  const core::Status status = report(arguments);
  return status ? kExitOk : report_error(status.error());
}

}  // namespace

void register_report(Command app, Action& action) {
  auto arguments = std::make_shared<ReportArguments>();
  const Command command = app.add_subcommand(
      "report", "What is recorded, as a page: a converter over all its versions, or one run for other programs");
  command.add_option("--converter", arguments->converters, "The converter's name; with --suite it may be repeated")
      .allow_extra_args(false);
  command.add_option("--suite", arguments->suite,
                     "Instead of a converter's page: the public reports behind this suite's cases, the faults that "
                     "stand for them, and which of the converters is red on them");
  command.add_flag("--found", arguments->found,
                   "Instead: the defects found in released converters (cases/found), and who is red on them by the "
                   "suites' expected failures; asks no database");
  command.add_option("--db", arguments->database, "Results database");
  command.add_option("--markdown", arguments->markdown,
                     "Write into this file instead of standard output; of a page with the marks that the first time "
                     "leaves there, only what stands between them is replaced");
  command
      .add_option("--html", arguments->html,
                  "Instead: write all that the database holds into this file, a page for a browser that needs "
                  "nothing else; --converter limits it")
      .excludes({"--suite", "--found"});
  command
      .add_option("--versions", arguments->versions,
                  "Of --html: only the newest verdicts of the newest N versions of each converter; of the others their "
                  "counts (left out: everything up to 150,000 verdicts, the newest 2 versions of a larger database)")
      .check_range(1, 1e6);
  command.add_option("--junit", arguments->junit, "Write one run as JUnit XML into this file");
  command.add_option("--sarif", arguments->sarif, "Write what is not green in one run as SARIF 2.1.0 into this file");
  command.add_option(
      "--against", arguments->against,
      "With --markdown: only what changed in one run, against \"anchor\" (what was accepted) or a version, as V "
      "or NAME@V");
  command.add_option("--run", arguments->run,
                     "Of --junit, --sarif and --against: the run's UUID (left out: the newest complete one)");
  command.callback([arguments, &action] { action = [arguments] { return report_command(*arguments); }; });
}

}  // namespace assay::cli
