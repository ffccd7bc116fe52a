#include "reference/op.hpp"

#include <algorithm>
#include <tuple>

#include "reference/op_table.hpp"

namespace assay::reference {
namespace {

std::tuple<std::string_view, std::string_view> key(const OpDef* op) { return {op->domain, op->name}; }

const std::vector<const OpDef*>& sorted_operators() {
  static const std::vector<const OpDef*> operators = [] {
    std::vector<const OpDef*> list = listed_operators();
    std::sort(list.begin(), list.end(), [](const OpDef* a, const OpDef* b) { return key(a) < key(b); });
    return list;
  }();
  return operators;
}

}  // namespace

std::span<const OpDef* const> all_operators() { return sorted_operators(); }

const OpDef* find_operator(std::string_view domain, std::string_view name) {
  const std::vector<const OpDef*>& operators = sorted_operators();
  const std::tuple<std::string_view, std::string_view> wanted{domain, name};
  const auto found = std::lower_bound(operators.begin(), operators.end(), wanted,
                                      [](const OpDef* op, const auto& value) { return key(op) < value; });
  return found != operators.end() && key(*found) == wanted ? *found : nullptr;
}

core::Error op_error(std::string message) {
  return {.kind = core::ErrorKind::invalid_model, .message = std::move(message), .node = {}, .op = {}, .tensor = {}};
}

core::Error op_unsupported(std::string message) {
  return {.kind = core::ErrorKind::unsupported, .message = std::move(message), .node = {}, .op = {}, .tensor = {}};
}

}  // namespace assay::reference
