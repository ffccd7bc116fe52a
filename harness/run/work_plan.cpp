#include "harness/run/work_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/core/text.hpp"

namespace assay::run {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::size_t kHashDigits = 12;

ordered_json program_json(const RunProgram& program) {
  return {{"name", program.name},
          {"version", program.version},
          {"hash", program.hash},
          {"command", program.command},
          {"unavailable", program.unavailable}};
}

RunProgram read_program(const json& object) {
  RunProgram program;
  program.name = object.at("name");
  program.version = object.at("version");
  program.hash = object.at("hash");
  program.command = object.at("command").get<std::vector<std::string>>();
  program.unavailable = object.at("unavailable");
  return program;
}

/// The texts of an expected failure, each with its name.
template <typename Entry, typename Visit>
void visit_texts(Entry& entry, const Visit& visit) {
  visit("case", entry.case_pattern), visit("options", entry.options), visit("converter", entry.converter);
  visit("versions", entry.versions), visit("stage", entry.stage), visit("facet", entry.facet);
  visit("reason", entry.reason), visit("url", entry.url), visit("until", entry.until), visit("family", entry.family);
  visit("machine", entry.machine);
}

ordered_json expected_json(const corpus::ExpectedFailure& entry) {
  ordered_json object;
  visit_texts(entry, [&](const char* name, const std::string& text) { object[name] = text; });
  if (entry.margin) object["margin"] = *entry.margin;
  return object;
}

corpus::ExpectedFailure read_expected(const json& object) {
  corpus::ExpectedFailure entry;
  visit_texts(entry, [&](const char* name, std::string& text) { text = object.at(name); });
  if (object.contains("margin")) entry.margin = object.at("margin").get<double>();
  return entry;
}

ordered_json head_json(const WorkPlan& plan) {
  const results::RunInfo& run = plan.run;
  ordered_json head{{"assay_plan", kFormat},
                    {"run", run.id},
                    {"command", run.command},
                    {"suite", run.suite},
                    {"made_at", run.started_at},
                    {"assay_version", run.assay_version},
                    {"planned", run.planned},
                    {"machine",
                     {{"cpu", run.machine.cpu},
                      {"features", run.machine.features},
                      {"cores", run.machine.cores},
                      {"system", run.machine.system},
                      {"accelerators", run.machine.accelerators}}},
                    {"settings", run.settings},
                    {"request", ordered_json::parse(plan.request)},
                    {"jobs", plan.jobs},
                    {"programs", ordered_json::array()},
                    {"expected", ordered_json::array()},
                    {"complete", plan.complete},
                    {"kinds", ordered_json::array()},
                    {"shapes", ordered_json::array()},
                    {"chunks", plan.chunks.size()},
                    {"items", plan.items.size()}};
  for (const RunProgram& each : plan.programs) head["programs"].push_back(program_json(each));
  for (const corpus::ExpectedFailure& each : plan.expected) head["expected"].push_back(expected_json(each));
  for (const WorkPlan::Kind& each : plan.kinds) {
    head["kinds"].push_back(
        {{"programs", each.programs}, {"gpu", each.gpu}, {"workers", each.workers}, {"licences", each.licences}});
  }
  for (const WorkPlan::Shape& each : plan.shapes) {
    head["shapes"].push_back({{"options", each.options}, {"programs", each.programs}});
  }
  return head;
}

/// Throws nlohmann's exceptions.
WorkPlan read_head(const json& head) {
  WorkPlan plan;
  results::RunInfo& run = plan.run;
  run.id = head.at("run");
  run.command = head.at("command");
  run.suite = head.at("suite");
  run.started_at = head.at("made_at");
  run.assay_version = head.at("assay_version");
  run.planned = head.at("planned").get<std::size_t>();
  const json& machine = head.at("machine");
  run.machine = {machine.at("cpu"), machine.at("features"), machine.at("cores").get<int>(), machine.at("system"),
                 machine.at("accelerators")};
  run.settings = head.at("settings");
  plan.request = head.at("request").dump();
  plan.jobs = head.at("jobs").get<int>();
  for (const json& each : head.at("programs")) plan.programs.push_back(read_program(each));
  for (const json& each : head.at("expected")) plan.expected.push_back(read_expected(each));
  plan.complete = head.at("complete").get<bool>();
  for (const json& each : head.at("kinds")) {
    plan.kinds.push_back({each.at("programs").get<std::vector<std::size_t>>(), each.at("gpu").get<bool>(),
                          each.at("workers").get<int>(), each.at("licences").get<std::vector<std::string>>()});
  }
  for (const json& each : head.at("shapes")) {
    plan.shapes.push_back(
        {each.at("options").get<std::vector<std::string>>(), each.at("programs").get<std::vector<std::size_t>>()});
  }
  plan.chunk_count = head.at("chunks").get<std::size_t>();
  return plan;
}

Chunk read_chunk(const json& object) {
  return {object.at("kind").get<std::size_t>(), object.at("seconds").get<double>(),
          object.at("items").get<std::vector<std::size_t>>()};
}

/// Numbers in a plan mean something in it. "" where they do.
std::string dangling(const WorkPlan& plan) {
  const auto beyond = [](const std::vector<std::size_t>& numbers, std::size_t count) {
    return std::ranges::any_of(numbers, [count](std::size_t each) { return each >= count; });
  };
  for (const WorkPlan::Kind& kind : plan.kinds) {
    if (beyond(kind.programs, plan.programs.size())) return "a kind names a program that isn't there";
  }
  for (const WorkPlan::Shape& shape : plan.shapes) {
    if (beyond(shape.programs, plan.programs.size())) return "a shape names a program that isn't there";
  }
  for (const Chunk& chunk : plan.chunks) {
    if (chunk.kind >= plan.kinds.size()) return "a chunk names a kind that isn't there";
    if (!plan.items.empty() && beyond(chunk.items, plan.items.size())) return "a chunk names an item that isn't there";
  }
  for (const WorkPlan::Item& item : plan.items) {
    if (item.shape >= plan.shapes.size()) return "an item names a shape that isn't there";
  }
  return "";
}

/// Reads the plan up to what `wanted` asks for: one chunk, or all where it is 0.
core::Result<WorkPlan> read_up_to(const PlanFolder& folder, std::size_t wanted) {
  const fs::path file = folder.plan();
  std::ifstream in(file);
  if (!in) {
    return core::usage_error(fmt::format(
        "there is no plan \"{}\"; ./assay plan writes one, and its folder is what work and merge take", file.string()));
  }
  const auto damaged = [&](std::size_t line, const std::string& what) {
    return core::Error{core::ErrorKind::invalid_data,
                       fmt::format("\"{}\", line {}: {}; make the plan again", file.string(), line, what),
                       {},
                       {},
                       {}};
  };
  std::size_t number = 0;
  const auto next = [&]() -> core::Result<json> {
    std::string line;
    ++number;
    if (!std::getline(in, line)) return core::usage_error("the file ends before it");
    core::JsonRules rules;
    rules.bytes = std::size_t{4} << 30U;
    return core::read_json<json>(line, rules);
  };
  try {
    const core::Result<json> head = next();
    if (!head) return damaged(number, head.error().message);
    if (!head->is_object() || head->value("assay_plan", 0) != kFormat) {
      return damaged(number, fmt::format("it is no plan of format {}, which this Assay reads", kFormat));
    }
    WorkPlan plan = read_head(*head);
    if (wanted > plan.chunk_count) {
      return core::usage_error(fmt::format("there is no chunk {}: the plan has 1 to {}", wanted, plan.chunk_count));
    }
    for (std::size_t chunk = 1; chunk <= (wanted > 0 ? wanted : plan.chunk_count); ++chunk) {
      if (chunk < wanted) {  // not even looked at
        std::string line;
        ++number;
        std::getline(in, line);
        continue;
      }
      const core::Result<json> line = next();
      if (!line) return damaged(number, line.error().message);
      plan.chunks.push_back(read_chunk(*line));
    }
    for (auto left = wanted > 0 ? 0 : head->at("items").get<std::size_t>(); left > 0; --left) {
      const core::Result<json> line = next();
      if (!line) return damaged(number, line.error().message);
      plan.items.push_back({line->at(0), line->at(1), line->at(2).get<std::size_t>()});
    }
    if (const std::string what = dangling(plan); !what.empty()) return damaged(number, what);
    return plan;
  } catch (const json::exception& exception) {
    return damaged(number, exception.what());
  }
}

void add_jobs(const WorkPlan& plan, const WorkPlan::Item& item, const std::vector<std::size_t>* only,
              std::vector<results::JobKey>& jobs) {
  const WorkPlan::Shape& shape = plan.shapes[item.shape];
  for (const std::size_t index : shape.programs) {
    if (only != nullptr && std::ranges::find(*only, index) == only->end()) continue;
    const RunProgram& program = plan.programs[index];
    for (const std::string& options : shape.options) {
      jobs.push_back({item.name, options, program.name, program.version, program.hash});
    }
  }
}

}  // namespace

