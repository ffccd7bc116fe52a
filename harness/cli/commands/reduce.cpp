#include "harness/localize/reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/artifact_options.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/guard.hpp"
#include "harness/cli/judge_limits.hpp"
#include "harness/cli/print.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/files.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/data/data_origin.hpp"
#include "harness/run/known_names.hpp"
#include "harness/run/parallel.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using localize::Candidate;

struct ReduceArguments {
  std::string model, calibration, inputs, options = "{}", check, output;
  ConverterOptions converters;
  ArtifactOptions artifact;
  double timeout_s = 60;
  JudgeLimitOptions judging;
  int jobs = 0;
  bool json = false;
};

/// What is kept while the model shrinks, ready to be asked by several threads.
struct Kept {
  std::vector<localize::Criterion> workers;
  std::string what;                   ///< it is, for people
  std::vector<std::string> suspects;  ///< nodes and tensors that the verdict names
  std::string asked;                  ///< who answers: another one's answers are none of this criterion's
  std::string made_by, options;       ///< by which rules parts of a ready artifact are judged
  std::shared_ptr<localize::Refusals> refusals = std::make_shared<localize::Refusals>();
};

/// Of a program, which judges and, as "embedded", converts; "" for a file that can't be read.
std::string digest_of(const fs::path& program) {
  const core::Result<std::string> bytes = core::read_file(program);
  return bytes ? core::sha256_hex(*bytes) : "";
}

core::Error nothing_wrong(const ReduceArguments& arguments, const judge::Judgement& judgement) {
  return core::usage_error(fmt::format(
      "nothing is wrong with \"{}\": the verdict is {}, so there is nothing to reduce. "
      "Name the converter or the options that it fails with, or a criterion with --check",
      arguments.artifact.given() ? arguments.artifact.file : arguments.model, judge::verdict_name(judgement.verdict)));
}

/// The rules that a ready artifact and its parts are judged by.
struct Rules {
  run::MadeBy made_by;
  std::string name, options;  ///< as --made-by and --options state them
};

/// Those that the user states, else those that the whole was judged by: a part holds too little to tell who made it.
/// `judgement` gets the whole's verdict under them.
core::Result<Rules> rules_of(const ReduceArguments& arguments, const run::MadeBy& made_by, const Candidate& candidate,
                             judge::Judgement& judgement) {
  const auto judge = localize::Judge::of_artifacts(made_by, arguments.options);
  if (!judge) return judge.error();
  localize::Judged whole = (*judge)->ask(candidate, judge::Depth::full, arguments.options);
  judgement = std::move(whole.judgement);
  Rules rules{made_by, arguments.artifact.made_by, arguments.options};
  if (made_by.stated || whole.made_by.empty() || judgement.gate != judge::Gate::red) return rules;
  core::Result<run::MadeBy> stated = run::made_by(whole.made_by);
  if (!stated) return stated.error();
  const auto fixed = localize::Judge::of_artifacts(*stated, whole.options_json);
  if (!fixed) return fixed.error();
  judge::Judgement again = (*fixed)->judge(candidate, judge::Depth::full);
  if (localize::signature_of(again) != localize::signature_of(judgement)) return rules;
  judgement = std::move(again);
  return Rules{*std::move(stated), whole.made_by, whole.options_json};
}

core::Result<Kept> kept_finding(const ReduceArguments& arguments, const run::MadeBy& made_by,
                                const Candidate& candidate, std::size_t jobs) {
  judge::Judgement judgement;
  const core::Result<Rules> rules = rules_of(arguments, made_by, candidate, judgement);
  if (!rules) return rules.error();
  if (judgement.gate != judge::Gate::red) return nothing_wrong(arguments, judgement);
  Kept kept{{},
            localize::signature_of(judgement),
            localize::suspects_of(judgement),
            fmt::format("artifact made by \"{}\" {} judged by {}", rules->name, rules->options,
                        digest_of(corpus::own_program())),
            rules->name,
            rules->options};
  for (std::size_t i = 0; i < jobs; ++i) {
    core::Result<std::unique_ptr<localize::Judge>> judge =
        localize::Judge::of_artifacts(rules->made_by, rules->options);
    if (!judge) return judge.error();
    kept.workers.push_back(localize::same_finding(*std::move(judge), judgement, kept.refusals));
  }
  return kept;
}

