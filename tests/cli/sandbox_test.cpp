// What a converter can do to the machine that it is tried on: nothing outside its job.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/core/descriptor.hpp"
#include "harness/core/files.hpp"
#include "harness/core/sandbox.hpp"
#include "tests/cli/home.hpp"
#include "tests/support/source_tree.hpp"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

/// Refuses everything, with what it could do as its reason.
constexpr const char* kHostile = R"py(
import ctypes, json, multiprocessing, os, platform, resource, socket, stat, subprocess, sys, time

def tries():
    def read(): return open(os.environ["VICTIM_HOME"] + "/.ssh/id").read()
    def listed(): return os.listdir(os.environ["VICTIM_HOME"] + "/.ssh")
    def write(): open(os.environ["OUTSIDE"] + "/written", "w").close()
    def remove(): os.remove(os.environ["OUTSIDE"] + "/kept")
    def tcp(): socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), timeout=2)
    def udp(): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))
    def terminal(): return os.listdir("/dev/pts"), open("/dev/tty")
    def signals(): os.kill(os.getppid(), 0)
    def home():
        assert os.environ["HOME"] != os.environ["VICTIM_HOME"]
        open(os.path.expanduser("~/made"), "w").close()
    def declared(): return open(os.environ["VICTIM_HOME"] + "/data/table").read()
    def locks():
        with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1]) == [1]
        assert not [name for name in os.listdir("/dev/shm") if not name.startswith("assay-")]
    def sessions():
        child = subprocess.Popen(["sleep", "60"], start_new_session=True)
        assert os.getpgid(child.pid) == child.pid
        os.killpg(child.pid, 15)
        assert child.wait(20) == -15 and subprocess.call(["timeout", "0.1", "sleep", "60"]) == 124
    def log_at_home(): open(os.path.expanduser("~/logs/log"), "a").close()
    def at_home(): return open(os.path.expanduser("~/data/table")).read()
    def rights(): os.chmod(os.environ["VICTIM_HOME"] + "/.ssh/id", 0o600)
    def times(): os.utime(os.environ["VICTIM_HOME"] + "/.ssh/id")
    def link(): os.symlink("/", request["output"] + "/link")
    def moved():
        os.makedirs(os.path.expanduser("~/folder"))
        os.symlink("/", os.path.expanduser("~/folder/link"))
        os.rename(os.path.expanduser("~/folder"), request["output"] + "/folder")
    def device(): os.mknod(os.path.expanduser("~/device"), 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    def limits(): resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)
    def keys():
        keyctl = {"x86_64": 250, "aarch64": 219}[platform.machine()]
        if ctypes.CDLL(None).syscall(keyctl, 0, -3, 0) < 0: raise OSError
    for what in (read, listed, write, remove, tcp, udp, terminal, signals, locks, sessions, home, declared, at_home,
                 log_at_home, rights, times, link, moved, device, limits, keys):
        try:
            what()
            yield what.__name__
        except (OSError, AssertionError):
            if action == what.__name__: raise

def bomb():
    for generation in range(11): os.fork()  # 2048: without a limit it is to do no harm either
    time.sleep(600)

def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(os.path.join(request["output"], "part"), "w") as file: file.write(str(os.getpid()))
            os.rename(file.name, os.path.join(request["output"], "pid"))
            for fd in range(3): os.close(fd)
            time.sleep(600)
        os._exit(0)
    while not os.path.exists(os.path.join(request["output"], "pid")): time.sleep(0.01)
    return "daemon " + open(os.path.join(request["output"], "pid")).read()

action = os.environ["ACTION"]
for line in sys.stdin:
    request = json.loads(line)
    answer = {"id": request["id"], "status": "ok"}
    if request["do"] == "describe":
        answer.update(name="hostile", version="1")
    elif request["do"] == "quit":
        break
    else:
        model = open(request["model"], "rb").read()
        if action == "bomb" and b"victim" in model: bomb()
        did = daemon() if action == "daemon" else " ".join(tries())
        answer.update(status="refused", reason="did " + did)
    print(json.dumps(answer), flush=True)
)py";

/// A port of this machine where somebody listens.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size);
    ::listen(socket_.get(), 8);
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] std::string port() const { return std::to_string(port_); }

 private:
  core::Descriptor socket_;
  int port_ = 0;
};

