#include "harness/programs/confinement.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/core/files.hpp"
#include "harness/core/program.hpp"
#include "harness/core/sandbox.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/programs/environments.hpp"

namespace assay::programs {
namespace fs = std::filesystem;

namespace {

/// What a script's first line names, or what env finds of it; empty for what is no script.
fs::path interpreter(const fs::path& file) {
  constexpr std::size_t kLongest = 256;  // as the kernel reads it
  std::array<char, kLongest> begin{};
  std::ifstream(file, std::ios::binary).read(begin.data(), begin.size() - 1);
  const std::string_view text(begin.data());
  if (!text.starts_with("#!")) return {};
  std::istringstream words{std::string(text.substr(2, text.find('\n') - 2))};
  std::string word;
  words >> word;
  if (fs::path(word).filename() != "env") return word;
  while (words >> word && (word.starts_with("-") || word.find('=') != std::string::npos)) {
  }
  const auto found = core::find_program(word, core::child_path({}));
  return found ? fs::path(*found) : fs::path();
}

fs::path& confining_program() {
  static fs::path program;
  return program;
}

/// What the sandbox of a command lets it read of homes.
class Readable {
 public:
  void add(const fs::path& path) { paths_.insert(path); }

  /// A file with its folder, which holds what it loads; the file alone where that folder is a home, or holds one. Of a
  /// script also what runs it.
  void add_file(const fs::path& file) {
    std::error_code code;
    if (!files_.insert(file).second) return;
    if (const fs::path program = interpreter(file); !program.empty()) add_file(program);
    for (const fs::path& path : {fs::absolute(file, code), fs::canonical(file, code)}) {
      const fs::path folder = path.parent_path();
      paths_.insert(core::holds_a_home(folder) ? path : folder);
      if (folder.filename() == "bin") add_prefix(folder.parent_path());
      // A script that finds the program in its manager's folder, which has all versions (pyenv).
      if (folder.filename() == "shims" && !core::holds_a_home(folder.parent_path())) add(folder.parent_path());
    }
  }

  /// What an option or a word of a command names: a folder, a file, or a module of the working folder.
  void add_words(const std::vector<std::string>& words) {
    for (std::size_t index = 0; index < words.size(); ++index) {
      const std::string& word = words[index];
      add_named(word);
      if (word.starts_with("-")) add_named(word.substr(std::min(word.find('=') + 1, word.size())));
      if (word != "-m" || index + 1 == words.size()) continue;
      const std::string module = words[index + 1].substr(0, words[index + 1].find('.'));
      add_named(module);
      add_named(module + ".py");
    }
  }

  void add_list(const char* variable) {
    const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing of ours calls setenv
    std::string_view rest = value == nullptr ? "" : value;
    while (!rest.empty()) {
      const std::string_view entry = rest.substr(0, rest.find(':'));
      if (!entry.empty()) add_named(std::string(entry));
      rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    }
  }

  [[nodiscard]] const std::set<fs::path>& paths() const { return paths_; }

 private:
  /// PREFIX/bin/python3 loads PREFIX/lib, whether it is a link into another environment or not; an environment is all
  /// its own.
  void add_prefix(const fs::path& prefix) {
    std::error_code code;
    if (core::holds_a_home(prefix)) return;
    const bool environment = fs::exists(prefix / "pyvenv.cfg", code) || fs::exists(prefix / "conda-meta", code);
    if (environment) paths_.insert(prefix);
    paths_.insert({prefix / "lib", prefix / "lib64"});
    // A virtual environment's Python loads its modules from the installation that it was made of.
    std::ifstream settings(prefix / "pyvenv.cfg");
    for (std::string line; std::getline(settings, line);) {
      std::istringstream words(line);
      std::string name, equals, base;
      if (!(words >> name >> equals >> std::ws) || name != "home" || !std::getline(words, base)) continue;
      if (fs::path(base).filename() == "bin") add_prefix(fs::path(base).parent_path());
    }
  }
  void add_named(const std::string& word) {
    std::error_code code;
    const fs::path path = fs::absolute(word, code);
    if (word.empty() || code) return;
    if (fs::is_regular_file(path, code)) add_file(path);
    if (fs::is_directory(path, code) && !core::holds_a_home(path)) paths_.insert(path);
  }

