#include "converters/embedded/embedded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "converters/embedded/engine/engine.hpp"
#include "converters/embedded/machine.hpp"
#include "converters/embedded/pipeline.hpp"
#include "converters/embedded/scales.hpp"
#include "converters/embedded/shared_work.hpp"
#include "converters/embedded/support.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::embedded {
namespace {

using converters::ConvertReply;
using converters::ConvertRequest;
using converters::Description;
using converters::ExecuteReply;
using converters::ExecuteRequest;
using converters::Outcome;

constexpr std::string_view kVersion = "1.0.0";

/// What is well formed but not to be had is refused; everything else is an error.
template <typename Reply>
Reply reply_with(const Error& error) {
  Reply reply;
  reply.outcome = error.kind == ErrorKind::unsupported ? Outcome::refused : Outcome::error;
  reply.node = error.node;
  reply.op = error.op;
  reply.reason = error.message;
  return reply;
}

/// The program of the artifact that was executed last, as long as its file does not change.
class LastProgram {
 public:
  Result<const engine::Program*> get(const std::filesystem::path& path, const Machine& machine) {
    std::error_code code;
    const auto written = std::filesystem::last_write_time(path, code);
    const auto size = code ? 0 : std::filesystem::file_size(path, code);
    if (program_ && !code && path == path_ && written == written_ && size == size_) return &*program_;
    program_.reset();
    const auto twin = path.parent_path() / kEngineFile;
    auto artifact = written_here_ && path == written_path_ ? *std::exchange(written_here_, std::nullopt)
                                                           : model::load_model(exists(twin, code) ? twin : path);
    if (!artifact) return artifact.error();
    for (const auto misread : machine.misreadings) misread(*artifact);
    auto program = engine::Program::compile(with_plain_weights(*std::move(artifact)), machine.policy);
    if (!program) return program.error();
    program_.emplace(std::move(*program));
    path_ = path;
    written_ = written;
    size_ = size;
    return &*program_;
  }
  void forget() {
    program_.reset();
    written_here_.reset();
  }
  /// What lies at `path` now, so that it need not be read again.
  void note_written(const std::filesystem::path& path, model::Model artifact) {
    written_path_ = path;
    written_here_ = std::move(artifact);
  }

 private:
  std::filesystem::path written_path_;
  std::optional<Result<model::Model>> written_here_;
  std::optional<engine::Program> program_;
  std::filesystem::path path_;
  std::filesystem::file_time_type written_;
  std::uintmax_t size_ = 0;
};

Result<SharedWork::Begun> begin_alone(const ConvertRequest& request, const std::shared_ptr<LastObserved>& observed) {
  auto state = read_request(request);
  if (!state) return state.error();
  state->last_observed = observed;
  return SharedWork::Begun{std::move(*state), 0, {}};
}

class Embedded final : public converters::Converter {
 public:
  Embedded(Machine machine, std::shared_ptr<SharedWork> shared)
      : machine_(std::move(machine)), shared_(std::move(shared)) {}

  Result<Description> describe() override;
  ConvertReply convert(const ConvertRequest& request) override;
  ExecuteReply execute(const ExecuteRequest& request) override;
  bool hands_over() const override { return true; }

