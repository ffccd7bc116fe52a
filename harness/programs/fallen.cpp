#include "harness/programs/fallen.hpp"

#include <utility>

namespace assay::programs {

std::optional<judge::Judgement> fallen(converters::Outcome outcome, judge::Stage stage, std::string reason) {
  using converters::Outcome;
  using judge::Verdict;
  if (outcome != Outcome::crash && outcome != Outcome::timeout && outcome != Outcome::oom) {
    return std::nullopt;
  }
  judge::Judgement judgement;
  judgement.verdict = outcome == Outcome::crash     ? Verdict::crash
                      : outcome == Outcome::timeout ? Verdict::timeout
                                                    : Verdict::oom;
  judgement.gate = judge::default_gate(judgement.verdict);
  judgement.stage = stage;
  judgement.facet = judge::Facet::status;
  judgement.reason = std::move(reason);
  return judgement;
}

}  // namespace assay::programs
