#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "converters/converter.hpp"
#include "converters/protocol/client.hpp"
#include "harness/programs/subject.hpp"

namespace assay::programs {

/// The converters' processes of a run: so many workers, each with one process of every converter, of which one is asked
/// at a time. More threads than workers share them by turns: while one judges what it was answered, another asks.
class Workers {
 public:
  /// `described`: for each subject the process that described itself, or null; the first worker goes on with them.
  Workers(std::size_t count, std::vector<std::unique_ptr<protocol::Client>> described);
  [[nodiscard]] std::size_t count() const { return workers_.size(); }

 private:
  friend class Turn;
  struct Worker {
    bool taken = false;
    std::vector<std::unique_ptr<protocol::Client>> clients;  ///< by subject, null until it is asked
  };
  /// Waits for any that is free, or for `wanted`.
  [[nodiscard]] Worker& take(Worker* wanted);
  void give_back(Worker& worker);

  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Worker> workers_;
};

/// A turn at a worker, from its beginning to pass_on(). A request after that waits for another turn at the same worker,
/// which lasts until the next pass_on() or the end of this object.
class Turn final : public converters::Converter {
 public:
  /// Waits for a worker. Starts no process: the first request does. `index`: of `subject` in the run.
  Turn(Workers& workers, std::size_t index, const Subject& subject, const ClientLimits& limits);
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() override { pass_on(); }

  void pass_on();
  /// The tries of the newest request of this object's turns, behind those of earlier ones that had to be asked again;
  /// none where nothing was asked.
  [[nodiscard]] const std::vector<protocol::Attempt>& attempts() const { return attempts_; }

  core::Result<converters::Description> describe() override { return subject_.description; }
  converters::ConvertReply convert(const converters::ConvertRequest& request) override;
  converters::ExecuteReply execute(const converters::ExecuteRequest& request) override;

 private:
  template <typename Ask>
  auto ask(const Ask& question);

  Workers& workers_;
  std::size_t index_;
  const Subject& subject_;
  ClientLimits limits_;
  Workers::Worker* worker_;
  bool mine_ = true;
  std::vector<protocol::Attempt> attempts_;
};

}  // namespace assay::programs
