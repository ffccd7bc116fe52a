#include "converters/veiled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "harness/core/text.hpp"

namespace assay::converters {
namespace {

constexpr std::string_view kOpen = "qdq", kScales = "scales", kOpaque = "opaque";
constexpr std::array<std::string_view, 3> kKinds{kOpen, kScales, kOpaque};

class Veiled final : public Converter {
 public:
  Veiled(std::unique_ptr<Converter> inner, std::string kind) : inner_(std::move(inner)), kind_(std::move(kind)) {}

  core::Result<Description> describe() override {
    core::Result<Description> description = inner_->describe();
    if (description) {
      veil(*description, kind_);
      description->name += ":" + kind_;
    }
    return description;
  }
  ConvertReply convert(const ConvertRequest& request) override {
    ConvertReply reply = inner_->convert(request);
    veil(reply, kind_);
    return reply;
  }
  ExecuteReply execute(const ExecuteRequest& request) override { return inner_->execute(request); }
  bool hands_over() const override { return inner_->hands_over(); }

 private:
  std::unique_ptr<Converter> inner_;
  std::string kind_;
};

}  // namespace

core::Status check_artifact_kind(std::string_view kind) {
  if (std::ranges::find(kKinds, kind) != kKinds.end()) return core::success();
  return core::Error{core::ErrorKind::usage,
                     fmt::format("there is no artifact kind \"{}\"; there are: {}", kind, fmt::join(kKinds, ", ")),
                     {},
                     {},
                     {}};
}

void veil(Description& description, std::string_view kind) {
  if (kind == kOpen) return;
  description.supports.artifact = kind;
  description.supports.trace = false;
  if (kind == kOpaque) {
    std::erase_if(description.supports.reports,
                  [](const std::string& report) { return report == "tensors" || report == "precision"; });
  }
}

void veil(ConvertReply& reply, std::string_view kind) {
  if (kind != kOpaque) return;
  reply.tensors.clear();
  reply.precision.clear();
}

std::unique_ptr<Converter> make_veiled(std::unique_ptr<Converter> inner, const std::string& kind) {
  return kind == kOpen ? std::move(inner) : std::make_unique<Veiled>(std::move(inner), kind);
}

}  // namespace assay::converters
