// A run in chunks for many machines: plan writes them, work (work.cpp) does one, merge (merge.cpp) puts them together.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/cli/common.hpp"
#include "harness/cli/fault_effect.hpp"
#include "harness/cli/print.hpp"
#include "harness/cli/run_request.hpp"
#include "harness/cli/slurm.hpp"
#include "harness/core/build_info.hpp"
#include "harness/core/counted.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/run/chunks.hpp"
#include "harness/run/work_plan.hpp"
#include "results/store.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct PlanArguments : RunRequest {
  std::string folder = "plan", database = ".assay/history.db", pack;
  int chunks = 0, jobs = 0;
  bool slurm = false;
  bool json = false;
};

/// Converters that need the same of a machine; one that may have only so many processes is a kind of its own.
std::vector<run::WorkPlan::Kind> kinds_of(const std::vector<programs::ConverterSpec>& converters) {
  std::vector<run::WorkPlan::Kind> kinds;
  for (std::size_t index = 0; index < converters.size(); ++index) {
    run::WorkPlan::Kind own;
    own.programs = {index};
    for (const programs::ConverterSpec* each : {&converters[index], converters[index].executor.get()}) {
      if (each == nullptr) continue;
      own.gpu = own.gpu || each->rights.gpu;
      const int workers = each->demands.workers;
      if (workers > 0) own.workers = own.workers > 0 ? std::min(own.workers, workers) : workers;
      if (!each->demands.licence.empty()) own.licences.push_back(each->demands.licence);
    }
    const auto like = std::ranges::find_if(kinds, [&](const run::WorkPlan::Kind& kind) {
      return own.workers == 0 && kind.workers == 0 && kind.gpu == own.gpu && kind.licences == own.licences;
    });
    if (like == kinds.end()) {
      kinds.push_back(own);
    } else {
      like->programs.push_back(index);
    }
  }
  return kinds;
}

/// What verdicts took before.
class Durations {
 public:
  explicit Durations(std::map<results::JobKey, double> known) : known_(std::move(known)) {
    for (const auto& [key, seconds] : known_) {
      of_converter_[key.converter].first += seconds;
      ++of_converter_[key.converter].second;
    }
  }
  /// A verdict that has no history takes as long as the converter's others do, and a second where it has none.
  [[nodiscard]] double of(results::JobKey key) {
    key.hash.clear();
    const auto known = known_.find(key);
    if (known != known_.end()) {
      ++found_;
      return known->second;
    }
    const auto mean = of_converter_.find(key.converter);
    return mean == of_converter_.end() ? 1.0 : mean->second.first / static_cast<double>(mean->second.second);
  }
  [[nodiscard]] std::size_t found() const { return found_; }

 private:
  std::map<results::JobKey, double> known_;
  std::map<std::string, std::pair<double, std::size_t>> of_converter_;
  std::size_t found_ = 0;
};

core::Result<Durations> read_durations(const std::string& database) {
  std::error_code code;
  if (!fs::exists(database, code)) return Durations({});
  core::Result<results::Store> store = results::Store::open(database);
  if (!store) return store.error();
  core::Result<std::map<results::JobKey, double>> known = store->durations();
  if (!known) return known.error();
  return Durations(*std::move(known));
}

/// What each item costs by each kind of machine.
std::vector<run::Unit> units_of(const run::RunConfig& config, const run::Planned& planned,
                                const std::vector<run::WorkPlan::Kind>& kinds, Durations& durations) {
  std::vector<run::Unit> units;
  for (std::size_t item = 0; item < config.items.size(); ++item) {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      std::optional<run::Unit> unit;
      for (const std::size_t index : planned.runners[item]) {
        if (std::ranges::find(kinds[kind].programs, index) == kinds[kind].programs.end()) continue;
        if (!unit) unit = run::Unit{kind, item, 0};
        const run::RunProgram& program = planned.programs[index];
        for (const corpus::OptionSet& set : config.items[item].option_sets) {
          unit->seconds += durations.of({config.items[item].test_case.name, set.label, program.name, program.version});
        }
      }
      if (unit) units.push_back(*unit);
    }
  }
  return units;
}

