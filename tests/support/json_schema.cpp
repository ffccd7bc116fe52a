#include "tests/support/json_schema.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

namespace assay::test {
namespace {

using nlohmann::json;

const std::set<std::string> kDescribing{"$schema", "$id", "title", "description", "$defs", "examples"};

bool has_type(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_number_integer();
  return type == "number" && value.is_number();
}

class Checker {
 public:
  Checker(json root, std::string folder) : folder_(std::move(folder)), root_(std::move(root)) {}

  void check(const json& schema, const json& value, const std::string& at, std::vector<std::string>& faults) {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) faults.push_back(at + " may not be there");
      return;
    }
    for (const auto& [word, asked] : schema.items()) {
      if (!kDescribing.contains(word)) check_word(schema, word, asked, value, at, faults);
    }
  }

  [[nodiscard]] const json& root() const { return root_; }

 private:
  void check_word(const json& schema, const std::string& word, const json& asked, const json& value,
                  const std::string& at, std::vector<std::string>& faults) {
    const auto say = [&](const std::string& what) { faults.push_back(at + " " + what); };
    if (word == "type") {
      const json types = asked.is_array() ? asked : json::array({asked});
      if (std::ranges::none_of(types, [&](const json& type) { return has_type(value, type); })) {
        say("is no " + asked.dump() + ": " + value.dump().substr(0, 80));
      }
    } else if (word == "const") {
      if (value != asked) say("is not " + asked.dump());
    } else if (word == "enum") {
      if (std::ranges::find(asked, value) == asked.end()) say("is none of " + asked.dump() + ": " + value.dump());
    } else if (word == "required") {
      for (const json& key : asked) {
        if (value.is_object() && !value.contains(key.get<std::string>())) say("lacks " + key.dump());
      }
    } else if (word == "properties") {
      for (const auto& [key, inner] : asked.items()) {
        if (value.is_object() && value.contains(key)) check(inner, value[key], at + "/" + key, faults);
      }
    } else if (word == "additionalProperties") {
      const json known = schema.value("properties", json::object());
      const json members = value.is_object() ? value : json::object();
      for (const auto& [key, inner] : members.items()) {
        if (!known.contains(key)) check(asked, inner, at + "/" + key, faults);
      }
    } else if (word == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        check(asked, value[i], at + "/" + std::to_string(i), faults);
      }
    } else if (word == "minItems") {
      if (value.is_array() && value.size() < asked) say("has fewer than " + asked.dump() + " items");
    } else if (word == "minimum") {
      if (value.is_number() && value < asked) say("is below " + asked.dump());
    } else if (word == "pattern") {
      if (value.is_string() && !std::regex_search(value.get<std::string>(), std::regex(asked.get<std::string>()))) {
        say("does not match " + asked.dump() + ": " + value.dump());
      }
    } else if (word == "anyOf") {
      std::vector<std::string> all;
      const bool any = std::ranges::any_of(asked, [&](const json& choice) {
        std::vector<std::string> mine;
        check(choice, value, at, mine);
        all.insert(all.end(), mine.begin(), mine.end());
        return mine.empty();
      });
      if (!any) {
        say("fits no choice:");
        faults.insert(faults.end(), all.begin(), all.end());
      }
    } else if (word == "$ref") {
      check_reference(asked, value, at, faults);
    } else {
      say(": the schema uses \"" + word + "\", which is not checked");
    }
  }

  void check_reference(const std::string& reference, const json& value, const std::string& at,
                       std::vector<std::string>& faults) {
    const std::size_t hash = reference.find('#');
    const std::string file = reference.substr(0, hash),
                      path = hash == std::string::npos ? "" : reference.substr(hash + 1);
    json other;
    if (!file.empty()) {
      std::ifstream stream(std::filesystem::path(folder_) / file);
      other = json::parse(stream, nullptr, false);
      if (other.is_discarded()) {
        faults.push_back("the schema refers to " + file + ", which can't be read");
        return;
      }
    }
    Checker inside(file.empty() ? root_ : other, folder_);
    const json::json_pointer pointer(path);
    if (!inside.root().contains(pointer)) {
      faults.push_back("the schema refers to " + reference + ", which is not there");
      return;
    }
    inside.check(inside.root()[pointer], value, at, faults);
  }

  std::string folder_;
  json root_;
};

}  // namespace

std::vector<std::string> schema_faults(const json& schema, const json& value, const std::string& folder) {
  std::vector<std::string> faults;
  Checker(schema, folder).check(schema, value, "", faults);
  return faults;
}

}  // namespace assay::test
