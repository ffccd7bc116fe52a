#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/cli/command_line.hpp"
#include "harness/core/result.hpp"
#include "harness/core/shell.hpp"
#include "harness/programs/converter_spec.hpp"
#include "harness/run/exit_code.hpp"
#include "harness/run/runner.hpp"

namespace assay::results {
class Store;
}  // namespace assay::results

namespace assay::cli {

/// What a chosen command does; its return value is the program's exit code.
using Action = std::function<int()>;

/// The exit codes that commands use directly.
inline constexpr int kExitOk = static_cast<int>(run::ExitCode::ok);
inline constexpr int kExitRed = static_cast<int>(run::ExitCode::red);
inline constexpr int kExitUsage = static_cast<int>(run::ExitCode::usage);
inline constexpr int kExitOwnFault = static_cast<int>(run::ExitCode::own_fault);
inline constexpr int kExitDrift = static_cast<int>(run::ExitCode::drift);
inline constexpr int kExitIncomplete = static_cast<int>(run::ExitCode::incomplete);

/// One command: adds its subcommand to `app` and, when chosen, sets `action`.
using Register = void (*)(Command app, Action& action);

/// All of them, in the order in which help lists them (CMakeLists.txt makes the table).
[[nodiscard]] const std::vector<Register>& all_commands();

/// Adds all of them.
void add_all_commands(Command app, Action& action);

/// This program's name, what it is, and its version.
[[nodiscard]] Program this_program();

/// Prints `assay: message` to standard error; returns the exit code of the error's kind.
int report_error(const core::Error& error);

/// The options that name converters, shared by run, check and convert.
struct ConverterOptions {
  std::vector<std::string> names;                    ///< --converter
  std::vector<std::string> commands;                 ///< --converter-cmd
  std::vector<std::string> faults;                   ///< --fault, for the embedded converter
  std::string variant;                               ///< --variant, likewise
  bool no_sandbox = false;                           ///< --no-sandbox
  std::vector<std::string> reads = {}, writes = {};  ///< --reads, --writes
};
void add_converter_options(Command command, ConverterOptions& options);
/// --no-sandbox alone, for commands that name converters in other ways.
void add_no_sandbox(Command command, bool& no_sandbox);
/// The same as a command line says them, each with a blank before it.
[[nodiscard]] std::string converter_words(const ConverterOptions& converters);
/// Errors   usage, for unknown names. `fallback` serves where nothing is named. Where converters of others aren't kept
/// in a sandbox, or in a wider one that their own adapter.json declares, standard error says so.
[[nodiscard]] core::Result<std::vector<programs::ConverterSpec>> resolve_converters(
    const ConverterOptions& options, const std::vector<std::string>& fallback);

/// The nodes that options.precision and --fault NAME@NODE name must be nodes of `graph`. Errors   usage.
/// Where the embedded converter is to take the model, its inputs must be float32. `converts`: a converter takes part.
[[nodiscard]] core::Status check_named_nodes(const ConverterOptions& converters, const converters::Options& options,
                                             const model::Graph& graph, bool converts = true);
/// The same of --fault over every selected case; what options say of a case's nodes is its own verdict.
[[nodiscard]] core::Status check_fault_nodes(const ConverterOptions& converters,
                                             const std::vector<run::RunItem>& items);

/// The results database, which must be there: commands that only read history don't make one.
/// Errors   io, saying what makes one.
[[nodiscard]] core::Result<results::Store> open_existing(const std::filesystem::path& database);

/// Every metamorphic relation for every item (`--metamorphic`).
void ask_all_relations(std::vector<run::RunItem>& items);

/// `text` with each "./assay " in it as a command that works in the folder that this program runs in: what
/// command_word() says, and the repository's script by its full path outside the repository's root.
[[nodiscard]] std::string here(std::string text);

using core::shell_quoted;

}  // namespace assay::cli
