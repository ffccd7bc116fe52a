#include "harness/programs/executed_elsewhere.hpp"

#include <utility>

namespace assay::programs {

ExecutedElsewhere::ExecutedElsewhere(std::unique_ptr<converters::Converter> converter,
                                     std::shared_ptr<converters::Converter> executor)
    : converter_(std::move(converter)), executor_(std::move(executor)) {}

core::Result<converters::Description> ExecutedElsewhere::describe() {
  asked_ = converter_.get();
  auto description = converter_->describe();
  if (!description) {
    return description;
  }
  asked_ = executor_.get();
  auto other = executor_->describe();
  if (!other) {
    return other;
  }
  description->name += "+" + other->name;
  description->version += "+" + other->version;
  if (description->unavailable.empty()) description->unavailable = other->unavailable;
  description->executed_elsewhere = true;
  description->supports.execute = other->supports.execute;
  description->supports.trace = false;
  description->supports.optimizers = other->supports.optimizers;
  description->policy.arithmetic = converters::EngineArithmetic::unknown;
  description->policy.dequantize = other->policy.dequantize;
  description->policy.deterministic = description->policy.deterministic && other->policy.deterministic;
  return description;
}

converters::ConvertReply ExecutedElsewhere::convert(const converters::ConvertRequest& request) {
  asked_ = converter_.get();
  return converter_->convert(request);
}

converters::ExecuteReply ExecutedElsewhere::execute(const converters::ExecuteRequest& request) {
  asked_ = executor_.get();
  return executor_->execute(request);
}

const std::vector<protocol::Attempt>& ExecutedElsewhere::attempts() const {
  static const std::vector<protocol::Attempt> kNone;
  const auto* client = dynamic_cast<const protocol::Client*>(asked_);
  return client == nullptr ? kNone : client->attempts();
}

core::Status ExecutedElsewhere::quit() {
  for (converters::Converter* each : {converter_.get(), executor_.get()}) {
    auto* client = dynamic_cast<protocol::Client*>(each);
    if (core::Status status = client == nullptr ? core::success() : client->quit(); !status) {
      return status;
    }
  }
  return core::success();
}

}  // namespace assay::programs