 private:
  Machine machine_;
  std::shared_ptr<SharedWork> shared_;
  LastProgram last_;
  std::shared_ptr<LastObserved> last_observed_ = std::make_shared<LastObserved>();
};

Result<Description> Embedded::describe() {
  Description description;
  description.name = "embedded";
  description.version = kVersion;
  auto& supports = description.supports;
  supports.dynamic = {false, true};
  supports.activation = {"int8", "uint8", "int16", "uint16", "float8e4m3fn", "float8e5m2", "none"};
  supports.weight = {"int8", "uint8", "int16",        "int4",       "uint4",
                     "int2", "uint2", "float8e4m3fn", "float8e5m2", "float4e2m1"};
  supports.scale_type = {"float32", "float8e4m3fn", "float8e8m0"};
  supports.symmetric = {false, true};
  supports.per_axis = {true, false};
  supports.method = {"minmax", "entropy", "percentile", "mse"};
  supports.format = core::all_words<converters::Format>();
  supports.operators = engine::float_operators();
  supports.reports = {"tensors", "precision", "cache"};
  supports.trace = true;
  auto& policy = description.policy;
  // "integer" says exact sums that are rounded once; what rounds twice says nothing.
  if (machine_.policy.requantization != engine::Requantization::double_rounding)
    policy.arithmetic = converters::EngineArithmetic::integer;
  policy.folds_bn = true;
  policy.whole_tensors = false;  // a node left in float reads the real values of what others read quantized
  policy.outputs = converters::GraphOutputs::quantized;
  policy.shares.emplace();
  policy.fusions.emplace();
  for (const auto& row : support_table()) {
    if (row.handling == Handling::moves) policy.shares->emplace_back(row.op);
    if (!row.takes_activation) continue;
    for (const auto* activation : {"Relu", "Clip"}) policy.fusions->push_back(fmt::format("{}+{}", row.op, activation));
  }
  return description;
}

ConvertReply Embedded::convert(const ConvertRequest& request) {
  last_.forget();
  auto begun = shared_ == nullptr ? begin_alone(request, last_observed_) : shared_->begin(machine_.passes, request);
  if (!begun) return reply_with<ConvertReply>(begun.error());
  if (begun->reply) return *std::move(begun->reply);
  State& state = begun->state;
  const Passes rest(machine_.passes.begin() + static_cast<std::ptrdiff_t>(begun->done), machine_.passes.end());
  if (auto done = run_passes(rest, state); !done) {
    auto reply = reply_with<ConvertReply>(done.error());
    reply.diagnostics = std::move(state.diagnostics);
    return reply;
  }
  ConvertReply reply;
  reply.outcome = Outcome::ok;
  reply.artifact = request.output / kArtifactFile;
  reply.cache = request.output / kCacheFile;
  reply.tensors = std::move(state.tensors);
  reply.precision = std::move(state.precision);
  reply.diagnostics = std::move(state.diagnostics);
  const bool standard =
      std::ranges::all_of(machine_.passes, [](const Pass& pass) { return pass.origin == Pass::Origin::standard; });
  if (shared_ != nullptr && standard) shared_->remember(request, reply);
  if (shared_ != nullptr) last_.note_written(reply.artifact, std::move(state.artifact));
  return reply;
}

ExecuteReply Embedded::execute(const ExecuteRequest& request) {
  const auto program = last_.get(request.artifact, machine_);
  if (!program) return reply_with<ExecuteReply>(program.error());
  std::optional<Result<TensorMap>> own;
  if (shared_ == nullptr) own = model::load_tensors(request.inputs, "input");
  const Result<TensorMap>& inputs = own ? *own : shared_->inputs(request.inputs);
  if (!inputs) return reply_with<ExecuteReply>(inputs.error());
  TensorMap trace;
  auto outputs = (*program)->run(*inputs, request.trace.empty() ? nullptr : &trace);
  if (!outputs) return reply_with<ExecuteReply>(outputs.error());
  ExecuteReply reply;
  reply.outcome = Outcome::ok;
  if (request.output.empty()) {
    reply.outputs = *std::move(outputs);
  } else if (auto saved = model::save_tensors(*outputs, request.output, "output"); !saved) {
    return reply_with<ExecuteReply>(saved.error());
  }
  if (request.trace.empty()) return reply;
  if (auto saved = model::save_tensors(trace, request.trace, "trace"); !saved) {
    return reply_with<ExecuteReply>(saved.error());
  }
  for (const auto& [name, codes] : trace) reply.trace.push_back(name);
  return reply;
}

}  // namespace

Result<std::unique_ptr<converters::Converter>> make_embedded(const std::vector<std::string>& faults,
                                                             const std::string& variant,
                                                             std::shared_ptr<SharedWork> shared) {
  auto machine = build_machine(faults, variant);
  if (!machine) return machine.error();
  return std::unique_ptr<converters::Converter>(std::make_unique<Embedded>(std::move(*machine), std::move(shared)));
}

std::shared_ptr<SharedWork> make_shared_work() { return std::make_shared<SharedWork>(); }

Result<Conversion> convert_in_memory(const model::Model& original, const std::vector<TensorMap>& batches,
                                     const converters::Options& options, const std::vector<std::string>& faults) {
  auto machine = build_machine(faults, "");
  if (!machine) return machine.error();
  State state;
  state.original = original;
  state.feed = batches;
  state.options = options;
  Conversion conversion;
  if (auto done = run_passes(machine->passes, state); !done) {
    conversion.reply = reply_with<ConvertReply>(done.error());
  } else {
    conversion.reply.outcome = Outcome::ok;
    conversion.reply.tensors = std::move(state.tensors);
    conversion.reply.precision = std::move(state.precision);
    conversion.artifact = std::move(state.artifact);
    conversion.cache_json = std::move(state.cache_json);
  }
  conversion.reply.diagnostics = std::move(state.diagnostics);
  return conversion;
}

Result<TensorMap> run_artifact(const model::Model& artifact, const TensorMap& inputs, const std::string& variant,
                               TensorMap* trace) {
  const auto machine = build_machine({}, variant);
  if (!machine) return machine.error();
  return engine::run_quantized(artifact, inputs, machine->policy, trace);
}

}  // namespace assay::embedded
