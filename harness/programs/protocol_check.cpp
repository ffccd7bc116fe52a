#include "harness/programs/protocol_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "converters/protocol/messages.hpp"
#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/core/process.hpp"
#include "harness/core/text.hpp"
#include "harness/model/onnx_io.hpp"
#include "harness/programs/confinement.hpp"
#include "harness/programs/supports_notes.hpp"
#include "reference/executor.hpp"

namespace assay::programs {
namespace {

namespace fs = std::filesystem;
using core::Process;
using nlohmann::json;

constexpr double kStartSeconds = 120, kQuitSeconds = 5;
constexpr const char* kInput = "x";
constexpr const char* kOutput = "y";
constexpr const char* kCustom = "Swirl";  // of a domain that nobody has
const core::Shape kShape{2, 4, 6, 5};
const char* const kMessages = "Rules for every message";
const char* const kRequests = "Requests and answers";
const char* const kFiles = "Files";
const char* const kStates = "States, time and memory";

Process::Clock::time_point after(double seconds) {
  return Process::Clock::now() +
         std::chrono::duration_cast<Process::Clock::duration>(std::chrono::duration<double>(seconds));
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// One process of the converter, spoken to line by line.
class Peer {
 public:
  explicit Peer(const ConverterSpec& converter) : converter_(converter) {}

  /// The answer to `request`, with the id that it was asked under; a process is started where none runs.
  /// Errors   what kept it from answering, in words.
  core::Result<std::string> ask(json request, double seconds) {
    if (!process_) {
      if (core::Status started = start(); !started) return started.error();
    }
    request["protocol"] = protocol::kVersion;
    request["id"] = ++id_;
    if (process_->has_buffered_output()) return fell("it had written a line to standard output that nobody asked for");
    if (!process_->write(request.dump() + "\n", after(seconds))) return ended("it took no request");
    const Process::Line line = process_->read_line(after(seconds), protocol::kLineLimitBytes);
    switch (line.end) {
      case Process::ReadEnd::line:
        return line.text;
      case Process::ReadEnd::deadline:
        return fell(fmt::format("no answer within {} s", seconds));
      case Process::ReadEnd::too_long:
        return fell("its answer is longer than 16 MiB");
      case Process::ReadEnd::end_of_file:
        break;
    }
    return ended("it closed standard output");
  }

  [[nodiscard]] std::int64_t id() const { return id_; }
  [[nodiscard]] bool runs() const { return process_.has_value(); }
  /// Whether the process ends by itself in time; "" where it does.
  std::string quit() {
    const json request{{"protocol", protocol::kVersion}, {"id", ++id_}, {"do", "quit"}};
    if (!process_->write(request.dump() + "\n", after(kQuitSeconds))) return "it took no request";
    const std::optional<core::ExitState> state = process_->wait(after(kQuitSeconds));
    if (!state) process_->kill_group();
    process_.reset();
    return state ? "" : fmt::format("the process still ran {} s after quit", kQuitSeconds);
  }

 private:
  /// It ended; else `otherwise`.
  core::Error ended(const std::string& otherwise) {
    const std::optional<core::ExitState> state = process_->wait(after(kQuitSeconds));
    return fell(state ? "the process ended: " + core::exit_text(*state) : otherwise);
  }

  core::Status start() {
    core::SpawnOptions options;
    options.arguments = converter_.command;
    options.environment["PYTHONUTF8"] = "1";
    if (core::Status confined = confine(converter_, options); !confined) return confined;
    core::Result<Process> process = Process::spawn(options);
    if (!process) return process.error();
    process_ = std::make_optional<Process>(*std::move(process));
    id_ = 0;
    return core::success();
  }
  core::Error fell(std::string what) {
    std::string log = process_->stderr_tail();
    log.erase(log.find_last_not_of(" \n") + 1);
    if (!log.empty()) what += "; standard error ends with: " + log.substr(log.rfind('\n') + 1);
    process_->kill_group();
    process_.reset();
    return {core::ErrorKind::io, std::move(what), {}, {}, {}};
  }

  const ConverterSpec& converter_;
  std::optional<Process> process_;
  std::int64_t id_ = 0;
};

std::vector<double> wave(std::int64_t count, double height, double step, double from, double offset) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto rounded = static_cast<float>(height * std::sin(from + step * static_cast<double>(i)) + offset);
    values.push_back(static_cast<double>(rounded));
  }
  return values;
}

core::TensorMap small_batch(std::size_t which) {
  const std::int64_t count = core::element_count(kShape);
  core::TensorMap batch;
  batch.emplace(kInput,
                core::Tensor(core::DType::float32, kShape,
                             wave(count, 2, 0.7, 0.7 * static_cast<double>(which) * static_cast<double>(count), 0.25)));
  return batch;
}

/// What a node needs besides the data: a constant of this shape as second input, attributes, a domain of its own.
struct Form {
  core::Shape constant;
  std::map<std::string, model::Attribute> attributes;
  std::string domain;
};
Form form_of(const std::string& op) {
  const std::map<std::string, model::Attribute> kernel{{"kernel_shape", std::vector<std::int64_t>{1, 1}}};
  const Form product{{4, 4, 1, 1}, kernel, ""}, pool{{}, kernel, ""}, of_two{kShape, {}, ""};
  const std::map<std::string, Form> forms{
      {"Conv", product},
      {"ConvTranspose", product},
      {"MatMul", {{5, 5}, {}, ""}},
      {"MaxPool", pool},
      {"AveragePool", pool},
      {"Concat", {{}, {{"axis", std::int64_t{1}}}, ""}},
      {"Add", of_two},
      {"Sub", of_two},
      {"Mul", of_two},
      {"Div", of_two},
      {"Max", of_two},
      {"Min", of_two},
      {"PRelu", of_two},
      {kCustom, {{}, {}, "my.dom"}},
  };
  const auto found = forms.find(op);
  return found == forms.end() ? Form{} : found->second;
}

/// x → a node of each of `ops` → y.
model::Model small_model(const std::vector<std::string>& ops) {
  model::Model model;
  constexpr std::int64_t kOpset = 13;
  model.opsets[""] = kOpset;
  model::Graph& graph = model.graph;
  graph.name = "g";
  const auto value = [](const char* name) {
    model::ValueInfo info{name, core::DType::float32, std::vector<model::Dimension>{}};
    for (const std::int64_t extent : kShape) info.shape->push_back({extent, ""});
    return info;
  };
  graph.inputs = {value(kInput)};
  graph.outputs = {value(kOutput)};
  std::string read = kInput;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const std::string written = i + 1 == ops.size() ? kOutput : fmt::format("t{}", i);
    const Form form = form_of(ops[i]);
    model::Node node{written, ops[i], form.domain, {read}, {written}, form.attributes};
    if (!form.domain.empty()) model.opsets[form.domain] = 1;
    if (!form.constant.empty()) {
      node.inputs.push_back(fmt::format("w{}", i));
      graph.initializers[node.inputs.back()] = std::make_shared<const core::Tensor>(
          core::DType::float32, form.constant, wave(core::element_count(form.constant), 0.1, 2, 1, 0));
    }
    read = written;
    graph.nodes.push_back(std::move(node));
  }
  return model;
}

