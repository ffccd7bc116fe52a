#include "harness/fuzz/hunt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/common.hpp"
#include "harness/cli/guard.hpp"
#include "harness/cli/judge_limits.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/stop_signal.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/files.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/localize/candidate.hpp"
#include "harness/run/known_names.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using fuzz::Find;

struct FuzzArguments {
  ConverterOptions converters;
  fuzz::HuntOptions hunt;
  JudgeLimitOptions judging;
  std::string options;
  std::uint64_t graphs = 0;
  std::string output = "fuzz";
  bool json = false;
};

/// A find as it lies on disk.
struct Saved {
  const Find* find;
  fs::path folder;
  std::string reproduce, again;  ///< the verdict on the reduced model; the sample as it was drawn
};

std::string facet_of(const Find& find) {
  return std::string(find.judgement.facet ? judge::facet_name(*find.judgement.facet)
                                          : judge::verdict_name(find.judgement.verdict));
}

std::string check_command(const FuzzArguments& arguments, const Find& find, const fs::path& folder) {
  const std::string left = run::options_for_part(find.sample.options_json, find.sample.candidate.model.graph);
  const std::string options = left == "{}" ? "" : " --options " + shell_quoted(left);
  return fmt::format("{} check {} --calibration {} --inputs {}{}{}", corpus::command_word(),
                     shell_quoted(folder / "model.onnx"), shell_quoted(folder / "calibration"),
                     shell_quoted(folder / "inputs"), options, converter_words(arguments.converters));
}

std::string fuzz_command(const FuzzArguments& arguments, std::uint64_t index) {
  const std::string options = arguments.options.empty() ? "" : " --options " + shell_quoted(arguments.options);
  return fmt::format("{} fuzz --seed {} --first {} --graphs 1{}{}", corpus::command_word(), arguments.hunt.seed, index,
                     options, converter_words(arguments.converters));
}

nlohmann::ordered_json find_json(const FuzzArguments& arguments, const Saved& saved) {
  const Find& find = *saved.find;
  return {{"signature", find.signature},
          {"count", find.count},
          {"seed", arguments.hunt.seed},
          {"first_index", find.first_index},
          {"kept_index", find.kept_index},
          {"options", nlohmann::json::parse(find.sample.options_json)},
          {"before", {{"nodes", find.nodes}, {"bytes", find.bytes}}},
          {"after", {{"nodes", find.sample.candidate.nodes()}, {"bytes", find.sample.candidate.bytes()}}},
          {"checks", find.checks},
          {"seconds", find.seconds},
          {"verdict", judge::verdict_name(find.judgement.verdict)},
          {"reason", find.judgement.reason},
          {"trouble", find.trouble},
          {"graph", fuzz::graph_text(find.sample.candidate.model)},
          {"folder", saved.folder.string()},
          {"reproduce", saved.reproduce},
          {"sample", saved.again}};
}

