#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "reference/arguments.hpp"
#include "reference/arithmetic.hpp"
#include "reference/broadcast.hpp"

// An elementwise operator is one of these with a function of the elements.

namespace assay::reference {

/// f(x) of every element of input 0, which must be of a floating-point type.
template <typename F>
Result<std::vector<Tensor>> map_reals(const OpCall& call, F f) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  const Tensor& x = call.in(0);
  std::vector<double> values(x.reals().size());
  std::ranges::transform(x.reals(), values.begin(), f);
  return single_output(Tensor(x.type(), x.shape(), std::move(values)));
}

/// f(x) of every element of input 0, which must be of an integer type; the results wrap into it.
template <typename F>
Result<std::vector<Tensor>> map_integers(const OpCall& call, F f) {
  if (const auto integer = require_integer(call, 0); !integer) return integer.error();
  const Tensor& x = call.in(0);
  std::vector<std::int64_t> values(x.integers().size());
  std::ranges::transform(x.integers(), values.begin(), [&](std::int64_t value) { return wrap(f(value), x.type()); });
  return single_output(Tensor(x.type(), x.shape(), std::move(values)));
}

/// f(x) of every element of input 0, of any type: f takes and gives double or int64.
template <typename F>
Result<std::vector<Tensor>> map_numbers(const OpCall& call, F f) {
  return call.in(0).is_real() ? map_reals(call, f) : map_integers(call, f);
}

/// predicate(x) of every element of input 0, which must be of a floating-point type, as boolean.
template <typename F>
Result<std::vector<Tensor>> map_to_boolean(const OpCall& call, F predicate) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  const Tensor& x = call.in(0);
  std::vector<std::int64_t> values(x.reals().size());
  std::ranges::transform(x.reals(), values.begin(), [&](double value) { return predicate(value) ? 1 : 0; });
  return single_output(Tensor(DType::boolean, x.shape(), std::move(values)));
}

/// f of every pair of elements of two broadcast lists of values.
template <typename Out, typename In, typename F>
std::vector<Out> zip_values(std::span<const In> a, const Shape& shape_a, std::span<const In> b, const Shape& shape_b,
                            const Shape& shape, F f) {
  std::vector<Out> values(at(core::element_count(shape)));
  if (shape_a == shape_b) {
    std::ranges::transform(a, b, values.begin(), f);
    return values;
  }
  for_each_broadcast<2>(shape, {broadcast_strides(shape_a, shape), broadcast_strides(shape_b, shape)},
                        [&](std::int64_t position, const std::array<std::int64_t, 2>& from) {
                          values[at(position)] = f(a[at(from[0])], b[at(from[1])]);
                        });
  return values;
}

/// f(a, b) of every pair of elements of two tensors of one type, broadcast; integers wrap.
template <typename F>
Result<Tensor> zip_numbers(const Tensor& a, const Tensor& b, F f) {
  const auto shape = broadcast_shape(a.shape(), b.shape());
  if (!shape) return shape.error();
  if (a.is_real()) {
    return Tensor(a.type(), *shape, zip_values<double>(a.reals(), a.shape(), b.reals(), b.shape(), *shape, f));
  }
  const DType type = a.type();
  const auto wrapped = [&](std::int64_t x, std::int64_t y) { return wrap(f(x, y), type); };
  return Tensor(type, *shape,
                zip_values<std::int64_t>(a.integers(), a.shape(), b.integers(), b.shape(), *shape, wrapped));
}

/// An operator of two inputs of one type.
template <typename F>
Result<std::vector<Tensor>> binary(const OpCall& call, F f) {
  if (const auto same = require_same_type(call, 0, 1); !same) return same.error();
  return single_output(zip_numbers(call.in(0), call.in(1), f));
}

/// f of the bits of two integer inputs of one type. Tensors hold integers with their sign extended, so that the bits
/// above the type follow those of the result.
template <typename F>
Result<std::vector<Tensor>> bitwise(const OpCall& call, F f) {
  if (const auto integer = require_integer(call, 0); !integer) return integer.error();
  return binary(call, [f](auto a, auto b) {
    return static_cast<decltype(a)>(f(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)));
  });
}

/// predicate(a, b) of two inputs of one type, as boolean.
template <typename F>
Result<std::vector<Tensor>> compare(const OpCall& call, F predicate) {
  if (const auto same = require_same_type(call, 0, 1); !same) return same.error();
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  const auto shape = broadcast_shape(a.shape(), b.shape());
  if (!shape) return shape.error();
  const auto as_bit = [&](auto x, auto y) -> std::int64_t { return predicate(x, y) ? 1 : 0; };
  return single_output(
      Tensor(DType::boolean, *shape,
             a.is_real() ? zip_values<std::int64_t>(a.reals(), a.shape(), b.reals(), b.shape(), *shape, as_bit)
                         : zip_values<std::int64_t>(a.integers(), a.shape(), b.integers(), b.shape(), *shape, as_bit)));
}

/// An operator of two boolean inputs.
template <typename F>
Result<std::vector<Tensor>> logical(const OpCall& call, F f) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (const auto boolean = require_boolean(call, i); !boolean) return boolean.error();
  }
  return compare(call, f);
}

/// An operator of any number of inputs of one type, taken from the left.
template <typename F>
Result<std::vector<Tensor>> variadic(const OpCall& call, F f) {
  Tensor result = call.in(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    if (!call.has_input(i)) return op_error(input_text(call, i) + " is left out");
    if (const auto same = require_same_type(call, 0, i); !same) return same.error();
    auto next = zip_numbers(result, call.in(i), f);
    if (!next) return next.error();
    result = std::move(*next);
  }
  return single_output(std::move(result));
}

}  // namespace assay::reference
