#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "reference/arguments.hpp"
#include "reference/broadcast.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// An index of the equation: a letter, or -1, -2, … for the last, last but one, … axis that an ellipsis stands for.
using Label = int;
using Labels = std::vector<Label>;

/// The labels of one term of the equation for a tensor of `rank` axes.
Result<Labels> parse_term(std::string_view term, std::int64_t rank) {
  const auto letters = std::count_if(term.begin(), term.end(), [](char c) { return c != '.'; });
  const std::size_t ellipsis = term.find("...");
  const std::int64_t hidden = ellipsis == std::string_view::npos ? 0 : rank - letters;
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (i == ellipsis) {
      for (std::int64_t axis = hidden; axis > 0; --axis) {
        labels.push_back(static_cast<Label>(-axis));
      }
      i += 2;
    } else if ((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z')) {
      labels.push_back(term[i]);
    } else {
      return op_error(fmt::format("equation: \"{}\" is neither a letter nor an ellipsis", term[i]));
    }
  }
  if (static_cast<std::int64_t>(labels.size()) != rank) {
    return op_error(fmt::format("equation: \"{}\" does not fit a tensor of rank {}", term, rank));
  }
  return labels;
}

struct Equation {
  std::vector<Labels> operands;
  Labels output;
  std::map<Label, Dimension> extents;
};

/// Without "->" the output has the ellipsis first, then the letters that stand once, in alphabetical order.
Labels implied_output(const Equation& equation) {
  std::map<Label, int> uses;
  for (const Labels& operand : equation.operands) {
    for (const Label label : operand) {
      ++uses[label];
    }
  }
  Labels output;
  for (const auto& [label, count] : uses) {
    if (label < 0 || count == 1) {
      output.push_back(label);
    }
  }
  return output;
}

core::Status read_operand(const Dims& shape, const Labels& labels, std::map<Label, Dimension>& extents) {
  for (std::size_t axis = 0; axis < labels.size(); ++axis) {
    const auto [found, added] = extents.try_emplace(labels[axis], shape[axis]);
    Dimension& extent = found->second;
    if (labels[axis] < 0) {  // what an ellipsis stands for is broadcast
      const auto joint = broadcast_dims({extent}, {shape[axis]});
      if (!joint) {
        return joint.error().within("equation");
      }
      extent = joint->front();
    } else if (!may_equal(extent, shape[axis])) {
      return op_error(fmt::format("equation: an index is {} long in one operand and {} in another", dim_text(extent),
                                  dim_text(shape[axis])));
    } else {
      extent = sharper(extent, shape[axis]);
    }
  }
  return core::success();
}

Result<Labels> parse_output(std::string_view term, const Equation& equation) {
  const auto hidden = std::count_if(equation.extents.begin(), equation.extents.end(),
                                    [](const auto& entry) { return entry.first < 0; });
  const bool has_ellipsis = term.find("...") != std::string_view::npos;
  const auto letters = std::count_if(term.begin(), term.end(), [](char c) { return c != '.'; });
  Result<Labels> labels = parse_term(term, letters + (has_ellipsis ? hidden : 0));
  if (!labels) {
    return labels;
  }
  for (const Label label : *labels) {
    if (!equation.extents.contains(label) || std::count(labels->begin(), labels->end(), label) > 1) {
      return op_error("equation: an index of the output stands in no operand, or twice in the output");
    }
  }
  return labels;
}

/// The equation for operands of these shapes.
Result<Equation> parse(const Node& node, const std::vector<Dims>& shapes) {
  std::string text = node.string_or("equation", "");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation equation;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::size_t comma = left.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == shapes.size())) {
      return op_error(fmt::format("equation \"{}\" does not have one term for each of {} inputs", text, shapes.size()));
    }
    Result<Labels> labels = parse_term(left.substr(0, comma), static_cast<std::int64_t>(shapes[i].size()));
    if (!labels) {
      return labels.error();
    }
    if (const core::Status status = read_operand(shapes[i], *labels, equation.extents); !status) {
      return status.error();
    }
    equation.operands.push_back(std::move(*labels));
    left = comma == std::string_view::npos ? std::string_view() : left.substr(comma + 1);
  }
  if (arrow == std::string::npos) {
    equation.output = implied_output(equation);
    return equation;
  }
  Result<Labels> output = parse_output(std::string_view(text).substr(arrow + 2), equation);
  if (!output) {
    return output.error();
  }
  equation.output = std::move(*output);
  return equation;
}

