#include "harness/programs/converter_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "converters/protocol/client.hpp"
#include "converters/veiled.hpp"
#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/core/program.hpp"
#include "harness/core/sandbox.hpp"
#include "harness/core/text.hpp"
#include "harness/core/version.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/programs/environments.hpp"

namespace assay::programs {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kEmbedded = "embedded";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string::npos; end = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// The adapter's command, asked for `variant` where there is one, with "{python}" as its environment's Python and its
/// own files by their full paths.
std::vector<std::string> adapter_command(const Adapter& adapter, const std::string& version,
                                         const std::string& variant) {
  const fs::path python = environments_folder() / fmt::format("{}-{}", adapter.name, version) / "bin" / "python";
  std::vector<std::string> words;
  std::error_code code;
  for (const std::string& word : adapter.command) {
    const fs::path file = adapter.folder / word;
    words.push_back(word == "{python}" ? python.string() : fs::is_regular_file(file, code) ? file.string() : word);
  }
  if (!variant.empty()) words.insert(words.end(), {"--variant", variant});
  return words;
}

}  // namespace

std::string ConverterSpec::base_name() const { return name.substr(0, name.find(':')); }

bool ConverterSpec::is_embedded() const { return !by_command && base_name() == kEmbedded; }

bool ConverterSpec::is_reference() const { return name == corpus::kReference && command.empty(); }

std::string written_as(const FloatForm& form, const std::vector<std::string>& nodes) {
  const auto with = [](std::string text, std::string_view placeholder, const std::string& value) {
    const std::size_t at = text.find(placeholder);
    return at == std::string::npos ? text : text.replace(at, placeholder.size(), value);
  };
  std::string list;
  for (const std::string& node : nodes) {
    list += (list.empty() ? "" : form.between) + with(form.node, "NODE", node);
  }
  return with(form.text, "NODES", list);
}

namespace {

/// "~/x" below the home; nothing for a relative path.
std::optional<fs::path> as_absolute(const std::string& text) {
  if (!text.starts_with("~/")) return text.starts_with("/") ? std::optional<fs::path>(text) : std::nullopt;
  return core::user_home() / text.substr(2);
}

core::Error wrong_declaration(const fs::path& folder, const std::string& what) {
  return {
      core::ErrorKind::invalid_data, fmt::format("\"{}\": {}", (folder / "adapter.json").string(), what), {}, {}, {}};
}

/// An empty object where there is no file.
core::Result<nlohmann::json> read_declarations(const fs::path& folder) {
  const fs::path file = folder / "adapter.json";
  std::error_code code;
  if (!fs::is_regular_file(file, code)) return nlohmann::json::object();
  const core::Result<std::string> text = core::read_file(file);
  if (!text) return text.error();
  core::Result<nlohmann::json> json = core::read_json<nlohmann::json>(*text);
  if (!json) return wrong_declaration(folder, json.error().message);
  if (!json->is_object()) return wrong_declaration(folder, "it isn't an object");
  return json;
}

}  // namespace

core::Result<Demands> declared_demands(const fs::path& folder) {
  const core::Result<nlohmann::json> json = read_declarations(folder);
  if (!json) return json.error();
  constexpr int kMostWorkers = 1'000'000;
  Demands demands;
  if (const auto workers = json->find("workers"); workers != json->end()) {
    if (!workers->is_number_integer() || *workers < 1 || *workers > kMostWorkers) {
      return wrong_declaration(folder, fmt::format("\"workers\" is {}, not a number from 1 on", workers->dump()));
    }
    demands.workers = workers->get<int>();
  }
  if (const auto licence = json->find("licence"); licence != json->end()) {
    const auto in_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
             c == '.' || c == '@';
    };
    if (licence->is_string()) demands.licence = licence->get<std::string>();
    if (demands.licence.empty() || !std::ranges::all_of(demands.licence, in_name)) {
      return wrong_declaration(
          folder, fmt::format("\"licence\" is {}, not a name of letters, digits and _ - . @", licence->dump()));
    }
  }
  return demands;
}

