// Speaks protocol 1 by hand and breaks it in the way that its argument names. Words that begin with "describe-" strike
// at the first request, the others at convert; "-once" strikes only while the file named by ASSAY_TEST_STATE is absent.
// The sanitizers stay out of it: it dies on purpose.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

void say(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}
void answer(const json& object) { say(object.dump() + "\n"); }
[[noreturn]] void hang() {
  while (true) ::sleep(1000);
}

json description(const json& id) {
  return {{"id", id},
          {"status", "ok"},
          {"name", "misbehaving"},
          {"version", "1"},
          {"supports", {{"artifact", "qdq"}, {"reports", {"tensors"}}}}};
}

json conversion(const json& request) {
  const std::string artifact = request["output"].get<std::string>() + "/model.onnx";
  std::ofstream(artifact) << "artifact";
  return {{"id", request["id"]}, {"status", "ok"}, {"artifact", artifact}, {"tensors", json::array()}};
}

json without(json object, const char* key) {
  object.erase(key);
  return object;
}
json with(json object, const char* key, const json& value) {
  object[key] = value;
  return object;
}

/// Uses up memory until none is left.
[[noreturn]] void eat_memory() {
  std::vector<std::vector<char>> all;
  while (true) all.emplace_back(std::size_t{64} << 20U, 'x');
}