void add_items(const run::RunConfig& config, const run::Planned& planned, run::WorkPlan& plan) {
  for (std::size_t index = 0; index < config.items.size(); ++index) {
    const run::RunItem& item = config.items[index];
    run::WorkPlan::Shape shape;
    for (const corpus::OptionSet& set : item.option_sets) shape.options.push_back(set.label);
    shape.programs = planned.runners[index];
    auto found = std::ranges::find(plan.shapes, shape);
    if (found == plan.shapes.end()) found = plan.shapes.insert(found, std::move(shape));
    plan.items.push_back({item.test_case.name, run::planned_hash(item.test_case),
                          static_cast<std::size_t>(found - plan.shapes.begin())});
  }
}

std::string program_names(const run::WorkPlan& plan, const std::vector<std::size_t>& which) {
  std::vector<std::string> names;
  names.reserve(which.size());
  for (const std::size_t index : which) names.push_back(plan.programs[index].name + " " + plan.programs[index].version);
  return core::join(names, ", ");
}

std::string needs_of(const run::WorkPlan::Kind& kind) {
  std::vector<std::string> words;
  if (kind.gpu) words.emplace_back("a GPU");
  if (kind.workers > 0)
    words.push_back(fmt::format("at most {} at a time",
                                core::counted(static_cast<std::size_t>(kind.workers), "process", "processes")));
  for (const std::string& licence : kind.licences) words.push_back("licence " + licence);
  return words.empty() ? "" : " (" + core::join(words, ", ") + ")";
}

void say(const run::WorkPlan& plan, const PlanArguments& arguments, std::size_t with_history) {
  double seconds = 0;
  for (const run::Chunk& chunk : plan.chunks) seconds += chunk.seconds;
  print("{}: {} of {} in {}\n", arguments.folder, core::counted(plan.run.planned, "verdict"),
        core::counted(plan.items.size(), "case"), core::counted(plan.chunks.size(), "chunk"));
  for (std::size_t kind = 0; kind < plan.kinds.size(); ++kind) {
    std::size_t first = 0, last = 0, verdicts = 0;
    double longest = 0;
    for (std::size_t index = 0; index < plan.chunks.size(); ++index) {
      if (plan.chunks[index].kind != kind) continue;
      if (first == 0) first = index + 1;
      last = index + 1;
      longest = std::max(longest, plan.chunks[index].seconds);
      verdicts += run::verdicts_of(plan, plan.chunks[index]);
    }
    if (first == 0) continue;
    print("  chunks {} to {}: {} by {}{}", first, last, core::counted(verdicts, "verdict"),
          program_names(plan, plan.kinds[kind].programs), needs_of(plan.kinds[kind]));
    if (with_history > 0) print(", the longest {:.1f} s of work", longest);
    print("\n");
  }
  if (with_history == 0) {
    print("{} has no verdict of these, so that each counts the same; --db names another history\n", arguments.database);
  } else {
    print("{:.1f} s of work, from {} of {} in {}\n", seconds, with_history, core::counted(plan.run.planned, "verdict"),
          arguments.database);
  }
  const std::string command = here("./assay "), folder = shell_quoted(arguments.folder);
  if (arguments.slurm) {
    print("submit: sh {}/slurm/submit.sh [OPTIONS OF sbatch]\n", folder);
  } else {
    print("each chunk: {}work {} CHUNK; then: {}merge {}\n", command, folder, command, folder);
  }
}

void say_json(const run::WorkPlan& plan, const PlanArguments& arguments) {
  nlohmann::ordered_json chunks = nlohmann::ordered_json::array();
  for (std::size_t index = 0; index < plan.chunks.size(); ++index) {
    const run::Chunk& chunk = plan.chunks[index];
    const run::WorkPlan::Kind& kind = plan.kinds[chunk.kind];
    chunks.push_back({{"chunk", index + 1},
                      {"verdicts", run::verdicts_of(plan, chunk)},
                      {"seconds", chunk.seconds},
                      {"gpu", kind.gpu},
                      {"workers", kind.workers},
                      {"licences", kind.licences}});
  }
  print("{}\n", nlohmann::ordered_json{{"plan", arguments.folder},
                                       {"run", plan.run.id},
                                       {"planned", plan.run.planned},
                                       {"chunks", std::move(chunks)}}
                    .dump());
}