std::string dumped(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

core::Result<Saved> save(const FuzzArguments& arguments, const Find& find, fs::path folder) {
  Saved saved{&find, std::move(folder), {}, {}};
  saved.reproduce = check_command(arguments, find, saved.folder);
  saved.again = fuzz_command(arguments, find.kept_index);
  if (const core::Status done = localize::save(find.sample.candidate, saved.folder); !done) return done.error();
  const std::string text = dumped(find_json(arguments, saved), 2) + "\n";
  if (const core::Status done = core::write_file(saved.folder / "find.json", text); !done) return done.error();
  return saved;
}

/// Where a find lies as it was drawn until all are reduced: what kills the hunt leaves it there.
fs::path unreduced_folder(const FuzzArguments& arguments) { return fs::path(arguments.output) / "unreduced"; }

core::Result<std::vector<Saved>> save(const FuzzArguments& arguments, const fuzz::Hunted& hunted) {
  std::vector<Saved> all;
  for (std::size_t i = 0; i < hunted.finds.size(); ++i) {
    const Find& find = hunted.finds[i];
    const std::string op = find.judgement.op.empty() ? "model" : find.judgement.op;
    core::Result<Saved> saved =
        save(arguments, find, fs::path(arguments.output) / fmt::format("{}-{}-{}", i + 1, facet_of(find), op));
    if (!saved) return saved.error();
    all.push_back(*std::move(saved));
  }
  std::error_code kept;
  fs::remove_all(unreduced_folder(arguments), kept);
  return all;
}

std::string tally_text(const fuzz::Tally& tally) {
  std::string text = fmt::format("{} in {:.1f} s", core::counted(tally.samples, "graph"), tally.seconds);
  for (const auto& [verdict, count] : tally.verdicts) text += fmt::format(", {} {}", count, verdict);
  return text;
}

/// Lines on standard error: a status that is written over on a terminal, and now and then elsewhere.
fuzz::Listener progress(const FuzzArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const auto pause = terminal ? std::chrono::seconds(1) : std::chrono::seconds(30);
  auto last = std::make_shared<Clock::time_point>(Clock::now());
  fuzz::Listener listener;
  listener.on_sample = [=](const fuzz::Tally& tally, std::size_t signatures) {
    if (Clock::now() - *last < pause) return;
    *last = Clock::now();
    print(stderr, "{}{}; {}{}", Painted{terminal ? "\r" : ""}, tally_text(tally),
          core::counted(signatures, "signature"), terminal ? "" : "\n");
  };
  listener.on_find = [=, &arguments](const Find& find) {
    const core::Result<Saved> saved =
        save(arguments, find, unreduced_folder(arguments) / std::to_string(find.first_index));
    if (!saved) (void)report_error(saved.error());  // all are saved once more at the end
    print(stderr, "{}new at {}: {}\n", terminal ? "\n" : "", find.first_index, find.signature);
  };
  listener.on_reduced = [=](const Find& find) {
    print(stderr, "reduced {}: {} to {}, {} to {}, {}, {:.1f} s\n", find.kept_index, find.nodes,
          core::counted(find.sample.candidate.nodes(), "node"), find.bytes,
          core::counted(find.sample.candidate.bytes(), "byte"), core::counted(find.checks, "check"), find.seconds);
  };
  return listener;
}

void print_text(const FuzzArguments& arguments, const fuzz::Hunted& hunted, const std::vector<Saved>& finds) {
  print("{} {}, seed {}: {}\n", hunted.converter, hunted.version, arguments.hunt.seed, tally_text(hunted.tally));
  for (const auto& [reason, count] : hunted.tally.unsupported) print("{:>8} unsupported: {}\n", count, reason);
  for (const std::string& line : hunted.invalid) print("invalid graph {}\n", line);
  if (finds.empty()) {
    print("nothing found\n");
    return;
  }
  print("{:>3} {:>6} {:>8} {:>6} {:>8}  signature\n", "#", "count", "first", "nodes", "bytes");
  for (std::size_t i = 0; i < finds.size(); ++i) {
    const Find& find = *finds[i].find;
    print("{:>3} {:>6} {:>8} {:>6} {:>8}  {}\n{:37}{}\n", i + 1, find.count, find.first_index,
          find.sample.candidate.nodes(), find.sample.candidate.bytes(), find.signature, "", here(finds[i].reproduce));
    if (!find.trouble.empty()) print("{:37}not reduced: {}\n", "", find.trouble);
  }
}

int fuzz_command(FuzzArguments& arguments) {
  if (arguments.graphs > 0) arguments.hunt.graphs = arguments.graphs;
  if (!arguments.options.empty()) {
    const auto options = converters::options_from_json(arguments.options);
    if (!options) return report_error(options.error());
    if (const core::Status named = run::check_precision_operators(*options); !named) return report_error(named.error());
    arguments.hunt.options_json = arguments.options;
  }
  for (const std::string& fault : arguments.converters.faults) {
    if (const std::size_t at = fault.find('@'); at != std::string::npos) {
      return report_error(core::usage_error(
          fmt::format("--fault {}: fuzz makes graphs up, so that no node can be named; leave out \"{}\"", fault,
                      fault.substr(at))));
    }
  }
  const core::Result<std::vector<programs::ConverterSpec>> specs =
      resolve_converters(arguments.converters, {"embedded"});
  if (!specs) return report_error(specs.error());
  if (specs->size() != 1) {
    return report_error(core::usage_error("fuzz asks one converter, in one version"));
  }
  arguments.hunt.stops = stop_on_signal();
  const core::Result<fuzz::Hunted> hunted = fuzz::hunt(specs->front(), arguments.hunt, progress(arguments));
  if (!hunted) return report_error(hunted.error());
  const core::Result<std::vector<Saved>> finds = save(arguments, *hunted);
  if (!finds) return report_error(finds.error());
  if (arguments.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Saved& saved : *finds) list.push_back(find_json(arguments, saved));
    print("{}\n", dumped({{"converter", hunted->converter},
                          {"version", hunted->version},
                          {"seed", arguments.hunt.seed},
                          {"graphs", hunted->tally.samples},
                          {"seconds", hunted->tally.seconds},
                          {"verdicts", hunted->tally.verdicts},
                          {"unsupported", hunted->tally.unsupported},
                          {"invalid", hunted->invalid},
                          {"finds", list}},
                         -1));
  } else {
    print_text(arguments, *hunted, *finds);
  }
  if (!hunted->invalid.empty()) return kExitOwnFault;
  return finds->empty() ? kExitOk : kExitRed;
}

}  // namespace

void register_fuzz(Command app, Action& action) {
  auto arguments = std::make_shared<FuzzArguments>();
  const Command command = app.add_subcommand(
      "fuzz", "Judge a converter on small graphs that are made up, and reduce what goes wrong to small models");
  add_converter_options(command, arguments->converters);
  command.add_option("--options", arguments->options,
                     "Converter options as JSON (default: int8, uint8 and symmetric in turn, now and then others)");
  command.add_option("--minutes", arguments->hunt.minutes, "Minutes to look for; reductions come on top")
      .check(Check::positive);
  command.add_option("--graphs", arguments->graphs, "Graphs to judge, however long it takes").excludes({"--minutes"});
  command.add_option("--seed", arguments->hunt.seed, "Seed: graph I of seed S is the same everywhere");
  command.add_option("--first", arguments->hunt.first, "Index of the first graph");
  command.add_option("--stop-after", arguments->hunt.stop_after, "Stop at so many signatures; 0: never");
  command.add_option("--jobs", arguments->hunt.jobs, "Graphs judged at a time; 0: one per core")
      .check(Check::non_negative);
  command.add_option("--timeout", arguments->hunt.timeout_s, "Seconds for one answer of the converter")
      .check(Check::positive);
  command.add_option("--reduce-seconds", arguments->hunt.reduce_s, "Seconds for the reduction of one signature")
      .check(Check::non_negative);
  command.add_option("--output", arguments->output, "Folder for what is found, a folder for each signature");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  add_judge_limits(command, arguments->judging);
  command.callback([arguments, &action] {
    action =
        guarded_asking_first([arguments] { return fuzz_command(*arguments); },
                             [arguments] { return judge_limits_of(arguments->judging, arguments->hunt.timeout_s); });
  });
}

}  // namespace assay::cli