class Sandbox : public HomeTest {
 protected:
  void SetUp() override {
    HomeTest::SetUp();
    for (const char* folder : {"home/.ssh", "home/data", "home/logs", "home/prog", "outside", "tmp"}) {
      fs::create_directories(place(folder));
    }
    put("home/.ssh/id", "secret");
    put("home/data/table", "table");
    put("home/prog/hostile.py", kHostile);
    put("outside/kept", "");
    model_ = (test_data() / "trt861" / "concat_ranges.onnx").string();
  }
  [[nodiscard]] fs::path place(const std::string& name) const { return elsewhere_.path() / name; }
  void put(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(core::write_file(place(name), text).ok());
  }
  Call call(std::vector<std::string> words, const std::string& action) {
    words.emplace_back("--json");
    return call_plainly(std::move(words), action);
  }
  Call call_plainly(std::vector<std::string> words, const std::string& action) {
    words.insert(words.end(), {"--converter-cmd", "python3 " + place("home/prog/hostile.py").string()});
    return run(words, {{"HOME", place("home").string()},
                       {"VICTIM_HOME", place("home").string()},
                       {"OUTSIDE", place("outside").string()},
                       {"PORT", listener_.port()},
                       {"ACTION", action},
                       {"TMPDIR", temporary_.empty() ? place("tmp").string() : temporary_}});
  }
  static std::string reason(const Call& call) {
    const nlohmann::json report = call.json();
    return report.is_object() ? report["results"][0]["reason"].get<std::string>() : call.out + call.err;
  }

  /// Whether this user can have a /dev/shm of their own.
  static bool locks_are_possible() {
    const char* mount = "mount -t tmpfs none /dev/shm";
    return std::system((std::string("unshare -m ") + mount + " 2>/dev/null || unshare -rm " + mount + " 2>/dev/null")
                           .c_str()) == 0;  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
  }

  core::TemporaryFolder elsewhere_ = core::TemporaryFolder::create().value();
  Listener listener_;
  std::string model_, temporary_;
};

TEST_F(Sandbox, KeepsAConverterInItsJobWhicheverCommandStartsIt) {
  if (!core::can_confine()) GTEST_SKIP() << "no Landlock here";
  const Call of_run = call({"run", "mini/stride=1", "--db", "h.db"}, "tries");
  // Where nobody but root has mounts of their own, owners may change the rights and times of their files.
  const std::string did = locks_are_possible() ? "did locks sessions home" : "did sessions home rights times";
  EXPECT_TRUE(reason(of_run).ends_with(did)) << reason(of_run);
  EXPECT_THAT(of_run.err, Not(HasSubstr("sandbox"))) << "nothing to say";
  const Call of_check = call({"check", model_}, "tries");
  EXPECT_TRUE(reason(of_check).ends_with(did)) << reason(of_check);
  const Call of_explain = call({"explain", "mini/stride=1"}, "tries");
  EXPECT_THAT(of_explain.out, HasSubstr(did + "\"")) << of_explain.out << of_explain.err;
  temporary_ = "/dev/shm";  // where it has a /dev/shm of its own, too
  EXPECT_TRUE(reason(call({"check", model_}, "tries")).ends_with(did));
  EXPECT_TRUE(fs::exists(place("outside/kept")));
  EXPECT_FALSE(fs::exists(place("outside/written")));
  EXPECT_TRUE(fs::is_empty(place("tmp"))) << "nothing stays of its home";
}

TEST_F(Sandbox, IsLeftOutWithALoudLine) {
  const Call without = call({"check", model_, "--no-sandbox"}, "tries");
  EXPECT_THAT(reason(without), HasSubstr("did read listed write remove tcp udp"));
  EXPECT_THAT(without.err, HasSubstr("NO SANDBOX: converters run with all rights of yours"));
  EXPECT_TRUE(fs::exists(place("outside/written")));
}

/// Becomes a program for which the system has no Landlock.
constexpr const char* kWithoutLandlock = R"py(
import ctypes, os, struct, sys
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = struct.pack("H6xP", len(rules), ctypes.addressof(code))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
)py";

TEST_F(Sandbox, ThatIsNotPossibleIsSaidOnceAndTheRunGoesOn) {
  core::SpawnOptions options;
  options.arguments = {
      "python3", "-c",   kWithoutLandlock, ASSAY_PROGRAM,     "run",
      "--db",    "h.db", "--json",         "--converter-cmd", "python3 " + place("home/prog/hostile.py").string()};
  options.working_folder = path("").string();
  options.environment = {
      {"ASSAY_HOME", path("").string()},      {"HOME", place("home").string()}, {"VICTIM_HOME", place("home").string()},
      {"OUTSIDE", place("outside").string()}, {"PORT", listener_.port()},       {"ACTION", "tries"}};
  const Call ran = finished(options);
  EXPECT_THAT(ran.err, HasSubstr("no sandbox is possible here"));
  EXPECT_EQ(ran.err.find("no sandbox"), ran.err.rfind("no sandbox"));
  EXPECT_EQ(ran.json()["verdicts"]["refused"], 2) << ran.out << ran.err;
  // Without a sandbox /dev/shm holds what others have there.
  EXPECT_THAT(reason(ran), testing::ContainsRegex("read listed write remove signals (locks )?sessions home declared"))
      << "but no network";
}

