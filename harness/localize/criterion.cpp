#include "harness/localize/criterion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/core/process.hpp"
#include "harness/core/shell.hpp"
#include "harness/core/text.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/programs/subject.hpp"
#include "harness/run/evaluate.hpp"
#include "harness/run/known_names.hpp"
#include "harness/run/settled_maker.hpp"
#include "results/signature.hpp"

namespace assay::localize {
namespace {

/// "{}" of `command` replaced by `file`, which a shell takes as one word, whatever its folder is called.
std::string with_file(std::string command, const std::filesystem::path& file) {
  const std::string word = core::shell_quoted(file.string());
  std::size_t at = command.find("{}");
  if (at == std::string::npos) {
    return command + " " + word;
  }
  for (; at != std::string::npos; at = command.find("{}", at + word.size())) {
    command.replace(at, 2, word);
  }
  return command;
}

/// The first line of a message, without numbers.
std::string headline(const std::string& message) {
  return results::without_numbers_and_paths(message.substr(0, message.find('\n')));
}

/// `options_json` with the method `method`, where it doesn't state one.
std::string with_method(const std::string& options_json, converters::Method method) {
  auto options = core::json_or_discarded<nlohmann::ordered_json>(options_json);
  if (!options.is_object() || options.contains("method")) return options_json;
  options["method"] = converters::method_name(method);
  return options.dump();
}

}  // namespace

/// The converter, whose executions leave out the optimizers that are disabled.
class Judge::Asked final : public converters::Converter {
 public:
  explicit Asked(std::shared_ptr<converters::Converter> converter) : converter_(std::move(converter)) {}
  core::Result<converters::Description> describe() override { return converter_->describe(); }
  converters::ConvertReply convert(const converters::ConvertRequest& request) override {
    return converter_->convert(request);
  }
  converters::ExecuteReply execute(const converters::ExecuteRequest& request) override {
    converters::ExecuteRequest asked = request;
    asked.disabled_optimizers = disabled;
    return converter_->execute(asked);
  }
  [[nodiscard]] bool hands_over() const override { return converter_->hands_over(); }

  std::vector<std::string> disabled;

 private:
  std::shared_ptr<converters::Converter> converter_;
};

Judge::Judge(std::shared_ptr<converters::Converter> converter, converters::Description description,
             std::string options_json, std::size_t planned_verdicts)
    : converter_(std::make_shared<Asked>(std::move(converter))),
      description_(std::move(description)),
      options_json_(std::move(options_json)),
      planned_verdicts_(planned_verdicts) {}

void Judge::disable_optimizers(std::vector<std::string> names) { converter_->disabled = std::move(names); }

core::Result<std::unique_ptr<Judge>> Judge::make(const programs::ConverterSpec& spec, std::string options_json,
                                                 double timeout_s, std::size_t planned_verdicts) {
  if (!spec.unavailable.empty()) {
    return core::Error{core::ErrorKind::usage, spec.unavailable, {}, {}, {}};
  }
  std::unique_ptr<protocol::Client> client = programs::start_client(spec, {.timeout_s = timeout_s, .memory_bytes = 0});
  core::Result<converters::Description> description = client->describe();
  if (!description) {
    return description.error();
  }
  return std::unique_ptr<Judge>(
      new Judge(std::move(client), *std::move(description), std::move(options_json), planned_verdicts));
}

core::Result<std::unique_ptr<Judge>> Judge::of_artifacts(run::MadeBy made_by, std::string options_json) {
  core::Result<programs::Subject> subject = programs::artifact_subject();
  if (!subject) return subject.error();
  std::unique_ptr<Judge> judge(
      new Judge(std::move(subject->executor), std::move(subject->description), std::move(options_json), 1));
  judge->made_by_ = std::move(made_by);
  return judge;
}

judge::Judgement Judge::judge(const Candidate& candidate, judge::Depth depth) const {
  return ask(candidate, depth, options_json_).judgement;
}

Judged Judge::ask(const Candidate& candidate, judge::Depth depth, const std::string& options_json) const {
  Judged out;
  const data::UserCase user = as_case(candidate, "model");
  const auto bench = run::CaseBench::create(user.test_case, user.data);
  if (!bench) {
    out.judgement = run::own_fault(bench.error());
    return out;
  }
  const std::string options = run::options_for_part(options_json, candidate.model.graph);
  std::optional<core::TemporaryFolder> folder;
  run::Trial trial;
  if (candidate.artifact == nullptr) {
    trial = (*bench)->attempt(*converter_, description_, options);
  } else {
    core::Result<core::TemporaryFolder> made = core::TemporaryFolder::create();
    const core::Status saved =
        made ? model::save_model(*candidate.artifact, made->path() / "artifact.onnx") : core::Status(made.error());
    if (!saved) {
      out.judgement = run::own_fault(saved.error());
      return out;
    }
    folder.emplace(*std::move(made));
    trial = (*bench)->attempt_artifact(*converter_, description_, folder->path() / "artifact.onnx", options, made_by_);
    out.made_by = run::settled_maker(trial.evidence, made_by_);
    out.options_json = with_method(options_json, trial.evidence.options.method);
  }
  const converters::ConvertReply& reply = trial.evidence.conversion;
  out.precision = reply.precision;
  out.artifact_kind = trial.artifact_kind;
  if (!reply.cache.empty()) {
    core::Result<std::string> text = core::read_file(reply.cache);
    out.cache = text ? *std::move(text) : "";
  }
  out.judgement = (*bench)->judge(std::move(trial), planned_verdicts_, depth);
  return out;
}

std::vector<std::string> suspects_of(const judge::Judgement& judgement) {
  std::vector<std::string> names{judgement.node};
  for (const judge::Finding& finding : judgement.findings) {
    names.insert(names.end(), {finding.node, finding.tensor});
  }
  std::erase(names, "");
  return names;
}

std::string signature_of(const judge::Judgement& judgement) {
  return results::signature(judge::verdict_name(judgement.verdict), judge::stage_name(judgement.stage),
                            judgement.facet ? judge::facet_name(*judgement.facet) : "", judgement.op, judgement.reason);
}

Criterion same_signature(std::shared_ptr<const Judge> judge, std::string signature) {
  return [judge = std::move(judge), signature = std::move(signature)](const Candidate& candidate) {
    return signature_of(judge->judge(candidate, judge::Depth::gate)) == signature;
  };
}

void Refusals::add(const std::string& why) {
  const std::lock_guard lock(mutex_);
  ++counts_[why];
}

void Refusals::forget() {
  const std::lock_guard lock(mutex_);
  counts_.clear();
}

std::string Refusals::text() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::size_t>> sorted(counts_.begin(), counts_.end());
  std::ranges::stable_sort(sorted, std::greater(), [](const auto& each) { return each.second; });
  std::vector<std::string> texts;
  texts.reserve(sorted.size());
  for (const auto& [why, count] : sorted) texts.push_back(fmt::format("{} {}", count, why));
  return core::join(texts, "; ");
}

