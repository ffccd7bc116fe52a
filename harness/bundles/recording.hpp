#pragma once

#include <memory>
#include <vector>

#include "converters/converter.hpp"
#include "harness/bundles/bundle.hpp"

namespace assay::bundles {

/// A converter that is listened to: what it was asked to convert, and its answers, in order.
class Recording : public converters::Converter {
 public:
  /// `inner` must outlive this.
  explicit Recording(converters::Converter& inner) : inner_(inner) {}
  [[nodiscard]] core::Result<converters::Description> describe() override { return inner_.describe(); }
  [[nodiscard]] converters::ConvertReply convert(const converters::ConvertRequest& request) override;
  [[nodiscard]] converters::ExecuteReply execute(const converters::ExecuteRequest& request) override {
    return inner_.execute(request);
  }
  /// Each with the folder that the request named.
  [[nodiscard]] const std::vector<Conversion>& conversions() const { return conversions_; }

 private:
  converters::Converter& inner_;
  std::vector<Conversion> conversions_;
};

/// A converter that answers what `bundle` recorded: conversions in their order, executions by their inputs. `bundle`
/// must outlive it.
[[nodiscard]] std::unique_ptr<converters::Converter> make_playback(const Bundle& bundle);

}  // namespace assay::bundles
