#include "converters/embedded/engine/engine.hpp"

#include <fmt/format.h>

#include "converters/embedded/engine/integer_kernel.hpp"
#include "converters/embedded/engine/program.hpp"
#include "converters/embedded/engine/quantized_graph.hpp"

namespace assay::embedded::engine {
namespace {

core::Error at_input(core::Error error, const std::string& name) {
  error.tensor = name;
  return error;
}

Result<Buffer> bind_input(const model::ValueInfo& info, const core::TensorMap& inputs) {
  const auto it = inputs.find(info.name);
  if (it == inputs.end()) {
    return at_input(invalid_data(fmt::format("input \"{}\" is missing", info.name)), info.name);
  }
  const core::Tensor& tensor = it->second;
  if (info.type != DType::undefined && tensor.type() != info.type) {
    return at_input(invalid_data(fmt::format("input \"{}\": expected type {}, got {}", info.name,
                                             core::dtype_name(info.type), core::dtype_name(tensor.type()))),
                    info.name);
  }
  if (info.shape) {
    bool fits = info.shape->size() == tensor.shape().size();
    for (std::size_t d = 0; fits && d < info.shape->size(); ++d) {
      const auto& declared = (*info.shape)[d].value;
      fits = !declared || *declared == tensor.shape()[d];
    }
    if (!fits) {
      std::string declared;
      for (const auto& dimension : *info.shape) {
        declared += declared.empty() ? "" : ",";
        declared += dimension.value            ? fmt::to_string(*dimension.value)
                    : dimension.symbol.empty() ? "?"
                                               : dimension.symbol;
      }
      return at_input(invalid_data(fmt::format("input \"{}\": expected shape [{}], got {}", info.name, declared,
                                               core::shape_text(tensor.shape()))),
                      info.name);
    }
  }
  auto buffer = Buffer::from_tensor(tensor);
  if (!buffer) return at_input(buffer.error().within(fmt::format("input \"{}\"", info.name)), info.name);
  return buffer;
}

void show(const Observer& observe, const std::string& name, const Buffer& value) {
  const bool is_float = value.type() == DType::float32;
  observe(name, {value.type(), value.shape(), is_float ? value.span<float>() : std::span<const float>()});
}

}  // namespace

Result<std::vector<Buffer>> run_steps(const ProgramState& program, std::vector<Buffer> inputs, core::TensorMap* trace,
                                      const Observer& observe) {
  std::vector<Buffer> values = program.constants;  // shares their elements
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto slot = static_cast<std::size_t>(program.inputs[i].slot);
    if (observe) show(observe, program.names[slot], inputs[i]);
    values[slot] = std::move(inputs[i]);
  }
  std::vector<const Buffer*> read;
  std::vector<Buffer> written;
  for (const Step& step : program.steps) {
    read.clear();
    for (const int slot : step.inputs) read.push_back(slot < 0 ? nullptr : &values[static_cast<std::size_t>(slot)]);
    written.assign(step.outputs.size(), {});
    if (const auto status = run_kernel(step.kernel, {read, written}); !status)
      return at_node(status.error(), step.node);
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (step.outputs[i] < 0) continue;
      const auto slot = static_cast<std::size_t>(step.outputs[i]);
      values[slot] = std::move(written[i]);
      if (observe) show(observe, program.names[slot], values[slot]);
    }
    if (trace != nullptr) {
      for (const int slot : step.traced) {
        (*trace)[program.names[static_cast<std::size_t>(slot)]] = values[static_cast<std::size_t>(slot)].to_tensor();
      }
    }
    for (const int slot : step.released) values[static_cast<std::size_t>(slot)] = Buffer();
  }
  std::vector<Buffer> outputs;
  for (const int slot : program.outputs) {
    const auto index = static_cast<std::size_t>(slot);
    if (values[index].type() == DType::undefined) {
      return invalid_model(fmt::format("output \"{}\" is not computed by any node", program.names[index]));
    }
    outputs.push_back(values[index]);
  }
  return outputs;
}

Result<core::TensorMap> Program::run(const core::TensorMap& inputs, core::TensorMap* trace,
                                     const Observer& observe) const {
  std::vector<Buffer> bound;
  for (const auto& input : state_->inputs) {
    auto value = bind_input(input.info, inputs);
    if (!value) return value.error();
    bound.push_back(std::move(*value));
  }
  const auto values = run_steps(*state_, std::move(bound), trace, observe);
  if (!values) return values.error();
  core::TensorMap outputs;
  for (std::size_t i = 0; i < values->size(); ++i) {
    outputs[state_->names[static_cast<std::size_t>(state_->outputs[i])]] = (*values)[i].to_tensor();
  }
  return outputs;
}

std::vector<std::string> float_operators() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : float_makers()) names.emplace_back(name);
  return names;
}

std::vector<std::string> integer_operators() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : integer_makers()) names.emplace_back(name);
  return names;
}

Result<core::TensorMap> run_float(const model::Model& model, const core::TensorMap& inputs, const Observer& observe) {
  const auto program = Program::compile_float(model);
  if (!program) return program.error();
  return program->run(inputs, nullptr, observe);
}

Result<core::TensorMap> run_quantized(const model::Model& artifact, const core::TensorMap& inputs,
                                      const ArithmeticPolicy& policy, core::TensorMap* trace) {
  const auto program = Program::compile(artifact, policy);
  if (!program) return program.error();
  return program->run(inputs, trace);
}

Result<std::vector<std::string>> integer_nodes(const model::Model& artifact) {
  const auto program = Program::compile(artifact);
  if (!program) return program.error();
  return program->integer_nodes();
}

}  // namespace assay::embedded::engine