std::vector<results::JobKey> jobs_of(const WorkPlan& plan) {
  std::vector<results::JobKey> jobs;
  jobs.reserve(plan.run.planned);
  for (const WorkPlan::Item& item : plan.items) add_jobs(plan, item, nullptr, jobs);
  return jobs;
}

std::vector<results::JobKey> jobs_of(const WorkPlan& plan, const Chunk& chunk) {
  std::vector<results::JobKey> jobs;
  for (const std::size_t item : chunk.items) {
    add_jobs(plan, plan.items[item], &plan.kinds[chunk.kind].programs, jobs);
  }
  return jobs;
}

std::size_t verdicts_of(const WorkPlan& plan, const Chunk& chunk) { return jobs_of(plan, chunk).size(); }

PlanFolder::PlanFolder(const fs::path& given) : path_(given) {
  std::error_code code;
  if (fs::is_regular_file(given, code)) path_ = given.has_parent_path() ? given.parent_path() : ".";
}

fs::path PlanFolder::results_of(std::size_t chunk) const { return results() / fmt::format("{:05}.jsonl.gz", chunk); }

core::Status check_new(const PlanFolder& folder) {
  std::error_code code;
  if (fs::exists(folder.path(), code) && !fs::is_empty(folder.path(), code)) {
    return core::usage_error(
        fmt::format("\"{}\" exists already; a plan goes into a new folder (--out names one)", folder.path().string()));
  }
  return core::success();
}

