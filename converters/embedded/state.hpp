#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "converters/calibration_table.hpp"
#include "converters/converter.hpp"
#include "converters/embedded/batches.hpp"
#include "converters/embedded/engine/policy.hpp"
#include "converters/embedded/halves.hpp"
#include "harness/core/quant_params.hpp"
#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::embedded {

using core::DType;
using core::Error;
using core::ErrorKind;
using core::QuantParams;
using core::Result;
using core::Status;
using core::Tensor;
using core::TensorMap;

/// What ranges were made from; a cache of other origin is of no use.
using Fingerprint = converters::TableOrigin;

/// What the float runs showed of a tensor.
struct TensorFacts {
  DType type = DType::undefined;
  std::int64_t rank = 0;
  friend bool operator==(const TensorFacts&, const TensorFacts&) = default;
};

/// Values that a tensor takes, as the calibration method sees them.
struct Range {
  double low = 0;
  double high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// A tensor that took a value which is no number: an error only where it is to be quantized.
struct BadValue {
  std::size_t batch = 0;
  float value = 0;
};

/// What float runs of a network showed over its calibration batches.
struct Observed {
  std::map<std::string, Range> ranges;  ///< of every real tensor that took numbers alone
  std::map<std::string, BadValue> bad;
};

/// The observation that was made last, for the next conversion of the same network and data: no option changes it.
struct LastObserved {
  model::Model model;
  Batches feed;
  std::shared_ptr<const Observed> observed;
};

/// How a node will run.
enum class Form {
  int8,     ///< on codes
  fp32,     ///< in float
  weights,  ///< in float, with a weight that is stored as codes
  no_data,  ///< computes no real tensor (shapes, indices, masks): never quantized
};

struct NodePlan {
  Form form = Form::no_data;
  bool required = false;               ///< the options demand INT8
  bool chosen = false;                 ///< the options demand float
  std::string reason;                  ///< why it stays in float
  std::vector<std::size_t> operands;   ///< inputs that are read as codes of activations
  std::optional<std::size_t> weight;   ///< input that is a constant weight
  std::optional<std::size_t> bias;     ///< input that becomes an int32 bias
  std::optional<std::int64_t> axis;    ///< of the weight's scales; none is per-tensor
  std::int64_t block = 0;              ///< of the weight's scales; 0: none
  std::optional<std::size_t> dynamic;  ///< input that goes over a DynamicQuantizeLinear
  bool feeds_activation = false;       ///< its output goes straight into a Relu or Clip and is not quantized itself
  bool authored = false;               ///< its weight is codes of the model's own, which stay as they are
  friend bool operator==(const NodePlan&, const NodePlan&) = default;
};

struct Plan {
  std::vector<NodePlan> nodes;                ///< one per node of State::model
  std::set<std::string> quantized;            ///< tensors that get a QuantizeLinear (constants: codes)
  std::map<std::string, std::string> shares;  ///< tensor → the tensor whose parameters it carries
  /// Tensor → tensors that its range must cover as well (Concat's output its branches).
  std::map<std::string, std::vector<std::string>> covers;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// A constant as codes.
struct Coded {
  QuantParams params;
  Tensor codes;  ///< set by the encode pass
  friend bool operator==(const Coded&, const Coded&) = default;
};
struct NodeCodes {
  std::optional<Coded> weight;
  std::optional<Coded> bias;
  friend bool operator==(const NodeCodes&, const NodeCodes&) = default;
};

/// Everything a conversion knows. Passes read and write it in the order of pipeline.hpp; each field says who sets it.
struct State {
  // Given.
  converters::Options options;
  std::filesystem::path output;                 ///< folder for the files, or empty
  model::Model original;                        ///< load makes it one of float32
  HalfEnds half_ends;                           ///< load
  Batches feed;                                 ///< calibration batches
  std::vector<std::string> feed_order;          ///< names of the first batch in the order of its files
  std::optional<Error> feed_problem;            ///< what ended the feed early, where it broke off
  std::string cache_text;                       ///< content of the cache to reuse, where options.cache names one
  std::optional<Error> cache_problem;           ///< why that cache can't be read
  std::shared_ptr<LastObserved> last_observed;  ///< read and written by calibrate; null where nothing is shared

  // simplify: the graph that is quantized, and who computes each original node now (absent: folded into a constant).
  model::Model model;
  std::map<std::string, std::string> computed_by;
  bool imported = false;  ///< the original holds Q/DQ nodes

  std::map<std::string, TensorFacts> facts;      ///< float
  Plan plan;                                     ///< plan
  std::map<std::string, Range> ranges;           ///< calibrate, or the cache
  Fingerprint fingerprint;                       ///< calibrate
  std::map<std::string, QuantParams> params;     ///< assign: by tensor
  std::vector<NodeCodes> codes;                  ///< assign (params) and encode (codes): one per node
  std::map<std::string, Tensor> constant_codes;  ///< encode: constants that are operands, by tensor

  // emit.
  model::Model artifact;
  std::vector<converters::TensorScale> tensors;
  std::vector<converters::NodePrecision> precision;
  std::string cache_json;
  std::vector<std::string> diagnostics;

  /// All of it equal, where equal batches, tensors of a graph and subgraphs are the same objects.
  friend bool operator==(const State&, const State&) = default;
};

/// A refusal: well formed, but not to be had in the form that was asked for.
[[nodiscard]] Error refusal(const model::Node& node, std::string reason);
/// A mistake in model or data, at `node`.
[[nodiscard]] Error failure_at(const model::Node& node, ErrorKind kind, std::string reason);

}  // namespace assay::embedded
