// Records verdicts as fast as it can and says so after each, until somebody kills it: for the store's kill test.
#include <cstdio>

#include "results/store.hpp"

int main(int count, char** words) {
  if (count != 3) return 2;
  constexpr int kJobs = 100000;
  auto store = assay::results::Store::open(words[1]);
  if (!store) return 1;
  std::vector<assay::results::JobKey> keys;
  for (int i = 0; i < kJobs; ++i) keys.push_back({"case" + std::to_string(i), "default", "embedded", "1"});
  assay::results::RunInfo info;
  info.id = words[2];
  info.suite = "kill";
  if (!store->begin_run(info, keys)) return 1;
  for (const auto& key : keys) {
    if (!store->job_started(info.id, key)) return 1;
    assay::results::ResultRow row;
    row.key = key;
    row.verdict = "pass";
    for (int i = 0; i < 20; ++i) row.metrics.push_back({"y" + std::to_string(i), "typical", "sqnr_db", 40.0 + i});
    if (!store->record(info.id, row)) return 1;
    std::printf("%s\n", key.case_name.c_str());
    std::fflush(stdout);
  }
  return 0;
}
