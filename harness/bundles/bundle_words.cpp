#include "harness/bundles/bundle_words.hpp"

#include <fmt/format.h>
#include <array>

#include "harness/core/build_info.hpp"
#include "harness/core/files.hpp"
#include "harness/core/quoted.hpp"
#include "harness/core/shell.hpp"
#include "harness/report/markdown.hpp"

namespace assay::bundles {
namespace fs = std::filesystem;

namespace {

constexpr const char* kScript = R"sh(#!/bin/sh
# Judges this folder again. ASSAY names the program; options go behind: --convert, --json.
here=$(cd "$(dirname "$0")" && pwd)
exec "${ASSAY:-assay}" replay "$here" "$@"
)sh";

/// "- `outputs/`: …" for what is there.
std::string contents(const Bundle& bundle) {
  struct Part {
    const char* name;
    const char* holds;
  };
  constexpr auto kParts = std::to_array<Part>({
      {"model.onnx", "the float model"},
      {"calibration", "the calibration batches, as the converter was given them"},
      {"inputs", "each data set that the artifact was executed on"},
      {"artifact", "what the converter wrote"},
      {"earlier", "what earlier conversions of the case wrote"},
      {"outputs", "what the artifact gave on each data set"},
      {"trace", "codes inside the artifact, as its engine held them"},
      {"expected", "what the float64 reference gives on each data set, in float64"},
      {"bundle.json",
       "the case, options, converter, its answers, parameters obtained and expected, the verdict, versions and "
       "machine"},
  });
  std::string text;
  std::error_code code;
  for (const Part& part : kParts) {
    const fs::path path = bundle.folder / part.name;
    const bool index = fs::path(part.name) == "bundle.json";  // written beside this
    if (!index && (!fs::exists(path, code) || (fs::is_directory(path, code) && fs::is_empty(path, code)))) continue;
    text += fmt::format("- `{}{}`: {}\n", part.name, fs::is_directory(path, code) ? "/" : "", part.holds);
  }
  return text;
}

std::string word(const Bundle& bundle, const char* key) {
  const nlohmann::ordered_json& value = bundle.verdict[key];
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace

core::Status write_words(const Bundle& bundle, const fs::path& name) {
  const std::string facet = word(bundle, "facet");
  std::string text = fmt::format("# {}\n\n{}@{}, options {}: **{}**{}\n\n", report::escaped(bundle.test_case.name),
                                 report::escaped(bundle.description.name), report::escaped(bundle.description.version),
                                 report::escaped(bundle.options.label), word(bundle, "verdict"),
                                 word(bundle, "reason").empty() ? ""
                                                                : fmt::format(" at {}{}", word(bundle, "stage"),
                                                                              facet.empty() ? "" : "/" + facet));
  if (!word(bundle, "reason").empty()) text += report::fenced(word(bundle, "reason")) + "\n";
  text += fmt::format("{}\n\n", report::escaped(bundle.test_case.title));
  for (const corpus::Origin& origin : bundle.test_case.origins) {
    text += fmt::format("- {}: {} ({})\n", report::escaped(origin.url), report::escaped(origin.defect),
                        report::escaped(origin.reported_against));
  }
  if (!bundle.test_case.origins.empty()) text += "\n";
  const std::string command =
      fmt::format("assay replay {}", core::shell_quoted(core::visible_line(name.filename().string())));
  text += fmt::format("## Judge it again\n\n    {}\n\n", command);
  text +=
      "takes the stored artifact and outputs: no converter, no database. The exit code is 0 where the verdict is\n"
      "the recorded one.\n\n";
  if (!bundle.ready_artifact) text += fmt::format("    {} --convert\n\nconverts and executes again.\n\n", command);
  text +=
      fmt::format("## What is here\n\n{}\nMade by Assay {} ({}).\n", contents(bundle), core::version(), core::commit());
  core::Status status = core::write_file(bundle.folder / "README.md", text);
  if (!status) return status;
  const fs::path script = bundle.folder / "replay.sh";
  if (status = core::write_file(script, kScript); !status) return status;
  std::error_code code;
  fs::permissions(script, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add,
                  code);
  return core::success();
}

}  // namespace assay::bundles
