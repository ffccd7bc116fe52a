// Completions and the manual page, made from the flags; and the words that completions ask for.
#include "harness/cli/completion.hpp"

#include <fmt/format.h>

#include <memory>

#include "converters/embedded/switchable.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/print.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/programs/converter_spec.hpp"

namespace assay::cli {
namespace {

CommandText all_text() {
  Action unused;
  return command_text(this_program(), [&](Command app) { add_all_commands(app, unused); });
}

std::vector<std::string> converter_names() {
  std::vector<std::string> names{"embedded"};
  for (const programs::Adapter& adapter : programs::list_adapters()) {
    names.push_back(adapter.name);
    for (const auto& [variant, what] : adapter.variants) names.push_back(adapter.name + ":" + variant);
    for (const std::string& version : adapter.installed) names.push_back(adapter.name + "@" + version);
  }
  return names;
}

/// Suites, families and cases; nothing where the corpus can't be read, since nobody sees a message there.
std::vector<std::string> case_names() {
  std::vector<std::string> names = corpus::suite_names();
  const core::Result<std::vector<corpus::Case>> cases = corpus::load_corpus();
  if (!cases) return names;
  for (const corpus::Case& each : *cases) {
    if (names.empty() || names.back() != each.family) {
      if (each.name != each.family) names.push_back(each.family);
    }
    names.push_back(each.name);
  }
  return names;
}

std::vector<std::string> words_of(const std::string& kind) {
  if (kind == "cases") return case_names();
  if (kind == "suites") return corpus::suite_names();
  if (kind == "converters") return converter_names();
  const converters::Switchable embedded = embedded::switchable();
  std::vector<std::string> names;
  if (kind == "faults") {
    for (const auto& fault : embedded.faults) names.push_back(fault.name);
  } else {
    for (const auto& variant : embedded.variants) names.push_back(variant.name);
  }
  return names;
}

}  // namespace

void register_completion(Command app, Action& action) {
  auto word = std::make_shared<std::string>();
  const Command completion = app.add_subcommand("completion", "Print what makes a shell complete commands and names");
  completion.add_option("shell", *word, "source <(assay completion bash), or the same for zsh; fish: … | source")
      .required()
      .check_one_of(shells());
  completion.callback([word, &action] {
    action = [word] {
      print("{}", completion_script(all_text(), *word));
      return kExitOk;
    };
  });
  const Command manual = app.add_subcommand("man", "Print the manual page: assay man | man -l -");
  manual.callback([&action] {
    action = [] {
      print("{}", manual_page(all_text(), this_program().version));
      return kExitOk;
    };
  });
  const Command words = app.add_subcommand("words", "Names that completions ask for (internal)");
  words.internal();
  words.add_option("kind", *word, "cases, suites, converters, faults or variants")
      .required()
      .check_one_of({"cases", "suites", "converters", "faults", "variants"});
  words.callback([word, &action] {
    action = [word] {
      for (const std::string& each : words_of(*word)) print("{}\n", each);
      return kExitOk;
    };
  });
}

}  // namespace assay::cli
