#include "harness/programs/workers.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace assay::programs {

Workers::Workers(std::size_t count, std::vector<std::unique_ptr<protocol::Client>> described) : workers_(count) {
  for (Worker& worker : workers_) {
    worker.clients.resize(described.size());
  }
  workers_.front().clients = std::move(described);
}

Workers::Worker& Workers::take(Worker* wanted) {
  std::unique_lock lock(mutex_);
  Worker* found = nullptr;
  freed_.wait(lock, [&] {
    const auto free = std::ranges::find_if(
        workers_, [&](Worker& each) { return !each.taken && (wanted == nullptr || wanted == &each); });
    found = free == workers_.end() ? nullptr : &*free;
    return found != nullptr;
  });
  found->taken = true;
  return *found;
}

void Workers::give_back(Worker& worker) {
  {
    const std::lock_guard lock(mutex_);
    worker.taken = false;
  }
  freed_.notify_all();
  std::this_thread::yield();  // who waits is to ask before this thread goes on computing
}

Turn::Turn(Workers& workers, std::size_t index, const Subject& subject, const ClientLimits& limits)
    : workers_(workers), index_(index), subject_(subject), limits_(limits), worker_(&workers.take(nullptr)) {}

void Turn::pass_on() {
  if (std::exchange(mine_, false)) {
    workers_.give_back(*worker_);
  }
}

template <typename Ask>
auto Turn::ask(const Ask& question) {
  if (!std::exchange(mine_, true)) {
    worker_ = &workers_.take(worker_);
  }
  std::unique_ptr<protocol::Client>& client = worker_->clients[index_];
  if (client == nullptr) {
    client = start_client(subject_.spec, limits_);
  }
  auto reply = question(*client);
  if (!attempts_.empty()) {
    attempts_.pop_back();  // the answer that the request before got
  }
  attempts_.insert(attempts_.end(), client->attempts().begin(), client->attempts().end());
  return reply;
}

converters::ConvertReply Turn::convert(const converters::ConvertRequest& request) {
  return ask([&](protocol::Client& client) { return client.convert(request); });
}

converters::ExecuteReply Turn::execute(const converters::ExecuteRequest& request) {
  return ask([&](protocol::Client& client) { return client.execute(request); });
}

}  // namespace assay::programs
