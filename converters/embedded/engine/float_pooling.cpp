// MaxPool, AveragePool and their global forms.
#include <fmt/format.h>

#include "converters/embedded/engine/pooling.hpp"

namespace assay::embedded::engine {

Result<Pool> bind_pool(const WindowAttributes& attributes, const Shape& x) {
  if (x.size() < 3) return invalid_data(fmt::format("a pool takes at least 3 dimensions, not {}", core::shape_text(x)));
  if (attributes.kernel_shape.empty()) return invalid_model("kernel_shape is required");
  const std::span<const std::int64_t> in(x.begin() + 2, x.end());
  auto window = forward_window(attributes, in, attributes.kernel_shape);
  if (!window) return window.error();
  return Pool{*window, x[0] * x[1], with_spatial({x[0], x[1]}, window->out, in.size())};
}

Result<Pool> bind_global_pool(const Shape& x) {
  if (x.size() < 3) return invalid_data(fmt::format("a pool takes at least 3 dimensions, not {}", core::shape_text(x)));
  const Shape spatial(x.begin() + 2, x.end());
  Pool pool;
  pool.planes = x[0] * x[1];
  pool.window.in = pool.window.kernel = {1, 1, core::element_count(spatial)};
  pool.out_shape.assign(x.size(), 1);
  pool.out_shape[0] = x[0];
  pool.out_shape[1] = x[1];
  return pool;
}

WindowIndex::WindowIndex(const Window& window) {
  begin.push_back(0);
  for_each_window(window, [&](std::int64_t, const std::int64_t* inside, std::int64_t count, std::int64_t counted) {
    offsets.insert(offsets.end(), inside, inside + count);
    begin.push_back(std::ssize(offsets));
    padded.push_back(counted);
  });
}

namespace {

Result<Pool> bind(const Call& call, bool is_global, const WindowAttributes& attributes) {
  return is_global ? bind_global_pool(call.input(0).shape()) : bind_pool(attributes, call.input(0).shape());
}

template <bool is_global>
Result<Kernel> make_max_pool(const Binding& binding) {
  auto attributes = read_window_attributes(binding.node);
  if (!attributes) return attributes.error();
  if (binding.node.outputs.size() > 1 && !binding.node.outputs[1].empty()) {
    return unsupported("MaxPool with its optional output Indices");
  }
  return Kernel([attributes = *attributes](const Call& call) -> Status {
    if (!call.has(0)) return invalid_model("input 0 is left out, but required");
    const Buffer& x = call.input(0);
    auto pool = bind(call, is_global, attributes);
    if (!pool) return pool.error();
    call.outputs[0] = Buffer(x.type(), pool->out_shape);
    with_element_type(x.type(), [&](auto element) {
      using Element = decltype(element);
      max_pool(*pool, x.data<Element>(), call.outputs[0].data<Element>());
    });
    return core::success();
  });
}

template <bool is_global>
Result<Kernel> make_average_pool(const Binding& binding) {
  auto attributes = read_window_attributes(binding.node);
  if (!attributes) return attributes.error();
  const bool counts_padding = binding.node.int_or("count_include_pad", 0) != 0;
  return Kernel([attributes = *attributes, counts_padding](const Call& call) -> Status {
    if (auto status = expect_inputs(call, 1, DType::float32); !status) return status;
    auto pool = bind(call, is_global, attributes);
    if (!pool) return pool.error();
    call.outputs[0] = Buffer(DType::float32, pool->out_shape);
    auto* out = call.outputs[0].data<float>();
    const auto* x = call.input(0).data<float>();
    const WindowIndex index(pool->window);
    for (std::int64_t plane = 0; plane < pool->planes; ++plane, x += volume(pool->window.in)) {
      for (std::size_t i = 0; i + 1 < index.begin.size(); ++i) {
        double sum = 0;
        for (std::int64_t j = index.begin[i]; j < index.begin[i + 1]; ++j) {
          sum += static_cast<double>(x[index.offsets[static_cast<std::size_t>(j)]]);
        }
        const std::int64_t count = counts_padding ? index.padded[i] : index.begin[i + 1] - index.begin[i];
        *out++ = static_cast<float>(sum / static_cast<double>(count));
      }
    }
    return core::success();
  });
}

}  // namespace

void add_pooling_makers(MakerTable& table) {
  table["MaxPool"] = &make_max_pool<false>;
  table["GlobalMaxPool"] = &make_max_pool<true>;
  table["AveragePool"] = &make_average_pool<false>;
  table["GlobalAveragePool"] = &make_average_pool<true>;
}

}  // namespace assay::embedded::engine
