#include "tests/support/xml.hpp"

#include <algorithm>
#include <functional>
#include <regex>
#include <set>
#include <stdexcept>

namespace assay::test {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  Xml document() {
    take("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    blanks();
    Xml root = element();
    blanks();
    if (at_ != text_.size()) fail("something behind the root");
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error(why + " at byte " + std::to_string(at_) + ": " + text_.substr(at_, 40));
  }
  [[nodiscard]] bool sees(const std::string& word) const { return text_.compare(at_, word.size(), word) == 0; }
  void take(const std::string& word) {
    if (!sees(word)) fail("expected " + word);
    at_ += word.size();
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-'))
      ++at_;
    if (at_ == begin) fail("expected a name");
    return text_.substr(begin, at_ - begin);
  }
  /// One character of text, a reference resolved.
  std::string character() {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte < 0x20 && byte != '\n' && byte != '\t') fail("a control character");
    if (text_[at_] != '&') return std::string(1, text_[at_++]);
    static const std::map<std::string, std::string> kKnown{{"&amp;", "&"},   {"&lt;", "<"},   {"&gt;", ">"},
                                                           {"&quot;", "\""}, {"&#10;", "\n"}, {"&#9;", "\t"}};
    for (const auto& [reference, meaning] : kKnown) {
      if (sees(reference)) {
        at_ += reference.size();
        return meaning;
      }
    }
    fail("an unknown reference");
  }
  Xml element() {
    take("<");
    Xml xml;
    xml.name = name();
    for (blanks(); !sees("/>") && !sees(">"); blanks()) {
      const std::string key = name();
      take("=\"");
      std::string value;
      while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '<') fail("< in an attribute");
        value += character();
      }
      take("\"");
      if (!xml.attributes.emplace(key, value).second) fail("attribute " + key + " twice");
    }
    if (sees("/>")) {
      take("/>");
      return xml;
    }
    take(">");
    while (!sees("</")) {
      if (at_ >= text_.size()) fail("no end of " + xml.name);
      if (sees("<")) {
        xml.children.push_back(element());
      } else {
        xml.text += character();
      }
    }
    take("</" + xml.name + ">");
    return xml;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

/// What an element may hold. Of the readers that take JUnit files, Jenkins' xUnit plugin is the strictest: it
/// validates. GitLab reads a part of the same.
struct Rule {
  std::set<std::string> required, optional, children;
  bool text = false;
};

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> kRules{
      {"testsuites", {{}, {"name", "tests", "failures", "errors", "time"}, {"testsuite"}}},
      {"testsuite",
       {{"name", "tests", "failures", "errors"},
        {"skipped", "time", "timestamp", "hostname", "id", "package", "group", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"}}},
      {"properties", {{}, {}, {"property"}}},
      {"property", {{"name", "value"}, {}, {}}},
      {"testcase",
       {{"name"}, {"time", "classname", "group"}, {"skipped", "error", "failure", "system-out", "system-err"}}},
      {"failure", {{}, {"type", "message"}, {}, true}},
      {"error", {{}, {"type", "message"}, {}, true}},
      {"skipped", {{}, {"type", "message"}, {}, true}},
      {"system-out", {{}, {}, {}, true}},
      {"system-err", {{}, {}, {}, true}}};
  return kRules;
}

std::size_t counted(const Xml& suite, const std::string& outcome) {
  const std::vector<const Xml*> tests = suite.all("testcase");
  return static_cast<std::size_t>(
      std::ranges::count_if(tests, [&](const Xml* test) { return outcome.empty() || !test->all(outcome).empty(); }));
}

void check(const Xml& xml, std::vector<std::string>& faults) {
  const auto rule = rules().find(xml.name);
  if (rule == rules().end()) {
    faults.push_back("unknown element " + xml.name);
    return;
  }
  for (const std::string& name : rule->second.required) {
    if (!xml.attributes.contains(name)) faults.push_back(xml.name + " lacks " + name);
  }
  for (const auto& [name, value] : xml.attributes) {
    if (!rule->second.required.contains(name) && !rule->second.optional.contains(name)) {
      faults.push_back(xml.name + " may not have " + name);
    }
    if (name == "time" && !std::regex_match(value, std::regex(R"(\d+(\.\d*)?)"))) faults.push_back("time " + value);
  }
  if (!rule->second.text && !std::ranges::all_of(xml.text, [](char c) { return c == ' ' || c == '\n'; })) {
    faults.push_back(xml.name + " may not hold text");
  }
  for (const Xml& child : xml.children) {
    if (!rule->second.children.contains(child.name)) faults.push_back(xml.name + " may not hold " + child.name);
    check(child, faults);
  }
  if (xml.name == "testsuite") {
    for (const auto& [attribute, outcome] :
         {std::pair("tests", ""), {"failures", "failure"}, {"errors", "error"}, {"skipped", "skipped"}}) {
      const auto found = xml.attributes.find(attribute);
      if (found != xml.attributes.end() && found->second != std::to_string(counted(xml, outcome))) {
        faults.push_back(std::string(attribute) + " is " + found->second + ", not " +
                         std::to_string(counted(xml, outcome)));
      }
    }
    std::set<std::string> names;
    for (const Xml* test : xml.all("testcase")) {
      if (!names.insert(test->attributes.at("classname") + " " + test->attributes.at("name")).second) {
        faults.push_back("test twice: " + test->attributes.at("name"));
      }
    }
  }
}

}  // namespace

std::vector<const Xml*> Xml::all(const std::string& child) const {
  std::vector<const Xml*> found;
  for (const Xml& each : children) {
    if (each.name == child) found.push_back(&each);
  }
  return found;
}

std::optional<Xml> read_xml(const std::string& document, std::string& fault) {
  try {
    return Reader(document).document();
  } catch (const std::runtime_error& error) {
    fault = error.what();
    return std::nullopt;
  }
}

std::vector<std::string> junit_faults(const Xml& document) {
  std::vector<std::string> faults;
  if (document.name != "testsuites") faults.push_back("the root is " + document.name);
  check(document, faults);
  return faults;
}

}  // namespace assay::test
