#include "harness/corpus/read_tensor_spec.hpp"

namespace assay::corpus {
namespace {

void read_spread(const Fields& fields, TensorSpec& spec) {
  if (!fields.has("spread")) return;
  const Fields spread = fields.object("spread");
  spread.allow({"axis", "ratio"});
  spec.axis = spread.integer("axis");
  spec.ratio = spread.real("ratio", 1);
  if (spec.axis < 0 || spec.axis >= static_cast<std::int64_t>(spec.shape.size())) {
    spread.complain("axis", "must be an axis of the shape " + core::shape_text(spec.shape));
  }
  if (!(*spec.ratio >= 1)) spread.complain("ratio", "must be at least 1");
}

void read_zero_channels(const Fields& fields, TensorSpec& spec) {
  if (!fields.has("zero_channels")) return;
  spec.zero_channels = fields.integers("zero_channels");
  const auto channels = spec.shape.empty() ? 0 : spec.shape[static_cast<std::size_t>(spec.axis)];
  for (const std::int64_t channel : spec.zero_channels) {
    if (channel < 0 || channel >= channels) {
      fields.complain("zero_channels",
                      "channel " + std::to_string(channel) + " is not below " + std::to_string(channels));
    }
  }
}

void read_outlier(const Fields& fields, TensorSpec& spec) {
  if (!fields.has("outlier")) return;
  const Fields outlier = fields.object("outlier");
  outlier.allow({"value", "at"});
  if (!outlier.has("value")) outlier.complain("value", "is missing");
  spec.outlier = outlier.real("value");
  spec.outlier_at = outlier.integers("at");
  if (spec.outlier_at.size() > spec.shape.size()) outlier.complain("at", "has more indices than the shape has axes");
}

void read_shape(const Fields& fields, TensorSpec& spec) {
  if (fields.has("shape")) {
    spec.shape = fields.integers("shape");
  } else if (spec.kind == "values") {
    spec.shape = {static_cast<std::int64_t>(spec.values.size())};
  } else {
    fields.complain("shape", "is missing");
  }
  for (const std::int64_t extent : spec.shape) {
    if (extent < 0 || extent > (std::int64_t{1} << 28U))
      fields.complain("shape", "extent " + std::to_string(extent) + " is out of range");
  }
  if (fields.problem()) spec.shape = {0};
  if (core::element_count(spec.shape) > (std::int64_t{1} << 28U)) fields.complain("shape", "has too many elements");
}

}  // namespace

TensorSpec read_tensor_spec(const Fields& fields) {
  fields.allow({"shape", "data", "type", "range", "mean", "std", "value", "start", "step", "values", "spread", "axis",
                "zero_channels", "outlier", "seed"});
  TensorSpec spec;
  spec.kind = fields.string("data", fields.has("values") ? "values" : "normal");
  fields.require_known("data", spec.kind, "data", tensor_kinds());
  const std::string type = fields.string("type", "float");
  spec.type = core::parse_dtype(type).value_or(core::DType::undefined);
  if (spec.type == core::DType::undefined || spec.type == core::DType::string)
    fields.complain("type", "unknown type \"" + type + "\"");
  spec.values = fields.reals("values");
  read_shape(fields, spec);
  if (spec.kind == "values" && static_cast<std::int64_t>(spec.values.size()) != core::element_count(spec.shape)) {
    fields.complain("values", "holds " + std::to_string(spec.values.size()) + " numbers, the shape " +
                                  core::shape_text(spec.shape) + " needs " +
                                  std::to_string(core::element_count(spec.shape)));
  }
  if (const auto range = fields.interval("range")) {
    spec.low = range->first;
    spec.high = range->second;
  }
  if (fields.has("mean")) spec.mean = fields.real("mean");
  if (fields.has("std")) spec.std_dev = fields.real("std");
  spec.value = fields.real("value");
  spec.start = fields.real("start", 0);
  spec.step = fields.real("step", 1);
  spec.axis = fields.integer("axis");
  if (spec.axis < 0 || (spec.axis > 0 && spec.axis >= static_cast<std::int64_t>(spec.shape.size()))) {
    fields.complain("axis", "must be an axis of the shape " + core::shape_text(spec.shape));
    spec.axis = 0;
  }
  read_spread(fields, spec);
  read_zero_channels(fields, spec);
  read_outlier(fields, spec);
  if (fields.has("seed")) spec.seed = static_cast<std::uint64_t>(fields.integer("seed"));
  return spec;
}

}  // namespace assay::corpus
