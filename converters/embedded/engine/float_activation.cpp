// Operators that map each element alone.
#include <cmath>
#include <numbers>

#include "converters/embedded/engine/geometry.hpp"

namespace assay::embedded::engine {
namespace {

using PlainFunction = double (*)(double);

double logistic(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double exact_gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

/// Functions without parameters.
const std::map<std::string_view, PlainFunction>& plain_functions() {
  static const std::map<std::string_view, PlainFunction> table{
      {"Relu", [](double x) { return x > 0 ? x : (x != x ? x : 0.0); }},
      {"Sigmoid", &logistic},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Erf", [](double x) { return std::erf(x); }},
      {"HardSwish", [](double x) { return x * std::fmax(0.0, std::fmin(1.0, x / 6 + 0.5)); }},
      {"Softplus", &softplus},
      {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
      {"Mish", [](double x) { return x * std::tanh(softplus(x)); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Log", [](double x) { return std::log(x); }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Sign", [](double x) { return x > 0 ? 1.0 : (x < 0 ? -1.0 : 0.0); }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Tan", [](double x) { return std::tan(x); }},
      {"Atan", [](double x) { return std::atan(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Abs", [](double x) { return std::abs(x); }},
      {"com.microsoft.Gelu", &exact_gelu},
  };
  return table;
}

RealFunction gelu(const Node& node) {
  if (node.string_or("approximate", "none") == "tanh") {
    return [](double x) {
      const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return 0.5 * x * (1 + std::tanh(inner));
    };
  }
  return &exact_gelu;
}

/// A parameter as ONNX stores it.
double parameter(const Node& node, std::string_view name, double fallback) {
  return static_cast<double>(static_cast<float>(node.float_or(name, fallback)));
}

/// Functions that depend on attributes.
const std::map<std::string_view, RealFunction (*)(const Node&)>& parametric_functions() {
  static const std::map<std::string_view, RealFunction (*)(const Node&)> table{
      {"Gelu", &gelu},
      {"LeakyRelu",
       [](const Node& node) -> RealFunction {
         return [alpha = parameter(node, "alpha", 0.01)](double x) { return x < 0 ? alpha * x : x; };
       }},
      {"Elu",
       [](const Node& node) -> RealFunction {
         return [alpha = parameter(node, "alpha", 1)](double x) { return x < 0 ? alpha * std::expm1(x) : x; };
       }},
      {"Celu",
       [](const Node& node) -> RealFunction {
         return [alpha = parameter(node, "alpha", 1)](double x) { return x < 0 ? alpha * std::expm1(x / alpha) : x; };
       }},
      {"Selu",
       [](const Node& node) -> RealFunction {
         return [alpha = parameter(node, "alpha", 1.67326319217681884765625),
                 gamma = parameter(node, "gamma", 1.05070102214813232421875)](double x) {
           return gamma * (x > 0 ? x : alpha * std::expm1(x));
         };
       }},
      {"HardSigmoid",
       [](const Node& node) -> RealFunction {
         return [alpha = parameter(node, "alpha", 0.2), beta = parameter(node, "beta", 0.5)](double x) {
           return std::fmax(0.0, std::fmin(1.0, alpha * x + beta));
         };
       }},
      {"ThresholdedRelu",
       [](const Node& node) -> RealFunction {
         return [alpha = parameter(node, "alpha", 1)](double x) { return x > alpha ? x : 0.0; };
       }},
      {"com.microsoft.QuickGelu",
       [](const Node& node) -> RealFunction {
         return [alpha = parameter(node, "alpha", 1.702)](double x) { return x * logistic(alpha * x); };
       }},
  };
  return table;
}

Result<Kernel> make_unary(const Binding& binding) {
  const RealFunction function = unary_function(binding.node);
  const bool is_relu = binding.node.op_type == "Relu";
  return Kernel([function, is_relu](const Call& call) -> Status {
    if (!call.has(0)) return invalid_model("the input is left out, but required");
    const Buffer& x = call.input(0);
    call.outputs[0] = Buffer(x.type(), x.shape());
    with_element_type(x.type(), [&](auto element) {
      using Element = decltype(element);
      const auto* in = x.data<Element>();
      auto* out = call.outputs[0].data<Element>();
      if (is_relu) {
        for (std::int64_t i = 0; i < x.size(); ++i) out[i] = in[i] < Element{} ? Element{} : in[i];
        return;
      }
      for (std::int64_t i = 0; i < x.size(); ++i) {
        out[i] = static_cast<Element>(function(static_cast<double>(in[i])));
      }
    });
    return core::success();
  });
}

/// Limits of Clip as inputs (opset 11) or attributes.
Result<Kernel> make_clip(const Binding& binding) {
  const double low = binding.node.float_or("min", -HUGE_VAL);
  const double high = binding.node.float_or("max", HUGE_VAL);
  return Kernel([low, high](const Call& call) -> Status {
    if (!call.has(0)) return invalid_model("the input is left out, but required");
    const Buffer& x = call.input(0);
    call.outputs[0] = Buffer(x.type(), x.shape());
    for (const std::size_t i : {1U, 2U}) {
      if (call.has(i) && (call.input(i).size() != 1 || call.input(i).type() != x.type())) {
        return invalid_data("min and max must be scalars of the input's type");
      }
    }
    with_element_type(x.type(), [&](auto element) {
      using Element = decltype(element);
      using Limits = std::numeric_limits<Element>;
      Element least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
      Element most = Limits::has_infinity ? Limits::infinity() : Limits::max();
      if constexpr (std::is_floating_point_v<Element>) {
        least = static_cast<Element>(low);
        most = static_cast<Element>(high);
      }
      if (call.has(1)) least = *call.input(1).data<Element>();
      if (call.has(2)) most = *call.input(2).data<Element>();
      const auto* in = x.data<Element>();
      auto* out = call.outputs[0].data<Element>();
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const Element raised = in[i] < least ? least : in[i];
        out[i] = raised > most ? most : raised;
      }
    });
    return core::success();
  });
}

}  // namespace

RealFunction unary_function(const Node& node) {
  const std::string op = model::operator_name(node);
  const auto plain = plain_functions().find(op);
  if (plain != plain_functions().end()) return plain->second;
  const auto parametric = parametric_functions().find(op);
  return parametric == parametric_functions().end() ? RealFunction() : parametric->second(node);
}

std::vector<std::string_view> unary_operators() {
  std::vector<std::string_view> names;
  for (const auto& [name, function] : plain_functions()) names.push_back(name);
  for (const auto& [name, function] : parametric_functions()) names.push_back(name);
  return names;
}

void add_activation_makers(MakerTable& table) {
  for (const std::string_view name : unary_operators()) table[name] = &make_unary;
  table["Clip"] = &make_clip;
}

}  // namespace assay::embedded::engine