  std::set<fs::path> paths_, files_;
};

/// `from` with all in it, times too: what was compiled there isn't compiled again.
void copy_home(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, code);
  for (fs::recursive_directory_iterator entry(from, code), end; !code && entry != end; entry.increment(code)) {
    std::error_code failed;
    if (!entry->is_regular_file(failed) || entry->is_symlink(failed)) continue;
    const fs::file_time_type time = entry->last_write_time(failed);
    fs::last_write_time(to / entry->path().lexically_relative(from), time, failed);
  }
}

/// Python's packages of the user, which it looks for below the home.
void keep_user_packages(Readable& readable, std::map<std::string, std::string>& environment) {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): nothing of ours calls setenv
  std::error_code code;
  const fs::path base = fs::path(home == nullptr ? "" : home) / ".local";
  if (home == nullptr || !fs::is_directory(base / "lib", code)) return;
  readable.add(base / "lib");
  if (std::getenv("PYTHONUSERBASE") == nullptr) environment["PYTHONUSERBASE"] = base.string();
}

/// A home and a folder for temporary files in this process's folder.
core::Result<std::map<std::string, std::string>> own_folders(const fs::path& job, const fs::path& beginning) {
  static std::atomic<unsigned> counter{0};
  const fs::path home = job / ("home" + std::to_string(counter++)), temporary = home / "tmp";
  if (!beginning.empty()) {
    if (const core::Status made = core::make_folder(home); !made) return made.error();
    copy_home(beginning, home);
  }
  if (const core::Status made = core::make_folder(temporary); !made) return made.error();
  std::map<std::string, std::string> environment{{"HOME", home}, {"TMPDIR", temporary}};
  for (const auto& [name, place] : {std::pair{"XDG_CACHE_HOME", ".cache"},
                                    {"XDG_CONFIG_HOME", ".config"},
                                    {"XDG_DATA_HOME", ".local/share"},
                                    {"XDG_STATE_HOME", ".local/state"},
                                    {"XDG_RUNTIME_DIR", "tmp"}}) {
    if (std::getenv(name) != nullptr) environment[name] = home / place;  // NOLINT(concurrency-mt-unsafe): as above
  }
  return environment;
}

}  // namespace

void set_confining_program(fs::path program) { confining_program() = std::move(program); }

core::Status confine(const ConverterSpec& converter, core::SpawnOptions& process) {
  if (confining_program().empty()) return core::success();
  const auto program =
      core::find_program(process.arguments.empty() ? "" : process.arguments.front(), core::child_path({}));
  if (!program) return program.error();
  std::vector<std::string> words{confining_program().string(), "confined"};
  if (converter.rights.confined) {
    const core::Result<fs::path> job = core::process_folder();
    if (!job) return job.error();
    core::Result<std::map<std::string, std::string>> own = own_folders(*job, converter.rights.home);
    if (!own) return own.error();
    process.environment.merge(*own);

    Readable readable;
    for (const fs::path& path : {corpus::home(), environments_folder()}) {
      std::error_code code;
      if (!core::holds_a_home(path)) readable.add(fs::absolute(path, code));
    }
    readable.add_file(confining_program());
    readable.add_file(*program);
    readable.add_words(process.arguments);
    for (const char* variable : {"PYTHONPATH", "LD_LIBRARY_PATH"}) readable.add_list(variable);
    keep_user_packages(readable, process.environment);
    for (const fs::path& path : converter.rights.reads) readable.add(path);

    words.insert(words.end(), {"--write", job->string()});
    for (const fs::path& path : readable.paths()) words.insert(words.end(), {"--read", path.string()});
    for (const fs::path& home : core::homes()) words.insert(words.end(), {"--hide", home.string()});
    if (converter.rights.gpu) words.emplace_back("--gpu");
  }
  words.emplace_back("--");
  words.insert(words.end(), process.arguments.begin(), process.arguments.end());
  process.arguments = std::move(words);
  return core::success();
}

}  // namespace assay::programs
