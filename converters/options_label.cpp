#include "converters/options_label.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include "harness/core/json.hpp"

namespace assay::converters {
namespace {

using nlohmann::json;

/// The key and value that one word of a label stands for, added to `out`.
void read_word(const std::string& word, json& out) {
  const std::size_t equals = word.rfind('=');
  const std::string name = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (word == "symmetric") {
    out["symmetric"] = true;
  } else if (word == "dynamic") {
    out["dynamic"] = true;
  } else if (word == "per_tensor") {
    out["per_axis"] = false;
  } else if (name == "weight") {
    out["weight"] = value;
  } else if (name == "block") {
    out["block_size"] = core::json_or_discarded<json>(value);
  } else if (name == "percentile") {
    out["method"] = "percentile";
    if (!value.empty()) out["percentile"] = core::json_or_discarded<json>(value);
  } else if (!value.empty()) {
    out["precision"][name] = value;
  } else {
    // A type's name, a format's or a method's.
    for (const char* key : {"activation", "format", "method"}) {
      if (options_from_json(json{{key, word}}.dump()).ok()) out[key] = word;
    }
  }
}

}  // namespace

std::optional<Options> options_of_label(const std::string& label) {
  json out = json::object();
  std::istringstream words(label == "default" ? "" : label);
  for (std::string word; std::getline(words, word, ',');) read_word(word, out);
  const core::Result<Options> options = options_from_json(out.dump(-1, ' ', false, json::error_handler_t::replace));
  return options && options_label(*options) == label ? std::optional(*options) : std::nullopt;
}

bool same_options(const std::string& one, const std::string& other) {
  const core::Result<Options> a = options_from_json(one), b = options_from_json(other);
  return a && b && options_to_json(*a) == options_to_json(*b);
}

}  // namespace assay::converters
