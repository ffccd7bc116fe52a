#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

enum Input : std::size_t { kBoxes, kScores, kMaxOutput, kIouThreshold, kScoreThreshold };

/// A box by its lower and upper corner.
struct Box {
  double y1, x1, y2, x2;

  [[nodiscard]] double area() const { return (y2 - y1) * (x2 - x1); }
};

Box box_of(std::span<const double> numbers, bool centered) {
  if (centered) {  // [x_center, y_center, width, height]
    const double half_width = numbers[2] / 2.0;
    const double half_height = numbers[3] / 2.0;
    return {numbers[1] - half_height, numbers[0] - half_width, numbers[1] + half_height, numbers[0] + half_width};
  }
  const auto [y1, y2] = std::minmax(numbers[0], numbers[2]);  // [y1, x1, y2, x2], any diagonal pair of corners
  const auto [x1, x2] = std::minmax(numbers[1], numbers[3]);
  return {y1, x1, y2, x2};
}

/// Intersection over union; 0 for boxes without area.
double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0.0 || width <= 0.0) return 0.0;
  return height * width / (a.area() + b.area() - height * width);
}

struct Thresholds {
  std::int64_t most = 0;
  double overlap = 0.0;
  std::optional<double> score;
};

Result<Thresholds> thresholds_of(const OpCall& call) {
  Thresholds result;
  if (call.has_input(kMaxOutput)) {
    const auto most = integer_scalar(call, kMaxOutput);
    if (!most) return most.error();
    result.most = *most;
  }
  if (call.has_input(kIouThreshold)) {
    const auto threshold = real_scalar(call, kIouThreshold);
    if (!threshold) return threshold.error();
    result.overlap = *threshold;
  }
  if (call.has_input(kScoreThreshold)) {
    const auto threshold = real_scalar(call, kScoreThreshold);
    if (!threshold) return threshold.error();
    result.score = *threshold;
  }
  return result;
}

/// The boxes that remain, best first: of equal scores the earlier box comes first.
std::vector<std::int64_t> selected(const std::vector<Box>& boxes, std::span<const double> scores,
                                   const Thresholds& thresholds) {
  std::vector<std::int64_t> order(boxes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return scores[at(a)] > scores[at(b)]; });
  std::vector<std::int64_t> kept;
  for (const std::int64_t candidate : order) {
    if (static_cast<std::int64_t>(kept.size()) >= thresholds.most) break;
    if (thresholds.score && !(scores[at(candidate)] > *thresholds.score)) break;
    const bool suppressed = std::ranges::any_of(kept, [&](std::int64_t better) {
      return overlap(boxes[at(better)], boxes[at(candidate)]) > thresholds.overlap;
    });
    if (!suppressed) kept.push_back(candidate);
  }
  return kept;
}

// ONNX NonMaxSuppression-11: for each batch and class the boxes in order of their scores, but for those whose overlap
// with one selected before exceeds iou_threshold (default 0) and those with a score not above score_threshold, at most
// max_output_boxes_per_class (default 0). Rows [batch, class, box].
Result<std::vector<Tensor>> run_non_max_suppression(const OpCall& call) {
  for (const std::size_t i : {kBoxes, kScores}) {
    if (const auto real = require_real(call, i); !real) return real.error();
    const auto values = call.in(i).reals();
    if (std::ranges::any_of(values, [](double value) { return std::isnan(value); })) {
      return op_error(input_text(call, i) + " holds NaN");
    }
  }
  const Shape& boxes = call.in(kBoxes).shape();
  const Shape& scores = call.in(kScores).shape();
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2]) {
    return op_error(fmt::format("boxes {} and scores {}; expected [batches, boxes, 4] and [batches, classes, boxes]",
                                tensor_text(call.in(kBoxes)), tensor_text(call.in(kScores))));
  }
  const auto thresholds = thresholds_of(call);
  if (!thresholds) return thresholds.error();
  const bool centered = call.node.int_or("center_point_box", 0) != 0;
  std::vector<std::int64_t> rows;
  for (std::int64_t batch = 0; batch < boxes[0]; ++batch) {
    std::vector<Box> of_batch;
    for (std::int64_t i = 0; i < boxes[1]; ++i) {
      of_batch.push_back(box_of(call.in(kBoxes).reals().subspan(at((batch * boxes[1] + i) * 4), 4), centered));
    }
    for (std::int64_t c = 0; c < scores[1]; ++c) {
      const auto of_class = call.in(kScores).reals().subspan(at((batch * scores[1] + c) * scores[2]), at(scores[2]));
      for (const std::int64_t box : selected(of_batch, of_class, *thresholds)) {
        rows.insert(rows.end(), {batch, c, box});
      }
    }
  }
  const auto count = static_cast<std::int64_t>(rows.size()) / 3;
  return single_output(Tensor(DType::int64, {count, 3}, std::move(rows)));
}

Result<Facts> infer_non_max_suppression(const ShapeCall& call) {
  for (const std::size_t i : {kBoxes, kScores}) {
    if (const auto rank = require_rank(call, i, 3); !rank) return rank.error();
  }
  for (const std::size_t i : {kMaxOutput, kIouThreshold, kScoreThreshold}) {
    if (const auto single = require_single(call, i); !single) return single.error();
  }
  return one(DType::int64, Dims{Dimension(), known(3)});
}

}  // namespace

const OpDef& op_non_max_suppression() {
  static const OpDef def{.name = "NonMaxSuppression",
                         .first_opset = 10,
                         .min_inputs = 2,
                         .max_inputs = 5,
                         .run = &run_non_max_suppression,
                         .infer = &infer_non_max_suppression};
  return def;
}

}  // namespace assay::reference
