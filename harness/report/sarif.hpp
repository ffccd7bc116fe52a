#pragma once

#include <string>
#include <vector>

#include "harness/corpus/case_places.hpp"
#include "results/store.hpp"

namespace assay::report {

/// A recorded run as SARIF 2.1.0, the form in which code scanning reads findings: a result for each verdict that is red
/// (an error), amber (a warning) or expected to fail (a suppressed note, with its reason and url). It points at the
/// case's file and line; a verdict on a model that is no case of the corpus has a logical location alone. Its
/// fingerprint is that of case, options, converter and cause, so that the same defect is the same alert in each run.
[[nodiscard]] std::string sarif_json(const results::RunInfo& run, const std::vector<results::ResultRow>& rows,
                                     const corpus::CasePlaces& places);

/// What a facet's difference means, in a sentence; "" for a word that is no facet.
[[nodiscard]] std::string facet_sentence(const std::string& facet);

}  // namespace assay::report