/// Whether a node of `op` alone keeps the shape of the data and gives finite values: something can be asked with it.
bool can_be_asked(const std::string& op) {
  const core::Result<core::TensorMap> outputs = reference::execute(small_model({op}), small_batch(0));
  if (!outputs) return false;
  const core::Tensor& made = outputs->at(kOutput);
  return made.is_real() && made.shape() == kShape &&
         std::ranges::all_of(made.reals(), [](double each) { return std::isfinite(each); });
}

/// What a small model of the operators in `listed` consists of: a Conv and a Relu where they are listed, else the first
/// that can be asked; where nothing is listed, everything may be asked.
std::vector<std::string> small_operators(const std::optional<std::vector<std::string>>& listed) {
  if (!listed) return {"Conv", "Relu"};
  std::vector<std::string> ops;
  for (const char* op : {"Conv", "Relu"}) {
    if (std::ranges::find(*listed, op) != listed->end()) ops.emplace_back(op);
  }
  if (!ops.empty()) return ops;
  const auto found = std::ranges::find_if(*listed, can_be_asked);
  return found == listed->end() ? ops : std::vector<std::string>{*found};
}

/// Bytes of all files below a folder, or of one file.
std::map<std::string, std::string> bytes_below(const fs::path& path) {
  std::map<std::string, std::string> bytes;
  std::error_code code;
  const auto add = [&](const fs::path& file) {
    const core::Result<std::string> text = core::read_file(file);
    bytes[file.string()] = text ? *text : "?";
  };
  if (!fs::is_directory(path, code)) {
    add(path);
    return bytes;
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path, code)) {
    if (entry.is_regular_file(code)) add(entry.path());
  }
  return bytes;
}