Criterion same_finding(std::shared_ptr<const Judge> judge, const judge::Judgement& whole,
                       std::shared_ptr<Refusals> refusals) {
  std::set<std::string> named;
  for (const judge::Finding& finding : whole.findings) named.insert({finding.node, finding.tensor});
  return [judge = std::move(judge), signature = signature_of(whole), named = std::move(named),
          refusals = std::move(refusals)](const Candidate& candidate) {
    const judge::Judgement part = judge->judge(candidate, judge::Depth::full);
    const auto elsewhere = std::ranges::find_if(part.findings, [&](const judge::Finding& finding) {
      return !finding.amber && !named.contains(finding.node) && !named.contains(finding.tensor);
    });
    if (elsewhere != part.findings.end()) {
      refusals->add(fmt::format("would be wrong where the whole is right ({})", headline(elsewhere->message)));
      return false;
    }
    if (signature_of(part) == signature) return true;
    refusals->add(part.facet ? fmt::format("are {} ({})", judge::verdict_name(part.verdict), headline(part.reason))
                             : fmt::format("are {}", judge::verdict_name(part.verdict)));
    return false;
  };
}

Criterion with_values(Criterion inner) {
  return [inner = std::move(inner)](const Candidate& candidate) { return inner(candidate) && holds_values(candidate); };
}

Criterion command_succeeds(std::string command, double timeout_s) {
  return [command = std::move(command), timeout_s](const Candidate& candidate) {
    const auto folder = core::TemporaryFolder::create();
    if (!folder || !save(candidate, folder->path())) {
      return false;
    }
    core::SpawnOptions options;
    options.arguments = {"/bin/sh", "-c", with_file(command, folder->path() / "model.onnx")};
    core::Result<core::Process> process = core::Process::spawn(options);
    if (!process) {
      return false;
    }
    process->close_stdin();
    const auto deadline = core::Process::Clock::now() + std::chrono::duration_cast<core::Process::Clock::duration>(
                                                            std::chrono::duration<double>(timeout_s));
    while (process->read_line(deadline).end == core::Process::ReadEnd::line) {
    }
    const auto state = process->wait(deadline);
    if (!state) {
      process->kill_group();
    }
    return state && state->code == 0;
  };
}

}  // namespace assay::localize