int plan_command(const PlanArguments& given) {
  PlanArguments arguments = given;
  const run::PlanFolder folder(arguments.folder);
  std::error_code code;
  // What is wrong with the command is said before converters are asked.
  if (core::Status fresh = run::check_new(folder); !fresh) return report_error(fresh.error());
  if (!arguments.pack.empty()) {
    if (core::Status there = check_pack(arguments.pack); !there) return report_error(there.error());
  }
  run::RunConfig config;
  if (const std::optional<int> failed = configure(arguments, config)) return *failed;
  const core::Result<run::Planned> planned = run::plan(config);
  if (!planned) return report_error(planned.error());
  if (planned->jobs.empty()) {
    return report_unmatched("nothing is planned: no case, converter or option set matches");
  }
  if (core::Status apply = check_faults_apply(arguments.converters, config.items); !apply) {
    return report_error(apply.error());
  }
  for (const run::RunProgram& program : planned->programs) {
    if (program.unavailable.empty()) continue;
    print(stderr,
          "assay: {} can't run here, so that its verdicts are planned as unsupported: {}; plan where it can, such as "
          "on a machine that has what it needs\n",
          program.name, program.unavailable);
  }
  core::Result<Durations> durations = read_durations(arguments.database);
  if (!durations) return report_error(durations.error());

  run::WorkPlan plan;
  plan.run.id = results::new_uuid();
  plan.run.command = whole_command(arguments, config.suite);
  plan.run.suite = config.suite;
  plan.run.settings = planned->settings;
  plan.run.started_at = results::utc_now();
  plan.run.assay_version = fmt::format("{} ({})", core::version(), core::commit());
  plan.run.planned = planned->jobs.size();
  plan.run.machine = results::this_machine();
  plan.request = request_json(arguments);
  plan.jobs = arguments.jobs;
  plan.programs = planned->programs;
  plan.expected = planned->expected;
  plan.complete = !config.partial;
  plan.kinds = kinds_of(config.converters);
  core::Result<std::vector<run::Chunk>> chunks =
      run::make_chunks(units_of(config, *planned, plan.kinds, *durations), static_cast<std::size_t>(arguments.chunks));
  if (!chunks) return report_error(chunks.error());
  plan.chunks = *std::move(chunks);
  plan.chunk_count = plan.chunks.size();
  add_items(config, *planned, plan);
  if (run::jobs_of(plan) != planned->jobs) {
    return report_error(core::Error{core::ErrorKind::internal, "the plan's verdicts are not the run's", {}, {}, {}});
  }
  if (core::Status written = run::write_work_plan(plan, folder); !written) return report_error(written.error());
  if (arguments.slurm) {
    SlurmOptions options{corpus::own_program(), fs::absolute(arguments.database, code).lexically_normal(), {}};
    if (!arguments.pack.empty()) options.pack = fs::absolute(arguments.pack, code).lexically_normal();
    if (core::Status written = write_slurm_scripts(plan, folder, options); !written) {
      return report_error(written.error());
    }
  }
  if (arguments.json) {
    say_json(plan, arguments);
  } else {
    say(plan, arguments, durations->found());
  }
  return kExitOk;
}

}  // namespace

void register_plan(Command app, Action& action) {
  auto arguments = std::make_shared<PlanArguments>();
  const Command command = app.add_subcommand(
      "plan", "Write a run down as chunks that many machines do, each by `assay work` (docs/cluster.md)");
  add_run_request(command, *arguments);
  command.add_option("--chunks", arguments->chunks, "How many; fewer where there are fewer cases")
      .check(Check::positive)
      .required();
  command.add_option("--out", arguments->folder, "New folder for the plan and its results files");
  command.add_option("--db", arguments->database,
                     "Results database: what verdicts took before says which are the longest; --slurm merges into it");
  command
      .add_option("--jobs", arguments->jobs,
                  "Cases that a chunk converts at a time; 0: one per core, and one in a job of Slurm")
      .check(Check::non_negative);
  command.add_flag("--slurm", arguments->slurm, "Write an array job of Slurm too, which merges at its end");
  command
      .add_option("--pack", arguments->pack,
                  "With --slurm: folder of `assay pack`, which every node unpacks once and runs; plan with its program")
      .needs("--slurm");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &action] { action = [arguments] { return plan_command(*arguments); }; });
}

}  // namespace assay::cli
