#include "converters/embedded/engine/kernel.hpp"

#include <fmt/format.h>

#include <new>
#include <stdexcept>

namespace assay::embedded::engine {

const MakerTable& float_makers() {
  static const MakerTable table = [] {
    MakerTable all;
    add_activation_makers(all);
    add_branch_makers(all);
    add_convolution_makers(all);
    add_elementwise_makers(all);
    add_fourier_makers(all);
    add_layout_makers(all);
    add_matmul_makers(all);
    add_normalization_makers(all);
    add_pad_makers(all);
    add_pooling_makers(all);
    add_quantize_makers(all);
    add_recurrent_makers(all);
    add_reduce_makers(all);
    add_resize_makers(all);
    add_scatter_makers(all);
    add_shape_makers(all);
    return all;
  }();
  return table;
}

core::Error invalid_data(std::string message) {
  return {core::ErrorKind::invalid_data, std::move(message), "", "", ""};
}
core::Error invalid_model(std::string message) {
  return {core::ErrorKind::invalid_model, std::move(message), "", "", ""};
}
core::Error unsupported(std::string message) { return {core::ErrorKind::unsupported, std::move(message), "", "", ""}; }

Status run_kernel(const Kernel& kernel, const Call& call) {
  try {
    return kernel(call);
  } catch (const std::bad_alloc&) {
    return invalid_data(fmt::format("a tensor would be larger than the memory or than {} elements", kMostElements));
  } catch (const std::length_error&) {
    return invalid_data(fmt::format("a tensor would be larger than the memory or than {} elements", kMostElements));
  }
}

Status expect_inputs(const Call& call, std::size_t count, DType type) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!call.has(i)) return invalid_model(fmt::format("input {} is left out, but required", i));
    if (call.input(i).type() != type) {
      return unsupported(fmt::format("input {} has type {}, this kernel takes {}", i,
                                     core::dtype_name(call.input(i).type()), core::dtype_name(type)));
    }
  }
  return core::success();
}

Result<std::vector<std::int64_t>> list_operand(const Call& call, std::size_t index,
                                               const std::vector<std::int64_t>& attribute) {
  if (!call.has(index)) return attribute;
  if (!core::is_integer(call.input(index).type())) {
    return invalid_data(fmt::format("input {} must be of an integer type", index));
  }
  return call.input(index).to_integers();
}

Result<std::int64_t> resolve_axis(std::int64_t axis, std::int64_t rank, bool end_allowed) {
  const std::int64_t last = end_allowed ? rank : rank - 1;
  const std::int64_t resolved = axis < 0 ? axis + rank : axis;
  if (resolved < 0 || resolved > last) {
    return invalid_model(fmt::format("axis {} is outside a tensor of rank {}", axis, rank));
  }
  return resolved;
}

}  // namespace assay::embedded::engine
