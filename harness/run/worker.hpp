#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "converters/converter.hpp"
#include "converters/protocol/client.hpp"
#include "harness/run/subject.hpp"

namespace assay::run {

/// The processes of a run's converters, of which one is asked at a time. Threads share them by turns: while one of them
/// judges what it was answered, another asks.
class Worker {
 public:
  explicit Worker(std::size_t subjects) : clients_(subjects) {}

  /// The process of `subject`, the one at `index` of the run; started where there is none yet.
  [[nodiscard]] protocol::Client& client(std::size_t index, const Subject& subject, const ClientLimits& limits);
  /// A process that has been asked already, to go on with.
  void adopt(std::size_t index, std::unique_ptr<protocol::Client> client) { clients_[index] = std::move(client); }

 private:
  friend class Turn;
  std::mutex turn_;
  std::vector<std::unique_ptr<protocol::Client>> clients_;
};

/// A turn at a worker, from its beginning to pass_on(). A request after that waits for another turn, which lasts until
/// the next pass_on() or the end of this object.
class Turn final : public converters::Converter {
 public:
  /// Waits until no other turn is under way. Starts no process: the first request does.
  Turn(Worker& worker, std::size_t index, const Subject& subject, const ClientLimits& limits);

  void pass_on();
  /// The tries of the newest request of this object's turns; none where nothing was asked.
  [[nodiscard]] const std::vector<protocol::Attempt>& attempts() const { return attempts_; }

  core::Result<converters::Description> describe() override { return subject_.description; }
  converters::ConvertReply convert(const converters::ConvertRequest& request) override;
  converters::ExecuteReply execute(const converters::ExecuteRequest& request) override;

 private:
  template <typename Ask>
  auto ask(const Ask& question);

  Worker& worker_;
  std::size_t index_;
  const Subject& subject_;
  ClientLimits limits_;
  std::unique_lock<std::mutex> turn_;
  std::vector<protocol::Attempt> attempts_;
};

}  // namespace assay::run
