#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/fuzz/draft.hpp"

namespace assay::fuzz {

/// How one operator is drawn. The one place to add another.
struct Row {
  std::string op;      ///< model::operator_name
  std::int64_t since;  ///< first opset of ONNX that has it, of those that are drawn; of another domain's: any
  int weight;          ///< how often it is drawn, to the others'
  /// Appends a node of `op`, legal by ONNX's text at the draft's opset, with what it reads; false where nothing fits.
  bool (*draw)(Draft& draft, const std::string& op);
};

/// All rows, by operator.
[[nodiscard]] const std::vector<Row>& rows();

// One function for each way to draw; operators that differ in their name alone share one.
bool draw_conv(Draft& draft, const std::string& op);
bool draw_conv_transpose(Draft& draft, const std::string& op);
bool draw_gemm(Draft& draft, const std::string& op);
bool draw_matmul(Draft& draft, const std::string& op);

bool draw_sum(Draft& draft, const std::string& op);
bool draw_div(Draft& draft, const std::string& op);
bool draw_extremum(Draft& draft, const std::string& op);
bool draw_unary(Draft& draft, const std::string& op);
bool draw_sloped(Draft& draft, const std::string& op);
bool draw_prelu(Draft& draft, const std::string& op);
bool draw_clip(Draft& draft, const std::string& op);
bool draw_hard_sigmoid(Draft& draft, const std::string& op);
bool draw_softmax(Draft& draft, const std::string& op);

bool draw_max_pool(Draft& draft, const std::string& op);
bool draw_average_pool(Draft& draft, const std::string& op);
bool draw_global_pool(Draft& draft, const std::string& op);
bool draw_reduce(Draft& draft, const std::string& op);
bool draw_reduce_sum(Draft& draft, const std::string& op);
bool draw_batch_normalization(Draft& draft, const std::string& op);
bool draw_instance_normalization(Draft& draft, const std::string& op);
bool draw_layer_normalization(Draft& draft, const std::string& op);

bool draw_concat(Draft& draft, const std::string& op);
bool draw_reshape(Draft& draft, const std::string& op);
bool draw_flatten(Draft& draft, const std::string& op);
bool draw_squeeze(Draft& draft, const std::string& op);
bool draw_unsqueeze(Draft& draft, const std::string& op);
bool draw_transpose(Draft& draft, const std::string& op);
bool draw_slice(Draft& draft, const std::string& op);
bool draw_split(Draft& draft, const std::string& op);
bool draw_pad(Draft& draft, const std::string& op);
bool draw_gather(Draft& draft, const std::string& op);
bool draw_expand(Draft& draft, const std::string& op);
bool draw_tile(Draft& draft, const std::string& op);
bool draw_resize(Draft& draft, const std::string& op);
bool draw_depth_to_space(Draft& draft, const std::string& op);
bool draw_space_to_depth(Draft& draft, const std::string& op);

}  // namespace assay::fuzz
