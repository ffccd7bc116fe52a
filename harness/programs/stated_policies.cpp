#include "harness/programs/stated_policies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "converters/protocol/messages.hpp"
#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/core/text.hpp"
#include "harness/core/version.hpp"
#include "harness/programs/converter_spec.hpp"

namespace assay::programs {
namespace {

using nlohmann::json;

core::Error broken(const Adapter& adapter, const std::string& message) {
  return {core::ErrorKind::invalid_data,
          fmt::format("{}: {}", (adapter.folder / "policies.json").string(), message),
          {},
          {},
          {}};
}

/// The option sets of a variant, or of all where it lists none; at least one.
json option_sets(const json& file, const json& variant) {
  const json sets = variant.value("options", file.value("options", json::array()));
  return sets.empty() ? json::array({json::object()}) : sets;
}

/// The policy's words: those of the file, what older releases have in their place, what the variant changes.
json words_of(const json& file, const json& older, const json& variant) {
  json words = file["policy"];
  words.merge_patch(older.value("policy", json::object()));
  words.merge_patch(variant.value("policy", json::object()));
  return words;
}

/// What releases differ in, whatever their settings: nothing for the newest, then an entry of "older" for each range of
/// versions in which `variant` is another. A version that is named has one.
std::vector<json> ages(const json& file, const json& variant, const std::string& version) {
  const json newest = json::object();
  std::vector<json> all{newest};
  for (const json& older : file.value("older", json::array())) {
    if (version.empty()) {
      if (words_of(file, older, variant) != words_of(file, newest, variant)) all.push_back(older);
    } else if (core::version_within(older.value("versions", ""), version)) {
      return {older};
    }
  }
  return all;
}

core::Result<std::vector<StatedPolicy>> read_variant(const Adapter& adapter, const json& file, const json& older,
                                                     const json& variant, const std::string& version) {
  const std::string spoken = version.empty() ? file["tried_with"].get<std::string>() : version;
  const json words = words_of(file, older, variant);
  const core::Result<converters::Policy> policy = protocol::read_policy(words.dump());
  if (!policy) {
    return broken(adapter, policy.error().message);
  }
  std::vector<StatedPolicy> all;
  for (const json& options : option_sets(file, variant)) {
    const std::string text = options.dump();
    if (const auto known = converters::options_from_json(text); !known) {
      return broken(adapter, known.error().message);
    }
    all.push_back({adapter.name, spoken, variant["name"].get<std::string>(), *policy, text,
                   version.empty() ? file.value("versions", "") : "", variant.value("form", "") == "QOperator",
                   variant.value("limit", ""), file.value("producer", "")});
  }
  return all;
}

/// Nothing where the adapter states no policy as data.
core::Result<std::vector<StatedPolicy>> read_file(const Adapter& adapter, const std::string& version) {
  std::vector<StatedPolicy> all;
  const core::Result<std::string> text = core::read_file(adapter.folder / "policies.json");
  if (!text) {
    return all;
  }
  const json file = core::json_or_discarded<json>(*text);
  const bool whole = file.is_object() && file.contains("policy") && file["policy"].is_object() &&
                     file.contains("variants") && file["variants"].is_array() && file.contains("tried_with");
  if (!whole) {
    return broken(adapter, "it needs \"tried_with\", \"policy\" and \"variants\"");
  }
  for (const json& older : file.value("older", json::array())) {
    if (!older.is_object() || !older.contains("policy") || !older.value("versions", json()).is_string()) {
      return broken(adapter, "each of \"older\" is an object with \"versions\" and \"policy\"");
    }
    if (const std::string fault = core::version_ranges_fault(older["versions"].get<std::string>()); !fault.empty()) {
      return broken(adapter, fault);
    }
  }
  for (const json& variant : file["variants"]) {
    if (!variant.is_object() || !variant.contains("name") || !variant["name"].is_string()) {
      return broken(adapter, "each of \"variants\" is an object with a \"name\"");
    }
    const std::string versions = variant.value("versions", "");
    if (const std::string fault = core::version_ranges_fault(versions); !fault.empty()) {
      return broken(adapter, fault);
    }
    if (!version.empty() && !core::version_within(versions, version)) {
      continue;
    }
    for (const json& older : ages(file, variant, version)) {
      core::Result<std::vector<StatedPolicy>> more = read_variant(adapter, file, older, variant, version);
      if (!more) {
        return more.error();
      }
      std::ranges::move(*more, std::back_inserter(all));
    }
  }
  return all;
}

}  // namespace

namespace {

/// ", percentile 99.99"; nothing for min-max.
std::string method_text(const std::string& options_json) {
  std::string text;
  const core::Result<converters::Options> options = converters::options_from_json(options_json);
  if (options && options->method != converters::Method::minmax) {
    text += fmt::format(", {}", converters::method_name(options->method));
  }
  if (options && options->method == converters::Method::percentile) {
    text += fmt::format(" {}", core::exact_text64(options->percentile));
  }
  return text;
}

}  // namespace

namespace {

/// Whether what is stated for `versions` ("1.15.1 to 1.32.0", or one version) is stated for `version` too.
bool is_stated_for(const std::string& versions, const std::string& version) {
  constexpr std::string_view kTo = " to ";
  const std::size_t to = versions.find(kTo);
  const std::string first = versions.substr(0, to);
  const std::string last = to == std::string::npos ? first : versions.substr(to + kTo.size());
  const auto begins = [&](const std::string& whole) { return core::version_within(version + ".*", whole); };
  return begins(first) || begins(last) || (!core::version_less(version, first) && !core::version_less(last, version));
}

}  // namespace

std::string StatedPolicy::label() const {
  return fmt::format("{} {}, {}{}", converter, versions.empty() ? version : versions, variant,
                     method_text(options_json));
}

std::string StatedPolicy::plain_label() const {
  return fmt::format("{} {}{}", converter, versions.empty() ? version : versions, method_text(options_json));
}

core::Result<std::vector<StatedPolicy>> list_stated_policies() {
  std::vector<StatedPolicy> all;
  for (const Adapter& adapter : list_adapters()) {
    core::Result<std::vector<StatedPolicy>> own = read_file(adapter, "");
    if (!own) {
      return own.error();
    }
    std::ranges::move(*own, std::back_inserter(all));
  }
  return all;
}

core::Result<std::vector<StatedPolicy>> stated_policies_of(const std::string& made_by) {
  const std::size_t colon = std::min(made_by.find(':'), made_by.size());
  const std::string variant = made_by.substr(std::min(colon + 1, made_by.size()));
  const std::string program = made_by.substr(0, colon);
  const std::size_t at = program.find('@');
  const std::string name = program.substr(0, at);
  const std::string version = at == std::string::npos ? "" : program.substr(at + 1);
  const core::Result<std::vector<StatedPolicy>> all = list_stated_policies();
  if (!all) {
    return all.error();
  }
  std::map<std::string, std::string> names;  // with the versions that a policy is stated for
  for (const StatedPolicy& each : *all) {
    names.emplace(each.converter, each.versions.empty() ? each.version : each.versions);
  }
  const std::optional<Adapter> adapter = names.contains(name) ? find_adapter(name) : std::nullopt;
  if (!adapter) {
    std::vector<std::string> known;
    known.reserve(names.size());
    for (const auto& [each, versions] : names) known.push_back(each);
    return core::Error{core::ErrorKind::usage,
                       fmt::format("no converter \"{}\" states a policy for its Q/DQ models; there are: {}", name,
                                   core::join(core::nearest(name, known, known.size()), ", ")),
                       {},
                       {},
                       {}};
  }
  core::Result<std::vector<StatedPolicy>> own = read_file(*adapter, version);
  const bool stated = at == std::string::npos || is_stated_for(names.at(name), version);
  if (own && (!stated || own->empty())) {
    return core::usage_error(fmt::format("the policy of {} is stated for {}, and not for \"{}\"; \"{}\" alone takes it",
                                         name, names.at(name), version, name));
  }
  if (!own || colon == made_by.size()) {
    return own;
  }
  std::set<std::string> variants;
  for (const StatedPolicy& each : *own) {
    variants.insert(each.variant);
  }
  if (!variants.contains(variant)) {
    const std::vector<std::string> known(variants.begin(), variants.end());
    return core::Error{core::ErrorKind::usage,
                       fmt::format("{} states no policy for settings \"{}\"; there are: \"{}\"", program, variant,
                                   core::join(core::nearest(variant, known, known.size()), "\", \"")),
                       {},
                       {},
                       {}};
  }
  std::erase_if(*own, [&](const StatedPolicy& each) { return each.variant != variant; });
  return own;
}

}  // namespace assay::programs