/// Distance in elements of `tensor` for one step of each of `order`; a label that stands twice walks the diagonal.
std::vector<std::int64_t> steps(const Tensor& tensor, const Labels& labels, const Labels& order) {
  const std::vector<std::int64_t> strides = row_major_strides(tensor.shape());
  std::vector<std::int64_t> result(order.size(), 0);
  for (std::size_t axis = 0; axis < labels.size(); ++axis) {
    const auto place = std::find(order.begin(), order.end(), labels[axis]) - order.begin();
    result[at(place)] += tensor.shape()[axis] == 1 ? 0 : strides[axis];
  }
  return result;
}

/// ONNX Einsum-12: sums the products of the operands over every index that the output leaves out.
Result<std::vector<Tensor>> run_einsum(const OpCall& call) {
  std::vector<Dims> shapes;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has_input(i)) {
      return op_error(input_text(call, i) + " is left out");
    }
    shapes.push_back(dims_of(call.in(i).shape()));
  }
  const Result<Equation> equation = parse(call.node, shapes);
  if (!equation) {
    return equation.error();
  }
  Labels order = equation->output;
  for (const auto& [label, extent] : equation->extents) {
    if (std::find(order.begin(), order.end(), label) == order.end()) {
      order.push_back(label);
    }
  }
  Shape space;
  for (const Label label : order) {
    space.push_back(*equation->extents.at(label).value);
  }
  const Shape shape(space.begin(), space.begin() + static_cast<std::ptrdiff_t>(equation->output.size()));
  const Result<std::int64_t> products = checked_count(space);
  if (!products) {
    return products.error();
  }
  std::vector<std::vector<std::int64_t>> operand_steps;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    core::Status status = require_real(call, i);
    status = status ? require_same_type(call, 0, i) : status;
    if (!status) {
      return status.error();
    }
    operand_steps.push_back(steps(call.in(i), equation->operands[i], order));
  }
  std::vector<double> y(at(core::element_count(shape)), 0.0);
  const std::int64_t sums = y.empty() ? 1 : *products / static_cast<std::int64_t>(y.size());
  std::vector<std::int64_t> coordinate(order.size(), 0);
  for (std::int64_t position = 0; position < *products; ++position) {
    double product = 1.0;
    for (std::size_t i = 0; i < operand_steps.size(); ++i) {
      std::int64_t offset = 0;
      for (std::size_t axis = 0; axis < order.size(); ++axis) {
        offset += coordinate[axis] * operand_steps[i][axis];
      }
      product *= call.in(i).reals()[at(offset)];
    }
    y[at(position / sums)] += product;
    for (std::size_t axis = order.size(); axis-- > 0 && ++coordinate[axis] == space[axis];) {
      coordinate[axis] = 0;
    }
  }
  return single_output(Tensor(call.in(0).type(), shape, std::move(y)));
}

Result<Facts> infer_einsum(const ShapeCall& call) {
  std::vector<Dims> shapes;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    core::Status status = call.has_input(i) ? require_real(call, i) : op_error(input_text(call, i) + " is left out");
    status = status ? require_same_type(call, 0, i) : status;
    if (!status) {
      return status.error();
    }
    if (!call.in(i).shape) {
      return one(call.in(0).type, std::nullopt);
    }
    shapes.push_back(*call.in(i).shape);
  }
  const Result<Equation> equation = parse(call.node, shapes);
  if (!equation) {
    return equation.error();
  }
  Dims shape;
  for (const Label label : equation->output) {
    shape.push_back(equation->extents.at(label));
  }
  return one(call.in(0).type, std::move(shape));
}

}  // namespace

const OpDef& op_einsum() {
  static const OpDef def{.name = "Einsum",
                         .first_opset = 12,
                         .min_inputs = 1,
                         .max_inputs = kAnyNumber,
                         .run = &run_einsum,
                         .infer = &infer_einsum};
  return def;
}

}  // namespace assay::reference
