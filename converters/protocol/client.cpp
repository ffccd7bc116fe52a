#include "converters/protocol/client.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>
#include <variant>

#include "converters/protocol/json_fields.hpp"
#include "converters/protocol/messages.hpp"
#include "harness/core/confined.hpp"
#include "harness/core/descriptor.hpp"
#include "harness/core/process.hpp"

namespace assay::protocol {
namespace {

namespace fs = std::filesystem;
using converters::ConvertReply;
using converters::ConvertRequest;
using converters::Description;
using converters::ExecuteReply;
using converters::ExecuteRequest;
using converters::Outcome;
using core::Error;
using core::ErrorKind;
using core::Process;
using core::Result;
using core::Status;
using Clock = Process::Clock;

/// How much of standard error goes into a reason.
constexpr std::size_t kTailBytes = 2000;
/// A program that has closed its standard output is given so long to end by itself.
constexpr std::chrono::seconds kEndAfterClosing{2};
/// 128 + SIGKILL: what shells and containers report of a program that was killed for its memory.
constexpr int kKilledStatus = 137;

/// A request that got no usable answer.
struct Failure {
  Outcome outcome = Outcome::crash;
  std::string reason;
  bool ended = false;  ///< the program did, by itself or killed by somebody else
  bool early = false;  ///< seen before the request was sent
};
template <typename T>
using Answered = std::variant<T, Failure>;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// The dynamic loader's, which says no reason: where we have limited the address space, it is that.
constexpr std::string_view kLoadersWords = "failed to map segment from shared object";

/// The runtimes' own words for memory that was refused.
bool speaks_of_memory(std::string_view text) {
  constexpr std::array<std::string_view, 6> kWords{"bad_alloc",     "bad allocation", "memoryerror",
                                                   "out of memory", "outofmemory",    "cannot allocate memory"};
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(kWords, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

/// `what`, with the end of standard error below it.
std::string with_tail(std::string what, std::string_view errors) {
  while (!errors.empty() && std::isspace(static_cast<unsigned char>(errors.back())) != 0) errors.remove_suffix(1);
  if (errors.size() > kTailBytes) {
    errors.remove_prefix(errors.size() - kTailBytes);
    errors.remove_prefix(std::min(errors.find('\n') + 1, errors.size()));
  }
  return errors.empty() ? what : fmt::format("{}; its standard error ends with:\n{}", what, errors);
}

/// A folder that a converter is to write into. It may make it anew, as many programs do; a link in its place is neither
/// read nor followed. "": none.
class OutputFolder {
 public:
  explicit OutputFolder(fs::path folder) : path_(std::move(folder)), was_(is_folder()) {}

  [[nodiscard]] Status check() const {
    return !was_ || is_folder()
               ? core::success()
               : Status(broken(fmt::format("it has replaced the folder \"{}\", which it was to write into",
                                           path_.filename().string())));
  }
  /// Empties it, or makes it anew where something else is in its place.
  void clear() const {
    if (path_.empty()) return;
    const core::Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    std::error_code ignored;
    if (!folder.open()) {
      ::unlink(path_.c_str());
      fs::create_directory(path_, ignored);
      return;
    }
    const fs::path opened = fmt::format("/proc/self/fd/{}", folder.get());  // nothing can be put in its place
    std::error_code failed;
    for (fs::directory_iterator it(opened, failed), end; !failed && it != end; it.increment(failed)) {
      fs::remove_all(it->path(), ignored);
    }
  }

 private:
  [[nodiscard]] bool is_folder() const {
    std::error_code failed;
    return !path_.empty() && fs::symlink_status(path_, failed).type() == fs::file_type::directory;
  }

  fs::path path_;
  bool was_;
};

fs::path from_here(const fs::path& path) {
  std::error_code failed;
  const fs::path result = fs::absolute(path, failed);
  return failed ? path : result;
}

/// What a converter made lies where it was to write: a file from elsewhere would be kept, packed and sent on as its
/// work. The cache may be the one that it was given.
core::Status stays_inside(const ConvertReply& reply, const ConvertRequest& request) {
  for (const fs::path& file : {reply.artifact, reply.cache}) {
    if (file.empty() || file == request.options.cache) continue;
    if (const auto place = core::confined_path(request.output, file); !place) {
      return broken(place.error().message);
    }
  }
  return core::success();
}

class ProcessClient final : public Client {
 public:
  explicit ProcessClient(ClientOptions options) : options_(std::move(options)) {}
  ProcessClient(const ProcessClient&) = delete;
  ProcessClient& operator=(const ProcessClient&) = delete;
  ~ProcessClient() override { (void)quit(); }

  Result<Description> describe() override {
    if (description_) return *description_;
    std::optional<Failure> failure;
    OutputFolder none((fs::path()));
    attempt(Verb::describe, none, [&] {
      failure = start();
      return failure.value_or(Failure{Outcome::ok, {}});
    });
    if (!failure) return *description_;
    return Error{
        ErrorKind::io,
        fmt::format("converter \"{}\": {}: {}", command_name(), outcome_name(failure->outcome), failure->reason), "",
        "", ""};
  }

  ConvertReply convert(const ConvertRequest& request) override {
    Request message;
    message.verb = Verb::convert;
    message.convert = {from_here(request.model), from_here(request.calibration), request.options,
                       from_here(request.output)};
    if (!request.options.cache.empty()) message.convert.options.cache = from_here(request.options.cache).string();
    return ask<ConvertReply>(message, message.convert.output, [&](std::int64_t id, std::string_view line) {
      core::Result<ConvertReply> reply =
          read_convert_reply(id, line, description_->supports, from_here(options_.working_folder));
      const core::Status inside = reply ? stays_inside(*reply, message.convert) : core::success();
      return inside ? std::move(reply) : core::Result<ConvertReply>(inside.error());
    });
  }

  ExecuteReply execute(const ExecuteRequest& request) override {
    Request message;
    message.verb = Verb::execute;
    message.execute = {from_here(request.artifact), from_here(request.inputs), from_here(request.output)};
    if (!request.trace.empty()) message.execute.trace = from_here(request.trace);
    message.execute.disabled_optimizers = request.disabled_optimizers;
    return ask<ExecuteReply>(message, message.execute.output,
                             [](std::int64_t id, std::string_view line) { return read_execute_reply(id, line); });
  }

  const std::vector<Attempt>& attempts() const override { return attempts_; }

  Status quit() override {
    if (!process_) return core::success();
    Process process = *std::exchange(process_, std::nullopt);
    const auto deadline = after(options_.quit_timeout_s);
    const bool running = process.running();
    Request request;
    request.id = next_id_++;
    request.verb = Verb::quit;
    if (running) (void)process.write(write_request(request) + "\n", deadline);
    process.close_stdin();
    const auto end = process.wait(deadline);
    std::string complaint;
    if (!end) {
      process.kill_group();
      complaint = fmt::format("it didn't end within {:g} s of quit and was killed", options_.quit_timeout_s);
    } else if (!running) {
      complaint = fmt::format("it had ended before quit: {}", exit_text(*end));
    } else if (end->code != 0) {
      complaint = fmt::format("it ended with {} on quit", exit_text(*end));
    }
    if (complaint.empty()) return core::success();
    return Error{ErrorKind::io, fmt::format("converter \"{}\": {}", command_name(), complaint), "", "", ""};
  }

 private:
  std::string command_name() const { return options_.command.empty() ? "" : options_.command.front(); }

  /// Runs `once` (which returns how it ended), and once more after a timeout, or after what earlier requests may have
  /// left the process in: a lack of memory, or its end where they were of another conversion. `output` is emptied in
  /// between.
  template <typename Once>
  void attempt(Verb verb, OutputFolder& output, Once once) {
    attempts_.clear();
    for (int number = 1; number <= (options_.retry_timeouts ? 2 : 1); ++number) {
      const bool used = process_ && answered_ > 0;
      const bool of_another = used && (verb == Verb::convert || !converted_);
      const auto begin = Clock::now();
      Failure end = once();
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      const bool again = end.outcome == Outcome::timeout || (end.outcome == Outcome::oom && used) ||
                         (end.outcome == Outcome::crash && of_another && (end.ended || end.early));
      attempts_.push_back({std::string(verb_name(verb)), number, end.outcome, std::move(end.reason), seconds});
      if (!again) return;
      if (process_) (void)stop({end.outcome, ""});
      output.clear();
    }
  }

  template <typename Reply, typename Read>
  Reply ask(Request& request, const fs::path& output, Read read) {
    Reply reply;
    OutputFolder folder(output);
    const auto read_there = [&](std::int64_t id, std::string_view line) {
      const Status there = folder.check();
      return there ? read(id, line) : core::Result<Reply>(there.error());
    };
    attempt(request.verb, folder, [&] {
      Failure end;
      reply = once<Reply>(request, read_there, end);
      end.outcome = reply.outcome;
      end.reason = reply.reason;
      return end;
    });
    if (!folder.check()) folder.clear();  // what is in its place is nobody's to read
    return reply;
  }

  template <typename Reply, typename Read>
  Reply once(Request& request, Read read, Failure& end) {
    Reply reply;
    auto fail = [&](Failure&& failure) {
      end = failure;
      reply.outcome = failure.outcome;
      reply.reason = std::move(failure.reason);
      return std::move(reply);
    };
    if (auto failure = start()) return fail(std::move(*failure));
    auto answer = exchange(request, options_.timeout_s);
    if (auto* failure = std::get_if<Failure>(&answer)) return fail(std::move(*failure));
    auto read_reply = read(request.id, *std::get_if<std::string>(&answer));
    if (!read_reply) return fail(stop({Outcome::crash, read_reply.error().message}));
    reply = std::move(*read_reply);
    if (reply.outcome == Outcome::error && speaks_of_memory(reply.reason)) reply.outcome = Outcome::oom;
    if (reply.outcome == Outcome::error) explain_denial(reply.reason);
    ++answered_;
    converted_ = converted_ || request.verb == Verb::convert;
    return reply;
  }

  /// Makes sure that a program runs and has described itself. One that is killed before it could (by a system without
  /// memory, say) is no verdict on what it was to be asked.
  std::optional<Failure> start() {
    constexpr int kStarts = 3;
    for (int number = 1;; ++number) {
      const auto begin = Clock::now();
      std::optional<Failure> failure = start_once();
      if (!failure || !failure->ended) return failure;
      if (number == kStarts) {
        failure->reason = fmt::format("{} times in a row: {}", kStarts, failure->reason);
        return failure;
      }
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      attempts_.push_back(
          {std::string(verb_name(Verb::describe)), number, failure->outcome, std::move(failure->reason), seconds});
    }
  }

  std::optional<Failure> start_once() {
    if (process_) return std::nullopt;
    core::SpawnOptions spawn;
    spawn.arguments = options_.command;
    spawn.environment = options_.environment;
    spawn.environment.emplace("PYTHONUTF8", "1");  // files, paths and names in UTF-8, whatever locale there is
    spawn.working_folder = options_.working_folder;
    spawn.memory_limit_bytes = options_.memory_limit_bytes;
    if (options_.prepare) {
      if (const Status prepared = options_.prepare(spawn); !prepared) {
        return Failure{Outcome::crash, prepared.error().message};
      }
    }
    auto process = Process::spawn(spawn);
    if (!process) return Failure{Outcome::crash, process.error().message};
    process_ = std::move(*process);
    next_id_ = 1;  // every process sees its own ids from 1 on
    answered_ = 0;
    converted_ = false;

    Request request;
    auto answer = exchange(request, options_.start_timeout_s);
    if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
    auto described = read_description(request.id, *std::get_if<std::string>(&answer));
    if (!described) {
      const std::string& why = described.error().message;
      return stop({speaks_of_memory(why) ? Outcome::oom : Outcome::crash, why});
    }
    if (description_ && (description_->name != described->name || description_->version != described->version)) {
      return stop({Outcome::crash,
                   fmt::format("protocol: the converter was {} {} and is {} {} after a restart", description_->name,
                               description_->version, described->name, described->version)});
    }
    description_ = std::move(*described);
    return std::nullopt;
  }

  /// Sends `request` under a new id and waits for one line.
  Answered<std::string> exchange(Request& request, double timeout_s) {
    const auto deadline = after(timeout_s);
    request.id = next_id_++;
    const std::string_view verb = verb_name(request.verb);
    if (process_->has_buffered_output() || !process_->running()) {
      const std::string when = fmt::format("before it was asked to {}", verb);
      Failure failure = process_->has_buffered_output() ? unsolicited(deadline, when) : died(when);
      failure.early = true;
      return failure;
    }
    process_->forget_stderr();
    if (!process_->write(write_request(request) + "\n", deadline)) {
      if (Clock::now() >= deadline) return timed_out(verb, timeout_s);
      return died(fmt::format("before it read the request to {}", verb));
    }
    auto line = process_->read_line(deadline, kLineLimitBytes);
    switch (line.end) {
      case Process::ReadEnd::line:
        if (process_->has_buffered_output()) return unsolicited(deadline, fmt::format("after its answer to {}", verb));
        return std::move(line.text);
      case Process::ReadEnd::deadline:
        return timed_out(verb, timeout_s);
      case Process::ReadEnd::too_long:
        return stop(
            {Outcome::crash, fmt::format("protocol: the answer to {} is a line over {} bytes", verb, kLineLimitBytes)});
      case Process::ReadEnd::end_of_file:
        break;
    }
    return died(fmt::format("before it answered {}", verb));
  }

  /// Ends the program for good; the next request starts another.
  Failure stop(Failure failure) {
    process_->kill_group();
    failure.reason = with_tail(std::move(failure.reason), process_->stderr_tail());
    explain_denial(failure.reason, failure.ended && !description_);
    process_.reset();
    return failure;
  }

  /// The system's words for what it denies, and those of libraries that can't reach the network. A program that ends
  /// before it says what it is lacks something, mostly, whatever its words are.
  void explain_denial(std::string& reason, bool always = false) const {
    constexpr std::array kWords{"Permission denied", "Operation not permitted", "name resolution", "couldn't connect",
                                "ConnectionError"};
    const bool denied =
        always || std::ranges::any_of(kWords, [&](const char* word) { return reason.find(word) != std::string::npos; });
    if (denied && !options_.hint_when_denied.empty()) reason += "\n" + options_.hint_when_denied;
  }

  Failure timed_out(std::string_view verb, double timeout_s) {
    return stop({Outcome::timeout, fmt::format("no answer to {} within {:g} s", verb, timeout_s)});
  }

  Failure unsolicited(Clock::time_point deadline, const std::string& when) {
    const std::string line = process_->read_line(std::min(deadline, Clock::now())).text.substr(0, kTailBytes / 10);
    return stop({Outcome::crash, fmt::format("protocol: a line that nobody asked for, {}: {}", when, line)});
  }

  Failure died(const std::string& when) {
    const auto end = process_->wait(Clock::now() + kEndAfterClosing);
    if (!end) return stop({Outcome::crash, fmt::format("protocol: closed its standard output {}", when)});
    const std::string tail = process_->stderr_tail();
    const bool memory = end->code == kKilledStatus || speaks_of_memory(tail) ||
                        (options_.memory_limit_bytes > 0 && tail.find(kLoadersWords) != std::string::npos);
    return stop({memory ? Outcome::oom : Outcome::crash,
                 fmt::format("ended with {} {}{}", exit_text(*end), when, memory ? ", out of memory" : ""), true});
  }

  ClientOptions options_;
  std::optional<Process> process_;
  std::optional<Description> description_;
  std::vector<Attempt> attempts_;
  std::int64_t next_id_ = 1;
  std::size_t answered_ = 0;  ///< requests by the running process
  bool converted_ = false;    ///< one of them was to convert
};

}  // namespace

std::unique_ptr<Client> make_client(ClientOptions options) {
  return std::make_unique<ProcessClient>(std::move(options));
}

Result<std::vector<std::string>> split_command(std::string_view command) {
  const auto bad = [&](std::string_view what) {
    return Error{ErrorKind::usage, fmt::format("command \"{}\" {}", command, what), "", "", ""};
  };
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      words.back().push_back(command[++i]);
    } else {
      words.back().push_back(c);
    }
  }
  if (quote != '\0') return bad("has an open quote");
  if (words.empty()) return bad("names no program");
  return words;
}

}  // namespace assay::protocol
