#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "harness/corpus/suite.hpp"
#include "harness/new_cases/case_draft.hpp"
#include "harness/programs/converter_spec.hpp"
#include "harness/run/explain.hpp"

namespace assay::new_cases {

/// What has the defect, and what has not.
struct Accusation {
  std::optional<programs::ConverterSpec> with;  ///< a converter that has it, or …
  std::filesystem::path wrong_artifact;         ///< … a Q/DQ model that shows it, made by
  std::string made_by;                          ///< NAME[@VERSION][:SETTINGS], or whoever explains it best
  programs::ConverterSpec without;
  corpus::OptionSet options;
  double timeout_s = 60;
};

/// Both verdicts on a case.
struct Proof {
  run::ExplainedVerdict with, without;
  std::string judged_as = {};  ///< of a wrong artifact: whose rules it was judged by, in words
  /// What is missing: the case is red with the defect and green without it where this is empty.
  [[nodiscard]] std::string missing() const;
};

/// The options that a wrong artifact was evidently made with, as `assay check --artifact` finds them: types, symmetry
/// and granularity, with what `accusation.options` states, which holds. JSON. Errors   the artifact can't be read or
/// judged.
[[nodiscard]] core::Result<std::string> shown_options(const corpus::Case& test_case, const Accusation& accusation);

/// Of options, a JSON object, those that no artifact shows: the method of calibration and its figures.
[[nodiscard]] std::string beyond_shown(const std::string& options_json);

/// Runs `test_case` with the defect and without it. A wrong artifact is judged as `assay check --artifact` judges it:
/// by the rules of who made it.
/// Errors   as run::explain, naming which of the two could not be asked.
[[nodiscard]] core::Result<Proof> prove(const corpus::Case& test_case, const Accusation& accusation);

/// The wrong artifact that lies beside a case of a file; empty where none does.
[[nodiscard]] std::filesystem::path kept_artifact(const corpus::Case& test_case);

/// Judges it again, under the options that the case requires.
/// Errors   invalid_case, where it is not red; as prove().
[[nodiscard]] core::Status check_kept_artifact(const corpus::Case& test_case);

/// What the case can demand by name of the place where the defect shows: the facet's entry of `expect`, from the
/// verdict that is right. Null where the general rules are all there is.
[[nodiscard]] nlohmann::ordered_json expected_facet(const Proof& proof, const model::Model& model);

}  // namespace assay::new_cases
