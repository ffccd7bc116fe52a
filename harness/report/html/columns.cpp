#include "harness/report/html/columns.hpp"

#include "harness/report/html/encoded.hpp"

namespace assay::report {

Strings::Strings() { (void)number(""); }

std::size_t Strings::number(std::string_view text) {
  const auto [place, added] = numbers_.try_emplace(std::string(text), numbers_.size());
  if (added) {
    if (!text_.empty()) text_.push_back(',');
    text_ += json_string(text);
  }
  return place->second;
}

std::string Strings::json() const { return "[" + text_ + "]"; }

void Columns::add(const std::string& column, std::string_view value) {
  std::string& all = columns_[column];
  if (!all.empty()) all.push_back(',');
  all += value;
}

void Columns::text(const std::string& column, std::string_view value) {
  add(column, std::to_string(strings_->number(value)));
}
void Columns::whole(const std::string& column, std::int64_t value) { add(column, std::to_string(value)); }
void Columns::real(const std::string& column, const std::optional<double>& value) {
  add(column, value ? json_number(*value) : "null");
}

std::string Columns::json() const {
  std::string text;
  for (const auto& [name, values] : columns_) {
    text += (text.empty() ? "{" : ",") + json_string(name) + ":[" + values + "]";
  }
  return text.empty() ? "{}" : text + "}";
}

}  // namespace assay::report