core::Result<Kept> kept_verdict(const ReduceArguments& arguments, const Candidate& candidate, std::size_t jobs) {
  const core::Result<std::vector<programs::ConverterSpec>> specs =
      resolve_converters(arguments.converters, {"embedded"});
  if (!specs) return specs.error();
  if (specs->size() != 1) return core::usage_error("reduce asks one converter, in one version");
  std::vector<std::shared_ptr<const localize::Judge>> judges;
  for (std::size_t i = 0; i < jobs; ++i) {
    core::Result<std::unique_ptr<localize::Judge>> judge =
        localize::Judge::make(specs->front(), arguments.options, arguments.timeout_s);
    if (!judge) return judge.error();
    judges.push_back(*std::move(judge));
  }
  const judge::Judgement judgement = judges.front()->judge(candidate, judge::Depth::gate);
  if (judgement.gate != judge::Gate::red) return nothing_wrong(arguments, judgement);
  const std::string signature = localize::signature_of(judgement);
  const converters::Description& converter = judges.front()->description();
  Kept kept{{},
            signature,
            localize::suspects_of(judgement),
            fmt::format("{} {}{}{} judged by {}", converter.name, converter.version,
                        converter_words(arguments.converters), arguments.options, digest_of(corpus::own_program())),
            "",
            arguments.options};
  for (const auto& judge : judges) kept.workers.push_back(localize::same_signature(judge, signature));
  return kept;
}

core::Result<Kept> kept_check(const ReduceArguments& arguments, const Candidate& candidate, std::size_t jobs) {
  const localize::Criterion holds = localize::command_succeeds(arguments.check, arguments.timeout_s);
  if (!holds(candidate)) {
    return core::usage_error(
        fmt::format("the check `{}` doesn't succeed on \"{}\" itself: it must exit with 0 on what is to be kept",
                    arguments.check, arguments.model));
  }
  return Kept{std::vector<localize::Criterion>(jobs, holds), "check: " + arguments.check, {}, {}, {}, {}};
}

struct Outcome {
  Candidate before, after;
  std::string kept, made_by, options;
  std::string stopped;  ///< why smaller parts weren't taken; "" where a single node is left
  std::size_t checks = 0, known = 0;
  double seconds = 0;
  fs::path folder;
};

std::string repeat_command(const ReduceArguments& arguments, const Outcome& outcome) {
  if (!arguments.check.empty()) return "";
  const Candidate& reduced = outcome.after;
  const fs::path& folder = outcome.folder;
  const std::string left = run::options_for_part(outcome.options, reduced.model.graph);
  const std::string options = left == "{}" ? "" : " --options " + shell_quoted(left);
  ArtifactOptions artifact = arguments.artifact;
  if (artifact.given()) artifact = {folder / "artifact.onnx", outcome.made_by};
  const std::string calibration = reduced.calibrated ? " --calibration " + shell_quoted(folder / "calibration") : "";
  return fmt::format("{} check {}{}{} --inputs {}{}{}", corpus::command_word(), shell_quoted(folder / "model.onnx"),
                     artifact_words(artifact), calibration, shell_quoted(folder / "inputs"), options,
                     converter_words(arguments.converters));
}

