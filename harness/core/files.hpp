#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.hpp"

namespace assay::core {

/// The whole file; files over `limit_bytes` are refused before anything is read.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path,
                                            std::uintmax_t limit_bytes = std::uintmax_t{2} << 30U);

/// Writes to a temporary neighbour and renames, so that a reader sees the old or the new file, never a part.
[[nodiscard]] Status write_file(const std::filesystem::path& path, std::string_view bytes);

/// Writes a file that isn't there yet straight to its place, for folders that nobody reads before they are complete;
/// one that is there is replaced as by write_file.
[[nodiscard]] Status write_new_file(const std::filesystem::path& path, std::string_view bytes);

/// Makes `folder` with everything above it; nothing where it exists.
[[nodiscard]] Status make_folder(const std::filesystem::path& folder);

/// Writes `text` at once into a file that is there, such as those in which the kernel takes settings; whether it could.
bool write_into(const std::filesystem::path& file, std::string_view text);

/// Removes `folder` with everything in it. Cheap where `files` is all that it holds, which need not be so.
void remove_folder(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& files);

/// The folder of this process, below the system's temporary folder, in which all its temporary folders lie: what it
/// starts in a sandbox may write there and nowhere else. Its name says whose it is; making the first one sweeps those
/// that nobody owns any more. A forked child has one of its own.
[[nodiscard]] Result<std::filesystem::path> process_folder();
/// Another one beside it, for the homes of what it starts in a sandbox: nothing in it is ours to read.
[[nodiscard]] Result<std::filesystem::path> process_homes();
/// Removes both with everything in them. The end of the program does so too, but for a process that ends by _exit().
void remove_process_folder();

/// Removes the temporary folders of processes of this machine that have ended without doing so: killed ones.
void sweep_temporary_folders();

/// A folder of its own in process_folder(), removed with everything in it at destruction.
class TemporaryFolder {
 public:
  [[nodiscard]] static Result<TemporaryFolder> create();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace assay::core
