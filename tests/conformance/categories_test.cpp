#include "harness/conformance/categories.hpp"

#include <gtest/gtest.h>

namespace assay::conformance {
namespace {

using core::Error;
using core::ErrorKind;
using model::ModelSurvey;

const Error kUnsupported{ErrorKind::unsupported, "no", "n", "Foo", ""};

ModelSurvey with_operator(const std::string& domain, const std::string& op) {
  ModelSurvey survey;
  survey.opsets = {{"", 13}};
  survey.operators = {{domain, op}};
  return survey;
}

TEST(CategoryOf, KnowsOperatorsDomainsAndTypes) {
  EXPECT_EQ(category_of(with_operator("ai.onnx.preview.training", "Adam"), kUnsupported), "training: Adam");
  EXPECT_EQ(category_of(with_operator("", "RandomNormal"), kUnsupported), "random generators: RandomNormal");
  EXPECT_EQ(category_of(with_operator("", "SequenceAt"), kUnsupported), "sequence, optional and map types: SequenceAt");
  ModelSurvey survey = with_operator("", "Equal");
  survey.has_strings = true;
  EXPECT_EQ(category_of(survey, kUnsupported), "strings: an input, output or constant");
}

TEST(CategoryOf, HoldsAnOperatorOutsideOfThemAgainstTheReference) {
  EXPECT_EQ(category_of(with_operator("", "NoSuchOperator"), kUnsupported), std::nullopt);
  EXPECT_EQ(category_of(with_operator("my.domain", "RandomNormal"), kUnsupported), std::nullopt);
}

TEST(CategoryOf, TakesAFormFromWhatWasRefused) {
  const ModelSurvey survey = with_operator("", "Dropout");
  EXPECT_EQ(category_of(survey, {ErrorKind::unsupported, "", "n", "Dropout", ""}), "random generators: Dropout");
  EXPECT_EQ(category_of(survey, {ErrorKind::invalid_model, "", "n", "Dropout", ""}), std::nullopt);
}

TEST(CategoryOf, CallsOpsetsBeyondTheReferenceNewer) {
  ModelSurvey survey = with_operator("", "Relu");
  survey.opsets[""] = 999;
  EXPECT_EQ(category_of(survey, kUnsupported), "newer than the reference follows: opset 999");
}

}  // namespace
}  // namespace assay::conformance
