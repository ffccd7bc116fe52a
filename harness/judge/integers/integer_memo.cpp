#include "harness/judge/integers/integer_memo.hpp"

#include <algorithm>

#include "harness/judge/evidence/owned.hpp"
#include "harness/model/same_content.hpp"

namespace assay::judge {

const StyleResult* IntegerMemo::find(const Evidence& evidence, std::vector<Execution*>& executions) const {
  const auto same_run = [](const Execution& a, const Execution* b) {
    return a.data_set == b->data_set && a.inputs == b->inputs && a.outputs == b->outputs;
  };
  if (!kept_ || kept_->arithmetic != evidence.converter.policy.arithmetic ||
      kept_->precision != evidence.conversion.precision ||
      !std::ranges::equal(kept_->executions, executions, same_run) ||
      !model::same_content(*kept_->artifact, *evidence.artifact)) {
    return nullptr;
  }
  for (std::size_t i = 0; i < executions.size(); ++i) {
    executions[i]->trace = kept_->executions[i].trace;
  }
  return &kept_->result;
}

void IntegerMemo::keep(const Evidence& evidence, const std::vector<Execution*>& executions, const StyleResult& result) {
  kept_.emplace(
      Kept{evidence.artifact, evidence.conversion.precision, evidence.converter.policy.arithmetic, {}, result});
  for (const Execution* execution : executions) {
    kept_->executions.push_back(*execution);
  }
  for (CodeTensors& codes : kept_->result.codes) {
    for (auto& [name, tensor] : codes) {
      tensor = owned(tensor);  // it may look into a trace that goes with its conversion
    }
  }
}

}  // namespace assay::judge
