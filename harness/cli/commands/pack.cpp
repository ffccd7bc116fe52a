// What a pack holds is decided here; tools/pack/pack.py gathers and compresses it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/script.hpp"
#include "harness/cli/selection.hpp"
#include "harness/core/files.hpp"
#include "harness/core/text.hpp"
#include "harness/programs/environments.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct PackArguments {
  std::string folder, parts;
  std::vector<std::string> converters, executors, suites;
  int level = 6;
};

/// "60M" → bytes, with K, M and G as powers of 1024; 0 for "".
core::Result<std::uint64_t> part_bytes(const std::string& text) {
  constexpr std::uint64_t kFewest = std::uint64_t{1} << 18U;  // what goes beside a part's own bytes must stay small
  constexpr std::string_view kUnits = "KMG";
  constexpr unsigned kBitsPerUnit = 10;
  if (text.empty()) return std::uint64_t{0};
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::size_t at = unit.size() == 1 ? kUnits.find(unit) : std::string_view::npos;
  if (code == std::errc() && (unit.empty() || at != std::string_view::npos)) {
    const unsigned bits = unit.empty() ? 0 : kBitsPerUnit * (static_cast<unsigned>(at) + 1);
    if (number << bits >> bits == number && number << bits >= kFewest) return number << bits;
  }
  return core::usage_error(fmt::format("--parts takes a number of bytes such as 60M, at least 256K, not \"{}\"", text));
}

/// As `run` names converters; install's "==" stands for "@".
std::vector<std::string> run_names(std::vector<std::string> names) {
  for (std::string& name : names) {
    if (const std::size_t at = name.find("=="); at != std::string::npos) name.replace(at, 2, "@");
  }
  return names;
}

std::string full_name(const programs::ConverterSpec& spec) {
  return spec.version.empty() ? spec.name : spec.name + "@" + spec.version;
}

/// The outside converters among `specs`, each once.
core::Result<std::vector<programs::ConverterSpec>> outside_converters(
    const std::vector<programs::ConverterSpec>& specs) {
  std::vector<programs::ConverterSpec> outside;
  for (const programs::ConverterSpec& spec : specs) {
    if (spec.is_reference()) {
      return core::usage_error(
          "converter \"reference\" runs stored cases, which are not packed; name another with --converter");
    }
    if (!spec.unavailable.empty()) return core::usage_error(spec.unavailable);
    const bool known = std::ranges::any_of(
        outside, [&](const programs::ConverterSpec& each) { return full_name(each) == full_name(spec); });
    if (!spec.version.empty() && !known) outside.push_back(spec);
  }
  return outside;
}

/// The environments of `converters` and the layers that they see, layers first.
std::vector<std::string> environments_of(const std::vector<programs::ConverterSpec>& converters) {
  std::vector<std::string> layers, own;
  const std::vector<programs::Environment> all = programs::list_environments();
  for (const programs::ConverterSpec& spec : converters) {
    own.push_back(spec.name + "-" + spec.version);
    const auto environment = std::ranges::find(all, own.back(), &programs::Environment::name);
    if (environment == all.end()) continue;
    for (const std::string& layer : environment->layers) {
      if (std::ranges::find(layers, layer) == layers.end()) layers.push_back(layer);
    }
  }
  layers.insert(layers.end(), own.begin(), own.end());
  return layers;
}

/// Models that the selected cases take from the cache of fetched ones, as paths below it.
core::Result<std::vector<std::string>> fetched_models(const Selection& selection) {
  std::vector<std::string> models;
  for (const run::RunItem& item : selection.items) {
    const corpus::Case& test_case = item.test_case;
    if (test_case.stored_case) {
      return core::usage_error(fmt::format(
          "\"{}\" is a stored case, which runs by the reference alone; stored cases are not packed", test_case.name));
    }
    if (!test_case.unavailable.empty())
      return core::usage_error(fmt::format("{}: {}", test_case.name, test_case.unavailable));
    if (!test_case.remote) continue;
    models.push_back(test_case.remote->file.lexically_relative(corpus::model_cache()).string());
  }
  std::ranges::sort(models);
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return models;
}

