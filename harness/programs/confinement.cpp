#include "harness/programs/confinement.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/core/confined.hpp"
#include "harness/core/files.hpp"
#include "harness/core/program.hpp"
#include "harness/core/sandbox.hpp"
#include "harness/corpus/suite.hpp"
#include "harness/programs/environments.hpp"
#include "harness/programs/needed_files.hpp"

namespace assay::programs {
namespace fs = std::filesystem;

namespace {

fs::path& confining_program() {
  static fs::path program;
  return program;
}

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
void keep_user_packages(NeededFiles& readable, std::map<std::string, std::string>& environment) {
  std::error_code code;
  const fs::path home = core::user_home(), base = home / ".local";
  if (home.empty() || !fs::is_directory(base / "lib", code)) return;
  readable.add(base / "lib");
  readable.add_sources(base / "lib");
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing of ours calls setenv
  if (std::getenv("PYTHONUSERBASE") == nullptr) environment["PYTHONUSERBASE"] = base.string();
}

/// A home and a folder for temporary files in it.
core::Result<std::map<std::string, std::string>> own_folders(const fs::path& beginning) {
  static std::atomic<unsigned> counter{0};
  const core::Result<fs::path> homes = core::process_homes();
  if (!homes) return homes.error();
  const fs::path home = *homes / ("home" + std::to_string(counter++)), temporary = home / "tmp";
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

/// What of the user's home may be read is found in the converter's too, by links: "~/data" is the same there.
void link_home(const fs::path& own, const std::set<fs::path>& paths) {
  const fs::path home = core::user_home();
  fs::path linked;
  for (const fs::path& path : paths) {  // a folder comes before what is in it
    if (home.empty() || path == home || !core::is_below(path, home)) continue;
    if (!linked.empty() && core::is_below(path, linked)) continue;
    const fs::path link = own / path.lexically_relative(home);
    std::error_code code;
    if (fs::exists(fs::symlink_status(link, code))) continue;
    fs::create_directories(link.parent_path(), code);
    fs::create_symlink(path, link, code);
    linked = path;
  }
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
    core::Result<std::map<std::string, std::string>> own = own_folders(converter.rights.home);
    if (!own) return own.error();
    const std::string home = own->at("HOME");
    process.environment.merge(*own);

    NeededFiles readable;
    for (const fs::path& path : {corpus::home(), environments_folder()}) {
      std::error_code code;
      if (!core::holds_a_home(path)) readable.add(fs::absolute(path, code));
    }
    readable.add_file(confining_program());
    readable.add_file(*program);
    readable.add_words(process.arguments);
    for (const char* variable : {"PYTHONPATH", "LD_LIBRARY_PATH"}) {
      const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): as above
      if (value != nullptr) readable.add_list(value);
    }
    keep_user_packages(readable, process.environment);
    for (const auto& paths : {converter.rights.reads, converter.rights.writes}) {
      for (const fs::path& path : paths) readable.add(path);
    }
    link_home(process.environment.at("HOME"), readable.paths());

    words.insert(words.end(), {"--job", job->string(), "--home", home});
    for (const fs::path& path : converter.rights.writes) words.insert(words.end(), {"--write", path.string()});
    for (const fs::path& path : readable.paths()) words.insert(words.end(), {"--read", path.string()});
    for (const fs::path& hidden : core::homes()) words.insert(words.end(), {"--hide", hidden.string()});
    if (converter.rights.gpu) words.emplace_back("--gpu");
  }
  words.emplace_back("--");
  words.insert(words.end(), process.arguments.begin(), process.arguments.end());
  process.arguments = std::move(words);
  return core::success();
}

}  // namespace assay::programs
