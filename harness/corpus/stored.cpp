#include "harness/corpus/stored.hpp"

#include <algorithm>

#include "harness/core/files.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/suite.hpp"

namespace assay::corpus {
namespace fs = std::filesystem;

std::vector<std::pair<std::string, fs::path>> stored_cases(const std::string& name, const fs::path& folder) {
  const std::string prefix = name + (name.find('/') == std::string::npos ? "/" : ",") + "case=";
  std::vector<std::pair<std::string, fs::path>> cases;
  std::error_code error;
  for (fs::directory_iterator it(home() / folder, error), end; !error && it != end; it.increment(error)) {
    if (std::error_code ignored; fs::is_regular_file(it->path() / "model.onnx", ignored)) {
      cases.emplace_back(prefix + it->path().filename().string(), it->path());
    }
  }
  std::sort(cases.begin(), cases.end());
  if (cases.empty()) {
    cases.emplace_back(name, fs::path());
  }
  return cases;
}

core::Result<std::string> folder_hash(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file()) {
      files.push_back(it->path());
    }
  }
  std::sort(files.begin(), files.end());
  std::string hashes;
  for (const fs::path& file : files) {
    const core::Result<std::string> bytes = core::read_file(file);
    if (!bytes) {
      return bytes.error();
    }
    hashes += core::sha256_hex(*bytes) + " " + fs::relative(file, folder).string() + "\n";
  }
  return core::sha256_hex(hashes);
}

core::Status hash_stored_case(Case& test_case) {
  core::Result<std::string> hash = folder_hash(*test_case.stored_case);
  if (!hash) {
    return hash.error();
  }
  test_case.content_hash = *std::move(hash);
  return core::success();
}

}  // namespace assay::corpus
