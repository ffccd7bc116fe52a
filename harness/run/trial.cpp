#include "harness/run/trial.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "converters/veiled.hpp"
#include "harness/core/files.hpp"

namespace assay::run {
namespace fs = std::filesystem;

namespace {

/// The names of the files in a folder, sorted.
std::vector<fs::path> names_in(const fs::path& folder) {
  std::vector<fs::path> names;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

/// Whether two folders hold files of the same names and bytes; a file that can't be read is like another such file.
bool same_files(const fs::path& a, const fs::path& b) {
  const std::vector<fs::path> names = names_in(a);
  return names == names_in(b) && std::ranges::all_of(names, [&](const fs::path& name) {
           const core::Result<std::string> x = core::read_file(a / name), y = core::read_file(b / name);
           return x.ok() == y.ok() && (!x || *x == *y);
         });
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
         ((!x.artifact.empty() && x.artifact == y.artifact) || same_files(files_of(a), files_of(b)));
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

Trial seen_as(const Trial& trial, converters::ArtifactKind kind) {
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

judge::Judgement not_supported(std::string reason) {
  judge::Judgement judgement;
  judgement.verdict = judge::Verdict::unsupported;
  judgement.gate = judge::default_gate(judgement.verdict);
  judgement.reason = std::move(reason);
  return judgement;
}

}  // namespace assay::run