core::Status write_work_plan(const WorkPlan& plan, const PlanFolder& folder) {
  if (core::Status fresh = check_new(folder); !fresh) return fresh;
  if (core::Status made = core::make_folder(folder.results()); !made) return made;
  std::string text = head_json(plan).dump() + "\n";
  std::size_t number = 0;
  for (const Chunk& chunk : plan.chunks) {
    text += ordered_json{{"chunk", ++number}, {"kind", chunk.kind}, {"seconds", chunk.seconds}, {"items", chunk.items}}
                .dump() +
            "\n";
  }
  for (const WorkPlan::Item& item : plan.items) {
    text += ordered_json::array({item.name, item.hash, item.shape}).dump() + "\n";
  }
  return core::write_file(folder.plan(), text);
}

core::Result<WorkPlan> read_work_plan(const PlanFolder& folder) { return read_up_to(folder, 0); }

core::Result<WorkPlan> read_work_plan(const PlanFolder& folder, std::size_t chunk) {
  if (chunk == 0) return core::usage_error("chunks are numbered from 1 on");
  return read_up_to(folder, chunk);
}

std::string planned_hash(const corpus::Case& test_case) { return test_case.content_hash.substr(0, kHashDigits); }

results::Machine combined(const std::vector<results::Machine>& machines) {
  const auto joined = [&](const auto& field) {
    std::vector<std::string> texts;
    for (const results::Machine& each : machines) {
      const std::string& text = std::invoke(field, each);
      if (!text.empty() && std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
    }
    std::ranges::sort(texts);
    return core::join(texts, "; ");
  };
  const int cores = machines.empty() ? 0 : std::ranges::min(machines, {}, &results::Machine::cores).cores;
  return {joined(&results::Machine::cpu), joined(&results::Machine::features), cores, joined(&results::Machine::system),
          joined(&results::Machine::accelerators)};
}

}  // namespace assay::run
