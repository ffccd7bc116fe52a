#include <memory>

#include "harness/cli/common.hpp"
#include "harness/cli/script.hpp"
#include "harness/cli/selection.hpp"
#include "harness/corpus/case.hpp"
#include "harness/corpus/suite.hpp"

namespace assay::cli {
namespace {

int fetch_command(const std::vector<std::string>& words) {
  const core::Result<Selection> selection = select(words, "");
  if (!selection) {
    return report_error(selection.error());
  }
  if (!selection->unmatched.empty()) {
    return report_unmatched(selection->unmatched);
  }
  std::vector<std::string> script = {"python3", (corpus::home() / "tools" / "fetch_models.py").string(), "--cache",
                                     corpus::model_cache().string()};
  const std::size_t fixed = script.size();
  for (const run::RunItem& item : selection->items) {
    if (const auto& remote = item.test_case.remote) {
      script.push_back(remote->package + "==" + remote->version + "/" + remote->path + "#" + remote->sha256);
    }
  }
  if (script.size() == fixed) {
    return report_error({core::ErrorKind::usage, "nothing there needs fetching", {}, {}, {}});
  }
  return run_script(script);
}

}  // namespace

void register_fetch(Command app, Action& action) {
  auto words = std::make_shared<std::vector<std::string>>();
  const Command command =
      app.add_subcommand("fetch", "Fetch the published models that cases name, with their checksums");
  command.add_option("selection", *words, "Suites and patterns on case names (real)").required();
  command.callback([words, &action] { action = [words] { return fetch_command(*words); }; });
}

}  // namespace assay::cli
