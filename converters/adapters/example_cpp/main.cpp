// A complete converter for Assay in C++, and the smallest one: it answers every question and quantizes nothing. Its
// artifact is the float model itself, which it says openly in `precision`, so that every verdict is `not-quantized`.
// Start here for a converter of your own: README.md beside this file goes through it.

#include <filesystem>
#include <system_error>

#include "converters/converter.hpp"
#include "converters/protocol/server.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"

namespace {

using namespace assay;  // NOLINT(google-build-using-namespace): a main program of one file

/// A reply that says what is wrong, and at which node where that is known.
template <typename Reply>
Reply failed(const core::Error& error) {
  Reply reply;
  // What a converter can't do is a refusal, which names node and operator; anything else is an error.
  reply.outcome =
      error.kind == core::ErrorKind::unsupported ? converters::Outcome::refused : converters::Outcome::error;
  reply.node = error.node;
  reply.op = error.op;
  reply.reason = error.message;
  return reply;
}

class PassThrough final : public converters::Converter {
 public:
  core::Result<converters::Description> describe() override {
    converters::Description description;
    description.name = "passthrough";
    description.version = "1.0";
    description.supports.artifact = converters::ArtifactKind::qdq;
    description.supports.reports = {"tensors", "precision"};
    description.policy.arithmetic = converters::EngineArithmetic::floating;
    return description;
  }

  converters::ConvertReply convert(const converters::ConvertRequest& request) override {
    const auto model = model::load_model(request.model);
    if (!model) return failed<converters::ConvertReply>(model.error());

    // A converter of your own reads its calibration data here, bound by name: one folder per batch.
    //   for each folder of request.calibration: model::load_tensors(folder, "input")
    converters::ConvertReply reply;
    reply.artifact = request.output / "model.onnx";
    if (auto status = model::save_model(*model, reply.artifact); !status) {
      return failed<converters::ConvertReply>(status.error());
    }
    for (const model::Node& node : model->graph.nodes) reply.precision.push_back({node.name, node.op_type, "fp32"});
    reply.outcome = converters::Outcome::ok;
    return reply;
  }

  converters::ExecuteReply execute(const converters::ExecuteRequest& request) override {
    const auto model = model::load_model(request.artifact);
    if (!model) return failed<converters::ExecuteReply>(model.error());
    const auto inputs = model::load_tensors(request.inputs, "input");
    if (!inputs) return failed<converters::ExecuteReply>(inputs.error());
    const auto outputs = reference::execute(*model, *inputs);
    if (!outputs) return failed<converters::ExecuteReply>(outputs.error());
    if (auto status = model::save_tensors(*outputs, request.output, "output"); !status) {
      return failed<converters::ExecuteReply>(status.error());
    }
    converters::ExecuteReply reply;
    reply.outcome = converters::Outcome::ok;
    return reply;
  }
};

}  // namespace

int main() {
  PassThrough converter;
  return protocol::serve(converter);
}