/// What a requirement's check gives: met where it is empty.
struct Skip {
  std::string why;
  Met met = Met::skipped;
};
Skip not_tested(std::string why) { return {std::move(why), Met::not_tested}; }
using Outcome = std::variant<std::string, Skip>;

class Examination {
 public:
  Examination(const ConverterSpec& converter, double timeout_s, fs::path folder)
      : peer_(converter), again_(converter), timeout_s_(timeout_s), folder_(std::move(folder)) {}

  core::Status prepare();
  std::vector<Requirement> examine();

 private:
  void require(std::string what, const char* section, const std::function<Outcome()>& check) {
    Requirement requirement{std::move(what), section, Met::ok, {}};
    const Outcome outcome = check();
    if (const Skip* skip = std::get_if<Skip>(&outcome)) {
      requirement.met = skip->met;
      requirement.why = skip->why;
    } else if (const auto& why = std::get<std::string>(outcome); !why.empty()) {
      requirement.met = Met::failed;
      requirement.why = why;
    }
    met_.push_back(std::move(requirement));
  }
  /// An answer to anything but describe. A process that was started anew is asked to describe itself first.
  core::Result<std::string> ask(const json& request) {
    if (!peer_.runs()) {
      core::Result<std::string> described = peer_.ask({{"do", "describe"}}, kStartSeconds);
      if (!described) return described;
    }
    return peer_.ask(request, timeout_s_);
  }
  fs::path fresh(const char* stem) {
    fs::path folder = folder_ / fmt::format("{}_{}", stem, ++folders_);
    std::error_code code;
    fs::create_directories(folder, code);
    return folder;
  }
  [[nodiscard]] converters::Options options() const {
    converters::Options options;
    const converters::Supports& supports = description_->supports;
    if (supports.activation && !supports.activation->empty()) {
      if (const auto type = core::parse_dtype(supports.activation->front())) options.activation = *type;
    }
    if (supports.symmetric && !supports.symmetric->empty()) options.symmetric = supports.symmetric->front();
    if (supports.per_axis && !supports.per_axis->empty()) options.per_axis = supports.per_axis->front();
    if (supports.method && !supports.method->empty()) {
      const auto stated = converters::options_from_json(json{{"method", supports.method->front()}}.dump(), options);
      if (stated) options = *stated;
    }
    return options;
  }
  [[nodiscard]] json request(const fs::path& model, const fs::path& calibration, const fs::path& output) const {
    protocol::Request request;
    request.verb = protocol::Verb::convert;
    request.convert = {model, calibration, options(), output};
    return json::parse(protocol::write_request(request));
  }
  [[nodiscard]] json execution(const fs::path& output) const {
    return {
        {"do", "execute"}, {"artifact", artifact_.string()}, {"inputs", inputs_.string()}, {"output", output.string()}};
  }
  Outcome describes();
  Outcome converts();
  Outcome executes();
  /// Of a request that can't be fulfilled: that it is declined in the page's form and leaves nothing. A refusal has the
  /// names; an error is the converter's own message, whatever that says (whether it helps, cases judge).
  Outcome declines(const json& request, const fs::path& output, const std::vector<std::string>& names);
  Outcome converts_alike();
  /// A model with a node of `op`, which the converter doesn't quantize.
  Outcome converts_with(const char* op);
  /// Why conversions can't be asked for; nothing where they can.
  [[nodiscard]] std::optional<Skip> no_conversion() const {
    if (!description_) return not_tested("it doesn't describe itself");
    const converters::Supports& supports = description_->supports;
    if (!description_->unavailable.empty()) return not_tested("unavailable: " + description_->unavailable);
    if (supports.models && std::ranges::find(*supports.models, "float") == supports.models->end()) {
      return not_tested("it takes no float model (supports.models)");
    }
    if (ops_.empty()) {
      return not_tested(fmt::format("no small model can be made of what it takes (supports.operators): {}",
                                    core::join(listed().value_or(std::vector<std::string>{}), ", ")));
    }
    return std::nullopt;
  }
  /// The operators that it quantizes, where it lists any.
  [[nodiscard]] const std::optional<std::vector<std::string>>& listed() const {
    const converters::Supports& supports = description_->supports;
    return supports.operators ? supports.operators : supports.int8_operators;
  }
  [[nodiscard]] std::optional<Skip> no_artifact() const {
    if (auto skip = no_conversion()) return skip;
    if (artifact_.empty()) return not_tested("there is no artifact");
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Skip> no_execution() const {
    if (auto skip = no_artifact()) return skip;
    if (!description_->supports.execute) return Skip{"it executes nothing (supports.execute)"};
    return std::nullopt;
  }

  Peer peer_, again_;
  double timeout_s_;
  fs::path folder_;
  std::size_t folders_ = 0;
  std::optional<converters::Description> description_;
  fs::path model_, custom_, garbage_, calibration_, incomplete_, inputs_;
  fs::path artifact_;
  std::vector<std::string> ops_;  ///< of the small model
  std::vector<Requirement> met_;
};

core::Status Examination::prepare() {
  calibration_ = folder_ / "calibration";
  incomplete_ = folder_ / "incomplete";
  inputs_ = folder_ / "inputs";
  std::error_code code;
  for (const std::size_t batch : {std::size_t{0}, std::size_t{1}}) {
    const fs::path folder = calibration_ / fmt::format("{:04}", batch);
    fs::create_directories(folder, code);
    if (core::Status saved = model::save_tensors(small_batch(batch), folder, "input"); !saved) return saved;
  }
  fs::create_directories(incomplete_ / "0000", code);
  fs::create_directories(inputs_, code);
  if (core::Status saved = model::save_tensors(small_batch(2), inputs_, "input"); !saved) return saved;
  custom_ = folder_ / "custom.onnx";
  garbage_ = folder_ / "garbage.onnx";
  model_ = folder_ / "model.onnx";
  return core::write_file(garbage_, "this is no ONNX file");
}

Outcome Examination::describes() {
  const core::Result<std::string> line = peer_.ask({{"do", "describe"}}, kStartSeconds);
  if (!line) return line.error().message;
  core::Result<converters::Description> description = protocol::read_description(peer_.id(), *line);
  if (!description) return description.error().message;
  description_ = *std::move(description);
  return "";
}

Outcome Examination::converts() {
  if (auto skip = no_conversion()) return *skip;
  const fs::path output = fresh("out");
  const core::Result<std::string> line = ask(request(model_, calibration_, output));
  if (!line) return line.error().message;
  const auto reply = protocol::read_convert_reply(peer_.id(), *line, description_->supports, fs::current_path());
  if (!reply) return reply.error().message;
  if (reply->outcome != converters::Outcome::ok) {
    return fmt::format("a model of {} was {}: {}", core::join(ops_, " and "), converters::outcome_name(reply->outcome),
                       first_line(reply->reason));
  }
  if (description_->supports.artifact == converters::ArtifactKind::qdq) {
    if (const auto artifact = model::load_model(reply->artifact); !artifact) {
      return "the artifact can't be read: " + artifact.error().message;
    }
  }
  artifact_ = reply->artifact;
  return "";
}

Outcome Examination::converts_with(const char* op) {
  const fs::path model = folder_ / "other.onnx", output = fresh("out");
  if (const core::Status saved = model::save_model(small_model({ops_.front(), op}), model); !saved) {
    return saved.error().message;
  }
  const core::Result<std::string> line = ask(request(model, calibration_, output));
  if (!line) return line.error().message;
  const auto reply = protocol::read_convert_reply(peer_.id(), *line, description_->supports, fs::current_path());
  if (!reply) return reply.error().message;
  if (reply->outcome == converters::Outcome::ok) return "";
  return fmt::format("{} was {}: {}; a converter that declines what it doesn't list says \"operators\" instead", op,
                     converters::outcome_name(reply->outcome), first_line(reply->reason));
}

Outcome Examination::executes() {
  if (auto skip = no_execution()) return *skip;
  std::map<std::string, std::string> first;
  for (const bool second : {false, true}) {
    const fs::path output = fresh("outputs");
    const core::Result<std::string> line = ask(execution(output));
    if (!line) return line.error().message;
    const auto reply = protocol::read_execute_reply(peer_.id(), *line);
    if (!reply) return reply.error().message;
    if (reply->outcome != converters::Outcome::ok) {
      return fmt::format("{}: {}", converters::outcome_name(reply->outcome), first_line(reply->reason));
    }
    const core::Result<core::TensorMap> outputs = model::load_tensors(output, "output");
    if (!outputs) return outputs.error().message;
    const auto found = outputs->find(kOutput);
    if (found == outputs->end()) {
      std::vector<std::string> names;
      for (const auto& [name, tensor] : *outputs) names.push_back("\"" + name + "\"");
      return fmt::format("there is no output \"{}\"; written were: {}", kOutput,
                         names.empty() ? "none" : core::join(names, ", "));
    }
    if (found->second.shape() != kShape) {
      return fmt::format("\"{}\" has shape {}, the model says {}", kOutput, core::shape_text(found->second.shape()),
                         core::shape_text(kShape));
    }
    std::map<std::string, std::string> bytes;
    for (const auto& [file, text] : bytes_below(output)) bytes[fs::path(file).filename()] = text;
    if (second && description_->policy.deterministic && bytes != first) {
      return "the same inputs gave other outputs, and the policy says \"deterministic\": true";
    }
    first = std::move(bytes);
  }
  return "";
}

Outcome Examination::declines(const json& request, const fs::path& output, const std::vector<std::string>& names) {
  const core::Result<std::string> line = ask(request);
  if (!line) return line.error().message;
  const json answer = core::json_or_discarded<json>(*line);
  if (!answer.is_object() || !answer.contains("status")) return "the answer has no status";
  if (answer.value("id", std::int64_t{-1}) != peer_.id()) {
    return fmt::format("the answer has id {}, the request {}", answer.value("id", std::int64_t{-1}), peer_.id());
  }
  const std::string status = answer["status"].is_string() ? answer["status"].get<std::string>() : "";
  if (status != "refused" && status != "error") {
    return fmt::format("status is \"{}\"; \"refused\" or \"error\" was due", status);
  }
  const auto text = [&](const char* key) {
    return answer.contains(key) && answer[key].is_string() ? answer[key].get<std::string>() : "";
  };
  if (text("reason").empty()) return fmt::format("\"{}\" without a reason", status);
  for (const char* key : {"node", "op"}) {
    if (status == "refused" && text(key).empty()) return fmt::format("\"refused\" without \"{}\"", key);
  }
  const std::string said = text("node") + " " + text("op") + " " + text("reason");
  for (const std::string& name : names) {
    if (status == "refused" && said.find(name) == std::string::npos) {
      return fmt::format("the refusal doesn't name \"{}\": {}", name, first_line(said));
    }
  }
  if (const auto left = bytes_below(output); !left.empty()) {
    return fmt::format("\"{}\" left a file in the output folder: {}", status,
                       fs::path(left.begin()->first).filename().string());
  }
  return "";
}

Outcome Examination::converts_alike() {
  if (auto skip = no_artifact()) return *skip;
  if (!description_->policy.deterministic) return Skip{"the policy says \"deterministic\": false"};
  std::error_code code;
  if (!fs::is_regular_file(artifact_, code)) return Skip{"the artifact is a folder"};
  const core::Result<std::string> line = ask(request(model_, calibration_, fresh("out")));
  if (!line) return line.error().message;
  const auto reply = protocol::read_convert_reply(peer_.id(), *line, description_->supports, fs::current_path());
  if (!reply) return reply.error().message;
  if (reply->outcome != converters::Outcome::ok) return first_line(reply->reason);
  const core::Result<std::string> first = core::read_file(artifact_), second = core::read_file(reply->artifact);
  if (!first || !second) return "an artifact can't be read";
  return *first == *second ? "" : "the artifact of the same request has other bytes";
}

std::vector<Requirement> Examination::examine() {
  require("a process describes itself: one line, the request's id, name and version", kRequests,
          [&] { return describes(); });
  require("supports has words of the protocol", "supports", [&]() -> Outcome {
    if (!description_) return not_tested("it doesn't describe itself");
    return core::join(supports_notes(*description_), "; ");
  });
  if (description_) {
    ops_ = small_operators(listed());
    std::vector<std::string> custom = ops_;
    custom.resize(std::min<std::size_t>(custom.size(), 1));
    custom.emplace_back(kCustom);
    for (const auto& [ops, file] : {std::pair(ops_, model_), std::pair(custom, custom_)}) {
      const core::Status saved = ops.empty() ? core::success() : model::save_model(small_model(ops), file);
      if (saved) continue;
      met_.push_back({"the model can be written", kFiles, Met::failed, saved.error().message});
      return std::move(met_);
    }
  }
  const auto given = [&] {
    std::map<std::string, std::string> bytes;
    for (const fs::path& path : {model_, calibration_, inputs_}) bytes.merge(bytes_below(path));
    return bytes;
  };
  const std::map<std::string, std::string> before = given();
  require("convert writes an artifact and reports what supports.reports lists", kRequests, [&] { return converts(); });
  require("an unknown key is ignored, null counts as left out", kMessages, [&]() -> Outcome {
    if (auto skip = no_artifact()) return *skip;
    json asked = request(model_, calibration_, fresh("out"));
    asked["key_of_a_later_protocol"] = json::array({1, "two"});
    asked["options"]["cache"] = nullptr;
    const core::Result<std::string> line = ask(asked);
    if (!line) return line.error().message;
    const auto reply = protocol::read_convert_reply(peer_.id(), *line, description_->supports, fs::current_path());
    if (!reply) return reply.error().message;
    return reply->outcome == converters::Outcome::ok ? "" : first_line(reply->reason);
  });
  require("the same request gives the same artifact", "policy", [&] { return converts_alike(); });
  require("execute writes every output under its name, twice the same", kRequests, [&] { return executes(); });
  require("trace lists quantized values that it wrote", kFiles, [&]() -> Outcome {
    if (auto skip = no_execution()) return *skip;
    if (!description_->supports.trace) return Skip{"it writes no trace (supports.trace)"};
    const fs::path trace = fresh("trace");
    json asked = execution(fresh("outputs"));
    asked["trace"] = trace.string();
    const core::Result<std::string> line = ask(asked);
    if (!line) return line.error().message;
    const auto reply = protocol::read_execute_reply(peer_.id(), *line);
    if (!reply) return reply.error().message;
    const core::Result<core::TensorMap> written = model::load_tensors(trace, "trace");
    if (!written) return written.error().message;
    for (const std::string& name : reply->trace) {
      if (!written->contains(name)) return fmt::format("\"{}\" is listed and was not written", name);
    }
    return reply->trace.empty() ? "it lists nothing" : "";
  });
  require("a node that it can't take is refused by node, operator and reason, or an error", kRequests,
          [&]() -> Outcome {
            if (auto skip = no_conversion()) return *skip;
            const fs::path output = fresh("out");
            return declines(request(custom_, calibration_, output), output, {kOutput, kCustom});
          });
  require("a file that is no model is an error with a reason", kRequests, [&]() -> Outcome {
    if (auto skip = no_conversion()) return *skip;
    const fs::path output = fresh("out");
    return declines(request(garbage_, calibration_, output), output, {});
  });
  require("a calibration batch without an input is refused by name, or an error", kFiles, [&]() -> Outcome {
    if (auto skip = no_conversion()) return *skip;
    const fs::path output = fresh("out");
    return declines(request(model_, incomplete_, output), output, {kInput});
  });
  require("an artifact that isn't there is an error with a reason", kRequests, [&]() -> Outcome {
    if (auto skip = no_execution()) return *skip;
    const fs::path output = fresh("outputs");
    json asked = execution(output);
    asked["artifact"] = (folder_ / "nowhere.onnx").string();
    return declines(asked, output, {});
  });
  require("an operator that int8_operators doesn't list stays in float, and is no reason to decline", "supports",
          [&]() -> Outcome {
            if (auto skip = no_conversion()) return *skip;
            const auto& quantized = description_->supports.int8_operators;
            if (!quantized) return Skip{"it lists no int8_operators"};
            const auto& taken = description_->supports.operators;
            for (const char* op : {"Conv", "Relu", "Floor"}) {
              const bool takes = !taken || std::ranges::find(*taken, op) != taken->end();
              if (takes && std::ranges::find(*quantized, op) == quantized->end()) return converts_with(op);
            }
            return Skip{"it lists all that could be asked for"};
          });
  require("the process goes on after an error, with answers of the request's id", kStates, [&]() -> Outcome {
    if (auto skip = no_artifact()) return *skip;
    if (!peer_.runs()) return std::string("the process that answered last ended");
    const core::Result<std::string> line = peer_.ask(request(model_, calibration_, fresh("out")), timeout_s_);
    if (!line) return line.error().message;
    const auto reply = protocol::read_convert_reply(peer_.id(), *line, description_->supports, fs::current_path());
    return reply ? (reply->outcome == converters::Outcome::ok ? "" : first_line(reply->reason)) : reply.error().message;
  });
  require("what it was given stays as it is", kMessages, [&]() -> Outcome {
    if (auto skip = no_artifact()) return *skip;
    const std::map<std::string, std::string> now = given();
    if (now == before) return "";
    for (const auto& [file, text] : now) {
      const auto found = before.find(file);
      if (found == before.end() || found->second != text) {
        return fmt::format("it wrote into {}", fs::path(file).lexically_relative(folder_).string());
      }
    }
    return std::string("a file is gone");
  });
  require("quit ends the process within 5 s", kStates, [&]() -> Outcome {
    if (!peer_.runs()) return not_tested("no process runs");
    return peer_.quit();
  });
  require("another process has the same name and version", kRequests, [&]() -> Outcome {
    if (!description_) return not_tested("it doesn't describe itself");
    const core::Result<std::string> line = again_.ask({{"do", "describe"}}, kStartSeconds);
    if (!line) return line.error().message;
    const auto second = protocol::read_description(again_.id(), *line);
    if (!second) return second.error().message;
    if (second->name == description_->name && second->version == description_->version) return "";
    return fmt::format("{} {} called itself {} {}", description_->name, description_->version, second->name,
                       second->version);
  });
  return std::move(met_);
}

}  // namespace

core::Result<std::vector<Requirement>> check_protocol(const ConverterSpec& converter, double timeout_s) {
  core::Result<core::TemporaryFolder> folder = core::TemporaryFolder::create();
  if (!folder) return folder.error();
  Examination examination(converter, timeout_s, folder->path());
  if (core::Status prepared = examination.prepare(); !prepared) return prepared.error();
  return examination.examine();
}

}  // namespace assay::programs
