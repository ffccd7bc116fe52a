#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"

/// The lines of protocol 1 (docs/protocol.md): one JSON object each, without the newline.
///
/// Numbers  NaN and infinities are written as "NaN", "Infinity", "-Infinity"; Python's bare forms are read too. Finite
///          ones are written so that they read back exactly.
/// Errors   every reader returns an Error whose message begins with "protocol: ". Unknown keys are ignored, unknown
///          status words and values of the wrong kind are errors.
namespace assay::protocol {

inline constexpr std::int64_t kVersion = 1;
inline constexpr std::size_t kLineLimitBytes = std::size_t{16} << 20U;

enum class Verb { describe, convert, execute, quit };
[[nodiscard]] std::string_view verb_name(Verb verb);

/// What a converter is asked.
struct Request {
  std::int64_t id = 0;
  Verb verb = Verb::describe;
  converters::ConvertRequest convert;  ///< filled for Verb::convert
  converters::ExecuteRequest execute;  ///< filled for Verb::execute
};

[[nodiscard]] std::string write_request(const Request& request);
[[nodiscard]] core::Result<Request> read_request(std::string_view line);
/// The id of a line that may be no request at all, so that even a bad one can be answered.
[[nodiscard]] std::optional<std::int64_t> read_id(std::string_view line);

[[nodiscard]] std::string write_description(std::int64_t id, const converters::Description& description);
/// A policy by itself, with the words that it has in a description.
/// Errors   those of a description, and a key that no policy has: nobody but us writes such text.
[[nodiscard]] core::Result<converters::Policy> read_policy(std::string_view text);
[[nodiscard]] std::string write_policy(const converters::Policy& policy);
[[nodiscard]] std::string write_reply(std::int64_t id, const converters::ConvertReply& reply,
                                      const converters::Supports& supports);
[[nodiscard]] std::string write_reply(std::int64_t id, const converters::ExecuteReply& reply);
[[nodiscard]] std::string write_error(std::int64_t id, std::string_view reason);

/// Errors   also where the converter answered `refused` or `error` (message: its reason, without "protocol: ").
[[nodiscard]] core::Result<converters::Description> read_description(std::int64_t id, std::string_view line);
/// Errors   also where the reply lacks something that `supports.reports` lists, or names a file that doesn't exist.
/// Relative paths are taken from `folder`.
[[nodiscard]] core::Result<converters::ConvertReply> read_convert_reply(std::int64_t id, std::string_view line,
                                                                        const converters::Supports& supports,
                                                                        const std::filesystem::path& folder);
[[nodiscard]] core::Result<converters::ExecuteReply> read_execute_reply(std::int64_t id, std::string_view line);

}  // namespace assay::protocol