core::Result<nlohmann::ordered_json> make_plan(const PackArguments& arguments) {
  const core::Result<std::uint64_t> bytes = part_bytes(arguments.parts);
  if (!bytes) return bytes.error();
  const core::Result<Selection> selection = select(arguments.suites, "");
  if (!selection) return selection.error();
  if (!selection->unmatched.empty()) return core::usage_error(selection->unmatched);
  const core::Result<std::vector<std::string>> models = fetched_models(*selection);
  if (!models) return models.error();

  ConverterOptions converters, executors;
  converters.names = run_names(arguments.converters);
  executors.names = run_names(arguments.executors);
  core::Result<std::vector<programs::ConverterSpec>> specs = resolve_converters(converters, selection->converters);
  if (!specs) return specs.error();
  const core::Result<std::vector<programs::ConverterSpec>> executing = resolve_converters(executors, {});
  if (!executing) return executing.error();

  // The run there names every version: without one, another may be taken elsewhere.
  std::vector<std::string> words = arguments.suites.empty() ? std::vector<std::string>{"default"} : arguments.suites;
  for (const programs::ConverterSpec& spec : *specs) words.insert(words.end(), {"--converter", full_name(spec)});
  for (const programs::ConverterSpec& spec : *executing) words.insert(words.end(), {"--execute-with", full_name(spec)});

  specs->insert(specs->end(), executing->begin(), executing->end());
  const core::Result<std::vector<programs::ConverterSpec>> outside = outside_converters(*specs);
  if (!outside) return outside.error();
  nlohmann::ordered_json named = nlohmann::ordered_json::array();
  for (const programs::ConverterSpec& spec : *outside)
    named.push_back({{"name", spec.name}, {"version", spec.version}});
  std::error_code code;
  return nlohmann::ordered_json{{"program", fs::read_symlink("/proc/self/exe", code).string()},
                                {"home", fs::absolute(corpus::home(), code).string()},
                                {"environments_folder", fs::absolute(programs::environments_folder(), code).string()},
                                {"environments", environments_of(*outside)},
                                {"converters", named},
                                {"models_folder", fs::absolute(corpus::model_cache(), code).string()},
                                {"models", *models},
                                {"run", words},
                                {"part_bytes", *bytes},
                                {"level", arguments.level},
                                {"folder", fs::absolute(arguments.folder, code).string()}};
}

int pack_command(const PackArguments& arguments) {
  std::error_code code;
  if (fs::exists(arguments.folder, code) && !fs::is_empty(arguments.folder, code)) {
    return report_error(
        core::usage_error(fmt::format("\"{}\" exists already; a pack goes into a new folder", arguments.folder)));
  }
  const core::Result<nlohmann::ordered_json> plan = make_plan(arguments);
  if (!plan) return report_error(plan.error());
  const auto scratch = core::TemporaryFolder::create();
  if (!scratch) return report_error(scratch.error());
  const fs::path file = scratch->path() / "plan.json";
  if (const core::Status written = core::write_file(file, plan->dump()); !written) return report_error(written.error());
  return run_script({"python3", (corpus::home() / "tools" / "pack" / "pack.py").string(), file.string()});
}

}  // namespace

void register_pack(Command app, Action& action) {
  auto arguments = std::make_shared<PackArguments>();
  const Command command = app.add_subcommand(
      "pack", "Pack program, converters and cases for a machine without network or installation (docs/pack.md)");
  command.add_option("folder", arguments->folder, "Folder to make, with a folder for each part").required();
  command
      .add_option("--converter", arguments->converters,
                  "Installed converter, NAME[==VERSION]; may be repeated (left out: those of the suites)")
      .allow_extra_args(false);
  command.add_option("--execute-with", arguments->executors, "As run's option: the artifacts run by this one too")
      .allow_extra_args(false);
  command.add_option("--suite", arguments->suites, "Suite or pattern on case names; may be repeated (default)")
      .allow_extra_args(false);
  command.add_option("--parts", arguments->parts, "Most bytes of a part's folder, as 60M; left out: one part");
  command.add_option("--level", arguments->level, "How hard to compress: 0 quick, 9 small").check_range(0, 9);
  command.callback([arguments, &action] { action = [arguments] { return pack_command(*arguments); }; });
}

}  // namespace assay::cli
