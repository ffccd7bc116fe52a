#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "converters/embedded/embedded.hpp"
#include "converters/embedded/pipeline.hpp"

namespace assay::embedded {

/// Constants of a test model: drawn from a seed, spread over their first (or given) axis so that wrong channels show.
[[nodiscard]] core::Tensor drawn(const core::Shape& shape, std::uint64_t seed, double scale = 1.0);
[[nodiscard]] core::Tensor drawn_spread(const core::Shape& shape, std::size_t axis, std::uint64_t seed);
[[nodiscard]] core::Tensor floats(const core::Shape& shape, std::vector<double> values);
[[nodiscard]] core::Tensor ints(const core::Shape& shape, std::vector<std::int64_t> values);

/// A model from ONNX's textual syntax with its constants; aborts the test program where the text is wrong.
[[nodiscard]] model::Model make_model(const std::string& text, const std::map<std::string, core::Tensor>& constants,
                                      std::int64_t opset = 13);

/// `count` batches for every graph input, drawn from [low, high].
[[nodiscard]] std::vector<core::TensorMap> make_feed(const model::Model& model, int count = 4, double low = -2,
                                                     double high = 3);

/// Runs the standard passes up to and including `stage`.
[[nodiscard]] core::Status run_until(State& state, std::string_view stage);
[[nodiscard]] State state_of(const model::Model& model, const std::vector<core::TensorMap>& feed,
                             const converters::Options& options = {});

/// Converts; the test fails with the reason where that does not succeed.
[[nodiscard]] Conversion converted(const model::Model& model, const std::vector<core::TensorMap>& feed,
                                   const converters::Options& options = {},
                                   const std::vector<std::string>& faults = {});

/// 10 log10(|expected|^2 / |expected - actual|^2) over all outputs.
[[nodiscard]] double sqnr_db(const core::TensorMap& expected, const core::TensorMap& actual);
/// SQNR of the artifact, run in integers, against the float model on `inputs`.
[[nodiscard]] double sqnr_of(const model::Model& model, const model::Model& artifact, const core::TensorMap& inputs);

[[nodiscard]] std::string got(const Conversion& conversion, std::string_view node);
[[nodiscard]] const core::QuantParams* params_of(const Conversion& conversion, std::string_view tensor);

}  // namespace assay::embedded
