#include "harness/run/trial.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "converters/veiled.hpp"
#include "harness/core/files.hpp"

namespace assay::run {
namespace fs = std::filesystem;

namespace {

/// The files in a folder with their content, by name.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
    core::Result<std::string> bytes = core::read_file(entry.path());
    files.emplace(entry.path().filename().string(), bytes ? *std::move(bytes) : std::string());
  }
  return files;
}

/// Where the files of a conversion lie: its own folder, or that of an earlier one that it repeats.
fs::path files_of(const judge::Evidence& evidence) {
  return evidence.conversion.artifact.empty() ? evidence.output_folder : evidence.conversion.artifact.parent_path();
}

}  // namespace

bool same_conversion(const judge::Evidence& a, const judge::Evidence& b) {
  const converters::ConvertReply& x = a.conversion;
  const converters::ConvertReply& y = b.conversion;
  return x.outcome == y.outcome && x.node == y.node && x.op == y.op && x.reason == y.reason && x.tensors == y.tensors &&
         x.precision == y.precision && x.diagnostics == y.diagnostics &&
         ((!x.artifact.empty() && x.artifact == y.artifact) || contents(files_of(a)) == contents(files_of(b)));
}

bool same_outputs(const judge::Evidence& a, const judge::Evidence& b) {
  return std::ranges::equal(a.executions, b.executions, [](const judge::Execution& x, const judge::Execution& y) {
    return x.reply.outcome == y.reply.outcome && x.reply.reason == y.reply.reason && x.outputs == y.outputs;
  });
}

bool same_trial(const Trial& a, const Trial& b) {
  return a.settled.has_value() == b.settled.has_value() && same_conversion(a.evidence, b.evidence) &&
         same_outputs(a.evidence, b.evidence);
}

Trial seen_as(const Trial& trial, const std::string& kind) {
  Trial seen = trial;
  converters::veil(seen.evidence.converter, kind);
  converters::veil(seen.evidence.conversion, kind);
  seen.evidence.artifact.reset();
  seen.evidence.ask_trace = nullptr;
  for (judge::Execution& execution : seen.evidence.executions) {
    execution.trace.clear();
  }
  return seen;
}

judge::Judgement own_fault(const core::Error& error) {
  judge::Judgement judgement;
  judgement.verdict =
      error.kind == core::ErrorKind::invalid_case ? judge::Verdict::invalid_case : judge::Verdict::harness_error;
  judgement.gate = judge::default_gate(judgement.verdict);
  judgement.node = error.node;
  judgement.op = error.op;
  judgement.reason = error.message;
  return judgement;
}

}  // namespace assay::run
