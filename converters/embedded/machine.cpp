#include "converters/embedded/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "converters/embedded/fault_scope.hpp"
#include "converters/embedded/faults.hpp"
#include "harness/core/text.hpp"

namespace assay::embedded {
namespace {

template <typename Row>
Result<const Row*> find_row(const std::vector<Row>& table, const std::string& name, std::string_view what) {
  const auto found = std::ranges::find_if(table, [&](const Row& row) { return row.info.name == name; });
  if (found != table.end()) return &*found;
  std::vector<std::string> names;
  names.reserve(table.size());
  for (const auto& row : table) names.emplace_back(row.info.name);
  return Error{
      ErrorKind::usage,
      fmt::format("there is no {} \"{}\"; nearest: {}", what, name, core::join(core::nearest(name, names), ", ")), "",
      "", ""};
}

}  // namespace

bool changes_execution(std::string_view fault) {
  const auto machine = build_machine({std::string(fault)}, "");
  return machine && (machine->policy != engine::ArithmeticPolicy{} || !machine->misreadings.empty());
}

Result<Machine> build_machine(const std::vector<std::string>& names, const std::string& variant) {
  Machine machine;
  if (!variant.empty()) {
    const auto row = find_row(variants(), variant, "variant");
    if (!row) return row.error();
    (*row)->apply(machine.policy);
  }
  for (const auto& text : names) {
    const std::size_t at = text.find('@');
    const std::string name = text.substr(0, at);
    const auto row = find_row(faults(), name, "fault");
    if (!row) return row.error();
    if (at == std::string::npos) {
      (*row)->apply(machine);
      continue;
    }
    if (names.size() > 1) {
      return Error{ErrorKind::usage, fmt::format("\"{}\" is confined to a node: it can't stand beside others", text),
                   "", "", ""};
    }
    (*row)->apply(machine);
    if (const Status confined = confine(machine, name, text.substr(at + 1)); !confined) return confined.error();
  }
  return machine;
}

}  // namespace assay::embedded
