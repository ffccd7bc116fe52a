#include "harness/run/worker.hpp"

#include <thread>
#include <utility>

namespace assay::run {

protocol::Client& Worker::client(std::size_t index, const Subject& subject, const ClientLimits& limits) {
  std::unique_ptr<protocol::Client>& client = clients_[index];
  if (client == nullptr) {
    client = start_client(subject.spec, limits);
  }
  return *client;
}

Turn::Turn(Worker& worker, std::size_t index, const Subject& subject, const ClientLimits& limits)
    : worker_(worker), index_(index), subject_(subject), limits_(limits), turn_(worker.turn_) {}

void Turn::pass_on() {
  if (turn_.owns_lock()) {
    turn_.unlock();
    std::this_thread::yield();  // who waits is to ask before this thread goes on computing
  }
}

template <typename Ask>
auto Turn::ask(const Ask& question) {
  if (!turn_.owns_lock()) {
    turn_.lock();
  }
  protocol::Client& client = worker_.client(index_, subject_, limits_);
  auto reply = question(client);
  attempts_ = client.attempts();
  return reply;
}

converters::ConvertReply Turn::convert(const converters::ConvertRequest& request) {
  return ask([&](protocol::Client& client) { return client.convert(request); });
}

converters::ExecuteReply Turn::execute(const converters::ExecuteRequest& request) {
  return ask([&](protocol::Client& client) { return client.execute(request); });
}

}  // namespace assay::run
