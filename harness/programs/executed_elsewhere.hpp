#pragma once

#include <memory>
#include <vector>

#include "converters/protocol/client.hpp"

namespace assay::programs {

/// One converter's artifacts, another one's executions: both seen as one converter. What disagrees with the artifact's
/// own arithmetic is then the executor's. Its arithmetic is unknown and nothing is traced, since an optimizer leaves
/// other nodes together where inner tensors are asked for.
class ExecutedElsewhere final : public protocol::Client {
 public:
  ExecutedElsewhere(std::unique_ptr<converters::Converter> converter, std::shared_ptr<converters::Converter> executor);

  /// The converter's description under both names and versions, "a+b" and "1.2+3.4".
  core::Result<converters::Description> describe() override;
  converters::ConvertReply convert(const converters::ConvertRequest& request) override;
  converters::ExecuteReply execute(const converters::ExecuteRequest& request) override;
  /// Of the one that was asked last, where it is a program.
  [[nodiscard]] const std::vector<protocol::Attempt>& attempts() const override;
  core::Status quit() override;

 private:
  std::unique_ptr<converters::Converter> converter_;
  std::shared_ptr<converters::Converter> executor_;
  const converters::Converter* asked_ = nullptr;
};

}  // namespace assay::programs
