#include "harness/programs/reference_executor.hpp"

#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"

namespace assay::programs {
namespace {

using converters::ConvertReply;
using converters::ExecuteReply;

class ReferenceExecutor : public converters::Converter {
 public:
  core::Result<converters::Description> describe() override {
    converters::Description description;
    description.name = "artifact";
    description.version = "1";
    description.supports.artifact = converters::ArtifactKind::qdq;
    description.policy.arithmetic = converters::EngineArithmetic::floating;
    return description;
  }

  ConvertReply convert(const converters::ConvertRequest& /*request*/) override {
    ConvertReply reply;
    reply.reason = "the reference executor converts nothing; give --artifact";
    return reply;
  }

  ExecuteReply execute(const converters::ExecuteRequest& request) override {
    ExecuteReply reply;
    const auto failed = [&](const core::Error& error) {
      reply.outcome =
          error.kind == core::ErrorKind::unsupported ? converters::Outcome::refused : converters::Outcome::error;
      reply.node = error.node;
      reply.op = error.op;
      reply.reason = error.message;
      return reply;
    };
    const core::Result<model::Model> artifact = model::load_model(request.artifact);
    if (!artifact) {
      return failed(artifact.error());
    }
    const core::Result<core::TensorMap> inputs = model::load_tensors(request.inputs, "input");
    if (!inputs) {
      return failed(inputs.error());
    }
    const core::Result<core::TensorMap> outputs = reference::execute(*artifact, *inputs);
    if (!outputs) {
      return failed(outputs.error());
    }
    if (const core::Status status = model::save_tensors(*outputs, request.output, "output"); !status) {
      return failed(status.error());
    }
    reply.outcome = converters::Outcome::ok;
    return reply;
  }
};

}  // namespace

std::unique_ptr<converters::Converter> make_reference_executor() { return std::make_unique<ReferenceExecutor>(); }

}  // namespace assay::programs
