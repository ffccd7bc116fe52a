#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace assay::programs {

/// The files and folders that a command needs to run, as far as can be told from outside: what its sandbox lets it read
/// of homes. A home itself, or what holds one, is never among them.
class NeededFiles {
 public:
  void add(const std::filesystem::path& path) { paths_.insert(path); }
  /// A file with its folder and its project, which hold what it loads; the file alone where its folder is a home. Of a
  /// script also what runs it; of a program of a Python environment that and what is installed there from elsewhere.
  void add_file(const std::filesystem::path& file);
  /// What the words of a command name, those in a text for a shell too: folders, files, and with `-m` the working
  /// folder.
  void add_words(const std::vector<std::string>& words);
  /// The entries of a list like PATH's.
  void add_list(std::string_view list);
  /// Folders with sources of Python from which the environment with this `lib` imports: packages installed in place
  /// ("editable"), entries of .pth files.
  void add_sources(const std::filesystem::path& lib);
  [[nodiscard]] const std::set<std::filesystem::path>& paths() const { return paths_; }

 private:
  void add_prefix(const std::filesystem::path& prefix);
  void add_named(const std::string& word);
  void add_folder(const std::filesystem::path& folder);
  void add_project(const std::filesystem::path& folder);

  std::set<std::filesystem::path> paths_, files_;
};

}  // namespace assay::programs
