#pragma once

#include <string>
#include <utility>

#include "harness/judge/judge.hpp"
#include "reference/executor.hpp"
#include "tests/judge/gemm_fixture.hpp"

namespace assay::judge::testing {

/// The hand-worked Gemm, executed by the reference's exact arithmetic unless a test puts other outputs in.
struct Bench : GemmCase {
  Bench() { evidence.converter.supports.artifact = converters::ArtifactKind::qdq; }
  Execution& execute(const std::string& data_set, const Tensor& x) {
    context();
    Execution execution;
    execution.data_set = data_set;
    execution.inputs = {{"x", x}};
    execution.reply.outcome = converters::Outcome::ok;
    execution.outputs = reference::execute(*evidence.artifact, execution.inputs).value();
    evidence.executions.push_back(std::move(execution));
    return evidence.executions.back();
  }
  Execution& execute() { return execute("typical", reals({2, 3}, {-0.9, 2.5, 1.1, 1.7, 0.3, -0.4})); }
  Judgement run() {
    context();
    ReferenceCache fresh;
    return judge(evidence, fresh, 1000);
  }
};

}  // namespace assay::judge::testing
