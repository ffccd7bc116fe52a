#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"

namespace assay::core {
struct SpawnOptions;
}  // namespace assay::core

namespace assay::protocol {

/// How an outside converter is started and how long it may take.
struct ClientOptions {
  std::vector<std::string> command;                ///< program and arguments; the program is looked up in PATH
  std::map<std::string, std::string> environment;  ///< added to ours
  /// Says of each process how it is started instead; empty: as it is.
  std::function<core::Status(core::SpawnOptions&)> prepare;
  std::string hint_when_denied;          ///< added to a reason that may be what the system denied it
  std::string working_folder;            ///< empty: ours
  std::uint64_t memory_limit_bytes = 0;  ///< address space of the program, 0: none
  double timeout_s = 60;                 ///< for the answer to one request
  double start_timeout_s = 120;          ///< from the start of a process to its description
  double quit_timeout_s = 5;             ///< from quit to the end; then it is killed
  bool retry_timeouts = true;            ///< ask once more, in a fresh process
};

/// One try of a request.
struct Attempt {
  std::string request;  ///< its verb; "describe": before the request itself, the program ended without a description
  int number = 1;
  converters::Outcome outcome = converters::Outcome::ok;
  std::string reason;
  double seconds = 0;
};

/// A converter behind protocol 1 (docs/protocol.md): a program that lives for many requests and is started anew after a
/// crash, a timeout or a broken protocol. Each of these is an outcome of the request it happened in, with the signal
/// and the newest lines of standard error in its reason, and never an error of ours. What ends or speaks between the
/// requests of one conversion is the outcome of the second. What may be due to an earlier conversion in the same
/// process is tried again in a fresh one. A program that ends before it has described itself was not asked for anything
/// yet: it is started again, up to three times in all.
class Client : public converters::Converter {
 public:
  /// The tries of the newest request, in order; the last one's outcome is the request's.
  [[nodiscard]] virtual const std::vector<Attempt>& attempts() const = 0;
  /// Asks the program to end, and kills it when it does not in time. Errors say what it did instead of ending well.
  /// The next request starts it again. Destruction does the same, silently.
  virtual core::Status quit() = 0;
};

/// Starts nothing yet: the first request does. A program that can't be started is an error of describe().
[[nodiscard]] std::unique_ptr<Client> make_client(ClientOptions options);

/// Splits "PROGRAM ARGS" at blanks; quotes ('…', "…") and backslashes keep them.
/// Errors   usage, for an open quote or nothing at all.
[[nodiscard]] core::Result<std::vector<std::string>> split_command(std::string_view command);

}  // namespace assay::protocol
