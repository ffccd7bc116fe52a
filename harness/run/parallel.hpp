#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace assay::run {

/// What an option --jobs asks for; 0: one per core.
[[nodiscard]] inline std::size_t thread_count(int jobs) {
  return jobs > 0 ? static_cast<std::size_t>(jobs) : std::max(1U, std::thread::hardware_concurrency());
}

/// Calls work(0) … work(count - 1), each once, on `jobs` threads (0: one per core).
template <typename Work>
void for_each_index(std::size_t count, int jobs, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto loop = [&] {
    for (std::size_t index = next++; index < count; index = next++) work(index);
  };
  std::vector<std::jthread> pool;
  for (std::size_t i = 1; i < std::min(thread_count(jobs), count); ++i) pool.emplace_back(loop);
  loop();
}

}  // namespace assay::run
