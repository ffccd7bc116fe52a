// AveragePool, GlobalAveragePool, ReduceMean and ReduceSum on codes: int32 sums, requantized by scale / count.
#include <array>
#include <map>

#include "converters/embedded/engine/integer_kernel.hpp"
#include "converters/embedded/engine/pooling.hpp"
#include "converters/embedded/engine/reduction.hpp"

namespace assay::embedded::engine {
namespace {

/// What an average needs to write its sums as codes.
struct Average {
  double scale = 1;
  std::int16_t zero_point = 0;
  OutputCodes out;
  ArithmeticPolicy policy;

  [[nodiscard]] Requantizer requantizer(std::int64_t count) const {
    const std::array scales{scale / static_cast<double>(std::max<std::int64_t>(count, 1))};
    return {policy, out, scales};
  }
};

Average average_of(const IntegerBinding& binding) {
  const Operand& x = binding.operand(0);
  return {x.scale(), subtracted_zero_point(x, binding.policy), binding.outputs[0], binding.policy};
}

template <typename Code>
void average_pool(const Average& average, const Pool& pool, bool counts_padding, const Code* x, std::uint8_t* out) {
  const WindowIndex index(pool.window);
  const bool whole_kernel = average.policy.average_divisor == AverageDivisor::kernel;
  std::map<std::int64_t, Requantizer> by_count;
  std::vector<const Requantizer*> requantizers;
  for (std::size_t i = 0; i + 1 < index.begin.size(); ++i) {
    const std::int64_t inside = index.begin[i + 1] - index.begin[i];
    const std::int64_t count = whole_kernel ? volume(pool.window.kernel) : counts_padding ? index.padded[i] : inside;
    auto it = by_count.find(count);
    if (it == by_count.end()) it = by_count.emplace(count, average.requantizer(count)).first;
    requantizers.push_back(&it->second);
  }
  for (std::int64_t plane = 0; plane < pool.planes; ++plane, x += volume(pool.window.in)) {
    for (std::size_t i = 0; i < requantizers.size(); ++i) {
      std::int32_t sum = 0;
      for (std::int64_t j = index.begin[i]; j < index.begin[i + 1]; ++j) {
        sum += x[index.offsets[static_cast<std::size_t>(j)]] - average.zero_point;
      }
      *out++ = requantizers[i]->code(sum, 0);
    }
  }
}

template <bool is_global>
Result<Kernel> make_average_pool(const IntegerBinding& binding) {
  if (!binding.operand(0).is_per_tensor()) return Kernel();
  auto attributes = read_window_attributes(binding.node);
  if (!attributes) return attributes.error();
  const bool counts_padding = binding.node.int_or("count_include_pad", 0) != 0;
  return Kernel([attributes = *attributes, counts_padding, average = average_of(binding)](const Call& call) -> Status {
    const Buffer& x = call.input(0);
    auto pool = is_global ? bind_global_pool(x.shape()) : bind_pool(attributes, x.shape());
    if (!pool) return pool.error();
    call.outputs[0] = Buffer(average.out.type, pool->out_shape);
    with_code_type(x.type(), [&](auto code) {
      average_pool(average, *pool, counts_padding, x.data<decltype(code)>(), call.outputs[0].data<std::uint8_t>());
    });
    return core::success();
  });
}

Result<Kernel> make_reduce(const IntegerBinding& binding) {
  if (!binding.operand(0).is_per_tensor() || binding.operand(1).is_codes()) return Kernel();
  const bool is_mean = binding.node.op_type == "ReduceMean";
  return Kernel([attributes = read_reduction_attributes(binding.node), is_mean,
                 average = average_of(binding)](const Call& call) -> Status {
    auto reduction = bind_reduction(attributes, call);
    if (!reduction) return reduction.error();
    const Buffer& x = call.input(0);
    call.outputs[0] = Buffer(average.out.type, reduction->out_shape);
    std::vector<std::int32_t> sums(static_cast<std::size_t>(call.outputs[0].size()), 0);
    with_code_type(x.type(), [&](auto code) {
      const auto* in = x.data<decltype(code)>();
      for_each_reduced(x.shape(), reduction->kept, [&](std::int64_t i, std::int64_t o) {
        sums[static_cast<std::size_t>(o)] += in[i] - average.zero_point;
      });
    });
    average.requantizer(is_mean ? reduction->group : 1)
        .row(sums.data(), std::ssize(sums), 0, call.outputs[0].data<std::uint8_t>());
    return core::success();
  });
}

}  // namespace

void add_integer_pooling_makers(IntegerMakerTable& table) {
  table["AveragePool"] = &make_average_pool<false>;
  table["GlobalAveragePool"] = &make_average_pool<true>;
  table["ReduceMean"] = &make_reduce;
  table["ReduceSum"] = &make_reduce;
}

}  // namespace assay::embedded::engine
