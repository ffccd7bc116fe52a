// Operators on two or more elements that broadcast: arithmetic, comparison, logic, choice.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "converters/embedded/engine/geometry.hpp"

namespace assay::embedded::engine {
namespace {

/// out[i] = operation(a[i], b[i]) over broadcast operands of one type.
template <typename In, typename Out, typename Operation>
void combine(const Broadcast& walk, const Buffer& a, const Buffer& b, Buffer& out, Operation operation) {
  const auto* left = a.data<In>();
  const auto* right = b.data<In>();
  auto* target = out.data<Out>();
  const std::int64_t length = walk.row_length();
  const std::int64_t left_step = walk.step(0);
  const std::int64_t right_step = walk.step(1);
  walk.for_each_row([&](std::int64_t row, const std::int64_t* offsets) {
    const In* x = left + offsets[0];
    const In* y = right + offsets[1];
    Out* z = target + row;
    if (left_step == 1 && right_step == 1) {
      for (std::int64_t i = 0; i < length; ++i) z[i] = operation(x[i], y[i]);
    } else if (right_step == 0 && left_step == 1) {
      const In fixed = *y;
      for (std::int64_t i = 0; i < length; ++i) z[i] = operation(x[i], fixed);
    } else {
      for (std::int64_t i = 0; i < length; ++i) z[i] = operation(x[i * left_step], y[i * right_step]);
    }
  });
}

Result<Broadcast> walk_of(const Buffer& a, const Buffer& b) {
  const std::array<const Shape*, 2> shapes{&a.shape(), &b.shape()};
  return Broadcast::of(shapes);
}

Status check_same_type(const Call& call, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!call.has(i)) return invalid_model(fmt::format("input {} is left out, but required", i));
    if (call.input(i).type() != call.input(0).type()) {
      return invalid_data(fmt::format("operands have types {} and {}", core::dtype_name(call.input(0).type()),
                                      core::dtype_name(call.input(i).type())));
    }
  }
  return core::success();
}

/// Integer arithmetic wraps, as it does where the operands are shapes too large to be true.
template <typename Element, typename Operation>
Element wrapping(Element a, Element b, Operation operation) {
  if constexpr (std::is_integral_v<Element>) {
    return static_cast<Element>(operation(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  } else {
    return operation(a, b);
  }
}

struct AddOf {
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct SubOf {
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct MulOf {
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
struct DivOf {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == -1) return wrapping(T{0}, a, [](auto x, auto y) { return x - y; });
      return b == 0 ? T{0} : static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};
struct MinOf {
  template <typename T>
  T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};
struct MaxOf {
  template <typename T>
  T operator()(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};
struct PowOf {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
};
/// Mod with the sign of the divisor (ONNX's default), for integers.
struct ModOf {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0 || b == -1) return 0;
      const T rest = static_cast<T>(a % b);
      return rest != 0 && ((rest < 0) != (b < 0)) ? static_cast<T>(rest + b) : rest;
    } else {
      return static_cast<T>(std::fmod(static_cast<double>(a), static_cast<double>(b)));
    }
  }
};
/// Mod with the sign of the dividend (fmod = 1).
struct FmodOf {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return b == 0 || b == -1 ? T{0} : static_cast<T>(a % b);
    } else {
      return static_cast<T>(std::fmod(static_cast<double>(a), static_cast<double>(b)));
    }
  }
};
/// PRelu: the slope is the second operand.
struct PReluOf {
  template <typename T>
  T operator()(T a, T b) const {
    return a < T{0} ? MulOf{}(a, b) : a;
  }
};

template <typename Operation>
Status arithmetic(const Buffer& a, const Buffer& b, Buffer& out) {
  auto walk = walk_of(a, b);
  if (!walk) return walk.error();
  out = Buffer(a.type(), walk->shape());
  with_element_type(a.type(), [&](auto element) {
    using Element = decltype(element);
    combine<Element, Element>(*walk, a, b, out, Operation{});
  });
  return core::success();
}

template <typename Operation>
Result<Kernel> make_arithmetic(const Binding&) {
  return Kernel([](const Call& call) -> Status {
    if (auto status = check_same_type(call, 2); !status) return status;
    return arithmetic<Operation>(call.input(0), call.input(1), call.outputs[0]);
  });
}

Result<Kernel> make_mod(const Binding& binding) {
  return binding.node.int_or("fmod", 0) != 0 ? make_arithmetic<FmodOf>(binding) : make_arithmetic<ModOf>(binding);
}

/// Min, Max and Sum take one operand or more.
template <typename Operation>
Result<Kernel> make_variadic(const Binding&) {
  return Kernel([](const Call& call) -> Status {
    if (auto status = check_same_type(call, std::max<std::size_t>(1, call.inputs.size())); !status) return status;
    Buffer result = call.input(0);
    for (std::size_t i = 1; i < call.inputs.size(); ++i) {
      Buffer next;
      if (auto status = arithmetic<Operation>(result, call.input(i), next); !status) return status;
      result = std::move(next);
    }
    call.outputs[0] = std::move(result);
    return core::success();
  });
}

