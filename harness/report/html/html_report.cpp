#include "harness/report/html/html_report.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "harness/core/text.hpp"
#include "harness/report/html/encoded.hpp"
#include "harness/report/html/page_text.hpp"

namespace assay::report {
namespace {

/// What a Content-Security-Policy calls a script with this text.
std::string script_hash(const std::string& script) {
  constexpr int kHex = 16;
  std::string bytes;
  const std::string digits = core::sha256_hex(script);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, kHex)));
  }
  return "'sha256-" + base64(bytes) + "'";
}

/// The only script that runs is ours, and nothing is ever fetched or sent: a name out of a model that got into the page
/// as markup would still do nothing.
std::string policy(const std::string& script) {
  return fmt::format(
      "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
      "form-action 'none'",
      script_hash(script));
}

/// `frame` with each mark replaced. What is put in is not looked at again.
std::string filled(const std::string& frame, const std::vector<std::pair<std::string, const std::string*>>& values) {
  std::string text;
  std::size_t from = 0;
  for (const auto& [mark, value] : values) {
    const std::size_t at = frame.find(mark, from);
    text += frame.substr(from, at - from) + *value;
    from = at + mark.size();
  }
  return text + frame.substr(from);
}

}  // namespace

core::Result<std::string> html_report(results::Store& store, const HtmlScope& scope) {
  auto data = report_data(store, scope);
  if (!data) return data.error();
  std::string elements =
      "<script type=\"application/json\" id=\"table\">" + for_script_element(data->table) + "</script>\n";
  for (const auto& [id, part] : data->parts) {
    elements += fmt::format("<script type=\"text/plain\" id=\"{}\">{}</script>\n", id, part);
  }
  const std::string script = page_script(), style = page_style(), rules = policy(script);
  return filled(page_frame(),
                {{"{{policy}}", &rules}, {"{{style}}", &style}, {"{{data}}", &elements}, {"{{script}}", &script}});
}

}  // namespace assay::report
