#include "converters/embedded/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/core/text.hpp"

namespace assay::embedded {
namespace {

using engine::ArithmeticPolicy;

struct Variant {
  VariantInfo info;
  void (*apply)(ArithmeticPolicy& policy);
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> table{
      {{"round_half_away", "rounds ties away from zero"},
       [](ArithmeticPolicy& p) { p.rounding = engine::Rounding::half_away; }},
      {{"multiplier_31", "requantizes with a 31-bit multiplier and a rounding shift"},
       [](ArithmeticPolicy& p) { p.requantization = engine::Requantization::fixed_point; }},
      {{"double_rounding", "requantizes with a rounding doubling high multiply and a rounding shift"},
       [](ArithmeticPolicy& p) { p.requantization = engine::Requantization::double_rounding; }},
      {{"reciprocal_scale", "multiplies with the float32 reciprocal of the output's scale"},
       [](ArithmeticPolicy& p) { p.requantization = engine::Requantization::reciprocal; }},
      {{"float_multiply", "requantizes with one float32 multiplication"},
       [](ArithmeticPolicy& p) { p.requantization = engine::Requantization::float32_multiply; }},
  };
  return table;
}

struct Fault {
  FaultInfo info;
  void (*apply)(Machine& machine);
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> table{};
  return table;
}

template <typename Row>
Result<const Row*> find_row(const std::vector<Row>& table, const std::string& name, std::string_view what) {
  const auto found = std::ranges::find_if(table, [&](const Row& row) { return row.info.name == name; });
  if (found != table.end()) return &*found;
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.info.name);
  return Error{
      ErrorKind::usage,
      fmt::format("there is no {} \"{}\"; nearest: {}", what, name, core::join(core::nearest(name, names), ", ")), "",
      "", ""};
}

}  // namespace

std::span<const FaultInfo> fault_table() {
  static const std::vector<FaultInfo> infos = [] {
    std::vector<FaultInfo> all;
    for (const auto& fault : faults()) all.push_back(fault.info);
    return all;
  }();
  return infos;
}

std::span<const VariantInfo> variant_table() {
  static const std::vector<VariantInfo> infos = [] {
    std::vector<VariantInfo> all;
    for (const auto& variant : variants()) all.push_back(variant.info);
    return all;
  }();
  return infos;
}

Result<Machine> build_machine(const std::vector<std::string>& names, const std::string& variant) {
  Machine machine;
  if (!variant.empty()) {
    const auto row = find_row(variants(), variant, "variant");
    if (!row) return row.error();
    (*row)->apply(machine.policy);
  }
  for (const auto& name : names) {
    const auto row = find_row(faults(), name, "fault");
    if (!row) return row.error();
    (*row)->apply(machine);
  }
  return machine;
}

}  // namespace assay::embedded