core::Result<Rights> declared_rights(const fs::path& folder) {
  Rights rights;
  std::error_code code;
  const auto wrong = [&](const std::string& what) { return wrong_declaration(folder, what); };
  const core::Result<nlohmann::json> json = read_declarations(folder);
  if (!json) return json.error();
  const nlohmann::json gpu = json->value("gpu", nlohmann::json(false));
  if (!gpu.is_boolean()) return wrong("\"gpu\" is neither true nor false");
  rights.gpu = gpu.get<bool>();
  const nlohmann::json reads = json->value("reads", nlohmann::json::array());
  if (!reads.is_array()) return wrong("\"reads\" isn't a list of paths");
  for (const nlohmann::json& each : reads) {
    const std::optional<fs::path> path = each.is_string() ? as_absolute(each.get<std::string>()) : std::nullopt;
    if (!path) return wrong(fmt::format("\"reads\": {} isn't a path from / or ~/", each.dump()));
    if (!fs::exists(*path, code)) return wrong(fmt::format("\"reads\": there is no {}", each.dump()));
    if (core::holds_a_home(*path)) {
      return wrong(fmt::format("\"reads\": {} is or holds a home, which no converter may read", each.dump()));
    }
    rights.reads.push_back(*path);
  }
  return rights;
}

namespace {

/// What the adapter's file of requirements pins its package to; "" where it pins nothing.
std::string pinned_version(const fs::path& requirements, const std::string& package) {
  const core::Result<std::string> text = core::read_file(requirements);
  const std::string prefix = package + "==";
  for (const std::string& line : split(text ? *text : std::string(), '\n')) {
    if (line.starts_with(prefix)) return line.substr(prefix.size(), line.find_last_not_of(" \r") + 1 - prefix.size());
  }
  return "";
}

/// What is said where `release` of the adapter is taken, and no version was asked for.
std::string note_on(const Adapter& adapter, const std::string& release) {
  if (release.empty() || release == adapter.default_version || adapter.default_version.empty()) return "";
  return fmt::format("{0} {1} is taken, the newest that is installed; the default is {2}: {3} converters install {0}",
                     adapter.name, release, adapter.default_version, corpus::command_word());
}

}  // namespace

std::string Adapter::release() const {
  if (std::ranges::find(installed, default_version) != installed.end()) return default_version;
  return installed.empty() ? "" : installed.back();
}

std::vector<Adapter> list_adapters() {
  std::vector<Adapter> adapters;
  const std::vector<Environment> environments = list_environments();
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(corpus::home() / "converters" / "adapters", code)) {
    const core::Result<std::string> text = core::read_file(entry.path() / "adapter.json");
    if (!text) {
      continue;
    }
    const auto json = core::json_or_discarded<nlohmann::json>(*text);
    if (!json.is_object()) {
      continue;
    }
    Adapter adapter;
    adapter.name = json.value("name", entry.path().filename().string());
    adapter.notes = json.value("notes", "");
    adapter.command = json.value("command", std::vector<std::string>());
    adapter.variants = json.value("variants", adapter.variants);
    adapter.folder = entry.path();
    adapter.default_version =
        pinned_version(entry.path() / json.value("requirements", "requirements.txt"), json.value("package", ""));
    const nlohmann::json in_float = json.value("in_float", nlohmann::json::object());
    adapter.in_float.text = in_float.value("text", adapter.in_float.text);
    adapter.in_float.node = in_float.value("node", adapter.in_float.node);
    adapter.in_float.between = in_float.value("between", adapter.in_float.between);
    const std::string prefix = adapter.name + "-";
    for (const Environment& environment : environments) {
      if (environment.name.starts_with(prefix)) {
        adapter.installed.push_back(environment.name.substr(prefix.size()));
      }
    }
    std::sort(adapter.installed.begin(), adapter.installed.end(), core::version_less);
    adapters.push_back(std::move(adapter));
  }
  std::sort(adapters.begin(), adapters.end(), [](const Adapter& a, const Adapter& b) { return a.name < b.name; });
  return adapters;
}

std::optional<Adapter> find_adapter(std::string_view name) {
  for (Adapter& adapter : list_adapters()) {
    if (adapter.name == name.substr(0, name.find(':'))) {
      return std::move(adapter);
    }
  }
  return std::nullopt;
}

