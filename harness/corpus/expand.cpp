#include "harness/corpus/expand.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "harness/core/quoted.hpp"
#include "harness/corpus/case_error.hpp"

namespace assay::corpus {
namespace {

using nlohmann::ordered_json;
using Named = std::pair<std::string, ordered_json>;

/// Of one family. A matrix is quickly written: nine keys of ten values make 10^9 cases.
constexpr std::size_t kMostCases = 10'000;

/// One point of the matrix, its keys in the file's order.
using Row = std::vector<Named>;

std::vector<std::string> split_keys(const std::string& keys) {
  std::vector<std::string> out(1);
  for (const char c : keys) {
    if (c == ',') {
      out.emplace_back();
    } else if (c != ' ') {
      out.back() += c;
    }
  }
  return out;
}

/// The choices of one matrix entry: each gives a value to every key of it.
core::Result<std::vector<Row>> entry_rows(const std::string& key, const ordered_json& values) {
  if (!values.is_array() || values.empty())
    return case_error("matrix." + key + ": must be a list with at least one value");
  const std::vector<std::string> names = split_keys(key);
  std::vector<Row> rows;
  for (const auto& value : values) {
    Row row;
    if (names.size() == 1) {
      row.emplace_back(names.front(), value);
    } else {
      if (!value.is_array() || value.size() != names.size()) {
        return case_error("matrix." + key + ": every row must hold " + std::to_string(names.size()) + " values, not " +
                          value.dump());
      }
      for (std::size_t i = 0; i < names.size(); ++i) row.emplace_back(names[i], value[i]);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

core::Result<std::vector<Row>> matrix_rows(const ordered_json& matrix) {
  if (!matrix.is_object()) return case_error("matrix: must be an object");
  std::vector<Row> rows(1);
  std::set<std::string> seen;
  for (const auto& [key, values] : matrix.items()) {
    for (const std::string& name : split_keys(key)) {
      if (name.empty() || !seen.insert(name).second)
        return case_error("matrix." + key + ": key \"" + name + "\" is empty or stands there twice");
    }
    const auto choices = entry_rows(key, values);
    if (!choices) return choices.error();
    if (rows.size() > kMostCases / choices->size()) {
      return case_error("matrix." + key + ": makes more than " + std::to_string(kMostCases) +
                        " cases; split the family");
    }
    std::vector<Row> crossed;
    for (const Row& row : rows) {
      for (const Row& choice : *choices) {
        crossed.push_back(row);
        crossed.back().insert(crossed.back().end(), choice.begin(), choice.end());
      }
    }
    rows = std::move(crossed);
  }
  return rows;
}

/// A value as it stands in a case's name: lists as 1x2x3, since a comma separates keys.
std::string name_text(const ordered_json& value) {
  if (!value.is_array()) return value_text(value);
  std::string out;
  for (const auto& element : value) out += (out.empty() ? "" : "x") + name_text(element);
  return out;
}

std::string case_name(const std::string& family, const Row& row) {
  std::string name = family;
  for (const auto& [key, value] : row) {
    if (!key.starts_with('_')) name += (name == family ? "/" : ",") + key + "=" + name_text(value);
  }
  return name;
}

/// The family with a form's keys laid over it: lists that describe (tags, origin, kills) and the matrix add up, every
/// other key of the form replaces the family's.
core::Result<ordered_json> with_form(const ordered_json& family, const std::string& form, const ordered_json& changes) {
  if (!changes.is_object()) return case_error("forms." + form + ": must be an object");
  ordered_json out = family;
  for (const auto& [key, value] : changes.items()) {
    if (key == "family" || key == "forms")
      return case_error("forms." + form + "." + key + ": belongs to the family, not to a form");
    const bool adds = (key == "tags" || key == "origin" || key == "kills") && out.contains(key);
    if (adds && out[key].is_array() && value.is_array()) {
      for (const auto& element : value) out[key].push_back(element);
    } else if (key == "matrix" && out.contains(key) && out[key].is_object() && value.is_object()) {
      for (const auto& [name, choices] : value.items()) out[key][name] = choices;
    } else {
      out[key] = value;
    }
  }
  return out;
}

core::Status expand_matrix(const ordered_json& family, const Row& prefix, std::vector<Named>& out) {
  ordered_json body = family;
  const ordered_json matrix = body.contains("matrix") ? body["matrix"] : ordered_json::object();
  body.erase("matrix");
  body.erase("forms");
  body.erase("expected_failures");  // of released converters: suites read them
  const std::string family_name =
      body.contains("family") && body["family"].is_string() ? body["family"].get<std::string>() : "";
  const auto rows = matrix_rows(matrix);
  if (!rows) return rows.error();
  for (const Row& row : *rows) {
    Row named = prefix;
    named.insert(named.end(), row.begin(), row.end());
    Bindings bindings;
    for (const auto& [key, value] : named) {
      if (!bindings.emplace(key, value).second) return case_error("matrix." + key + ": is the name of the forms' key");
    }
    const std::string name = case_name(family_name, named);
    auto expanded = substitute(body, bindings);
    if (!expanded) return expanded.error().within(name);
    if (core::visible_line(name) != name) {
      return case_error("the name \"" + core::visible_line(name) +
                        "\" has control characters, which a case's name can't have");
    }
    if (out.size() == kMostCases) {
      return case_error("the family has more than " + std::to_string(kMostCases) + " cases; split it");
    }
    out.emplace_back(name, std::move(*expanded));
  }
  return core::success();
}

}  // namespace

core::Result<std::vector<Named>> expand_family(const ordered_json& family) {
  std::vector<Named> out;
  if (!family.contains("forms")) {
    const auto status = expand_matrix(family, {}, out);
    if (!status) return status.error();
  } else {
    if (!family["forms"].is_object() || family["forms"].empty())
      return case_error("forms: must be an object with at least one form");
    for (const auto& [form, changes] : family["forms"].items()) {
      const auto merged = with_form(family, form, changes);
      if (!merged) return merged.error();
      const auto status = expand_matrix(*merged, {{"form", ordered_json(form)}}, out);
      if (!status) return status.error();
    }
  }
  std::set<std::string> names;
  for (const auto& [name, json] : out) {
    if (!names.insert(name).second)
      return case_error("the case \"" + name + "\" stands there twice; change the matrix");
  }
  return out;
}

}  // namespace assay::corpus
