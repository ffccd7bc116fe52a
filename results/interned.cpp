#include "results/interned.hpp"

#include <array>

#include "harness/core/quoted.hpp"

namespace assay::results {
namespace {

using core::Result;

/// The id of the row that `find` selects, after `insert` has made sure that there is one.
template <typename... Values>
Result<std::int64_t> intern(Database& database, const char* find, const char* insert, const Values&... values) {
  auto id = database.number(find, values...);
  if (!id) return id.error();
  if (*id) return **id;
  if (auto status = database.run(insert, values...); !status) return status.error();
  return database.last_row();
}

constexpr char kBetween = '\0';

}  // namespace

std::int64_t text_hash(std::string_view text) {
  constexpr std::uint64_t kOffset = 14695981039346656037ULL, kPrime = 1099511628211ULL;
  std::uint64_t hash = kOffset;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return static_cast<std::int64_t>(hash);
}

Result<std::int64_t> Interned::text(std::string_view text) {
  if (const auto known = texts_.find(std::string(text)); known != texts_.end()) return known->second;
  const std::string stored = core::is_utf8(text) ? std::string(text) : core::utf8_text(text);
  const auto id = intern(*database_, "SELECT id FROM content WHERE hash = ? AND text = ?",
                         "INSERT INTO content (hash, text) VALUES (?,?)", text_hash(stored), stored);
  if (id) texts_.emplace(text, *id);
  return id;
}

Result<std::optional<std::int64_t>> Interned::optional_text(std::string_view text) {
  if (text.empty()) return std::optional<std::int64_t>();
  const auto id = this->text(text);
  if (!id) return id.error();
  return std::optional(*id);
}

Result<std::int64_t> Interned::outcome(const ResultRow& row) {
  const std::array words{&row.verdict, &row.gate,      &row.stage, &row.facet,  &row.node,     &row.op,
                         &row.reason,  &row.signature, &row.style, &row.layers, &row.judged_as};
  std::string key;
  for (const std::string* word : words) (key += *word) += kBetween;
  if (const auto known = outcomes_.find(key); known != outcomes_.end()) return known->second;
  std::array<std::int64_t, words.size()> n{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto id = text(*words[i]);
    if (!id) return id;
    n[i] = *id;
  }
  const auto id = intern(*database_,
                         "SELECT id FROM outcome WHERE verdict = ? AND gate = ? AND stage = ? AND facet = ? AND node = "
                         "? AND op = ? AND reason = ? AND signature = ? AND style = ? AND layers = ? AND judged_as = ?",
                         "INSERT INTO outcome (verdict, gate, stage, facet, node, op, reason, signature, style, "
                         "layers, judged_as) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                         n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10]);
  if (id) outcomes_.emplace(std::move(key), *id);
  return id;
}

Result<std::int64_t> Interned::case_version(const ResultRow& row) {
  const std::string key = row.key.case_name + kBetween + row.case_hash;
  if (const auto known = cases_.find(key); known != cases_.end()) return known->second;
  auto found =
      database_->number("SELECT id FROM case_version WHERE name = ? AND hash = ?", row.key.case_name, row.case_hash);
  if (!found) return found.error();
  if (!*found) {
    if (auto status = database_->run("INSERT INTO case_version (name, family, hash) VALUES (?,?,?)", row.key.case_name,
                                     row.family, row.case_hash);
        !status) {
      return status.error();
    }
    *found = database_->last_row();
  }
  cases_.emplace(key, **found);
  return **found;
}

Result<std::int64_t> Interned::converter_version(const JobKey& key) {
  const std::string name = key.converter + kBetween + key.version + kBetween + key.hash;
  if (const auto known = converters_.find(name); known != converters_.end()) return known->second;
  const auto converter = intern(*database_, "SELECT id FROM converter WHERE name = ?",
                                "INSERT INTO converter (name) VALUES (?)", key.converter);
  if (!converter) return converter;
  const auto version = intern(
      *database_, "SELECT id FROM converter_version WHERE converter_id = ? AND version = ? AND hash = ?",
      "INSERT INTO converter_version (converter_id, version, hash) VALUES (?,?,?)", *converter, key.version, key.hash);
  if (version) converters_.emplace(name, *version);
  return version;
}

Result<std::int64_t> Interned::expectation(const ExpectationRow& e) {
  return intern(
      *database_,
      "SELECT id FROM expectation WHERE case_pattern = ? AND options = ? AND converter = ? AND versions = ? AND "
      "stage = ? AND facet = ? AND reason = ? AND url = ? AND until = ? AND margin IS ?",
      "INSERT INTO expectation (case_pattern, options, converter, versions, stage, facet, reason, url, until, "
      "margin) VALUES (?,?,?,?,?,?,?,?,?,?)",
      e.case_pattern, e.options, e.converter, e.versions, e.stage, e.facet, e.reason, e.url, e.until, e.margin);
}

}  // namespace assay::results