core::Result<std::vector<ConverterSpec>> parse_converter(const std::string& text, const fs::path& program,
                                                         const std::vector<std::string>& faults,
                                                         const std::string& variant) {
  const std::size_t at = text.find('@');
  const std::string name = text.substr(0, at);
  const std::size_t colon = name.find(':');
  const std::vector<std::string> versions =
      at == std::string::npos ? std::vector<std::string>() : split(text.substr(at + 1), ',');
  if (name.substr(0, colon) == kEmbedded) {
    ConverterSpec spec;
    spec.name = name;
    spec.command = {program.string(), "worker"};
    if (colon != std::string::npos) {
      const std::string kind = name.substr(colon + 1);
      if (const core::Result<converters::ArtifactKind> known = converters::artifact_kind(kind); !known) {
        return known.error();
      }
      spec.command.insert(spec.command.end(), {"--artifact-kind", kind});
    }
    for (const std::string& fault : faults) {
      spec.command.insert(spec.command.end(), {"--fault", fault});
    }
    if (!variant.empty()) {
      spec.command.insert(spec.command.end(), {"--variant", variant});
    }
    return std::vector{spec};
  }
  if (name == corpus::kReference) {
    ConverterSpec spec;
    spec.name = name;
    return std::vector{spec};
  }
  const std::optional<Adapter> adapter = find_adapter(name);
  if (!adapter) {
    std::vector<std::string> names{std::string(kEmbedded), corpus::kReference};
    for (const Adapter& each : list_adapters()) {
      names.push_back(each.name);
    }
    return core::usage_error(fmt::format("there is no converter \"{}\"; there are: {}", name,
                                         core::join(core::nearest(name, names, names.size()), ", ")));
  }
  const std::string used_as = colon == std::string::npos ? "" : name.substr(colon + 1);
  if (colon != std::string::npos && !adapter->variants.contains(used_as)) {
    std::vector<std::string> names;
    for (const auto& [each, what] : adapter->variants) names.push_back(adapter->name + ":" + each);
    return core::usage_error(fmt::format("{} has no variant \"{}\"; there {}", adapter->name, used_as,
                                         names.empty() ? "are none" : "are: " + core::join(names, ", ")));
  }
  std::vector<std::string> wanted = versions;
  if (wanted.empty()) {
    wanted.push_back(adapter->release());
  }
  std::vector<ConverterSpec> specs;
  for (const std::string& version : wanted) {
    ConverterSpec spec;
    spec.name = name;
    spec.version = version;
    if (versions.empty()) spec.note = note_on(*adapter, version);
    const bool installed =
        std::find(adapter->installed.begin(), adapter->installed.end(), version) != adapter->installed.end();
    if (installed) {
      core::Result<Rights> rights = declared_rights(adapter->folder);
      if (!rights) return rights.error();
      spec.rights = *std::move(rights);
      const core::Result<Demands> demands = declared_demands(adapter->folder);
      if (!demands) return demands.error();
      spec.demands = *demands;
      spec.rights.home = home_of_environment(fmt::format("{}-{}", adapter->name, version));
      spec.command = adapter_command(*adapter, version, used_as);
    } else {
      const std::string pinned = version.empty() ? adapter->name : adapter->name + "==" + version;
      spec.unavailable =
          fmt::format("{} is not installed; run {} converters install {}", pinned, corpus::command_word(), pinned);
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

ConverterSpec executed_by(const ConverterSpec& converter, const ConverterSpec& executor) {
  ConverterSpec spec = converter;
  spec.name += "+" + executor.name;
  if (!spec.version.empty() && !executor.version.empty()) spec.version += "+" + executor.version;
  if (spec.unavailable.empty()) spec.unavailable = executor.unavailable;
  spec.executor = std::make_shared<const ConverterSpec>(executor);
  return spec;
}

namespace {

/// Those of the files that a command names, links followed, of the program that PATH finds, and for a module the
/// working folder.
std::set<fs::path> folders_of(const std::vector<std::string>& command) {
  std::vector<std::string> files = command;
  if (const auto program = core::find_program(command.front(), core::child_path({}))) files.push_back(*program);
  std::set<fs::path> folders;
  std::error_code code;
  for (const std::string& file : files) {
    if (file == "-m") folders.insert(fs::current_path(code));
    if (!fs::is_regular_file(file, code)) continue;
    folders.insert({fs::absolute(file, code).parent_path(), fs::canonical(file, code).parent_path()});
  }
  return folders;
}

}  // namespace

core::Result<ConverterSpec> parse_converter_command(const std::string& text) {
  core::Result<std::vector<std::string>> words = protocol::split_command(text);
  if (!words) {
    return words.error();
  }
  ConverterSpec spec;
  spec.name = fs::path(words->front()).filename().string();
  spec.command = *std::move(words);
  spec.by_command = true;
  for (const fs::path& folder : folders_of(spec.command)) {
    core::Result<Rights> rights = declared_rights(folder);
    if (!rights) return rights.error();
    spec.rights.gpu = spec.rights.gpu || rights->gpu;
    spec.rights.reads.insert(spec.rights.reads.end(), rights->reads.begin(), rights->reads.end());
    const core::Result<Demands> demands = declared_demands(folder);
    if (!demands) return demands.error();
    if (demands->workers > 0) spec.demands.workers = demands->workers;
    if (!demands->licence.empty()) spec.demands.licence = demands->licence;
  }
  return spec;
}

}  // namespace assay::programs
