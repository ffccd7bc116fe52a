#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converters/policy.hpp"
#include "harness/core/quant_params.hpp"
#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/core/words.hpp"

namespace assay::converters {

/// How a calibration method turns observed values into a range.
enum class Method {
  minmax,
  entropy,
  percentile,
  mse,
  given,  ///< learned in training: of a ready artifact alone
};
[[nodiscard]] std::string_view method_name(Method method);

/// How an artifact of ONNX's is written: operators on values between QuantizeLinear and DequantizeLinear, operators on
/// codes where there are such (QLinearConv), or weights of blocks that are packed into their operator (MatMulNBits).
enum class Format { qdq, qoperator, nbits };
constexpr auto words(Format /*of*/) {
  using enum Format;
  return core::word_table<Format>({{qdq, "qdq"}, {qoperator, "qoperator"}, {nbits, "nbits"}});
}

/// The options vocabulary (docs/protocol.md), one for every converter.
struct Options {
  core::DType activation = core::DType::int8;  ///< undefined ("none"): weights alone are quantized
  core::DType weight = core::DType::int8;
  bool symmetric = false;
  bool per_axis = true;
  Method method = Method::minmax;
  double percentile = 99.99;  ///< share of the values inside, in percent
  /// By operator type or node name: "int8" (required), "int8?" (allowed), "fp16", "fp32". A node name wins.
  std::map<std::string, std::string> precision;
  /// A calibration cache to reuse, or empty.
  std::string cache;
  Format format = Format::qdq;
  /// Of weights alone: this many neighbours along the summed axis of a matrix share a scale; 0: a whole channel does.
  std::int64_t block = 0;
  /// Of weights alone: scales are rounded to this type. The codes of float8e4m3fn have one scale of their own (NVFP4);
  /// float8e8m0 holds powers of two (MX).
  core::DType scale_type = core::DType::float32;
  /// Each inference finds the range of what a product reads from that itself; nothing else is quantized but weights.
  bool dynamic = false;

  /// The first opset whose DequantizeLinear takes it: 21 for blocks, 4 and 16 bits and float8, 23 for float4e2m1, 24
  /// for scales of float8e8m0, 25 for 2 bits; 0 for what every one takes.
  [[nodiscard]] std::int64_t needed_opset() const;
  [[nodiscard]] bool weights_only() const { return activation == core::DType::undefined; }
  /// Calibration gives the activations their parameters.
  [[nodiscard]] bool calibrates() const { return !weights_only() && !dynamic; }

