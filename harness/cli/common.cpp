#include "harness/cli/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "converters/embedded/embedded.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/build_info.hpp"
#include "harness/core/sandbox.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/metamorphic/twins.hpp"
#include "harness/run/known_names.hpp"
#include "results/store.hpp"

namespace assay::cli {

void add_all_commands(Command app, Action& action) {
  for (const Register add : all_commands()) add(app, action);
}

Program this_program() {
  return {"assay", "Assay judges quantized converters: programs that turn an ONNX model into an INT8 model or engine.",
          std::string("assay ") + core::version()};
}

namespace {

void say_once(const std::string& line) {
  static std::set<std::string> said;
  if (said.insert(line).second) print(stderr, "assay: {}\n", line);
}

/// What converters of others can do that a sandbox usually keeps them from.
void say_rights(const std::vector<programs::ConverterSpec>& converters) {
  for (const programs::ConverterSpec& each : converters) {
    if (!each.rights.confined) {
      say_once(
          "NO SANDBOX: converters run with all rights of yours, as --no-sandbox asks for: they can read and change "
          "your files and use the network");
    } else if (!each.is_embedded() && !each.is_reference() && each.unavailable.empty() && !core::can_confine()) {
      say_once(
          "no sandbox is possible here (the kernel has no Landlock, or it is switched off): converters can read "
          "and change your files");
    }
    if (!each.rights.confined || !each.by_command) continue;
    std::vector<std::string> more;
    if (each.rights.gpu) more.emplace_back("use GPUs");
    for (const auto& path : each.rights.reads) more.push_back("read " + shell_quoted(path.string()));
    if (!more.empty()) say_once(fmt::format("{} may {}: its adapter.json says so", each.name, core::join(more, ", ")));
  }
}

/// What an option names, without links. Errors   usage, for what isn't there.
core::Result<std::vector<std::filesystem::path>> existing(const std::vector<std::string>& paths, const char* option) {
  std::vector<std::filesystem::path> found;
  for (const std::string& path : paths) {
    std::error_code code;
    found.push_back(std::filesystem::canonical(path, code));
    if (code) return core::usage_error(fmt::format("{} \"{}\": {}", option, path, code.message()));
  }
  return found;
}

/// A message that can't be taken for several: lines after the first are indented, and a very long one is cut.
std::string one_message(const std::string& text) {
  constexpr std::size_t kLongest = 4000;
  std::string message;
  for (const char c : text.substr(0, kLongest)) message += c == '\n' ? "\n  " : std::string(1, c);
  return text.size() > kLongest ? message + "…" : message;
}

}  // namespace

int report_error(const core::Error& error) {
  std::string where;
  if (!error.node.empty() && error.message.find(error.node) == std::string::npos) {
    where = fmt::format("node \"{}\"{}: ", error.node, error.op.empty() ? "" : " (" + error.op + ")");
  } else if (!error.tensor.empty() && error.message.find(error.tensor) == std::string::npos) {
    where = fmt::format("tensor \"{}\": ", error.tensor);
  }
  print(stderr, "assay: {}\n", one_message(where + here(error.message)));
  return error.kind == core::ErrorKind::internal ? kExitOwnFault : kExitUsage;
}

void add_no_sandbox(Command command, bool& no_sandbox) {
  command.add_flag("--no-sandbox", no_sandbox,
                   "Converters run with all rights of yours: they can read and change your files and use the network");
}

void add_converter_options(Command command, ConverterOptions& options) {
  // One word each time: what follows is the selection's.
  command.add_option("--converter", options.names, "Converter, NAME[@VERSION,…]; may be repeated")
      .allow_extra_args(false);
  command.add_option("--converter-cmd", options.commands, "Program that speaks protocol 1, with its arguments")
      .allow_extra_args(false);
  command
      .add_option("--fault", options.faults,
                  "Switch a fault of the embedded converter on, for one node as NAME@NODE; may be repeated")
      .allow_extra_args(false);
  command.add_option("--variant", options.variant, "Run the embedded converter as one of its correct variants");
  add_no_sandbox(command, options.no_sandbox);
  command.add_option("--reads", options.reads, "File or folder of a home that converters may read; may be repeated")
      .allow_extra_args(false);
  command.add_option("--writes", options.writes, "File or folder that converters may write into; may be repeated")
      .allow_extra_args(false);
}

core::Result<std::vector<programs::ConverterSpec>> resolve_converters(const ConverterOptions& options,
                                                                      const std::vector<std::string>& fallback) {
  std::vector<programs::ConverterSpec> specs;
  const std::vector<std::string>& names = options.names.empty() && options.commands.empty() ? fallback : options.names;
  for (const std::string& name : names) {
    core::Result<std::vector<programs::ConverterSpec>> parsed =
        programs::parse_converter(name, corpus::own_program(), options.faults, options.variant);
    if (!parsed) {
      return parsed.error();
    }
    specs.insert(specs.end(), parsed->begin(), parsed->end());
  }
  if (!options.faults.empty() || !options.variant.empty()) {
    // A worker would say so too, once for each case.
    if (const auto known = embedded::make_embedded(options.faults, options.variant); !known) {
      return known.error();
    }
    if (std::ranges::none_of(specs, &programs::ConverterSpec::is_embedded)) {
      return core::Error{
          core::ErrorKind::usage,
          fmt::format("--{} is of the embedded converter, which does not take part; leave it out, or add "
                      "--converter embedded",
                      options.faults.empty() ? "variant" : "fault"),
          {},
          {},
          {}};
    }
  }
  for (const std::string& command : options.commands) {
    core::Result<programs::ConverterSpec> parsed = programs::parse_converter_command(command);
    if (!parsed) {
      return parsed.error();
    }
    specs.push_back(*std::move(parsed));
  }
  const auto reads = existing(options.reads, "--reads"), writes = existing(options.writes, "--writes");
  if (!reads) return reads.error();
  if (!writes) return writes.error();
  for (programs::ConverterSpec& spec : specs) spec.rights.confined = !options.no_sandbox;
  say_rights(specs);
  for (const programs::ConverterSpec& spec : specs) {
    if (!spec.note.empty()) say_once(spec.note);
  }
  for (programs::ConverterSpec& spec : specs) {
    spec.rights.reads.insert(spec.rights.reads.end(), reads->begin(), reads->end());
    spec.rights.writes = *writes;
  }
  return specs;
}

std::string converter_words(const ConverterOptions& converters) {
  std::string words;
  for (const std::string& name : converters.names) words += " --converter " + shell_quoted(name);
  for (const std::string& program : converters.commands) words += " --converter-cmd " + shell_quoted(program);
  for (const std::string& fault : converters.faults) words += " --fault " + shell_quoted(fault);
  if (!converters.variant.empty()) words += " --variant " + shell_quoted(converters.variant);
  if (converters.no_sandbox) words += " --no-sandbox";
  for (const std::string& path : converters.reads) words += " --reads " + shell_quoted(path);
  for (const std::string& path : converters.writes) words += " --writes " + shell_quoted(path);
  return words;
}

core::Status check_named_nodes(const ConverterOptions& converters, const converters::Options& options,
                               const model::Graph& graph, bool converts) {
  core::Status named = run::check_precision_names(options, graph);
  if (!named) {
    return named;
  }
  const bool ours =
      (converters.names.empty() && converters.commands.empty()) ||
      std::ranges::any_of(converters.names, [](const std::string& name) { return name.starts_with("embedded"); });
  for (const model::ValueInfo& input : graph.inputs) {
    const bool taken = !core::is_real(input.type) || input.type == core::DType::float32 ||
                       input.type == core::DType::float16 || input.type == core::DType::bfloat16;
    if (converts && ours && !taken) {
      return core::Error{
          core::ErrorKind::usage,
          fmt::format("input \"{}\" is {}; the embedded converter takes float32, float16 and bfloat16. Convert the "
                      "model to float32 first, or name a converter that takes it: --converter NAME",
                      input.name, core::dtype_name(input.type)),
          {},
          {},
          input.name};
    }
  }
  return run::check_fault_nodes(converters.faults, graph);
}

core::Status check_fault_nodes(const ConverterOptions& converters, const std::vector<run::RunItem>& items) {
  for (const run::RunItem& item : items) {
    if (item.test_case.model == nullptr) continue;
    const core::Status known = run::check_fault_nodes(converters.faults, item.test_case.model->graph);
    if (!known) return known.error().within(fmt::format("case \"{}\"", item.test_case.name));
  }
  return core::success();
}

core::Result<results::Store> open_existing(const std::filesystem::path& database) {
  std::error_code code;
  if (!std::filesystem::exists(database, code)) {
    return core::Error{
        core::ErrorKind::io,
        fmt::format("there is no database \"{}\"; `assay run` makes one, --db names another", database.string()),
        {},
        {},
        {}};
  }
  return results::Store::open(database);
}

std::string here(std::string text) {
  constexpr std::string_view kWritten = "./assay ";
  std::error_code code;
  std::string command = corpus::command_word();
  if (command == "./assay" && !std::filesystem::equivalent(std::filesystem::current_path(code), corpus::home(), code)) {
    command = shell_quoted(std::filesystem::absolute(corpus::home() / "assay", code).lexically_normal().string());
  }
  command += " ";
  for (std::size_t at = text.find(kWritten); at != std::string::npos; at = text.find(kWritten, at + command.size())) {
    text.replace(at, kWritten.size(), command);
  }
  return text;
}

void ask_all_relations(std::vector<run::RunItem>& items) {
  for (run::RunItem& item : items) {
    item.test_case.metamorphic.clear();
    for (const metamorphic::Relation& relation : metamorphic::relations()) {
      item.test_case.metamorphic.emplace_back(relation.name);
    }
  }
}

}  // namespace assay::cli