Result<Kernel> make_pow(const Binding&) {
  return Kernel([](const Call& call) -> Status {
    if (!call.has(0) || !call.has(1)) return invalid_model("base and exponent are required");
    const Buffer& base = call.input(0);
    Buffer exponent = call.input(1);
    if (exponent.type() != base.type()) {
      // The exponent's type is its own; the result has the base's.
      Buffer same(base.type(), exponent.shape());
      with_element_type(exponent.type(), [&](auto from) {
        with_element_type(base.type(), [&](auto to) {
          for (std::int64_t i = 0; i < exponent.size(); ++i) {
            same.data<decltype(to)>()[i] = static_cast<decltype(to)>(exponent.data<decltype(from)>()[i]);
          }
        });
      });
      exponent = same;
    }
    return arithmetic<PowOf>(base, exponent, call.outputs[0]);
  });
}

struct EqualOf {
  template <typename T>
  std::uint8_t operator()(T a, T b) const {
    return a == b ? 1 : 0;
  }
};
struct GreaterOf {
  template <typename T>
  std::uint8_t operator()(T a, T b) const {
    return a > b ? 1 : 0;
  }
};
struct LessOf {
  template <typename T>
  std::uint8_t operator()(T a, T b) const {
    return a < b ? 1 : 0;
  }
};
struct GreaterOrEqualOf {
  template <typename T>
  std::uint8_t operator()(T a, T b) const {
    return a >= b ? 1 : 0;
  }
};
struct LessOrEqualOf {
  template <typename T>
  std::uint8_t operator()(T a, T b) const {
    return a <= b ? 1 : 0;
  }
};
struct AndOf {
  template <typename T>
  std::uint8_t operator()(T a, T b) const {
    return a != T{} && b != T{} ? 1 : 0;
  }
};
struct OrOf {
  template <typename T>
  std::uint8_t operator()(T a, T b) const {
    return a != T{} || b != T{} ? 1 : 0;
  }
};
struct XorOf {
  template <typename T>
  std::uint8_t operator()(T a, T b) const {
    return (a != T{}) != (b != T{}) ? 1 : 0;
  }
};

template <typename Operation>
Result<Kernel> make_comparison(const Binding&) {
  return Kernel([](const Call& call) -> Status {
    if (auto status = check_same_type(call, 2); !status) return status;
    auto walk = walk_of(call.input(0), call.input(1));
    if (!walk) return walk.error();
    call.outputs[0] = Buffer(DType::boolean, walk->shape());
    with_element_type(call.input(0).type(), [&](auto element) {
      combine<decltype(element), std::uint8_t>(*walk, call.input(0), call.input(1), call.outputs[0], Operation{});
    });
    return core::success();
  });
}

Result<Kernel> make_not(const Binding&) {
  return Kernel([](const Call& call) -> Status {
    if (auto status = expect_inputs(call, 1, DType::boolean); !status) return status;
    call.outputs[0] = Buffer(DType::boolean, call.input(0).shape());
    auto* out = call.outputs[0].data<std::uint8_t>();
    for (const std::uint8_t value : call.input(0).span<std::uint8_t>()) *out++ = value == 0 ? 1 : 0;
    return core::success();
  });
}

Result<Kernel> make_where(const Binding&) {
  return Kernel([](const Call& call) -> Status {
    if (!call.has(0) || !call.has(1) || !call.has(2)) return invalid_model("condition, x and y are required");
    const Buffer& condition = call.input(0);
    const Buffer& x = call.input(1);
    const Buffer& y = call.input(2);
    if (condition.type() != DType::boolean || x.type() != y.type()) {
      return invalid_data("the condition must be boolean, x and y of one type");
    }
    const std::array<const Shape*, 3> shapes{&condition.shape(), &x.shape(), &y.shape()};
    auto walk = Broadcast::of(shapes);
    if (!walk) return walk.error();
    call.outputs[0] = Buffer(x.type(), walk->shape());
    with_element_width(x.type(), [&](auto element) {
      using Element = decltype(element);
      auto* out = call.outputs[0].data<Element>();
      walk->for_each_row([&](std::int64_t row, const std::int64_t* offsets) {
        for (std::int64_t i = 0; i < walk->row_length(); ++i) {
          const bool chosen = condition.data<std::uint8_t>()[offsets[0] + i * walk->step(0)] != 0;
          out[row + i] = chosen ? x.data<Element>()[offsets[1] + i * walk->step(1)]
                                : y.data<Element>()[offsets[2] + i * walk->step(2)];
        }
      });
    });
    return core::success();
  });
}

}  // namespace

void add_elementwise_makers(MakerTable& table) {
  table["Add"] = &make_arithmetic<AddOf>;
  table["Sub"] = &make_arithmetic<SubOf>;
  table["Mul"] = &make_arithmetic<MulOf>;
  table["Div"] = &make_arithmetic<DivOf>;
  table["Mod"] = &make_mod;
  table["PRelu"] = &make_arithmetic<PReluOf>;
  table["Pow"] = &make_pow;
  table["Min"] = &make_variadic<MinOf>;
  table["Max"] = &make_variadic<MaxOf>;
  table["Sum"] = &make_variadic<AddOf>;
  table["Equal"] = &make_comparison<EqualOf>;
  table["Greater"] = &make_comparison<GreaterOf>;
  table["Less"] = &make_comparison<LessOf>;
  table["GreaterOrEqual"] = &make_comparison<GreaterOrEqualOf>;
  table["LessOrEqual"] = &make_comparison<LessOrEqualOf>;
  table["And"] = &make_comparison<AndOf>;
  table["Or"] = &make_comparison<OrOf>;
  table["Xor"] = &make_comparison<XorOf>;
  table["Not"] = &make_not;
  table["Where"] = &make_where;
}

}  // namespace assay::embedded::engine