const std::map<std::string, std::function<void(const json&)>> kModes{
    {"good", [](const json& r) { answer(conversion(r)); }},
    {"segv",
     [](const json&) {
       std::cerr << "about to fall\n";
       ::signal(SIGSEGV, SIG_DFL);
       ::raise(SIGSEGV);
     }},
    {"abort", [](const json&) { std::abort(); }},
    {"exit-3", [](const json&) { std::exit(3); }},
    {"exit-137", [](const json&) { std::_Exit(137); }},
    {"throws-bad-alloc", [](const json&) { throw std::bad_alloc(); }},
    {"eats-memory", [](const json&) { eat_memory(); }},
    {"leaks",
     [](const json& r) {
       static std::vector<std::vector<char>> lost;
       lost.emplace_back(std::size_t{100} << 20U, 'x');
       answer(conversion(r));
     }},
    {"hang",
     [](const json&) {
       std::cerr << "thinking\n";
       hang();
     }},
    {"partial-then-hang",
     [](const json& r) {
       std::ofstream(r["output"].get<std::string>() + "/partial") << "half";
       hang();
     }},
    {"link-then-hang",
     [](const json& r) {
       const std::filesystem::path output = r["output"].get<std::string>();
       std::filesystem::remove_all(output);
       std::filesystem::create_directory_symlink(output.parent_path() / "theirs", output);
       hang();
     }},
    {"folder-anew",
     [](const json& r) {
       const std::filesystem::path output = r["output"].get<std::string>();
       std::filesystem::remove_all(output);
       std::filesystem::create_directory(output);
       answer(conversion(r));
     }},
    {"link-in-place",
     [](const json& r) {
       const std::filesystem::path output = r["output"].get<std::string>();
       std::filesystem::remove_all(output);
       std::filesystem::create_directory_symlink(output.parent_path() / "theirs", output);
       answer(conversion(r));
     }},
    {"flood",
     [](const json& r) {
       const std::string block(std::size_t{1} << 20U, 'e');
       for (int i = 0; i < 8; ++i) std::cerr << block << '\n';
       answer(conversion(r));
     }},
    {"garbage", [](const json&) { say("Warning: converting model...\n"); }},
    {"array", [](const json&) { say("[1,2]\n"); }},
    {"bad-utf8",
     [](const json& r) { say("{\"id\":" + r["id"].dump() + ",\"status\":\"error\",\"reason\":\"\xff\"}\n"); }},
    {"wrong-id", [](const json& r) { answer(with(conversion(r), "id", r["id"].get<int>() + 1)); }},
    {"text-id", [](const json& r) { answer(with(conversion(r), "id", r["id"].dump())); }},
    {"no-id", [](const json& r) { answer(without(conversion(r), "id")); }},
    {"no-status", [](const json& r) { answer(without(conversion(r), "status")); }},
    {"odd-status", [](const json& r) { answer(with(conversion(r), "status", "partly")); }},
    {"crash-status", [](const json& r) { answer(with(conversion(r), "status", "crash")); }},
    {"no-artifact", [](const json& r) { answer(without(conversion(r), "artifact")); }},
    {"missing-artifact", [](const json& r) { answer(with(conversion(r), "artifact", "/no/such/model.onnx")); }},
    {"no-tensors", [](const json& r) { answer(without(conversion(r), "tensors")); }},
    {"long-line", [](const json&) { say(std::string(std::size_t{20} << 20U, 'x') + "\n"); }},
    {"endless-line",
     [](const json&) {
       while (true) say(std::string(std::size_t{1} << 20U, 'x'));
     }},
    {"two-answers",
     [](const json& r) {
       const std::string a = conversion(r).dump() + "\n";
       say(a + a);
     }},
    {"late-line",
     [](const json& r) {
       answer(conversion(r));
       ::usleep(100'000);
       say("{\"progress\":1}\n");
     }},
    {"dies-afterwards",
     [](const json& r) {
       answer(conversion(r));
       ::usleep(50'000);
       ::raise(SIGKILL);
     }},
    {"no-newline",
     [](const json& r) {
       say(conversion(r).dump());
       std::exit(0);
     }},
    {"closes-output",
     [](const json&) {
       ::close(1);
       hang();
     }},
    {"closes-input",
     [](const json& r) {
       answer(conversion(r));
       ::close(0);
       hang();
     }},
    {"grandchild",
     [](const json& r) {
       const std::string command = "sleep 300 & echo $! > " + r["output"].get<std::string>() + "/../grandchild";
       if (std::system(command.c_str()) != 0) std::abort();
       hang();
     }},
    {"nan",
     [](const json& r) {
       say("{\"id\":" + r["id"].dump() + ",\"status\":\"ok\",\"artifact\":" + conversion(r)["artifact"].dump() +
           ",\"tensors\":[{\"name\":\"NaN, \\\"NaN\",\"scale\":[NaN,-Infinity,\"Infinity\",\"NaN\"],"
           "\"zero_point\":[0,0,0,0],\"type\":\"int8\",\"axis\":0}]}\n");
     }},
    {"refused",
     [](const json& r) {
       answer({{"id", r["id"]}, {"status", "refused"}, {"node", "n7"}, {"op", "CumSum"}, {"reason", "no INT8 form"}});
     }},
    {"error",
     [](const json& r) {
       answer({{"id", r["id"]}, {"status", "error"}, {"reason", "ValueError: (64,)(10,)"}});
     }},
    {"memory-error",
     [](const json& r) {
       answer({{"id", r["id"]}, {"status", "error"}, {"reason", "MemoryError: Unable to allocate"}});
     }},
    {"unknown-keys", [](const json& r) { answer(with(conversion(r), "mood", "cheerful")); }},
    {"describe-hang", [](const json&) { hang(); }},
    {"describe-segv",
     [](const json&) {
       ::signal(SIGSEGV, SIG_DFL);
       ::raise(SIGSEGV);
     }},
    {"describe-nameless", [](const json& r) { answer(without(description(r["id"]), "name")); }},
    {"describe-error",
     [](const json& r) {
       answer({{"id", r["id"]}, {"status", "error"}, {"reason", "no licence"}});
     }},
    {"describe-changes",
     [](const json& r) { answer(with(description(r["id"]), "version", std::to_string(::getpid()))); }},
    {"late-quit", [](const json& r) { answer(conversion(r)); }},
    {"status-on-quit", [](const json& r) { answer(conversion(r)); }},
};

/// True when the mode strikes now.
bool strikes(bool once) {
  if (!once) return true;
  const char* file = std::getenv("ASSAY_TEST_STATE");
  if (std::ifstream(file).good()) return false;
  std::ofstream(file) << "struck";
  return true;
}

}  // namespace

int main(int count, char** words) {  // NOLINT(bugprone-exception-escape): a request that it can't read ends it
  std::string mode = count > 1 ? words[1] : "good";
  const bool once = mode.ends_with("-once");
  if (once) mode.resize(mode.size() - 5);
  const auto act = kModes.find(mode);
  if (act == kModes.end()) {
    std::cerr << "no mode " << mode << '\n';
    return 2;
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const bool at_describe = mode.starts_with("describe-");
  for (std::string line; std::getline(std::cin, line);) {
    const json request = json::parse(line);
    const std::string verb = request["do"];
    if (verb == "quit") {
      if (mode == "late-quit") hang();
      return mode == "status-on-quit" ? 4 : 0;
    }
    const bool target = verb == (at_describe ? "describe" : "convert");
    if (target && strikes(once)) {
      act->second(request);
    } else if (verb == "describe") {
      answer(description(request["id"]));
    } else if (verb == "convert") {
      answer(conversion(request));
    } else {
      answer({{"id", request["id"]}, {"status", "ok"}, {"reason", std::to_string(::getpid())}});
    }
  }
  return 0;
}
