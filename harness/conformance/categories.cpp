#include "harness/conformance/categories.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "reference/op.hpp"

namespace assay::conformance {
namespace {

struct NamedOperator {
  std::string_view category, op;
};

// A form that only some values of an attribute or input select stands in kFormsOnly.
constexpr std::array kOperators{
    NamedOperator{"encoded images", "ImageDecoder"},
    NamedOperator{"random generators", "Bernoulli"},
    NamedOperator{"random generators", "Multinomial"},
    NamedOperator{"random generators", "RandomNormal"},
    NamedOperator{"random generators", "RandomNormalLike"},
    NamedOperator{"random generators", "RandomUniform"},
    NamedOperator{"random generators", "RandomUniformLike"},
    NamedOperator{"sequence, optional and map types", "ConcatFromSequence"},
    NamedOperator{"sequence, optional and map types", "Optional"},
    NamedOperator{"sequence, optional and map types", "OptionalGetElement"},
    NamedOperator{"sequence, optional and map types", "OptionalHasElement"},
    NamedOperator{"sequence, optional and map types", "SequenceAt"},
    NamedOperator{"sequence, optional and map types", "SequenceConstruct"},
    NamedOperator{"sequence, optional and map types", "SequenceEmpty"},
    NamedOperator{"sequence, optional and map types", "SequenceErase"},
    NamedOperator{"sequence, optional and map types", "SequenceInsert"},
    NamedOperator{"sequence, optional and map types", "SequenceLength"},
    NamedOperator{"sequence, optional and map types", "SequenceMap"},
    NamedOperator{"sequence, optional and map types", "SplitToSequence"},
    NamedOperator{"strings", "RegexFullMatch"},
    NamedOperator{"strings", "StringConcat"},
    NamedOperator{"strings", "StringNormalizer"},
    NamedOperator{"strings", "StringSplit"},
};

// Operators that the reference has, refused in one form of theirs.
constexpr std::array kFormsOnly{
    NamedOperator{"random generators", "Dropout"},  // training_mode
};

std::int64_t newest_opset() {
  std::int64_t newest = 0;
  for (const reference::OpDef* op : reference::all_operators()) {
    newest = std::max(newest, op->last_opset);
  }
  return newest;
}

template <typename Table>
std::optional<std::string> named_in(const Table& table, std::string_view op) {
  const auto found = std::ranges::find(table, op, &NamedOperator::op);
  return found == table.end() ? std::nullopt : std::optional(fmt::format("{}: {}", found->category, op));
}

}  // namespace

std::optional<std::string> category_of(const model::ModelSurvey& survey, const core::Error& error) {
  for (const auto& [domain, op] : survey.operators) {
    if (domain == "ai.onnx.preview.training") return fmt::format("training: {}", op);
    if (domain.starts_with("ai.onnx.ml")) return fmt::format("classical machine learning: {}.{}", domain, op);
  }
  for (const auto& [domain, op] : survey.operators) {
    if (auto category = named_in(kOperators, op); domain.empty() && category) return category;
  }
  if (survey.has_containers) return "sequence, optional and map types: an input, output or constant";
  if (survey.has_strings) return "strings: an input, output or constant";
  if (survey.has_sparse) return "sparse tensors: an input, output or constant";
  if (error.kind == core::ErrorKind::unsupported) {
    if (auto category = named_in(kFormsOnly, error.op)) return category;
  }
  const auto opset = survey.opsets.find("");
  if (opset != survey.opsets.end() && opset->second > newest_opset()) {
    return fmt::format("newer than the reference follows: opset {}", opset->second);
  }
  return std::nullopt;
}

}  // namespace assay::conformance