core::Result<Outcome> reduce(const ReduceArguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const bool ready = arguments.artifact.given();
  const core::Result<UserModel> loaded = load_user_model(arguments.model, arguments.calibration, arguments.inputs,
                                                         arguments.options, arguments.converters, arguments.artifact);
  if (!loaded) return loaded.error();
  print(stderr, "{}\n", data::data_line(loaded->user, ready ? data::Conversion::elsewhere : data::Conversion::here));
  core::Result<Candidate> start =
      ready ? localize::make_candidate(loaded->user, arguments.artifact.file) : localize::make_candidate(loaded->user);
  if (!start) return start.error();
  const std::size_t jobs = run::thread_count(arguments.jobs);
  core::Result<Kept> kept = ready                     ? kept_finding(arguments, loaded->made_by, *start, jobs)
                            : arguments.check.empty() ? kept_verdict(arguments, *start, jobs)
                                                      : kept_check(arguments, *start, jobs);
  if (!kept) return kept.error();
  if (localize::holds_values(*start)) {
    for (localize::Criterion& worker : kept->workers) worker = localize::with_values(std::move(worker));
  }
  Outcome outcome{*start, {}, kept->what, kept->made_by, kept->options, {}, 0, 0, 0, arguments.output};
  if (arguments.output.empty()) outcome.folder = fs::path(arguments.model).stem().string() + ".reduced";
  if (const core::Status made = core::make_folder(outcome.folder); !made) return made.error();
  // What is known of a candidate is known of this criterion alone.
  const std::string criterion = core::sha256_hex(kept->what + kept->asked).substr(0, 12);
  localize::Trials trials(std::move(kept->workers), outcome.folder / fmt::format("checks-{}.txt", criterion),
                          kept->refusals);
  const core::Result<Candidate> smallest =
      localize::reduce(*std::move(start), kept->suspects, trials, [&](const localize::Progress& now) {
        if (now.stage == "data") kept->refusals->forget();  // what follows is about parts
        if (now.stage == "nodes") outcome.stopped = kept->refusals->text();
        print(stderr, "{:<22} {:>10} {:>16} {:>12}\n", now.stage, core::counted(now.nodes, "node"),
              core::counted(now.bytes, "byte"), core::counted(now.checks, "check"));
      });
  if (!smallest) return smallest.error();
  if (const core::Status saved = localize::save(*smallest, outcome.folder); !saved) return saved.error();
  outcome.after = *smallest;
  if (!ready || smallest->nodes() == 1) outcome.stopped.clear();
  outcome.checks = trials.checks();
  outcome.known = trials.known();
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

nlohmann::ordered_json size_json(const Candidate& candidate) {
  return {{"nodes", candidate.nodes()},
          {"bytes", candidate.bytes()},
          {"calibration_batches", candidate.calibration.size()},
          {"data_sets", candidate.inputs.size()}};
}

std::string size_text(const Candidate& candidate) {
  return fmt::format("{}, {}, {}, {}", core::counted(candidate.nodes(), "node"),
                     core::counted(candidate.bytes(), "byte"),
                     core::counted(candidate.calibration.size(), "calibration batch", "calibration batches"),
                     core::counted(candidate.inputs.size(), "data set"));
}

int reduce_command(const ReduceArguments& arguments) {
  const core::Result<Outcome> outcome = reduce(arguments);
  if (!outcome) return report_error(outcome.error());
  const std::string repeat = repeat_command(arguments, *outcome);
  if (arguments.json) {
    const nlohmann::ordered_json json{{"kept", outcome->kept},
                                      {"before", size_json(outcome->before)},
                                      {"after", size_json(outcome->after)},
                                      {"checks", outcome->checks},
                                      {"known", outcome->known},
                                      {"seconds", outcome->seconds},
                                      {"folder", outcome->folder.string()},
                                      {"stopped_by", outcome->stopped},
                                      {"reproduce", repeat}};
    print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return kExitOk;
  }
  print("kept:   {}\nbefore: {}\nafter:  {}\n{}", outcome->kept, size_text(outcome->before), size_text(outcome->after),
        core::counted(outcome->checks, "check"));
  if (outcome->known > 0) print(" ({} more were known)", outcome->known);
  print(", {:.1f} s; {}\n", outcome->seconds, (outcome->folder / "model.onnx").string());
  if (!outcome->stopped.empty()) print("no smaller part shows it: of those tried, {}\n", outcome->stopped);
  if (!repeat.empty()) print("reproduce: {}\n", here(repeat));
  return kExitOk;
}

}  // namespace

void register_reduce(Command app, Action& action) {
  auto arguments = std::make_shared<ReduceArguments>();
  const Command command =
      app.add_subcommand("reduce", "Shrink a model that fails while its verdict, stage, facet and message stay");
  command.add_option("model", arguments->model, "Float ONNX model that a converter fails on").required();
  add_converter_options(command, arguments->converters);
  add_artifact_options(command, arguments->artifact);
  command.add_option("--calibration", arguments->calibration, "Folder of 0000/input_0.pb …, .npz or .npy");
  command.add_option("--inputs", arguments->inputs, "Data to execute, in the same forms");
  command.add_option("--options", arguments->options, "Converter options as JSON (--artifact: what it was made with)");
  command
      .add_option("--check", arguments->check,
                  "Keep what this command succeeds on (exit code 0) instead of the verdict; {} is the model's file")
      .excludes({"--converter", "--converter-cmd", "--fault", "--variant", "--artifact"});
  command.add_option("--output", arguments->output,
                     "Folder for the small model, its data and what was tried (default: MODEL.reduced)");
  command.add_option("--jobs", arguments->jobs, "Candidates tried at a time; 0: one per core")
      .check(Check::non_negative);
  command.add_option("--timeout", arguments->timeout_s, "Seconds for one answer of a converter, or for the check")
      .check(Check::positive);
  command.add_flag("--json", arguments->json, "Print one JSON object");
  add_judge_limits(command, arguments->judging);
  command.callback([arguments, &action] {
    action = guarded([arguments] { return reduce_command(*arguments); },
                     [arguments] { return judge_limits_of(arguments->judging, arguments->timeout_s); });
  });
}

}  // namespace assay::cli
