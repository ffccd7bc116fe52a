#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "harness/cli/common.hpp"
#include "harness/core/files.hpp"
#include "harness/report/converter_page.hpp"

namespace assay::cli {
namespace {

struct Arguments {
  std::string converter;
  std::string markdown;
  std::string database = ".assay/history.db";
};

core::Status report(const Arguments& arguments) {
  core::Result<results::Store> store = open_existing(arguments.database);
  if (!store) {
    return store.error();
  }
  const core::Result<report::ByVersion> verdicts = report::verdicts_of(*store, arguments.converter);
  if (!verdicts) {
    return verdicts.error();
  }
  const std::string generated = report::converter_page(*verdicts);
  if (arguments.markdown.empty()) {
    fmt::print("{}", generated);
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

int report_command(const Arguments& arguments) {
  const core::Status status = report(arguments);
  return status ? kExitOk : report_error(status.error());
}

}  // namespace

void register_report(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("report", "What a converter did, over all its recorded versions, in Markdown");
  command->add_option("--converter", arguments->converter, "The converter's name")->required();
  command->add_option("--db", arguments->database, "Results database");
  command->add_option("--markdown", arguments->markdown,
                      "Write into this file instead of standard output; of a page with the marks that the first time "
                      "leaves there, only what stands between them is replaced");
  command->callback([arguments, &action] { action = [arguments] { return report_command(*arguments); }; });
}

}  // namespace assay::cli
