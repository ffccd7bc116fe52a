#include "converters/veiled.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "harness/core/text.hpp"

namespace assay::converters {
namespace {

class Veiled final : public Converter {
 public:
  Veiled(std::unique_ptr<Converter> inner, ArtifactKind kind) : inner_(std::move(inner)), kind_(kind) {}

  core::Result<Description> describe() override {
    core::Result<Description> description = inner_->describe();
    if (description) {
      veil(*description, kind_);
      description->name += fmt::format(":{}", core::word_of(kind_));
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
  ArtifactKind kind_;
};

}  // namespace

core::Result<ArtifactKind> artifact_kind(std::string_view word) {
  if (const auto kind = core::find_word<ArtifactKind>(word)) return *kind;
  return core::Error{core::ErrorKind::usage,
                     fmt::format("there is no artifact kind \"{}\"; there are: {}", word,
                                 core::join(core::all_words<ArtifactKind>(), ", ")),
                     {},
                     {},
                     {}};
}

void veil(Description& description, ArtifactKind kind) {
  if (kind == ArtifactKind::qdq) return;
  description.supports.artifact = kind;
  description.supports.trace = false;
  if (kind == ArtifactKind::opaque) {
    std::erase_if(description.supports.reports,
                  [](const std::string& report) { return report == "tensors" || report == "precision"; });
  }
}

void veil(ConvertReply& reply, ArtifactKind kind) {
  if (kind != ArtifactKind::opaque) return;
  reply.tensors.clear();
  reply.precision.clear();
}

std::unique_ptr<Converter> make_veiled(std::unique_ptr<Converter> inner, ArtifactKind kind) {
  return kind == ArtifactKind::qdq ? std::move(inner) : std::make_unique<Veiled>(std::move(inner), kind);
}

}  // namespace assay::converters
