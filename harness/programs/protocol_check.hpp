#pragma once

#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/words.hpp"
#include "harness/programs/converter_spec.hpp"

namespace assay::programs {

/// How a converter met one requirement of protocol 1; `skipped` where it doesn't apply to what it describes,
/// `not_tested` where it applies and nothing could be asked.
enum class Met { ok, failed, not_tested, skipped };
constexpr auto words(Met /*of*/) {
  using enum Met;
  return core::word_table<Met>({{ok, "ok"}, {failed, "FAILED"}, {not_tested, "NOT TESTED"}, {skipped, "skipped"}});
}

/// One requirement of docs/protocol.md.
struct Requirement {
  std::string what;     ///< "execute writes every output under its name"
  std::string section;  ///< of the page that states it
  Met met = Met::skipped;
  std::string why;  ///< what was wrong, or why it was skipped; "" where it is met
};

/// Asks a converter in small requests what docs/protocol.md requires of every converter, and says how each requirement
/// is met, in the page's order. A process that ends or hangs fails the requirement that it was asked for, and a new one
/// is asked for the next. `timeout_s`: for one answer.
/// Errors   io, where the files that are handed over can't be written.
[[nodiscard]] core::Result<std::vector<Requirement>> check_protocol(const ConverterSpec& converter, double timeout_s);

}  // namespace assay::programs
