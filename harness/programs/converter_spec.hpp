#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"

namespace assay::programs {

/// What a converter may reach beside its own files.
struct Rights {
  bool confined = true;                       ///< false: all that the user may
  std::vector<std::filesystem::path> reads;   ///< files and folders below a home
  std::vector<std::filesystem::path> writes;  ///< files and folders anywhere
  bool gpu = false;                           ///< device files of GPUs
  std::filesystem::path home;                 ///< what a copy of is its home; empty: an empty folder is
};
/// As `folder`'s adapter.json declares them (docs/protocol.md); the usual ones where it declares none, or isn't there.
/// Errors   invalid_data, for a wrong type, and a path that is relative, a home, or above one.
[[nodiscard]] core::Result<Rights> declared_rights(const std::filesystem::path& folder);

/// What a converter takes of a cluster beside processors and GPUs.
struct Demands {
  int workers = 0;      ///< most processes of it that may run at a time, on all machines together; 0: any number
  std::string licence;  ///< name of a licence that each of its processes takes; "": none
};
/// As `folder`'s adapter.json declares them; none where it isn't there. Errors   invalid_data, for a wrong type.
[[nodiscard]] core::Result<Demands> declared_demands(const std::filesystem::path& folder);

/// A converter as the command line names it: a program that speaks protocol 1, or corpus::kReference.
struct ConverterSpec {
  std::string name;     ///< "embedded", "reference", an adapter's name or NAME:VARIANT, or the command's first word
  std::string version;  ///< asked for, else Adapter::release(); "": none is installed
  std::vector<std::string> command;               ///< program and arguments
  std::shared_ptr<const ConverterSpec> executor;  ///< runs the artifacts instead of the converter; null: it does itself
  std::string unavailable;  ///< why it can't run here; its verdicts are `unsupported` with this reason
  std::string note;         ///< says that no version was asked for and the default one isn't installed; "": it is taken
  bool by_command = false;  ///< the user gave the command; what the program is called says nothing
  Rights rights;
  Demands demands = {};
  [[nodiscard]] std::string base_name() const;  ///< of the adapter, without the variant
  [[nodiscard]] bool is_embedded() const;       ///< the converter of this program, in any form
  [[nodiscard]] bool is_reference() const;      ///< runs stored cases and no others
};

/// "NAME[@VERSION,VERSION…]" → one spec per version; without one, Adapter::release(). `program` is Assay's own
/// executable, which serves "embedded"; "embedded:scales" and "embedded:opaque" are that converter with its artifact
/// kept from the judge; "reference" has no program. "NAME:VARIANT" is an adapter's converter used in another way, one
/// of Adapter::variants. Errors   usage, for an unknown name, listing what exists.
[[nodiscard]] core::Result<std::vector<ConverterSpec>> parse_converter(const std::string& text,
                                                                       const std::filesystem::path& program,
                                                                       const std::vector<std::string>& faults,
                                                                       const std::string& variant);

/// `converter`'s artifacts, run by `executor`.
[[nodiscard]] ConverterSpec executed_by(const ConverterSpec& converter, const ConverterSpec& executor);

/// "PROGRAM ARGS" split as a shell splits words (quotes and backslashes; no expansion).
[[nodiscard]] core::Result<ConverterSpec> parse_converter_command(const std::string& text);

/// How a converter itself is told to keep nodes in float: `text` with NODES standing for the nodes, each as `node` with
/// NODE standing for its name, `between` them. No `text`: it has no such list, or names of its own in it.
struct FloatForm {
  std::string text, node = "\"NODE\"", between = ", ";
};
[[nodiscard]] std::string written_as(const FloatForm& form, const std::vector<std::string>& nodes);

/// One adapter folder below converters/adapters with its installed versions.
struct Adapter {
  std::string name, notes;
  std::filesystem::path folder;
  std::vector<std::string> command;             ///< "{python}" stands for the environment's Python
  std::vector<std::string> installed;           ///< versions, oldest first
  std::string default_version;                  ///< that requirements.txt pins; "": none
  std::map<std::string, std::string> variants;  ///< other ways to use the converter, and what each is
  FloatForm in_float;
  /// The version that NAME alone means: the default one where it is installed, else the newest installed; "": none is.
  /// What is installed besides changes no run that way.
  [[nodiscard]] std::string release() const;
};
[[nodiscard]] std::vector<Adapter> list_adapters();
/// The adapter that NAME or NAME:VARIANT speaks of; nothing where there is none.
[[nodiscard]] std::optional<Adapter> find_adapter(std::string_view name);

}  // namespace assay::programs
