#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kMaskIsBoolean = 10;
constexpr std::int64_t kModeIsInput = 12;

/// ratio and training_mode are inputs from opset 12, ratio is an attribute before.
Result<bool> drops_nothing(const OpCall& call) {
  if (call.opset < kModeIsInput || !call.has_input(2)) return true;
  const auto training = integer_scalar(call, 2);
  if (!training) return training.error();
  if (*training == 0) return true;
  if (!call.has_input(1)) return false;
  const auto ratio = real_scalar(call, 1);
  if (!ratio) return ratio.error();
  return *ratio == 0.0;
}

// ONNX Dropout-13 in inference: the input itself, and a mask that keeps everything (boolean since opset 10).
Result<std::vector<Tensor>> run_dropout(const OpCall& call) {
  const auto inference = drops_nothing(call);
  if (!inference) return inference.error();
  if (!*inference) return op_unsupported("training mode drops values at random; the reference does inference only");
  const Tensor& x = call.in(0);
  std::vector<Tensor> outputs{x};
  if (call.node.outputs.size() > 1) {
    const DType type = call.opset >= kMaskIsBoolean ? DType::boolean : x.type();
    const auto count = static_cast<std::size_t>(x.size());
    outputs.push_back(core::is_real(type) ? Tensor(type, x.shape(), std::vector<double>(count, 1.0))
                                          : Tensor(type, x.shape(), std::vector<std::int64_t>(count, 1)));
  }
  return outputs;
}

Result<Facts> infer_dropout(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  return Facts{typed(x.type, x.shape), typed(call.opset >= kMaskIsBoolean ? DType::boolean : x.type, x.shape)};
}

}  // namespace

const OpDef& op_dropout() {
  static const OpDef def{
      .name = "Dropout", .first_opset = 7, .max_inputs = 3, .run = &run_dropout, .infer = &infer_dropout};
  return def;
}

}  // namespace assay::reference