  friend bool operator==(const Options&, const Options&) = default;
};

/// Keys as in docs/protocol.md; only what differs from the default is needed. Unknown keys and values are errors
/// that list the choices. `base` supplies what the JSON leaves out.
[[nodiscard]] core::Result<Options> options_from_json(const std::string& json, const Options& base = {});
/// "int8"; "none" where nothing is quantized.
[[nodiscard]] std::string_view code_type_name(core::DType type);
/// "float32", which ONNX calls "float"; the other types by ONNX's names.
[[nodiscard]] std::string_view scale_type_name(core::DType type);
/// The keys that it knows.
[[nodiscard]] const std::vector<std::string>& option_keys();
[[nodiscard]] std::string options_to_json(const Options& options);
/// A short stable name of what differs from the defaults: "uint8,symmetric,per_tensor,entropy"; "default" for none.
[[nodiscard]] std::string options_label(const Options& options);

/// How much a converter shows of its work: all of it, its table of scales, or outputs alone.
enum class ArtifactKind { qdq, scales, opaque };
constexpr auto words(ArtifactKind /*of*/) {
  using enum ArtifactKind;
  return core::word_table<ArtifactKind>({{qdq, "qdq"}, {scales, "scales"}, {opaque, "opaque"}});
}

/// What a converter declares it can do; a list left out (nullopt) means "try it".
struct Supports {
  std::optional<std::vector<std::string>> activation;
  std::optional<std::vector<bool>> symmetric;
  std::optional<std::vector<bool>> per_axis;
  std::optional<std::vector<std::string>> method;
  std::optional<std::vector<std::string>> weight;
  std::optional<std::vector<std::int64_t>> block;
  std::optional<std::vector<std::string>> scale_type;
  std::optional<std::vector<bool>> dynamic;
  std::vector<std::string> format = {"qdq"};
  std::optional<std::vector<std::string>> models;  ///< "float", "qdq": such as have QuantizeLinear or DequantizeLinear
  std::optional<std::vector<std::string>> operators;
  std::optional<std::vector<std::string>> int8_operators;  ///< those with an INT8 form; the others stay in float
  bool execute = true;
  ArtifactKind artifact = ArtifactKind::qdq;
  std::vector<std::string> reports;     ///< "tensors", "activations", "inputs", "precision", "cache"
  bool trace = false;                   ///< execute can tell the codes inside the artifact
  std::vector<std::string> optimizers;  ///< passes over the artifact's graph that execute can leave out, by name
  [[nodiscard]] bool says(std::string_view what) const;
};

struct Description {
  std::string name;
  std::string version;
  std::string unavailable;  ///< why it can neither convert nor execute on this machine (no GPU); empty where it can
  bool executed_elsewhere =
      false;  ///< another program executes the artifacts: what that declines is no defect of these
  Supports supports;
  Policy policy;
};

struct TensorScale {
  std::string name;
  core::QuantParams params;
  friend bool operator==(const TensorScale&, const TensorScale&) = default;
};
struct NodePrecision {
  std::string node;
  std::string op;
  std::string got;  ///< "int8", "fp16", "fp32"
  friend bool operator==(const NodePrecision&, const NodePrecision&) = default;
};

/// How a request ended; `crash` and `timeout` are the client's findings, never a converter's words.
enum class Outcome { ok, refused, error, crash, timeout, oom };
[[nodiscard]] std::string_view outcome_name(Outcome outcome);

struct ConvertRequest {
  std::filesystem::path model;
  std::filesystem::path calibration;  ///< folder of 0000/input_0.pb …
  Options options;
  std::filesystem::path output;  ///< folder, exists
};
struct ConvertReply {
  Outcome outcome = Outcome::error;
  std::filesystem::path artifact;
  std::vector<TensorScale> tensors;
  std::vector<NodePrecision> precision;
  std::filesystem::path cache;
  std::string node, op, reason;          ///< of a refusal, error, crash or timeout
  std::vector<std::string> diagnostics;  ///< warnings of the converter, in order
  /// What was done to the model or the calibration data before the converter saw them, each in words.
  std::vector<std::string> changed = {};
};

struct ExecuteRequest {
  std::filesystem::path artifact;
  std::filesystem::path inputs;   ///< folder of input_0.pb …
  std::filesystem::path output;   ///< folder, exists; empty where a converter that hands over is to do so
  std::filesystem::path trace{};  ///< folder, exists, for trace_0.pb …; empty where nobody asks for a trace
  std::vector<std::string> disabled_optimizers{};  ///< of Supports::optimizers, to be left out
};
struct ExecuteReply {
  Outcome outcome = Outcome::error;
  std::string node, op, reason;
  std::vector<std::string> trace;  ///< the artifact's tensors whose codes lie in the trace's files
  core::TensorMap outputs{};       ///< by name, where they were handed over
};

/// A quantized converter: three questions. One object answers one request at a time.
class Converter {
 public:
  Converter() = default;
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
  virtual ~Converter() = default;
  [[nodiscard]] virtual core::Result<Description> describe() = 0;
  [[nodiscard]] virtual ConvertReply convert(const ConvertRequest& request) = 0;
  [[nodiscard]] virtual ExecuteReply execute(const ExecuteRequest& request) = 0;
  /// Whether outputs may be had in the reply instead of files, as only a converter of this very program can.
  [[nodiscard]] virtual bool hands_over() const { return false; }
};

}  // namespace assay::converters
