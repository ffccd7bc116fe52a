// Fills a database with as many results as are asked for: those of recorded runs, again and again under made-up
// versions.
//
//   assay_many_results SOURCE.db... --to FILE.db --results 1000000 --changing 0.2 [--from-version 0]
//
// SOURCE.db are databases that `assay run` wrote; version n takes the last run of the n-th of them, over and over. What
// a version changes is drawn from its number: of a share of its verdicts (--changing) all metrics, SQNRs and scales of
// activations differ in their last digits from those of every other version, so that nothing of these can be shared.
// Times and hashes of artifacts differ always. bench/million_results.py measures what such a database holds and takes.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/text.hpp"
#include "results/store.hpp"

namespace {

using assay::results::Store;

struct Arguments {
  std::vector<std::string> sources;
  std::string to;
  std::size_t results = 1'000'000, from_version = 0;
  double changing = 0.2;
};

template <typename T>
bool read(std::string_view text, T& value) {
  return std::from_chars(text.data(), text.data() + text.size(), value).ptr == text.data() + text.size();
}

bool read_arguments(int count, char** words, Arguments& arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i], value = i + 1 < count ? words[i + 1] : "";
    if (!word.starts_with("--")) {
      arguments.sources.emplace_back(word);
      continue;
    }
    ++i;
    if (word == "--to") {
      arguments.to = value;
    } else if ((word == "--results" && read(value, arguments.results)) ||
               (word == "--from-version" && read(value, arguments.from_version)) ||
               (word == "--changing" && read(value, arguments.changing))) {
      continue;
    } else {
      return false;
    }
  }
  return !arguments.sources.empty() && !arguments.to.empty();
}

/// The same run by another version of the converter.
Store::RecordedRun version_of(Store::RecordedRun run, std::size_t number, double changing) {
  std::mt19937_64 random(number + 1);
  std::uniform_real_distribution<double> uniform(0, 1);
  const std::string version = fmt::format("1.{}.{}", number / 10, number % 10);
  const std::string hash = assay::core::sha256_hex(version);
  const auto of_version = [&](assay::results::JobKey& key) {
    key.version = version;
    key.hash = hash;
  };
  run.run.id = assay::results::new_uuid();
  for (auto* list : {&run.jobs.done, &run.jobs.started, &run.jobs.waiting}) {
    for (auto& key : *list) of_version(key);
  }
  for (assay::results::ResultRow& row : run.results) {
    of_version(row.key);
    row.seconds *= 0.5 + uniform(random);
    row.started_at = assay::results::utc_now();
    for (auto& attempt : row.attempts) attempt.seconds *= 0.5 + uniform(random);
    if (!row.artifact_hash.empty()) row.artifact_hash = assay::core::sha256_hex(row.artifact_hash + version);
    if (uniform(random) >= changing) continue;
    constexpr double kLastDigits = 1e-6;
    const auto move = [&](double& value) { value *= 1 + kLastDigits * uniform(random); };
    if (row.sqnr_db) move(*row.sqnr_db);
    if (row.margin && *row.margin <= 1) move(*row.margin);
    for (auto& metric : row.metrics) move(metric.value);
    for (auto& parameter : row.parameters) {
      if (parameter.params.scale.size() != 1) continue;
      move(parameter.params.scale.front());
      parameter.params.scale.front() = static_cast<double>(static_cast<float>(parameter.params.scale.front()));
    }
  }
  return run;
}

int failed(const std::string& why) {
  fmt::print(stderr, "{}\n", why);
  return 1;
}

}  // namespace

int main(int count, char** words) {
  Arguments arguments;
  if (!read_arguments(count, words, arguments)) {
    return failed(
        "usage: assay_many_results SOURCE.db... --to FILE.db [--results N] [--changing SHARE] [--from-version N]");
  }
  std::vector<Store::RecordedRun> runs;
  for (const std::string& source : arguments.sources) {
    auto store = Store::open(source);
    if (!store) return failed(store.error().message);
    const auto all = store->runs();
    if (!all || all->empty()) return failed(source + " has no run");
    auto run = store->recorded(all->back());
    if (!run) return failed(run.error().message);
    if (run->results.empty()) return failed(source + " has no result");
    runs.push_back(*std::move(run));
  }
  auto store = Store::open(arguments.to);
  if (!store) return failed(store.error().message);
  const auto begin = std::chrono::steady_clock::now();
  std::size_t written = 0, version = arguments.from_version;
  for (; written < arguments.results; ++version) {
    const auto merged = store->merge({version_of(runs[version % runs.size()], version, arguments.changing)});
    if (!merged) return failed(merged.error().message);
    written += merged->results;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{} results of {} versions in {:.1f} s\n", written, version - arguments.from_version, seconds);
  return 0;
}