TEST_F(Sandbox, IsWiderWhereAnAdapterDeclaresIt) {
  if (!core::can_confine()) GTEST_SKIP() << "no Landlock here";
  put("home/prog/adapter.json", R"({"reads": ["~/data"]})");
  const Call wider = call({"check", model_}, "tries");
  EXPECT_THAT(reason(wider), testing::EndsWith("home declared at_home")) << reason(wider);
  EXPECT_THAT(wider.err, HasSubstr("python3 may read " + place("home/data").string()));

  fs::remove(place("home/prog/adapter.json"));
  const std::string data = place("home/data").string(), outside = place("outside").string();
  const std::string logs = place("home/logs").string();
  put("outside/kept", "");
  const Call by_options = call({"check", model_, "--reads", data, "--writes", outside, "--writes", logs}, "tries");
  EXPECT_THAT(reason(by_options),
              testing::EndsWith("did write remove locks sessions home declared at_home log_at_home"));
  EXPECT_TRUE(fs::exists(place("home/logs/log")));
  const std::string shown = call_plainly({"check", model_, "--reads", data, "--writes", outside}, "tries").out;
  EXPECT_THAT(shown, AllOf(HasSubstr(" --reads " + data), HasSubstr(" --writes " + outside)));
  EXPECT_THAT(call({"check", model_, "--reads", "nowhere"}, "tries").err,
              HasSubstr("--reads \"nowhere\": No such file"));

  put("home/prog/adapter.json", R"({"reads": ["~/none"]})");
  EXPECT_THAT(call({"check", model_}, "tries").err, HasSubstr("\"reads\": there is no \"~/none\""));
  put("home/prog/adapter.json", R"({"reads": ["~/"]})");
  const Call whole = call({"check", model_}, "tries");
  EXPECT_EQ(whole.code, 2);
  EXPECT_THAT(whole.err, HasSubstr("is or holds a home, which no converter may read"));
  put("home/prog/adapter.json", R"({"gpu": 1})");
  EXPECT_THAT(call({"check", model_}, "tries").err, HasSubstr("\"gpu\" is neither true nor false"));
}

TEST_F(Sandbox, ReadsWhatRunsAScriptAndTheInstallationBelowItsEnvironment) {
  if (!core::can_confine()) GTEST_SKIP() << "no Landlock here";
  for (const char* folder : {"home/env/bin", "home/base/bin", "home/base/lib", "home/scripts"}) {
    fs::create_directories(place(folder));
  }
  fs::copy_file(fs::canonical("/bin/sh"), place("home/env/bin/run"));
  put("home/env/pyvenv.cfg", "include-system-site-packages = false\nhome = " + place("home/base/bin").string() + "\n");
  put("home/base/lib/marker", "its base");
  put("home/scripts/tool", "#!" + place("home/env/bin/run").string() + R"sh(
number=0
while read -r line; do
  number=$((number + 1))
  case $line in
    *'"describe"'*) printf '{"id":%d,"status":"ok","name":"script","version":"1"}\n' $number ;;
    *'"quit"'*) exit ;;
    *) printf '{"id":%d,"status":"refused","reason":"did read %s"}\n' $number "$(cat $VICTIM_HOME/base/lib/marker)" ;;
  esac
done
)sh");
  fs::permissions(place("home/scripts/tool"), fs::perms(0755));
  const Call ran = run({"check", model_, "--json", "--converter-cmd", place("home/scripts/tool").string()},
                       {{"HOME", place("home").string()}, {"VICTIM_HOME", place("home").string()}});
  EXPECT_TRUE(reason(ran).ends_with("did read its base")) << reason(ran) << ran.err;
}

/// An adapter in a project, which imports what lies beside its folder, and a package that is installed in place.
constexpr const char* kImports = R"py(
import json, os, sys
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import beside, in_place
for line in sys.stdin:
    request = json.loads(line)
    answer = {"id": request["id"], "status": "ok", "name": "imports", "version": "1"}
    if request["do"] == "convert": answer.update(status="refused", reason="did import " + beside.NAME + in_place.NAME)
    print(json.dumps(answer), flush=True)
)py";

