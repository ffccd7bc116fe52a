#include "harness/programs/needed_files.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>

#include "harness/core/files.hpp"
#include "harness/core/json.hpp"
#include "harness/core/program.hpp"
#include "harness/core/sandbox.hpp"

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

/// What lies in the root of a repository, and of a package or program.
constexpr std::array kRepositories{".git", ".hg"};
constexpr std::array kPackages{"pyproject.toml",   "setup.py",     "setup.cfg",
                               "requirements.txt", "package.json", "Cargo.toml"};

bool holds_any(const fs::path& folder, std::span<const char* const> names) {
  return std::ranges::any_of(names, [&](const char* name) {
    std::error_code code;
    return fs::exists(folder / name, code);
  });
}

/// What may be named by a package, which is not to name the user's keys: sources of Python, in no hidden folder.
bool holds_python(const fs::path& folder) {
  if (std::ranges::any_of(folder, [](const fs::path& part) { return part.string().starts_with("."); })) return false;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    std::error_code failed;
    if (entry->path().extension() == ".py" || fs::exists(entry->path() / "__init__.py", failed)) return true;
  }
  return holds_any(folder, kPackages);
}

/// The words of a text that a shell reads, with homes written out.
std::vector<std::string> shell_words(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char letter : text) {
    if (std::string_view(" \t\n;&|()'\"<>=").find(letter) == std::string_view::npos) {
      words.back() += letter;
    } else {
      words.emplace_back();
    }
  }
  for (std::string& word : words) {
    for (const std::string_view start : {"~/", "$HOME/", "${HOME}/"}) {
      if (word.starts_with(start)) word = (core::user_home() / word.substr(start.size())).string();
    }
  }
  return words;
}

/// The path of "file:///a%20b"; empty for what is none.
fs::path path_of_url(std::string_view url) {
  constexpr std::string_view kFile = "file://";
  constexpr int kHexadecimal = 16;
  if (!url.starts_with(kFile)) return {};
  std::string path;
  for (std::size_t at = kFile.size(); at < url.size(); ++at) {
    if (url[at] != '%' || at + 2 >= url.size()) {
      path += url[at];
      continue;
    }
    path += static_cast<char>(std::strtol(std::string(url.substr(at + 1, 2)).c_str(), nullptr, kHexadecimal));
    at += 2;
  }
  return path;
}

/// Where the sources of an editable package lie, as its direct_url.json says it (PEP 610); empty for any other package.
fs::path editable_source(const fs::path& information) {
  const core::Result<std::string> text = core::read_file(information / "direct_url.json");
  if (!text) return {};
  const core::Result<nlohmann::json> json = core::read_json<nlohmann::json>(*text);
  if (!json || !json->is_object()) return {};
  const auto folder = json->find("dir_info"), url = json->find("url");
  if (folder == json->end() || url == json->end() || !folder->is_object() || !url->is_string()) return {};
  return folder->value("editable", nlohmann::json(false)) == true ? path_of_url(url->get<std::string>()) : fs::path();
}

}  // namespace

void NeededFiles::add_file(const fs::path& file) {
  std::error_code code;
  if (!files_.insert(file).second) return;
  if (const fs::path program = interpreter(file); !program.empty()) add_file(program);
  for (const fs::path& path : {fs::absolute(file, code), fs::canonical(file, code)}) {
    const fs::path folder = path.parent_path();
    paths_.insert(core::holds_a_home(folder) ? path : folder);
    if (folder.filename() == "bin") add_prefix(folder.parent_path());
    // A script that finds the program in its manager's folder, which has all versions (pyenv).
    if (folder.filename() == "shims") add_folder(folder.parent_path());
    add_project(folder);
  }
}

void NeededFiles::add_words(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    add_named(word);
    if (word == "-m") add_named(".");
    if (const std::size_t equals = word.find('='); equals != std::string::npos) add_list(word.substr(equals + 1));
    for (const std::string& each : shell_words(word)) add_named(each);
  }
}

void NeededFiles::add_list(std::string_view list) {
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(':'));
    add_named(std::string(entry));
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
  }
}

void NeededFiles::add_sources(const fs::path& lib) {
  std::error_code code;
  for (fs::directory_iterator python(lib, code), end; !code && python != end; python.increment(code)) {
    if (!python->path().filename().string().starts_with("python")) continue;
    std::error_code failed;
    for (fs::directory_iterator entry(python->path() / "site-packages", failed); !failed && entry != end;
         entry.increment(failed)) {
      std::vector<std::string> sources;
      if (entry->path().extension() == ".dist-info") sources.push_back(editable_source(entry->path()));
      if (entry->path().extension() == ".pth") {
        std::ifstream file(entry->path());
        for (std::string line; std::getline(file, line);) sources.push_back(line);
      }
      for (const fs::path source : sources) {
        if (source.is_absolute() && holds_python(source)) add_named(source);
      }
    }
  }
}

/// PREFIX/bin/python3 loads PREFIX/lib, whether it is a link into another environment or not; an environment is all its
/// own.
void NeededFiles::add_prefix(const fs::path& prefix) {
  std::error_code code;
  if (core::holds_a_home(prefix)) return;
  const bool environment = fs::exists(prefix / "pyvenv.cfg", code) || fs::exists(prefix / "conda-meta", code);
  if (environment) paths_.insert(prefix);
  paths_.insert({prefix / "lib", prefix / "lib64"});
  add_sources(prefix / "lib");
  // A virtual environment's Python loads its modules from the installation that it was made of.
  std::ifstream settings(prefix / "pyvenv.cfg");
  for (std::string line; std::getline(settings, line);) {
    std::istringstream words(line);
    std::string name, equals, base;
    if (!(words >> name >> equals >> std::ws) || name != "home" || !std::getline(words, base)) continue;
    if (fs::path(base).filename() == "bin") add_prefix(fs::path(base).parent_path());
  }
}

void NeededFiles::add_named(const std::string& word) {
  std::error_code code;
  const fs::path path = fs::absolute(word, code).lexically_normal();
  if (word.empty() || code) return;
  if (fs::is_regular_file(path, code)) add_file(path);
  if (fs::is_directory(path, code)) add_folder(path);
}

void NeededFiles::add_folder(const fs::path& folder) {
  if (!core::holds_a_home(folder)) paths_.insert(folder);
}

/// The repository that a folder lies in, else the outermost package; no home.
void NeededFiles::add_project(const fs::path& folder) {
  fs::path package;
  for (fs::path each = folder; !core::holds_a_home(each); each = each.parent_path()) {
    if (holds_any(each, kRepositories)) {
      paths_.insert(each);
      return;
    }
    if (holds_any(each, kPackages)) package = each;
  }
  if (!package.empty()) paths_.insert(package);
}

}  // namespace assay::programs