TEST_F(Sandbox, ReadsTheProjectOfAFileAndWhatIsInstalledInPlace) {
  if (!core::can_confine()) GTEST_SKIP() << "no Landlock here";
  for (const char* folder : {"home/project/tools", "home/with blank/src"}) {
    fs::create_directories(place(folder));
  }
  ASSERT_EQ(std::system(("python3 -m venv --without-pip '" + place("home/env").string() + "'").c_str()), 0);
  const fs::path packages = [&] {
    for (const auto& each : fs::recursive_directory_iterator(place("home/env"))) {
      if (each.path().filename() == "site-packages") return each.path();
    }
    return fs::path();
  }();
  ASSERT_FALSE(packages.empty());
  put("home/project/tools/tool.py", kImports);
  put("home/project/beside.py", "NAME = 'a project'");
  put("home/project/pyproject.toml", "");
  put("home/with blank/src/in_place.py", "NAME = ' and a source'");
  fs::create_directories(packages / "in_place-1.dist-info");
  ASSERT_TRUE(core::write_file(
                  packages / "in_place-1.dist-info" / "direct_url.json",
                  R"({"url": "file://)" + place("home/with%20blank").string() + R"(", "dir_info": {"editable": true}})")
                  .ok());
  ASSERT_TRUE(core::write_file(packages / "in_place.pth", place("home/with blank/src").string() + "\n").ok());
  const std::string python = place("home/env/bin/python").string(), tool = place("home/project/tools/tool.py").string();
  const auto expect_imports = [&](const std::string& command) {
    const Call ran = run({"check", model_, "--json", "--converter-cmd", command}, {{"HOME", place("home").string()}});
    EXPECT_TRUE(reason(ran).ends_with("did import a project and a source")) << command << reason(ran) << ran.err;
  };
  expect_imports(python + " " + tool);
  expect_imports("sh -c 'cd $HOME/project && exec ~/env/bin/python tools/tool.py'");
  fs::remove(packages / "in_place-1.dist-info" / "direct_url.json");  // the .pth file names it, too
  expect_imports(python + " " + tool);
  fs::remove(packages / "in_place.pth");
  expect_imports("env \"PYTHONPATH=" + place("home/with blank/src").string() + "\" python3 " + tool);
}

TEST_F(Sandbox, IsNamedWhereAConverterWasDenied) {
  if (!core::can_confine()) GTEST_SKIP() << "no Landlock here";
  EXPECT_THAT(reason(call({"check", model_}, "udp")), HasSubstr("it runs in a sandbox (docs/runs.md)"));
  EXPECT_THAT(reason(call({"check", model_, "--no-sandbox"}, "home")), Not(HasSubstr("sandbox")));
}

TEST(Confined, WhatLeftTheGroupWithAStopGoesOnOnceAllAreCounted) {
  // As if the stop that comes before counting had met it on its way into a session of its own.
  const Call call = assay({"confined", "--", "timeout", "30", "sh", "-c",
                           "setsid sh -c 'kill -STOP $$; echo went on' & sleep 0.3; "
                           "for i in $(seq 200); do sleep 2 & done; wait"});
  EXPECT_EQ(call.code, 0) << call.err;
  EXPECT_EQ(call.out, "went on\n");
}

TEST_F(Sandbox, AForkBombCostsItsVerdictAlone) {
  write("cases/nasty.json", R"json({
    "family": "nasty", "title": "a small Conv",
    "graph": ["agraph (float[1,3,5,5] victim) => (float[N,2,H,W] y) {", "  y = Conv <kernel_shape=[1,1]> (victim, w)", "}"],
    "initializers": { "w": { "shape": [2, 3, 1, 1], "data": "normal" } },
    "inputs": { "victim": { "data": ["typical"], "range": [-3, 2] } } })json");
  const auto begin = std::chrono::steady_clock::now();
  const nlohmann::json report = call({"run", "--db", "h.db", "--jobs", "2", "--timeout", "100"}, "bomb").json();
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["verdicts"], (nlohmann::json{{"crash", 1}, {"refused", 2}}));
  for (const nlohmann::json& result : report["results"]) {
    if (result["verdict"] != "crash") continue;
    EXPECT_THAT(result["reason"], HasSubstr("more than 512 processes"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(80)) << "not by the time limit";
}

TEST_F(Sandbox, ADaemonEndsWithItsConverter) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"check", model_}, {"check", model_, "--no-sandbox"}}) {
    const std::string told = reason(call(words, "daemon"));
    const std::size_t at = told.find("daemon ");
    ASSERT_NE(at, std::string::npos) << told;
    EXPECT_NE(::kill(std::stoi(told.substr(at + 7)), 0), 0);
  }
}

}  // namespace
}  // namespace assay::test
